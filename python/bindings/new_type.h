// Types of a spec, the same for every Python.
#pragma once
#include <cstring>

#include "common.h"

namespace neura::python {

inline PyTypeObject* new_type(PyType_Spec& spec, PyTypeObject* base = nullptr) {
  nb::object bases;
  if (base) bases = nb::make_tuple(nb::handle(reinterpret_cast<PyObject*>(base)));
  auto* type = reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&spec, bases.ptr()));
  if (!type) throw nb::python_error();
#if PY_VERSION_HEX < 0x030A0000  // it drops the signature from the text, where inspect looks for it
  for (const PyType_Slot* s = spec.slots; s->slot; ++s)
    if (s->slot == Py_tp_doc) {
      const std::size_t size = std::strlen(static_cast<const char*>(s->pfunc)) + 1;
      PyObject_Free(const_cast<char*>(type->tp_doc));
      type->tp_doc = static_cast<char*>(std::memcpy(PyObject_Malloc(size), s->pfunc, size));
    }
#endif
  return type;
}

// One whose objects only the package makes; the spec has no tp_new.
inline PyTypeObject* sealed_type(PyType_Spec& spec) {
#if PY_VERSION_HEX >= 0x030A0000
  spec.flags |= Py_TPFLAGS_DISALLOW_INSTANTIATION;
#endif
  PyTypeObject* type = new_type(spec);
#if PY_VERSION_HEX < 0x030A0000
  type->tp_new = nullptr;  // that of `object`
#endif
  return type;
}

}  // namespace neura::python

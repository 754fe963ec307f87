// What the files of neura.nn.Module share with each other.
#pragma once
#include "modules.h"

namespace neura::python {

// A Python class that was made for a C++ class, and what it was given: whatever else stands there later is an override.
struct NativeType {
  PyTypeObject* type;
  Ref<nn::Module> (*blank)();
  PyObject* forward;
};
const NativeType* native_of(const nn::Module&);  // null if its class is not bound
const NativeType& native_of(PyTypeObject*);      // the nearest one
const NativeType& native_of(const std::type_info&);
void bind_native(const std::type_info& cpp, PyTypeObject*, Ref<nn::Module> (*blank)());
void remember_natives();  // what Module has now is what its subclasses may override
void connect_bridge();
PyTypeObject* make_module_type(const char* name, PyTypeObject* base, PyType_Slot*, unsigned flags);
int initialize_module(PyObject* self, PyObject* args, PyObject* keywords);
std::uint8_t overrides(PyModule*);  // of the class and this object: nn::Override and kCall; under the GIL
void refresh_overrides(PyModule*);

enum Hooks {
  kForwardPre,
  kForwardPreKwargs,
  kForwardPost,
  kForwardPostKwargs,
  kForwardAlways,
  kBackwardPre,
  kBackward,
  kStatePre,
  kState,
  kLoadPre,
  kLoadPost,
  kHookKinds
};
extern const char* const kHookNames[kHookKinds];
extern PyObject* global_hooks[kHookKinds];  // dictionaries of hooks of every module; null where there can be none
bool has_global_hooks(Hooks);
bool has_global_hooks();                    // around a call, or backwards
bool has_call_hooks(const PyModule*);       // that see a call: before, after or backwards
void connect_backward(PyObject* self);      // so that C++ runs the backward hooks of Python
PyObject* hooks_of(PyObject* self, Hooks);  // borrowed; made if there is none yet

// A member under its name, as Python found it. `object` keeps the Python object of a tensor, so that it stays the same.
struct Attribute {
  PyObject* name;
  nn::Member member;
  PyObject* object;
};
struct Cache {
  std::uint32_t structure = 0;
  std::vector<Attribute> list;
};
void drop_cache(PyModule*);
Attribute* find_attribute(PyModule*, PyObject* name);
PyObject* get_value(PyModule*, Attribute&);
void fill(Attribute&, PyObject* value);  // a value that fits the kind; else TypeError or AttributeError
PyObject* get_attribute(PyObject* self, PyObject* name);
int set_attribute(PyObject* self, PyObject* name, PyObject* value);
PyObject* list_names(PyObject* self, PyObject*);
extern PyMethodDef attribute_methods[];  // __setattr__ and __delattr__

PyObject* call_module(PyObject* self, PyObject* const* args, std::size_t flagged, PyObject* names);
PyObject* call_slot(PyObject* self, PyObject* args, PyObject* keywords);
PyObject* native_forward(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names);
nn::Value call_from_cpp(nn::Module&, const nn::Args&);

inline nb::list list_of_new(PyObject* sequence) {  // takes the reference; raises what made it null
  nb::object o = nb::steal(sequence);
  if (!o.is_valid()) throw nb::python_error();
  return nb::list(o);
}

extern PyTypeObject* parameter_type;
extern PyTypeObject* buffer_type;  // a class of Python's own; null until it is there
inline bool is_parameter(PyObject* o) { return PyType_IsSubtype(Py_TYPE(o), parameter_type); }
PyObject* wrap_parameter(const Tensor&);  // its one object is a Parameter from now on
void bind_parameter(nb::module_& nn);
void bind_module_methods(nb::module_& nn);
void bind_module_members(nb::module_& nn);

// The tensors of a module's members, also of those parts of it that no object stands for.
void visit_own_tensors(nn::Module*, const std::function<void(const Tensor&)>&);

inline PyObject* object_of(const nn::Module& m) { return static_cast<PyObject*>(m.count.object()); }

}  // namespace neura::python

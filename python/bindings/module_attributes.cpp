// Attributes of a module: one registry in C++, and the rules of PyTorch for what an assignment means.
#include "module_parts.h"

namespace neura::python {

PyTypeObject* buffer_type;

namespace {

using Kind = nn::Member::Kind;

std::string_view text_of(PyObject* name) {
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(name, &size);
  if (!text) throw nb::python_error();
  return {text, std::size_t(size)};
}

bool shows(const Attribute& a) {  // is the object that is kept the one of the tensor that is there now?
  return a.object && *a.member.tensor && tensor_in(a.object).impl() == a.member.tensor->impl();
}

// Members came or went: where they are may have changed, which object shows a tensor has not.
void refresh(PyModule* o) {
  Cache& cache = *o->cache;
  std::vector<Attribute> old;
  std::vector<nb::object> gone;  // until everything is in its place: it may run Python
  old.swap(cache.list);
  cache.structure = o->m->structure();
  for (Attribute& a : old) {
    const bool found = o->m->find(text_of(a.name), [&](nn::Member& member) {
      a.member = member;
      if (!member.tensor || !shows(a)) gone.push_back(nb::steal(std::exchange(a.object, nullptr)));
      cache.list.push_back(a);
    });
    if (found) continue;
    gone.push_back(nb::steal(a.name));
    gone.push_back(nb::steal(a.object));
  }
}

Attribute* known(PyModule* o, PyObject* name) {
  for (Attribute& a : o->cache->list)
    if (a.name == name) return &a;
  return nullptr;
}

[[noreturn]] void refuse(PyObject* value, const char* what, PyObject* name, const char* expected) {
  PyErr_Format(PyExc_TypeError, "cannot assign '%s' object to %s '%U' (%s or None required)", Py_TYPE(value)->tp_name,
               what, name, expected);
  throw nb::python_error();
}

void drop_from_dict(PyModule* o, PyObject* name) {
  if (o->dict && PyDict_DelItem(o->dict, name)) PyErr_Clear();
}

// What a value is registered as where it is assigned; Member::value: nothing, it is an ordinary attribute.
Kind kind_of(PyObject* value) {
  if (is_module(value)) return nn::Member::module;
  if (!is_tensor(value)) return nn::Member::value;
  if (is_parameter(value)) return nn::Member::parameter;
  return buffer_type && PyObject_TypeCheck(value, buffer_type) ? nn::Member::buffer : nn::Member::value;
}

void check_started(PyModule* o, Kind kind) {
  if (o->m || kind == nn::Member::value) return;
  const char* what = kind == nn::Member::module ? "module" : kind == nn::Member::buffer ? "buffer" : "parameters";
  PyErr_Format(PyExc_AttributeError, "cannot assign %s before Module.__init__() call", what);
  throw nb::python_error();
}

// A value for a member that there is. False where it is of another kind, and the member has to make room.
bool assign_member(Attribute& a, PyObject* name, PyObject* value, Kind kind) {
  const bool none = value == Py_None, other = kind != nn::Member::value && kind != a.member.kind;
  switch (a.member.kind) {
    case nn::Member::value:
      break;
    case nn::Member::module:
      if (other) return false;
      if (kind != nn::Member::module && !none) refuse(value, "module", name, "neura.nn.Module");
      break;
    case nn::Member::parameter:
      if (other) return false;
      if (kind != nn::Member::parameter && !none) refuse(value, "parameter", name, "neura.nn.Parameter");
      break;
    case nn::Member::buffer:
      if (other) return false;
      if (!is_tensor(value) && !none) refuse(value, "buffer", name, "neura.Tensor");
  }
  fill(a, value);
  return true;
}

void add_member(PyModule* o, PyObject* name, PyObject* value, Kind kind) {
  drop_from_dict(o, name);
  const std::string text(text_of(name));
  if (!o->m->restore_member(text, kind)) {
    if (kind == nn::Member::module) o->m->register_module(text, {});
    else o->m->add_tensor(kind, text, {});
  }
  fill(*find_attribute(o, name), value);
}

// Does a property of the class take this parameter, as that of a parametrized module does? Any other attribute there
// would hide it.
bool taken_by_class(PyObject* self, PyObject* name) {
  nb::object found = nb::steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(self)), name));
  if (!found.is_valid()) return PyErr_Clear(), false;
  if (Py_TYPE(found.ptr())->tp_descr_set) return true;
  PyErr_Format(PyExc_KeyError, "attribute '%U' already exists", name);
  throw nb::python_error();
}

PyObject* forward_name() {
  static PyObject* name = PyUnicode_InternFromString("forward");
  return name;
}

int assign(PyObject* self, PyObject* name, PyObject* value) {
  PyModule* o = py_module(self);
  const Kind kind = kind_of(value);
  check_started(o, kind);
  if (!o->m) return PyObject_GenericSetAttr(self, name, value);
  Attribute* a = find_attribute(o, name);
  const bool done = a && assign_member(*a, name, value, kind);
  if (!done) {
    if (a) o->m->remove_member(text_of(name));
    if (name == forward_name()) o->instance = true;
    if (kind == nn::Member::value || (kind == nn::Member::parameter && taken_by_class(self, name)))
      return PyObject_GenericSetAttr(self, name, value);
    add_member(o, name, value, kind);
  }
  if (kind == nn::Member::buffer) {
    nb::object persistent = nb::handle(value).attr("persistent");
    o->m->set_persistent(text_of(name), PyObject_IsTrue(persistent.ptr()) == 1);
  }
  return 0;
}

int erase(PyObject* self, PyObject* name) {
  PyModule* o = py_module(self);
  if (o->m && o->m->remove_member(text_of(name))) return 0;
  const int r = PyObject_GenericSetAttr(self, name, nullptr);
  if (r == 0 && name == forward_name()) o->instance = false;
  return r;
}

PyObject* set_method(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (n != 2) return PyErr_Format(PyExc_TypeError, "__setattr__ expected 2 arguments, got %zd", n);
  if (set_attribute(self, args[0], args[1])) return nullptr;
  Py_RETURN_NONE;
}
PyObject* delete_method(PyObject* self, PyObject* name) {
  if (set_attribute(self, name, nullptr)) return nullptr;
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef attribute_methods[] = {
    {"__setattr__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(set_method)), METH_FASTCALL,
     "Registers parameters and modules; everything else is an ordinary attribute."},
    {"__delattr__", delete_method, METH_O, "Removes a member or an ordinary attribute."},
    {}};

void drop_cache(PyModule* o) {
  Cache* cache = std::exchange(o->cache, nullptr);
  if (!cache) return;
  for (const Attribute& a : cache->list) {
    Py_DECREF(a.name);
    Py_XDECREF(a.object);
  }
  delete cache;
}

Attribute* find_attribute(PyModule* o, PyObject* name) {
  if (!o->m) return nullptr;
  if (o->cache) {
    if (o->cache->structure != o->m->structure()) refresh(o);
    if (Attribute* a = known(o, name)) return a;
  }
  nn::Member found;
  if (!o->m->find(text_of(name), [&](nn::Member& member) { found = member; })) return nullptr;
  if (!o->cache) o->cache = new Cache{o->m->structure(), {}};
  PyObject* key = Py_NewRef(name);
  PyUnicode_InternInPlace(&key);  // from here on, names are compared by address
  if (Attribute* a = known(o, key)) return Py_DECREF(key), a;
  return &o->cache->list.emplace_back(Attribute{key, found, nullptr});
}

// What is let go of may run Python, which may come back here: everything is in its place by then.
void fill(Attribute& a, PyObject* value) {
  nn::Member& m = a.member;
  const bool none = value == Py_None;
  if (m.kind == nn::Member::value) {
    if (!m.type->set) throw nb::attribute_error("this attribute cannot be assigned");
    m.type->set(m.data, to_value(value));
  } else if (m.kind == nn::Member::module) {
    if (!m.slot) throw nb::attribute_error("this module is part of another and cannot be replaced");
    const Ref<nn::Module> old = m.slot->module;
    m.slot->set(none ? Ref<nn::Module>() : Ref<nn::Module>::share(&module_in(value)));
  } else {
    Tensor t = none ? Tensor() : tensor_in(value);
    std::swap(*m.tensor, t);
    const nb::object old = nb::steal(std::exchange(a.object, none ? nullptr : Py_NewRef(value)));
  }
}

PyObject* get_value(PyModule* o, Attribute& a) {
  const nn::Member m = a.member;
  if (m.kind == nn::Member::module) return wrap(m.slot ? m.slot->module.get() : m.child);
  if (m.kind == nn::Member::value) {
    if (!m.type->get) throw nb::attribute_error("this attribute has no form in Python");
    return from_value(m.type->get(m.data)).release().ptr();
  }
  if (!*m.tensor) Py_RETURN_NONE;
  if (shows(a)) return Py_NewRef(a.object);
  const nb::object name = nb::borrow(a.name), self = nb::borrow(reinterpret_cast<PyObject*>(o));
  const Tensor t = *m.tensor;
  PyObject* object = m.kind == nn::Member::parameter ? wrap_parameter(t) : wrap(t);
  if (Attribute* now = o->cache ? known(o, name.ptr()) : nullptr)  // a new object may have run Python
    const nb::object old = nb::steal(std::exchange(now->object, Py_NewRef(object)));
  return object;
}

PyObject* get_attribute(PyObject* self, PyObject* name) {
  // Quietly: an AttributeError for each member would cost more than the look-up.
  PyObject* found = _PyObject_GenericGetAttrWithDict(self, name, nullptr, 1);
  if (found || PyErr_Occurred()) return found;
  return guarded([&]() -> PyObject* {
    if (Attribute* a = find_attribute(py_module(self), name)) return get_value(py_module(self), *a);
    if (_PyType_Lookup(Py_TYPE(self), name)) return PyObject_GenericGetAttr(self, name);  // its own error says more
    const char* text = "'%s' object has no attribute '%U'";
    if (!py_module(self)->m) text = "'%s' object has no attribute '%U' yet: begin __init__ with super().__init__()";
    return PyErr_Format(PyExc_AttributeError, text, Py_TYPE(self)->tp_name, name);
  });
}

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  int r = -1;
  if (!PyUnicode_Check(name)) return PyErr_SetString(PyExc_TypeError, "attribute name must be string"), -1;
  guarded([&]() -> PyObject* { return r = value ? assign(self, name, value) : erase(self, name), nullptr; });
  return PyErr_Occurred() ? -1 : r;
}

PyObject* list_names(PyObject* self, PyObject*) {
  return guarded([&] {
    nb::object names = nb::module_::import_("builtins").attr("object").attr("__dir__")(nb::handle(self));
    nb::object all = nb::steal(PySet_New(names.ptr()));
    if (nn::Module* m = py_module(self)->m)
      m->visit([&](nn::Member& member) { all.attr("add")(nb::str(member.name.data(), member.name.size())); });
    return PySequence_List(all.ptr());
  });
}

}  // namespace neura::python

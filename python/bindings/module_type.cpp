// neura.nn.Module: a heap type of our own. A reference that C++ holds to a module that has a Python object is a Python
// reference to that object, so that the garbage collector counts exactly.
#include "collector.h"
#include "module_parts.h"

#include <structmember.h>

namespace neura::python {

PyTypeObject* module_type;

namespace {

// ---- The life of an object

PyObject* create(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_flags & Py_TPFLAGS_IS_ABSTRACT
                       ? PyBaseObject_Type.tp_new(type, nb::tuple().ptr(), nullptr)  // its message
                       : type->tp_alloc(type, 0);
  if (!self) return nullptr;
  py_module(self)->call = call_module;
  watch_module(self);
  return self;
}

bool is_looked_through(const nn::Member& member) {  // no object stands for this child: its members are its owner's
  return !member.slot || (!object_of(*member.child) && member.child->count.load(std::memory_order_relaxed) == 1);
}
// What a C++ module holds: a child with an object is one reference to it; one without is looked through.
int visit_members(nn::Module* m, visitproc visit, void* arg) {
  int stop = 0;
  m->visit([&](nn::Member& member) {
    nn::Module* child = member.child;
    if (!child) return false;
    PyObject* object = object_of(*child);
    if (object && (member.slot || !py_module(object)->owner)) stop = visit(object, arg);
    if (!stop && is_looked_through(member)) stop = visit_members(child, visit, arg);
    return stop != 0;
  });
  return stop;
}
int traverse(PyObject* self, visitproc visit, void* arg) {
  PyModule* o = py_module(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(o->dict);
  Py_VISIT(o->owner);
  if (o->hooks)
    for (int i = 0; i < kHookKinds; ++i) Py_VISIT(o->hooks[i]);
  if (o->cache)
    for (const Attribute& a : o->cache->list) Py_VISIT(a.object);
  if (const int stop = visit_held_by_cpp(self, visit, arg)) return stop;
  return o->m && !o->m->count.owner() ? visit_members(o->m, visit, arg) : 0;
}

void drop_hooks(PyModule* o) {
  PyObject** hooks = std::exchange(o->hooks, nullptr);
  if (!hooks) return;
  for (int i = 0; i < kHookKinds; ++i) Py_XDECREF(hooks[i]);
  PyMem_Free(hooks);
}

// The objects of C++ members by value, which lived on here without a reference from Python.
void drop_embedded(nn::Module* m) {
  m->visit([](nn::Member& member) {
    if (!member.child || member.slot) return;
    drop_embedded(member.child);
    PyObject* object = object_of(*member.child);
    if (!object) return;
    member.child->count.set_object(nullptr);
    py_module(object)->m = nullptr;
    if (!py_module(object)->owner) Py_DECREF(object);
  });
}

int clear(PyObject* self) {
  PyModule* o = py_module(self);
  Py_CLEAR(o->dict);
  drop_hooks(o);
  drop_cache(o);
  if (o->m && !o->m->count.owner()) {
    drop_embedded(o->m);
    o->m->clear_members();
  }
  return 0;
}

// The object of a C++ member by value is destroyed with its owner alone if it has attributes.
bool lives_on(PyModule* o) {
  if (!o->m || !o->owner || !(o->hooks || o->weak || (o->dict && PyDict_GET_SIZE(o->dict)))) return false;
  PyObject* owner = std::exchange(o->owner, nullptr);
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(o), 1);
  Py_DECREF(owner);
  return true;
}

void dealloc(PyObject* self) {
  PyModule* o = py_module(self);
  if (lives_on(o)) return;
  PyTypeObject* type = Py_TYPE(self);
  forget_module(self);
  PyObject_GC_UnTrack(self);
  Py_TRASHCAN_BEGIN(self, dealloc) if (o->weak) PyObject_ClearWeakRefs(self);
  Py_CLEAR(o->dict);
  drop_hooks(o);
  drop_cache(o);
  if (nn::Module* m = std::exchange(o->m, nullptr)) {
    if (m->count.owner()) m->count.set_object(nullptr);
    else drop_embedded(m), delete m;
  }
  Py_CLEAR(o->owner);
  type->tp_free(self);
  Py_DECREF(type);
  Py_TRASHCAN_END
}

PyObject* get_training(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(module_in(self).training); });
}
int set_training(PyObject* self, PyObject* value, void*) {
  if (!value) return PyErr_SetString(PyExc_AttributeError, "cannot delete training"), -1;
  const int on = PyObject_IsTrue(value);
  if (on < 0 || !guarded([&] { return module_in(self).training = on, self; })) return -1;
  return 0;
}
PyObject* get_hooks(PyObject* self, void* kind) {
  PyObject* d = hooks_of(self, Hooks(reinterpret_cast<std::intptr_t>(kind)));
  return d ? Py_NewRef(d) : nullptr;
}
int set_hooks(PyObject* self, PyObject* value, void* kind) {
  if (!value || !PyDict_Check(value)) return PyErr_SetString(PyExc_TypeError, "expected a dictionary of hooks"), -1;
  if (!hooks_of(self, Hooks(reinterpret_cast<std::intptr_t>(kind)))) return -1;
  Py_INCREF(value);
  Py_XSETREF(py_module(self)->hooks[reinterpret_cast<std::intptr_t>(kind)], value);
  return 0;
}

// A class without a __getattr__ of its own keeps ours in the slot: Python's would look every name up twice.
PyObject* init_subclass(PyObject* cls, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    nb::object parent =
        nb::steal(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PySuper_Type), module_type, cls, nullptr));
    if (!parent.is_valid()) throw nb::python_error();
    nb::object done = nb::steal(PyObject_Call(parent.attr("__init_subclass__").ptr(), args, keywords));
    if (!done.is_valid()) throw nb::python_error();
    const nb::handle type(cls), base(reinterpret_cast<PyObject*>(module_type));
    auto same = [&](const char* name) { return nb::object(type.attr(name)).is(nb::object(base.attr(name))); };
    if (same("__getattr__") && same("__getattribute__"))
      reinterpret_cast<PyTypeObject*>(cls)->tp_getattro = get_attribute;
    reinterpret_cast<PyTypeObject*>(cls)->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;  // before 3.12 not inherited
    return done.release().ptr();
  });
}
PyObject* registered(PyObject* self, PyObject* name) {  // super().__getattr__(name)
  return guarded([&]() -> PyObject* {
    if (!PyUnicode_Check(name)) throw nb::type_error("attribute name must be string");
    if (Attribute* a = find_attribute(py_module(self), name)) return get_value(py_module(self), *a);
    return PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%U'", Py_TYPE(self)->tp_name, name);
  });
}

PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(PyModule, dict), READONLY, ""},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(PyModule, weak), READONLY, ""},
                         {"__vectorcalloffset__", T_PYSSIZET, offsetof(PyModule, call), READONLY, ""},
                         {}};
PyMethodDef methods[] = {
    {"__getattr__", registered, METH_O, "The parameter, buffer or module of that name."},
    {"__dir__", list_names, METH_NOARGS, "Its attributes, and the names of its members."},
    {"forward", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(native_forward)), METH_FASTCALL | METH_KEYWORDS,
     "forward($self, /, *args, **kwargs)\n--\n\nWhat the module computes; every subclass defines it."},
    {"__init_subclass__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(init_subclass)),
     METH_VARARGS | METH_KEYWORDS | METH_CLASS, ""},
    {}};

const char kDoc[] =
    "Module()\n--\n\n"
    "What networks and layers derive from. Assign parameters, buffers and modules as attributes and define forward:\n\n"
    "    class Net(nn.Module):\n"
    "        def __init__(self):\n"
    "            super().__init__()\n"
    "            self.hidden, self.output = nn.Linear(784, 128), nn.Linear(128, 10)\n\n"
    "        def forward(self, x):\n"
    "            return self.output(self.hidden(x).relu())";

}  // namespace

const char* const kHookNames[kHookKinds] = {"_forward_pre_hooks",
                                            "_forward_pre_hooks_with_kwargs",
                                            "_forward_hooks",
                                            "_forward_hooks_with_kwargs",
                                            "_forward_hooks_always_called",
                                            "_backward_pre_hooks",
                                            "_backward_hooks",
                                            "_state_dict_pre_hooks",
                                            "_state_dict_hooks",
                                            "_load_state_dict_pre_hooks",
                                            "_load_state_dict_post_hooks"};

PyObject* global_hooks[kHookKinds] = {};
bool has_global_hooks(Hooks kind) { return global_hooks[kind] && PyDict_GET_SIZE(global_hooks[kind]) > 0; }
bool has_global_hooks() {
  return has_global_hooks(kForwardPre) || has_global_hooks(kForwardPost) || has_global_hooks(kBackwardPre) ||
         has_global_hooks(kBackward);
}
bool has_call_hooks(const PyModule* o) {
  auto any = [&](Hooks kind) { return o->hooks[kind] && PyDict_GET_SIZE(o->hooks[kind]) > 0; };
  if (has_global_hooks()) [[unlikely]]
    return true;
  return o->hooks && (any(kForwardPre) || any(kForwardPost) || any(kBackward) || any(kBackwardPre));
}

PyObject* hooks_of(PyObject* self, Hooks kind) {
  PyModule* o = py_module(self);
  if (!o->hooks) o->hooks = static_cast<PyObject**>(PyMem_Calloc(kHookKinds, sizeof(PyObject*)));
  if (!o->hooks) return PyErr_NoMemory();
  if (!o->hooks[kind])
    return guarded(
        [&] { return o->hooks[kind] = nb::module_::import_("collections").attr("OrderedDict")().release().ptr(); });
  return o->hooks[kind];
}

void visit_own_tensors(nn::Module* m, const std::function<void(const Tensor&)>& visit) {
  m->visit([&](nn::Member& member) {
    if (member.tensor && *member.tensor) visit(*member.tensor);
    if (member.child && is_looked_through(member)) visit_own_tensors(member.child, visit);
  });
}

int initialize_module(PyObject* self, PyObject* args, PyObject* keywords) {
  const Py_ssize_t n = PyTuple_GET_SIZE(args) + (keywords ? PyDict_GET_SIZE(keywords) : 0);
  if (n > 0) {
    PyErr_Format(PyExc_TypeError, "%s.__init__() takes 1 positional argument but %zd were given",
                 Py_TYPE(self)->tp_name, n + 1);
    return -1;
  }
  try {
    if (!py_module(self)->m) attach(self, native_of(Py_TYPE(self)).blank());
  } catch (...) {
    set_python_error(std::current_exception());
    return -1;
  }
  return 0;
}

nn::Module& module_in(PyObject* self) {
  if (nn::Module* m = py_module(self)->m) return *m;
  throw nb::attribute_error("Module.__init__() was not called yet: begin __init__ with super().__init__()");
}

PyObject* wrap(nn::Module* m) {
  if (!m) Py_RETURN_NONE;
  nn::Module* owner = m->count.owner();
  PyObject* self = object_of(*m);
  if (self && !(owner && !py_module(self)->owner)) return Py_NewRef(self);
  if (!self) {
    const NativeType* native = native_of(*m);
    self = create(native ? native->type : module_type, nullptr, nullptr);
    if (!self) throw nb::python_error();
    if (PyObject* other = object_of(*m)) return Py_DECREF(self), Py_NewRef(other);  // the collector ran in between
    py_module(self)->m = m;
    if (owner) m->count.set_object(self);
    else m->count.transfer_to(self);
  }
  if (owner) py_module(self)->owner = wrap(owner);  // also where it lived on without Python: that reference is now ours
  m->visit([](nn::Member& member) {  // one that several C++ modules share is counted only if it has an object
    if (member.slot && member.child && !object_of(*member.child) && member.child->count.shared())
      Py_DECREF(wrap(member.child));
  });
  return self;
}

void attach(PyObject* self, const Ref<nn::Module>& m) {
  PyModule* o = py_module(self);
  if (!o->m) {
    check<ValueError>(!m->count.object() && !m->count.owner(), [] {
      return std::string("Module.__init__: expected a fresh module, got one that has an object");
    });
    o->m = m.get();
    m->count.transfer_to(self);
    return;
  }
  const nn::Module& fresh_one = *m;
  check<ValueError>(typeid(*o->m) == typeid(fresh_one), [&] {
    return m->type_name() + ".__init__: expected an object that is not yet a module, got a " + o->m->type_name();
  });
  std::vector<nn::Member> fresh;  // called again: its listed members are made again
  m->visit_members([&](nn::Member& member) { fresh.push_back(member); });
  o->m->visit_members([&](nn::Member& member) {
    const nn::Member& from = fresh[std::size_t(member.index)];
    o->m->restore_member(member.name, member.kind);
    if (member.slot) member.slot->set(Ref<nn::Module>::share(from.child));
    else if (member.tensor) *member.tensor = *from.tensor;
    else if (member.type && member.type->copy) member.type->copy(member.data, from.data);
  });
  m->visit([&](nn::Member& added) {
    if (added.index >= 0) return;
    const std::string name(added.name);
    o->m->remove_member(name);
    if (added.kind == nn::Member::module) o->m->register_module(name, Ref<nn::Module>::share(added.child));
    else o->m->add_tensor(added.kind, name, *added.tensor, added.persistent);
  });
}

void bind_module(nb::module_& nn) {
  connect_bridge();
  static PyGetSetDef properties[kHookKinds + 3] = {
      {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
      {"training", get_training, set_training, "Is it being trained? Dropout and batch normalisation ask.", nullptr}};
  for (std::intptr_t i = 0; i < kHookKinds; ++i)
    properties[i + 2] = {kHookNames[i], get_hooks, set_hooks, nullptr, reinterpret_cast<void*>(i)};
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(create)},
                         {Py_tp_init, reinterpret_cast<void*>(initialize_module)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                         {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(clear)},
                         {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
                         {Py_tp_call, reinterpret_cast<void*>(call_slot)},
                         {Py_tp_members, members},
                         {Py_tp_getset, properties},
                         {Py_tp_methods, methods},
                         {Py_tp_doc, const_cast<char*>(kDoc)},
                         {0, nullptr}};
  module_type = make_module_type("Module", nullptr, slots, Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL);
  const nb::handle cls(reinterpret_cast<PyObject*>(module_type));
  // As methods, not as slots: object.__setattr__(net, name, value) stays legal.
  for (PyMethodDef* d = attribute_methods; d->ml_name; ++d)
    cls.attr(d->ml_name) = nb::steal(PyDescr_NewMethod(module_type, d));
  bind_native(typeid(nn::Module), module_type, [] { return nn::make<nn::Module>(); });
  nn.attr("Module") = cls;
  bind_parameter(nn);
  bind_module_methods(nn);
  bind_module_members(nn);
  nn.def("_share_hooks", [](const nb::dict& by_name) {  // they live as long as the process
    for (int kind = 0; kind < kHookKinds; ++kind)
      if (by_name.contains(kHookNames[kind]))
        global_hooks[kind] = nb::object(by_name[kHookNames[kind]]).release().ptr();
  });
  nn.def("_seal", [] {  // all methods are there: what a class has in their place from now on is an override
    remember_natives();
  });
}

}  // namespace neura::python

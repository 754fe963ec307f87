// What a module has, and what is done to all of it. The rest of its methods is Python: python/neura/nn/module.py.
#include <unordered_set>

#include "module_parts.h"

namespace neura::python {
namespace {

using Seen = std::unordered_set<const void*>;

std::string join(const std::string& prefix, std::string_view name) {
  return prefix.empty() ? std::string(name) : prefix + '.' + std::string(name);
}

// The tree, depth first. A module that is met again is left out, unless everything is wanted under every name.
template <class F> void walk(nn::Module& m, const std::string& prefix, bool recurse, Seen* seen, const F& f) {
  if (seen && !seen->insert(&m).second) return;
  if (Py_EnterRecursiveCall(" in a module that contains itself")) throw nb::python_error();
  try {
    f(prefix, m);
    if (recurse)
      m.visit([&](nn::Member& member) {
        if (member.child) walk(*member.child, join(prefix, member.name), true, seen, f);
      });
  } catch (...) {
    Py_LeaveRecursiveCall();
    throw;
  }
  Py_LeaveRecursiveCall();
}

nb::object member_value(nn::Module& m, const nn::Member& member) {
  nb::object self = nb::steal(wrap(&m));
  Attribute* a = find_attribute(py_module(self.ptr()), nb::str(member.name.data(), member.name.size()).ptr());
  return nb::steal(get_value(py_module(self.ptr()), *a));
}

// Pairs of a name and a tensor.
nb::list tensors(nn::Module& self, nn::Member::Kind kind, const char* prefix, bool recurse, bool once) {
  nb::list out;
  Seen modules, seen;
  walk(self, prefix, recurse, once ? &modules : nullptr, [&](const std::string& path, nn::Module& m) {
    std::vector<nn::Member> own;  // making objects may run Python
    m.visit([&](nn::Member& member) {
      if (member.kind == kind && *member.tensor && (!once || seen.insert(member.tensor->impl()).second))
        own.push_back(member);
    });
    for (const nn::Member& member : own) out.append(nb::make_tuple(join(path, member.name), member_value(m, member)));
  });
  return out;
}

nb::list second(const nb::list& pairs) {
  nb::list out;
  for (nb::handle pair : pairs) out.append(nb::object(pair[1]));
  return out;
}

PyObject* iterator(const nb::list& l) { return PyObject_GetIter(l.ptr()); }

template <nn::Member::Kind kind> PyObject* named_tensors(PyObject* self, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"prefix", "recurse", "remove_duplicate", nullptr};
  const char* prefix = "";
  int recurse = 1, once = 1;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|spp", const_cast<char**>(names), &prefix, &recurse, &once))
    return nullptr;
  return guarded([&] { return iterator(tensors(module_in(self), kind, prefix, recurse, once)); });
}
template <nn::Member::Kind kind> PyObject* only_tensors(PyObject* self, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"recurse", nullptr};
  int recurse = 1;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|p", const_cast<char**>(names), &recurse)) return nullptr;
  return guarded([&] { return iterator(second(tensors(module_in(self), kind, "", recurse, true))); });
}

nb::list children_of(PyObject* self) {
  nb::list out;
  for (const auto& [name, m] : module_in(self).named_children())
    out.append(nb::make_tuple(name, nb::steal(wrap(m.get()))));
  return out;
}
PyObject* named_children(PyObject* self, PyObject*) {
  return guarded([&] { return iterator(children_of(self)); });
}
PyObject* children(PyObject* self, PyObject*) {
  return guarded([&] { return iterator(second(children_of(self))); });
}

PyObject* named_modules(PyObject* self, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"memo", "prefix", "remove_duplicate", nullptr};
  PyObject* memo = Py_None;
  const char* prefix = "";
  int once = 1;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|Osp", const_cast<char**>(names), &memo, &prefix, &once))
    return nullptr;
  return guarded([&] {
    nb::list out;
    Seen seen;
    if (memo != Py_None)
      for (nb::handle h : nb::borrow(memo))
        if (is_module(h.ptr())) seen.insert(py_module(h.ptr())->m);
    walk(module_in(self), prefix, true, once ? &seen : nullptr, [&](const std::string& path, nn::Module& m) {
      nb::object object = nb::steal(wrap(&m));
      if (memo != Py_None) nb::handle(memo).attr("add")(object);
      out.append(nb::make_tuple(path, object));
    });
    return iterator(out);
  });
}
PyObject* modules(PyObject* self, PyObject*) {
  return guarded([&] {
    nb::list out;
    Seen seen;
    walk(module_in(self), "", true, &seen, [&](const std::string&, nn::Module& m) { out.append(nb::steal(wrap(&m))); });
    return iterator(out);
  });
}

PyObject* train(PyObject* self, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"mode", nullptr};
  PyObject* mode = Py_True;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O:train", const_cast<char**>(names), &mode)) return nullptr;
  if (!PyBool_Check(mode)) {
    PyErr_SetString(PyExc_ValueError, "train: expected mode to be a bool; training mode is expected to be boolean");
    return nullptr;
  }
  return guarded([&] {
    module_in(self).set_training(mode == Py_True);
    return Py_NewRef(self);
  });
}
PyObject* eval(PyObject* self, PyObject*) {
  return guarded([&] { return nb::object(nb::handle(self).attr("train")(false)).release().ptr(); });
}

PyObject* zero_grad(PyObject* self, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"set_to_none", nullptr};
  int to_none = 1;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|p:zero_grad", const_cast<char**>(names), &to_none)) return nullptr;
  return guarded([&] {
    module_in(self).zero_grad(to_none);
    return Py_NewRef(Py_None);
  });
}
PyObject* set_requires_grad(PyObject* self, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"requires_grad", nullptr};
  int on = 1;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|p:requires_grad_", const_cast<char**>(names), &on)) return nullptr;
  return guarded([&] {
    module_in(self).requires_grad_(on);
    return Py_NewRef(self);
  });
}

PyObject* text(const std::string& s) { return PyUnicode_FromStringAndSize(s.data(), Py_ssize_t(s.size())); }
PyObject* extra_repr(PyObject* self, PyObject*) {
  return guarded([&] { return text(module_in(self).extra_repr()); });
}
PyObject* show(PyObject* self, PyObject*) {
  return guarded([&] { return text(module_in(self).text()); });
}
PyObject* get_name(PyObject* self, PyObject*) {
  const nn::Module* m = py_module(self)->m;
  if (m && Py_TYPE(self) == module_type) return text(m->type_name());
  return nb::object(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(self))).attr("__name__")).release().ptr();
}

#define WITH_KEYWORDS(f) reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f)), METH_VARARGS | METH_KEYWORDS
#define TENSORS "($self, prefix='', recurse=True, remove_duplicate=True)\n--\n\n"
PyMethodDef methods[] = {
    {"named_parameters", WITH_KEYWORDS(named_tensors<nn::Member::parameter>),
     "named_parameters" TENSORS "Pairs of a name such as 'layer.0.weight' and a parameter, each once."},
    {"parameters", WITH_KEYWORDS(only_tensors<nn::Member::parameter>),
     "parameters($self, recurse=True)\n--\n\nThe parameters, those of the modules inside too; each once."},
    {"named_buffers", WITH_KEYWORDS(named_tensors<nn::Member::buffer>),
     "named_buffers" TENSORS "Pairs of a name and a buffer, each once."},
    {"buffers", WITH_KEYWORDS(only_tensors<nn::Member::buffer>),
     "buffers($self, recurse=True)\n--\n\nThe buffers, those of the modules inside too; each once."},
    {"named_children", named_children, METH_NOARGS,
     "named_children($self)\n--\n\nPairs of a name and a module, of those directly inside."},
    {"children", children, METH_NOARGS, "children($self)\n--\n\nThe modules directly inside."},
    {"named_modules", WITH_KEYWORDS(named_modules),
     "named_modules($self, memo=None, prefix='', remove_duplicate=True)\n--\n\n"
     "Pairs of a name and a module: itself first, then depth-first; each once."},
    {"modules", modules, METH_NOARGS, "modules($self)\n--\n\nItself and all modules inside, depth-first; each once."},
    {"train", WITH_KEYWORDS(train),
     "train($self, mode=True)\n--\n\nSwitches it and all modules inside to training (or evaluation); returns itself."},
    {"eval", eval, METH_NOARGS, "eval($self)\n--\n\nThe same as train(False)."},
    {"zero_grad", WITH_KEYWORDS(zero_grad),
     "zero_grad($self, set_to_none=True)\n--\n\nForgets the gradients of all parameters, or fills them with zeros."},
    {"requires_grad_", WITH_KEYWORDS(set_requires_grad),
     "requires_grad_($self, requires_grad=True)\n--\n\nDo its parameters require a gradient? Returns itself."},
    {"extra_repr", extra_repr, METH_NOARGS,
     "extra_repr($self)\n--\n\nWhat is printed between the brackets; define it for a layer of your own."},
    {"__repr__", show, METH_NOARGS, "__repr__($self)\n--\n\nThe tree of modules, a line for each."},
    {"_get_name", get_name, METH_NOARGS, "_get_name($self)\n--\n\nThe name that is printed."},
    {}};

}  // namespace

void bind_module_methods(nb::module_&) {
  const nb::handle cls(reinterpret_cast<PyObject*>(module_type));
  for (PyMethodDef* d = methods; d->ml_name; ++d) cls.attr(d->ml_name) = nb::steal(PyDescr_NewMethod(module_type, d));
}

}  // namespace neura::python

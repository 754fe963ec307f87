// Calls: from Python without boxing; through C++ hooks and from C++, boxed.
#include "module_parts.h"
#include "overrides.h"

#include <cstring>

#include "neura/op/launch.h"

namespace neura::python {
namespace {

// Tensors that C++ reads and that Python keeps elsewhere, such as a property or a buffer in the place of a parameter:
// they are put where C++ looks for them, as long as the call lasts.
class Filled {
 public:
  Filled(PyObject* self, nn::Module& m) {
    if (!m.has_removed()) return;
    m.visit_removed([&](nn::Member& member) {
      if (!member.tensor) return false;
      const std::string name(member.name);
      nb::object value = nb::steal(PyObject_GetAttrString(self, name.c_str()));
      if (!value.is_valid()) PyErr_Clear();
      else if (is_tensor(value.ptr())) *member.tensor = tensor_in(value.ptr()), filled_.push_back(member.tensor);
      return false;
    });
  }
  ~Filled() {
    for (Tensor* t : filled_) *t = Tensor();
  }
  Filled(const Filled&) = delete;

 private:
  std::vector<Tensor*> filled_;
};

// To C++ a Size is the tuple that it is; elsewhere it stays the object that it was.
nn::Value argument(PyObject* o) {
  if (!PyTuple_Check(o) || std::strcmp(Py_TYPE(o)->tp_name, "neura.Size") != 0) return to_value(o);
  return to_value(nb::tuple(nb::list(nb::handle(o))).ptr());
}
nn::Args to_args(PyObject* const* args, Py_ssize_t n, PyObject* names) {
  nn::Args a;
  for (Py_ssize_t i = 0; i < n; ++i) a.positional.push_back(argument(args[i]));
  if (names)
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i)
      a.named.emplace_back(nb::cast<std::string>(nb::handle(PyTuple_GET_ITEM(names, i))), argument(args[n + i]));
  return a;
}

// f(self, *args) without a bound method and without a tuple.
PyObject* call_with_self(PyObject* f, PyObject* self, PyObject* const* args, std::size_t flagged, PyObject* names) {
  const Py_ssize_t n = PyVectorcall_NARGS(flagged);
  if (flagged & PY_VECTORCALL_ARGUMENTS_OFFSET) {
    auto** place = const_cast<PyObject**>(args) - 1;
    PyObject* before = std::exchange(*place, self);
    PyObject* r = PyObject_Vectorcall(f, place, std::size_t(n) + 1, names);
    *place = before;
    return r;
  }
  std::vector<PyObject*> all{self};
  all.insert(all.end(), args, args + n + (names ? PyTuple_GET_SIZE(names) : 0));
  return PyObject_Vectorcall(f, all.data(), std::size_t(n) + 1, names);
}

PyObject* call_forward(PyObject* self, PyObject* const* args, std::size_t flagged, PyObject* names) {
  static PyObject* forward = PyUnicode_InternFromString("forward");
  PyModule* o = py_module(self);
  const std::uint8_t mask = overrides(o);
  o->instance = o->dict && PyDict_GET_SIZE(o->dict) > 0 && PyDict_Contains(o->dict, forward) == 1;
  if (!o->instance) {
    if (!(mask & nn::kForward)) return native_forward(self, args, PyVectorcall_NARGS(flagged), names);
    if (o->forward && PyType_HasFeature(Py_TYPE(o->forward), Py_TPFLAGS_METHOD_DESCRIPTOR)) {
      const nb::object f = nb::borrow(o->forward);
      return call_with_self(f.ptr(), self, args, flagged, names);
    }
  }
  nb::object f = nb::steal(PyObject_GetAttr(self, forward));
  return f.is_valid() ? PyObject_Vectorcall(f.ptr(), args, flagged, names) : nullptr;
}

// Ids and functions, those of every module first; a hook may remove itself.
nb::list hooks_now(PyModule* o, Hooks kind) {
  nb::list all = has_global_hooks(kind) ? list_of_new(PyMapping_Items(global_hooks[kind])) : nb::list();
  if (PyObject* d = o->hooks ? o->hooks[kind] : nullptr) all.extend(list_of_new(PyMapping_Items(d)));
  return all;
}
bool marked(PyModule* o, Hooks kind, nb::handle id) {
  const auto in = [&](PyObject* d) { return d && PyDict_Contains(d, id.ptr()) == 1; };
  return in(o->hooks ? o->hooks[kind] : nullptr) || in(global_hooks[kind]);
}

// The hooks of Python around forward.
struct HookedCall {
  PyObject* self;
  PyModule* o;
  nb::object args;
  nb::dict keywords;
  nb::object result = nb::none();

  HookedCall(PyObject* s, PyObject* const* a, Py_ssize_t n, PyObject* names) : self(s), o(py_module(s)) {
    args = nb::steal(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(args.ptr(), i, Py_NewRef(a[i]));
    if (names)
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i)
        keywords[nb::handle(PyTuple_GET_ITEM(names, i))] = nb::handle(a[n + i]);
  }

  void before() {
    if (has_global_hooks()) family_ = nb::list(nb::handle(self).attr("modules")());
    for (nb::handle item : hooks_now(o, kForwardPre)) {
      nb::handle id = item[0], f = item[1];
      if (!marked(o, kForwardPreKwargs, id)) {
        nb::object r = f(nb::handle(self), args);
        if (!r.is_none()) args = PyTuple_Check(r.ptr()) ? r : nb::object(nb::make_tuple(r));
        continue;
      }
      nb::object r = f(nb::handle(self), args, keywords);
      if (r.is_none()) continue;
      if (!PyTuple_Check(r.ptr()) || PyTuple_GET_SIZE(r.ptr()) != 2) {
        PyErr_Format(PyExc_RuntimeError,
                     "forward pre-hook: expected None or a tuple of (new_args, new_kwargs), got %R; return one of them",
                     r.ptr());
        throw nb::python_error();
      }
      args = nb::object(r[0]);
      if (!PyTuple_Check(args.ptr())) args = nb::make_tuple(args);
      keywords = nb::cast<nb::dict>(nb::object(r[1]));
    }
  }

  void run() {
    const std::size_t n = std::size_t(PyTuple_GET_SIZE(args.ptr())), k = nb::len(keywords);
    std::vector<PyObject*> all{nullptr};
    for (std::size_t i = 0; i < n; ++i) all.push_back(PyTuple_GET_ITEM(args.ptr(), Py_ssize_t(i)));
    nb::object names = k ? nb::steal(PyTuple_New(Py_ssize_t(k))) : nb::object();
    std::size_t i = 0;
    for (auto [name, value] : keywords) {
      all.push_back(value.ptr());
      PyTuple_SET_ITEM(names.ptr(), Py_ssize_t(i++), Py_NewRef(name.ptr()));
    }
    result = nb::steal(call_forward(self, all.data() + 1, n | PY_VECTORCALL_ARGUMENTS_OFFSET, names.ptr()));
    if (!result.is_valid()) throw nb::python_error();
  }

  nb::object one(nb::handle id, nb::handle f) {
    if (marked(o, kForwardPostKwargs, id)) return f(nb::handle(self), args, keywords, result);
    return f(nb::handle(self), args, result);
  }

  void after() {
    for (nb::handle item : hooks_now(o, kForwardPost)) {
      if (marked(o, kForwardAlways, item[0])) called_.append(item[0]);
      nb::object r = one(item[0], item[1]);
      if (!r.is_none()) result = r;
    }
  }

  // Hooks that want to be called after a failure too: what goes wrong in them is reported, the first error is raised.
  void after_failure() {
    result = nb::none();
    for (nb::handle item : hooks_now(o, kForwardPost)) {
      nb::object id = item[0], f = item[1];
      if (!marked(o, kForwardAlways, id) || PySequence_Contains(called_.ptr(), id.ptr()) == 1) continue;
      try {
        one(id, f);
      } catch (nb::python_error& e) {
        e.discard_as_unraisable(f);
      }
    }
  }

  nb::object all() {
    try {
      before();
      run();
      after();
    } catch (...) {
      after_failure();
      throw;
    }
    return std::move(result);
  }

 private:
  nb::list called_;
  nb::list family_;  // objects of the modules within, without which C++ would pass by the hooks of every module
};

// Launches that repeat may begin where a module is called that no other one calls.
class OutermostCall {
 public:
  OutermostCall() {
    if (!depth_++) launch_boundary();
  }
  OutermostCall(const OutermostCall&) = delete;
  ~OutermostCall() { --depth_; }

 private:
  static thread_local int depth_;
};
thread_local int OutermostCall::depth_ = 0;

PyObject* call_here(PyObject* self, PyObject* const* args, std::size_t flagged, PyObject* names) {
  const OutermostCall call;
  nn::Module& m = module_in(self);
  if (!has_call_hooks(py_module(self)) && !m.hooked()) [[likely]]
    return call_forward(self, args, flagged, names);
  connect_backward(self);
  if (!m.hooked()) return HookedCall(self, args, PyVectorcall_NARGS(flagged), names).all().release().ptr();
  const nn::Value r = m.call_hooked(to_args(args, PyVectorcall_NARGS(flagged), names), [&](const nn::Args& a) {
    const nb::gil_scoped_acquire gil;
    HookedCall call(self, nullptr, 0, nullptr);
    nb::list positional;
    for (const nn::Value& v : a.positional) positional.append(from_value(v));
    call.args = nb::tuple(positional);
    for (const auto& [name, v] : a.named) call.keywords[nb::str(name.data(), name.size())] = from_value(v);
    return to_value(call.all().ptr());
  });
  return from_value(r).release().ptr();
}

}  // namespace

PyObject* native_forward(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return guarded([&]() -> PyObject* {
    if (overriding) [[unlikely]] {
      PyObject* r = nullptr;
      const nb::object forward = nb::handle(self).attr("forward");
      if (overridden(forward.ptr(), args, std::size_t(n), names, r)) return r;
    }
    nn::Module& m = module_in(self);
    const Filled filled(self, m);
    if (n == 1 && !names && is_tensor(args[0])) {
      const nn::Value r = m.forward_one(tensor_in(args[0]));
      const Tensor* t = r.get<Tensor>();
      return t ? wrap(*t) : from_value(r).release().ptr();
    }
    return from_value(m.forward_boxed(to_args(args, n, names))).release().ptr();
  });
}

// What obj(...) reaches. A class with a __call__ of its own comes here only through the flag that it inherited.
PyObject* call_module(PyObject* self, PyObject* const* args, std::size_t flagged, PyObject* names) {
  return guarded([&]() -> PyObject* {
    if (!(overrides(py_module(self)) & kCall)) [[likely]]
      return call_here(self, args, flagged, names);
    nb::object f = nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(self))).attr("__call__");
    return call_with_self(f.ptr(), self, args, flagged, names);
  });
}

// Module.__call__(self, ...), and super().__call__(...).
PyObject* call_slot(PyObject* self, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    std::vector<PyObject*> all{nullptr};
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) all.push_back(PyTuple_GET_ITEM(args, i));
    const std::size_t n = all.size() - 1;
    nb::object names;
    if (keywords && PyDict_GET_SIZE(keywords) > 0) {
      names = nb::steal(PyTuple_New(PyDict_GET_SIZE(keywords)));
      PyObject *key, *value;
      Py_ssize_t k = 0;
      for (Py_ssize_t i = 0; PyDict_Next(keywords, &i, &key, &value);) {
        all.push_back(value);
        PyTuple_SET_ITEM(names.ptr(), k++, Py_NewRef(key));
      }
    }
    return call_here(self, all.data() + 1, n | PY_VECTORCALL_ARGUMENTS_OFFSET, names.ptr());
  });
}

nn::Value call_from_cpp(nn::Module& m, const nn::Args& a) {
  const nb::gil_scoped_acquire gil;
  const nb::object self = nb::borrow(object_of(m));
  std::vector<nb::object> values;
  std::vector<PyObject*> all{nullptr};
  auto add = [&](const nn::Value& v) { all.push_back(values.emplace_back(from_value(v)).ptr()); };
  for (const nn::Value& v : a.positional) add(v);
  nb::object names;
  if (!a.named.empty()) {
    names = nb::steal(PyTuple_New(Py_ssize_t(a.named.size())));
    for (std::size_t i = 0; i < a.named.size(); ++i) {
      add(a.named[i].second);
      PyTuple_SET_ITEM(names.ptr(), Py_ssize_t(i), nb::str(a.named[i].first.c_str()).release().ptr());
    }
  }
  const nb::object r = nb::steal(PyObject_Vectorcall(
      self.ptr(), all.data() + 1, a.positional.size() | PY_VECTORCALL_ARGUMENTS_OFFSET, names.ptr()));
  if (!r.is_valid()) throw nb::python_error();
  return to_value(r.ptr());
}

}  // namespace neura::python

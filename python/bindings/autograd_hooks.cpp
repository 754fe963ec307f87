// Hooks on tensors, on nodes and on what is saved for backward; checkpoints.
#include <algorithm>

#include "neura/autograd/anomaly.h"
#include "neura/autograd/function.h"
#include "nodes.h"

namespace neura::python {
namespace {

PyObject* stop_type;  // how StopRecomputation passes through Python

std::shared_ptr<PyObject> weakly(nb::handle o) { return held(nb::steal(PyWeakref_NewRef(o.ptr(), nullptr))); }

nb::object referent(PyObject* weak) {  // None if it is gone
#if PY_VERSION_HEX >= 0x030D0000
  PyObject* o = nullptr;
  return PyWeakref_GetRef(weak, &o) > 0 ? nb::steal(o) : nb::none();
#else
  return nb::borrow(PyWeakref_GetObject(weak));
#endif
}

HookHandle register_hook_on(nb::handle self, nb::handle f) {
  if (!is_tensor(self.ptr())) throw nb::type_error("register_hook: expected a tensor");
  if (!PyCallable_Check(f.ptr())) throw nb::type_error("register_hook: expected a callable");
  HookHandle h = register_hook(tensor_in(self.ptr()), PythonHook{held(f), {}});
  track_history(self.ptr());
  return h;
}
HookHandle register_accumulated(nb::handle self, nb::handle f) {
  if (!is_tensor(self.ptr())) throw nb::type_error("register_post_accumulate_grad_hook: expected a tensor");
  if (!PyCallable_Check(f.ptr())) throw nb::type_error("register_post_accumulate_grad_hook: expected a callable");
  HookHandle h = register_post_accumulate_grad_hook(tensor_in(self.ptr()), PythonHook{held(f), weakly(self)});
  track_history(self.ptr());
  return h;
}

// What a hook of a node gave replaces what it saw.
void replace(Tensor* tensors, int n, nb::handle given, const char* what) {
  if (given.is_none()) return;
  const bool many = PyTuple_Check(given.ptr()) || PyList_Check(given.ptr());
  const nb::tuple all = many ? nb::tuple(nb::borrow(given)) : nb::make_tuple(given);
  check<ValueError>(int(all.size()) == n, [&] {
    return std::string(what) + ": expected the hook to give None or " + std::to_string(n) + " gradients, got " +
           std::to_string(all.size());
  });
  for (int i = 0; i < n; ++i) {
    Tensor t = tensor_or_none(all[std::size_t(i)], what);
    check<ShapeError>(!t || !tensors[i] || t.spec().same_shape(tensors[i].spec()), [&] {
      return std::string(what) + ": expected a gradient like " + tensors[i].spec().str() + ", got " + t.spec().str();
    });
    tensors[i] = std::move(t);
  }
}

struct PythonPacked final : Packed {
  std::shared_ptr<PyObject> value, unpack_with;
  PythonPacked(std::shared_ptr<PyObject> v, std::shared_ptr<PyObject> u)
      : value(std::move(v)), unpack_with(std::move(u)) {}
  Tensor unpack() override {
    nb::gil_scoped_acquire gil;
    const nb::object t = nb::handle(unpack_with.get())(nb::handle(value.get()));
    if (!is_tensor(t.ptr())) throw nb::type_error("saved_tensors_hooks: expected the unpack hook to give a tensor");
    return tensor_in(t.ptr());
  }
};
struct PythonSavedHooks final : SavedHooks {
  std::shared_ptr<PyObject> pack_with, unpack_with;
  std::unique_ptr<Packed> pack(const Tensor& t) override {
    nb::gil_scoped_acquire gil;
    const nb::object value = nb::handle(pack_with.get())(nb::steal(wrap(t)));
    return std::make_unique<PythonPacked>(held(value), unpack_with);
  }
};
thread_local std::vector<std::unique_ptr<PythonSavedHooks>> pushed;

void push_saved_hooks(nb::handle pack, nb::handle unpack) {
  auto hooks = std::make_unique<PythonSavedHooks>();
  hooks->pack_with = held(pack), hooks->unpack_with = held(unpack);
  hooks->push();
  pushed.push_back(std::move(hooks));
}
void pop_saved_hooks() {
  if (pushed.empty() || SavedHooks::top() != pushed.back().get()) return;
  SavedHooks::pop();
  pushed.pop_back();
}

// call(tensors) runs the function, with the tensors among its arguments replaced. The first run's result is the answer.
nb::object checkpoint_of(nb::handle call, const std::vector<Tensor>& tensors, bool preserve, bool check, bool early) {
  struct Body {
    std::shared_ptr<PyObject> call;
    nb::object* first;
    void run(const std::vector<Tensor>& in) {
      nb::gil_scoped_acquire gil;
      nb::object* mine = std::exchange(first, nullptr);
      try {
        nb::object result = nb::handle(call.get())(tuple_of(in));
        if (mine) *mine = std::move(result);
      } catch (nb::python_error& e) {
        if (e.matches(stop_type)) throw StopRecomputation();
        throw;
      }
    }
  };
  nb::object first;
  const auto body = std::make_shared<Body>(Body{held(call), &first});
  const auto run = [body](const std::vector<Tensor>& in) { return body->run(in), std::vector<Tensor>(); };
  checkpoint(run, tensors, {preserve, check, early});
  return first;
}

std::string stack() {
  if (!Py_IsInitialized()) return {};
  nb::gil_scoped_acquire gil;
  try {
    const auto lines = nb::borrow<nb::list>(nb::module_::import_("traceback").attr("format_stack")());
    std::string text;
    const std::size_t n = lines.size(), most = 6;
    for (std::size_t i = n > most ? n - most : 0; i < n; ++i) text += nb::cast<std::string>(lines[i]);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  } catch (nb::python_error&) {
    return {};
  }
}

}  // namespace

Tensor PythonHook::operator()(const Tensor& g) const {
  nb::gil_scoped_acquire gil;
  const nb::object r = nb::handle(callable.get())(nb::steal(wrap(g)));
  if (r.is_none()) return {};
  if (!is_tensor(r.ptr())) throw nb::type_error("register_hook: expected the hook to give a tensor or None");
  return tensor_in(r.ptr());
}
void PythonHook::operator()(Tensor&) const {
  nb::gil_scoped_acquire gil;
  const nb::object t = referent(subject.get());
  if (!t.is_none()) nb::handle(callable.get())(t);
}
void PythonHook::operator()(Tensor* grads, int n) const {
  nb::gil_scoped_acquire gil;
  replace(grads, n, nb::handle(callable.get())(tuple_from(grads, n)), "register_prehook");
}
void PythonHook::operator()(Tensor* results, int n, const Tensor* grads, int grads_n) const {
  nb::gil_scoped_acquire gil;
  if (last_first) std::rotate(results, results + n - 1, results + n);
  replace(results, n, nb::handle(callable.get())(tuple_from(results, n), tuple_from(grads, grads_n)), "register_hook");
  if (last_first) std::rotate(results, results + 1, results + n);
}

std::shared_ptr<PyObject> held(nb::handle o) {
  return {o.inc_ref().ptr(), [](PyObject* p) {
            if (!Py_IsInitialized()) return;
            nb::gil_scoped_acquire gil;
            Py_DECREF(p);
          }};
}
nb::object tuple_from(const Tensor* tensors, int n) {
  nb::list l;
  for (int i = 0; i < n; ++i) l.append(nb::steal(wrap(tensors[i])));
  return nb::tuple(l);
}
Tensor tensor_or_none(nb::handle o, const char* what) {
  if (o.is_none()) return {};
  if (!is_tensor(o.ptr()))
    throw nb::type_error((std::string(what) + ": expected tensors or None, got " + Py_TYPE(o.ptr())->tp_name).c_str());
  return tensor_in(o.ptr());
}

void bind_hooks(const Names& n) {
  stop_type = PyErr_NewException("neura.errors._StopRecomputation", PyExc_BaseException, nullptr);
  if (!stop_type) throw nb::python_error();
  stop_recomputation = stop_type;
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const StopRecomputation&) {
      PyErr_SetNone(stop_type);
    }
  });
  call_site = stack;
  nb::class_<HookHandle>(nb::module_(n.functions), "RemovableHandle", "What takes a hook away again.")
      .def("remove", &HookHandle::remove, "The hook is not called any more. Twice is no mistake.")
      .def(
          "__enter__", [](nb::object self) { return self; }, "Itself.")
      .def(
          "__exit__", [](HookHandle& h, nb::args) { h.remove(); }, "Removes the hook.");
  n.method("register_hook", &register_hook_on, "self"_a, "hook"_a,
           "Calls hook(grad) when the gradient of this tensor is complete, in each backward.\n\nA tensor that the hook "
           "gives replaces the gradient. Returns a handle with remove(). Raises AutogradError if the tensor needs no "
           "gradient.");
  n.method("register_post_accumulate_grad_hook", &register_accumulated, "self"_a, "hook"_a,
           "Calls hook(tensor) once per backward, after .grad of this leaf is complete.\n\nReturns a handle with "
           "remove(). Raises AutogradError if the tensor is no leaf that requires a gradient.");
  n.function("_push_saved_hooks", &push_saved_hooks);
  n.function("_pop_saved_hooks", &pop_saved_hooks);
  n.function("_checkpoint", &checkpoint_of);
}

}  // namespace neura::python

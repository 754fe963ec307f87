// Backward hooks of Python: C++ sees to it that they are called, and finds them in the module's dictionaries.
#include "module_parts.h"

namespace neura::python {
namespace {

nb::tuple grads_of(const std::vector<Tensor>& grads) { return tuple_of(grads); }

// What a hook returned in the place of `grads`: a tuple of as many, or one where there is one.
void replace(std::vector<Tensor>& grads, nb::handle result, const char* what) {
  if (result.is_none()) return;
  nb::tuple given = PyTuple_Check(result.ptr()) ? nb::borrow<nb::tuple>(result) : nb::make_tuple(result);
  if (given.size() != grads.size()) {
    PyErr_Format(PyExc_RuntimeError, "%s: expected a hook to return %zu gradients, got %zu; give None for the rest",
                 what, grads.size(), given.size());
    throw nb::python_error();
  }
  for (std::size_t i = 0; i < grads.size(); ++i) {
    nb::object g = given[i];
    if (!g.is_none() && !is_tensor(g.ptr())) throw nb::type_error("backward hook: expected tensors or None");
    grads[i] = g.is_none() ? Tensor() : tensor_in(g.ptr());
  }
}

nb::list hooks_now(nn::Module& m, Hooks kind) {  // those of every module first
  PyObject** hooks = py_module(object_of(m))->hooks;
  nb::list all = global_hooks[kind] ? list_of_new(PyMapping_Values(global_hooks[kind])) : nb::list();
  if (hooks && hooks[kind]) all.extend(list_of_new(PyMapping_Values(hooks[kind])));
  return all;
}

void run_backward(nn::Module& m, std::vector<Tensor>& grad_input, const std::vector<Tensor>& grad_output) {
  const nb::gil_scoped_acquire gil;
  const nb::handle self(object_of(m));
  for (nb::handle f : hooks_now(m, kBackward))
    replace(grad_input, nb::object(f(self, grads_of(grad_input), grads_of(grad_output))), "full backward hook");
}

void run_backward_pre(nn::Module& m, std::vector<Tensor>& grad_output) {
  const nb::gil_scoped_acquire gil;
  const nb::handle self(object_of(m));
  for (nb::handle f : hooks_now(m, kBackwardPre))
    replace(grad_output, nb::object(f(self, grads_of(grad_output))), "full backward pre-hook");
}

}  // namespace

void connect_backward(PyObject* self) {
  PyModule* o = py_module(self);
  auto any = [&](Hooks kind) {
    return has_global_hooks(kind) || (o->hooks && o->hooks[kind] && PyDict_GET_SIZE(o->hooks[kind]) > 0);
  };
  auto change = [&](std::uint64_t& id, bool wanted, auto add) {
    if (wanted && !id) id = add();
    else if (!wanted && id) o->m->remove_hook(std::exchange(id, 0));
  };
  change(o->backward, any(kBackward), [&] { return o->m->register_full_backward_hook(run_backward); });
  change(o->backward_pre, any(kBackwardPre), [&] { return o->m->register_full_backward_pre_hook(run_backward_pre); });
}

}  // namespace neura::python

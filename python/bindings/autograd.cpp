// Gradients, the modes of recording, hooks, and the attributes of a tensor.
#include "common.h"

#include <nanobind/stl/function.h>

namespace neura::python {
namespace {

void property(const char* name, nb::object get, nb::object set = nb::none()) {
  nb::object p = nb::handle(reinterpret_cast<PyObject*>(&PyProperty_Type))(get, set);
  if (PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), name, p.ptr())) throw nb::python_error();
}
template <class F> nb::object getter(F&& f) { return nb::cpp_function(std::forward<F>(f)); }

// None, a tensor, or a sequence of both; None is an undefined tensor.
std::vector<Tensor> list_of(nb::handle h, const char* op) {
  std::vector<Tensor> v;
  if (h.is_none()) return v;
  if (is_tensor(h.ptr())) return {tensor_in(h.ptr())};
  for (nb::handle e : nb::iter(h)) {
    if (!e.is_none() && !is_tensor(e.ptr())) throw nb::type_error((std::string(op) + ": expected tensors").c_str());
    v.push_back(e.is_none() ? Tensor() : tensor_in(e.ptr()));
  }
  return v;
}

nb::object grad_of(nb::handle outputs, nb::handle inputs, nb::handle gradients, std::optional<bool> retain_graph,
                   bool create_graph, std::optional<bool> allow_unused, bool materialize) {
  const std::vector<Tensor> out = list_of(outputs, "grad"), in = list_of(inputs, "grad");
  std::vector<Tensor> result = grad(out, in, list_of(gradients, "grad"),
                                    {.retain_graph = retain_graph.value_or(create_graph),
                                     .create_graph = create_graph,
                                     .allow_unused = allow_unused.value_or(materialize)});
  for (std::size_t i = 0; materialize && i < result.size(); ++i)
    if (!result[i]) result[i] = zeros_like(in[i]);
  return tuple_of(result);
}
void backward_of(nb::handle tensors, nb::handle gradients, std::optional<bool> retain_graph, bool create_graph,
                 nb::handle inputs) {
  check<NotImplementedError>(inputs.is_none(), [] {
    return std::string("backward: expected inputs to be None; use autograd.grad for the gradients of some tensors");
  });
  backward(list_of(tensors, "backward"), list_of(gradients, "backward"),
           {.retain_graph = retain_graph.value_or(create_graph), .create_graph = create_graph});
}

HookHandle hook(const Tensor& t, nb::handle f) {
  return register_hook(t, [f = shared(f)](const Tensor& g) {
    nb::gil_scoped_acquire gil;
    nb::object r = nb::handle(f.get())(nb::steal(wrap(g)));
    if (r.is_none()) return Tensor();
    if (!is_tensor(r.ptr())) throw nb::type_error("register_hook: expected the hook to give a tensor or None");
    return tensor_in(r.ptr());
  });
}

// Modes nest, so that each object keeps what it found: a stack of the modes entered and not yet left.
struct ModeStack {
  std::vector<std::unique_ptr<NoGrad>> grad;
  std::vector<std::unique_ptr<InferenceMode>> inference;
};
thread_local ModeStack modes;

void bind_modes(const Names& n) {
  n.function("_enter_grad", [](bool on) { modes.grad.push_back(std::make_unique<NoGrad>(!on)); });
  n.function("_leave_grad", [] {
    if (!modes.grad.empty()) modes.grad.pop_back();
  });
  n.function("_enter_inference", [](bool on) { modes.inference.push_back(std::make_unique<InferenceMode>(on)); });
  n.function("_leave_inference", [] {
    if (!modes.inference.empty()) modes.inference.pop_back();
  });
  n.function("is_grad_enabled", &is_grad_enabled);
  n.function("_set_grad_enabled", &set_grad_enabled);
  n.function("is_inference_mode_enabled", &is_inference_mode_enabled);
}

void bind_attributes() {
  property("shape", getter([](const Tensor& t) { return nb::steal(size_of_shape(t.shape())); }));
  property("dtype", getter([](const Tensor& t) { return t.dtype(); }));
  property("device", getter([](const Tensor& t) { return t.device(); }));
  property("ndim", getter([](const Tensor& t) { return t.dim(); }));
  property("itemsize", getter([](const Tensor& t) { return size_of(t.dtype()); }));
  property("nbytes", getter([](const Tensor& t) { return t.nbytes(); }));
  property("requires_grad", getter([](const Tensor& t) { return t.requires_grad(); }),
           getter([](Tensor& t, bool on) { t.requires_grad_(on); }));
  property("grad", getter([](const Tensor& t) { return t.grad(); }),
           nb::cpp_function([](Tensor& t, const Tensor& g) { t.set_grad(g); }, "self"_a, "grad"_a.none()));
  property("is_leaf", getter([](const Tensor& t) { return t.is_leaf(); }));
  property("grad_fn", getter([](const Tensor& t) -> nb::object {
             const char* made = t.grad_fn();
             if (!made) return nb::none();
             return nb::str(made);
           }));
  property("_base", getter([](const Tensor& t) {
             TensorImpl* base = t.impl()->base;
             return base ? Tensor(Ref<TensorImpl>::share(base)) : Tensor();
           }));
  property("_version", getter([](const Tensor& t) { return t.version(); }));
  property("is_cpu", getter([](const Tensor& t) { return t.device().is_cpu(); }));
  property("is_cuda", getter([](const Tensor& t) { return t.device().is_cuda(); }));
  property("data", getter([](const Tensor& t) { return t.detach(); }));
  property("T", getter([](const Tensor& t) {
             Dims order;
             for (int i = t.dim(); i-- > 0;) order.push_back(i);
             return permute(t, order);
           }));
  property("mT", getter([](const Tensor& t) { return mT(t); }));
  property("H", getter([](const Tensor& t) {
             check<ShapeError>(t.dim() == 2 || t.dim() == 0, [&] {
               return "H: expected a matrix, got shape " + t.shape().str() + "; use mH for batches";
             });
             return t.dim() == 0 ? conj(t) : conj(mT(t));
           }));
  property("mH", getter([](const Tensor& t) { return conj(mT(t)); }));
  property("real", getter([](const Tensor& t) { return real(t); }));
  property("imag", getter([](const Tensor& t) { return imag(t); }));
}

}  // namespace

void bind_autograd(const Names& n) {
  nb::class_<HookHandle>(nb::module_(n.functions), "RemovableHandle", "What takes a hook away again.")
      .def("remove", &HookHandle::remove);
  bind_attributes();
  bind_modes(n);
  n.function("_grad", &grad_of, "outputs"_a, "inputs"_a, "grad_outputs"_a = nb::none(), "retain_graph"_a = nb::none(),
             "create_graph"_a = false, "allow_unused"_a = nb::none(), "materialize_grads"_a = false);
  n.function("_backward", &backward_of, "tensors"_a, "grad_tensors"_a = nb::none(), "retain_graph"_a = nb::none(),
             "create_graph"_a = false, "inputs"_a = nb::none());
  n.method("backward", &backward_of, "self"_a, "gradient"_a = nb::none(), "retain_graph"_a = nb::none(),
           "create_graph"_a = false, "inputs"_a = nb::none());
  n.method(
      "requires_grad_",
      [](nb::object self, bool on) {
        if (!is_tensor(self.ptr())) throw nb::type_error("requires_grad_: expected a tensor");
        tensor_in(self.ptr()).requires_grad_(on);
        return self;
      },
      "self"_a, "requires_grad"_a = true);
  n.method("retain_grad", [](Tensor& t) { t.retain_grad(); });
  n.method("register_hook", &hook, "self"_a, "hook"_a);
  n.method("detach", [](const Tensor& t) { return t.detach(); });
  n.method("detach_", [](const Tensor& t) {
    check<NotImplementedError>(t.is_leaf(), [] {
      return std::string("detach_: expected a leaf; use detach() for the result of an operation");
    });
    return t;
  });
}

}  // namespace neura::python

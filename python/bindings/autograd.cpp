// Gradients, the modes of recording, hooks, and the attributes of a tensor.
#include "neura/autograd/anomaly.h"
#include "neura/autograd/vmap.h"
#include "neura/core/meta.h"
#include "neura/core/wrapped.h"
#include "neura/nn/parameter.h"
#include "neura/ops/shape/join.h"
#include "nodes.h"
#include "overrides.h"

namespace neura::python {

void bind_levels(const Names&);

namespace {

void property(const char* name, nb::object get, nb::object set = nb::none()) {
  nb::object p = nb::handle(reinterpret_cast<PyObject*>(&PyProperty_Type))(get, set);
  if (PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), name, p.ptr())) throw nb::python_error();
}
template <class F> nb::object getter(F&& f) { return nb::cpp_function(std::forward<F>(f)); }

// An attribute that is a tensor. To those who override functions it is the function Tensor.<name>.__get__, as in torch,
// so that what a subclass has there is of its class.
template <class F> void computed(const char* name, F&& f, nb::object set = nb::none()) {
  const auto get = [name, f](nb::handle self) {
    if (!is_tensor(self.ptr())) throw nb::type_error((std::string(name) + ": expected a tensor").c_str());
    PyObject* result = nullptr;
    if (!overriding || !overridden_attribute(name, self.ptr(), result)) result = wrap(f(tensor_in(self.ptr())));
    if (!result) throw nb::python_error();
    return nb::steal(result);
  };
  property(name, getter(get), set);
}

// None, a tensor or an edge, or a sequence of them and, if `gaps`, of None, which is an undefined tensor.
std::vector<Tensor> list_of(nb::handle h, const char* op, bool gaps = false) {
  std::vector<Tensor> v;
  if (h.is_none()) return v;
  if (is_tensor(h.ptr())) return {tensor_in(h.ptr())};
  if (is_edge(h)) return {at_edge(h)};
  for (nb::handle e : nb::iter(h)) {
    if (is_tensor(e.ptr())) v.push_back(tensor_in(e.ptr()));
    else if (is_edge(e)) v.push_back(at_edge(e));
    else if (gaps && e.is_none()) v.emplace_back();
    else throw nb::type_error((std::string(op) + ": expected tensors, got " + Py_TYPE(e.ptr())->tp_name).c_str());
  }
  return v;
}

// A gradient for each row of grads, in one pass.
std::vector<Tensor> batched_grad(const std::vector<Tensor>& out, const std::vector<Tensor>& in,
                                 std::vector<Tensor> grads, const GradOptions& options) {
  std::int64_t rows = -1;
  for (const Tensor& g : grads)
    if (g && g.dim() > 0) rows = g.size(0);
  check<ValueError>(rows >= 0, [] {
    return std::string("grad: expected grad_outputs with a batch in front with is_grads_batched, got none");
  });
  BatchLevel level(rows, Randomness::error);
  for (Tensor& g : grads)
    if (g) g = level.in(g, 0);
  std::vector<Tensor> result = grad(out, in, grads, options);
  for (Tensor& g : result)
    if (g) g = level.out(g, 0);
  return result;
}

nb::object grad_of(nb::handle outputs, nb::handle inputs, nb::handle gradients, std::optional<bool> retain_graph,
                   bool create_graph, bool only_inputs, std::optional<bool> allow_unused, bool is_grads_batched,
                   bool materialize) {
  if (!only_inputs &&
      PyErr_WarnEx(PyExc_FutureWarning, "grad: only_inputs=False does nothing; use backward() for other leaves", 1))
    throw nb::python_error();
  check<ValueError>(!materialize || allow_unused.value_or(true), [] {
    return std::string("grad: expected allow_unused to be True or left out with materialize_grads, got False");
  });
  const std::vector<Tensor> out = list_of(outputs, "grad"), in = list_of(inputs, "grad");
  check<ValueError>(!in.empty(), [] { return std::string("grad: expected at least one tensor as inputs, got none"); });
  const GradOptions options{.retain_graph = retain_graph.value_or(create_graph),
                            .create_graph = create_graph,
                            .allow_unused = allow_unused.value_or(materialize)};
  const std::vector<Tensor> incoming = list_of(gradients, "grad", true);
  std::vector<Tensor> result =
      is_grads_batched ? batched_grad(out, in, incoming, options) : grad(out, in, incoming, options);
  for (std::size_t i = 0; materialize && i < result.size(); ++i) {
    if (result[i]) continue;
    result[i] = zeros_like(in[i]);
    if (is_grads_batched) result[i] = stack(std::vector<Tensor>(std::size_t(incoming[0].size(0)), result[i]));
  }
  return tuple_of(result);
}
void backward_of(nb::handle tensors, nb::handle gradients, std::optional<bool> retain_graph, bool create_graph,
                 nb::handle inputs) {
  if (create_graph &&
      PyErr_WarnEx(PyExc_UserWarning,
                   "backward: create_graph=True stores gradients that hold the graph which holds the parameters: a "
                   "cycle that keeps memory; use autograd.grad, or set each .grad to None afterwards",
                   1))
    throw nb::python_error();
  const GradOptions o{.retain_graph = retain_graph.value_or(create_graph), .create_graph = create_graph};
  const std::vector<Tensor> out = list_of(tensors, "backward"), g = list_of(gradients, "backward", true);
  if (inputs.is_none()) return backward(out, g, o);
  const std::vector<Tensor> in = list_of(inputs, "backward");
  check<AutogradError>(
      !in.empty(), [] { return std::string("backward: expected inputs to be None or at least one tensor, got none"); });
  backward_to(in, out, g, o);
}

void bind_modes(const Names& n) {
  n.function("_exchange_modes", &exchange_modes);
  n.function("is_grad_enabled", &is_grad_enabled, "Are operations recorded on this thread?");
  n.function("_set_grad_enabled", &set_grad_enabled);
  n.function("is_inference_mode_enabled", &is_inference_mode_enabled, "Is this thread in inference mode?");
  n.function("is_anomaly_enabled", &is_anomaly_enabled, "Does this thread look for anomalies?");
  n.function("is_anomaly_check_nan_enabled", &is_anomaly_check_nan_enabled,
             "Does this thread look for NaN in what derivatives give?");
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
  property("grad_fn", getter([](nb::handle self) -> nb::object {
             if (!is_tensor(self.ptr())) throw nb::type_error("grad_fn: expected a tensor");
             const Tensor& t = tensor_in(self.ptr());
             if (!may_need_gradient(t.impl())) return nb::none();
             const Edge e = edge_of(t.impl());
             if (!e.node || e.node->leaf) return nb::none();
             track_history(self.ptr());  // it may get hooks and metadata
             return object_of(e.node);
           }));
  property("_base", getter([](const Tensor& t) {
             TensorImpl* base = t.impl()->base;
             return base ? Tensor(Ref<TensorImpl>::share(base)) : Tensor();
           }));
  property("_version", getter([](const Tensor& t) { return t.version(); }));
  property("is_cpu", getter([](const Tensor& t) { return t.device().is_cpu(); }));
  property("is_cuda", getter([](const Tensor& t) { return t.device().is_cuda(); }));
  property("is_meta", getter([](const Tensor& t) { return is_meta(t.device()); }));
}

void bind_computed_attributes() {
  const auto data = [](const Tensor& t) {
    Tensor alias = detach_all(t);
    return alias.impl()->unversioned = true, alias;
  };
  computed("data", data,
           nb::cpp_function([](const Tensor& t, const Tensor& data) { nn::set_data(t, data); }, "self"_a, "data"_a));
  computed("T", [](const Tensor& t) {
    Dims order;
    for (int i = t.dim(); i-- > 0;) order.push_back(i);
    return permute(t, order);
  });
  computed("mT", [](const Tensor& t) { return mT(t); });
  computed("H", [](const Tensor& t) {
    check<ShapeError>(t.dim() == 2 || t.dim() == 0,
                      [&] { return "H: expected a matrix, got shape " + t.shape().str() + "; use mH for batches"; });
    return t.dim() == 0 ? conj(t) : conj(mT(t));
  });
  computed("mH", [](const Tensor& t) { return conj(mT(t)); });
  computed("real", [](const Tensor& t) { return real(t); });
  computed("imag", [](const Tensor& t) { return imag(t); });
}

}  // namespace

void bind_autograd(const Names& n) {
  bind_attributes();
  bind_computed_attributes();
  bind_modes(n);
  bind_levels(n);
  n.function(
      "_grad", &grad_of, "outputs"_a, "inputs"_a, "grad_outputs"_a = nb::none(), "retain_graph"_a = nb::none(),
      "create_graph"_a = false, "only_inputs"_a = true, "allow_unused"_a = nb::none(), "is_grads_batched"_a = false,
      "materialize_grads"_a = false,
      "Gradients of outputs with respect to inputs, as a tuple; no .grad changes.\n\ngrad_outputs: one per "
      "output, None where it has one element. create_graph: the result can be differentiated. allow_unused: None "
      "instead of AutogradError for an input that no output came from; materialize_grads: zeros instead.");
  n.function("_backward", &backward_of, "tensors"_a, "grad_tensors"_a = nb::none(), "retain_graph"_a = nb::none(),
             "create_graph"_a = false, "inputs"_a = nb::none(),
             "Adds the gradients of tensors to the .grad of all leaves, or of inputs alone.\n\ngrad_tensors: one per "
             "tensor, None where it has one element. retain_graph keeps what another backward needs.");
  n.method("backward", &backward_of, "self"_a, "gradient"_a = nb::none(), "retain_graph"_a = nb::none(),
           "create_graph"_a = false, "inputs"_a = nb::none(),
           "Adds the gradients of this tensor to the .grad of all leaves it came from, or of inputs alone.\n\ngradient "
           "is needed unless it has one element. A second backward needs retain_graph in the first.");
}

}  // namespace neura::python

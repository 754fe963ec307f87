#include "neura/nn/parameter.h"

#include "neura/op/record.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"

namespace neura::nn {

Parameter::Parameter(const Tensor& data, bool requires_grad) : Parameter(data, std::string(), requires_grad) {}

Parameter::Parameter(const Tensor& data, std::string name, bool requires_grad)
    : Tensor(data ? data.detach() : Tensor()), name_(std::move(name)) {
  if (!data || !requires_grad) return;
  check<DTypeError>(differentiable(data.dtype()), [&] {
    return std::string("parameter: expected a floating or complex dtype, got ") + neura::name(data.dtype()) +
           "; pass requires_grad = false";
  });
  requires_grad_();
}

void Parameter::set_data(const Tensor& data) { nn::set_data(*this, data); }

void set_data(const Tensor& self, const Tensor& data) {
  check<ValueError>(self && data, [] { return std::string("set_data: expected two tensors, got an undefined one"); });
  check<AutogradError>(self.is_leaf(), [] {
    return std::string("set_data: expected a leaf, got the result of an operation; detach() it");
  });
  check<ValueError>(!self.impl()->base, [] {
    return std::string("set_data: expected a tensor of its own, got a view; set the data of its base");
  });
  check<DTypeError>(!self.requires_grad() || differentiable(data.dtype()), [&] {
    return std::string("set_data: expected a floating or complex dtype for a tensor that requires a gradient, got ") +
           name(data.dtype());
  });
  const Tensor fresh = data.detach();  // frees the old bytes when it goes out of scope
  TensorImpl &to = *self.impl(), &from = *fresh.impl();
  std::swap(to.storage, from.storage);
  std::swap(to.id, from.id);
  to.spec = from.spec;
  if (History* h = to.history)  // gradients must have the new shape and dtype from now on
    if (auto* node = static_cast<Node*>(h); node->leaf) static_cast<Leaf*>(node)->shape = GradientSpec(to.spec);
}

namespace utils {

Tensor parameters_to_vector(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> parts;
  for (const Tensor& p : parameters) parts.push_back(p.reshape({-1}));
  return cat(parts);
}

void vector_to_parameters(const Tensor& vec, const std::vector<Tensor>& parameters) {
  std::int64_t needed = 0, start = 0;
  for (const Tensor& p : parameters) needed += p.numel();
  check<ValueError>(vec.dim() == 1 && vec.numel() == needed, [&] {
    return "vector_to_parameters: expected a vector of " + std::to_string(needed) + " elements, got " +
           vec.shape().str() + "; make it by parameters_to_vector of the same parameters";
  });
  for (const Tensor& p : parameters) {
    nn::set_data(p, vec.detach().slice(0, start, start + p.numel()).view(p.shape()));
    start += p.numel();
  }
}

}  // namespace utils

}  // namespace neura::nn

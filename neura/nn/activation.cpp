#include "neura/nn/activation.h"

#include "neura/nn/repr.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/functions.h"
#include "neura/ops/nn/random_activation.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/pointwise/composed.h"

namespace neura::nn {

#define FIELD(name, function) name,
#define ACTIVATION(Name, function) \
  NEURA_LAYER_BODY(Name)           \
  Tensor Name::forward(const Tensor& input) const { return function(input); }
#define ACTIVATION_WITH(Name, function, fields) \
  NEURA_LAYER_BODY(Name)                        \
  Tensor Name::forward(const Tensor& input) const { return function(input, {fields}); }
#define ACTIVATION_INPLACE(Name, function)                \
  NEURA_LAYER_BODY(Name)                                  \
  Tensor Name::forward(const Tensor& input) const {       \
    if (Tensor x = input; inplace) return function##_(x); \
    return function(input);                               \
  }
#define ACTIVATION_INPLACE_WITH(Name, function, fields)             \
  NEURA_LAYER_BODY(Name)                                            \
  Tensor Name::forward(const Tensor& input) const {                 \
    if (Tensor x = input; inplace) return function##_(x, {fields}); \
    return function(input, {fields});                               \
  }
#include "neura/nn/activations.def"
#undef FIELD
#undef ACTIVATION
#undef ACTIVATION_WITH
#undef ACTIVATION_INPLACE
#undef ACTIVATION_INPLACE_WITH

#define FIELD(name, function) .add(std::string_view(#name) == "lambd" ? "" : #name, name)  // PyTorch prints 0.5 alone
#define ACTIVATION(Name, function) \
  std::string Name::extra_repr() const { return {}; }
#define ACTIVATION_INPLACE(Name, function) \
  std::string Name::extra_repr() const { return Repr().add_if(inplace, "inplace", true); }
#define ACTIVATION_WITH(Name, function, fields) \
  std::string Name::extra_repr() const { return Repr() fields; }
#define ACTIVATION_INPLACE_WITH(Name, function, fields) \
  std::string Name::extra_repr() const { return (Repr() fields).add_if(inplace, "inplace", true); }
#include "neura/nn/activations.def"

NEURA_LAYER_BODY(GELU)
NEURA_LAYER_BODY(GLU)
NEURA_LAYER_BODY(Threshold)
NEURA_LAYER_BODY(PReLU)
NEURA_LAYER_BODY(RReLU)
NEURA_LAYER_BODY(Softmax)
NEURA_LAYER_BODY(LogSoftmax)
NEURA_LAYER_BODY(Softmin)
NEURA_LAYER_BODY(Softmax2d)

Tensor GELU::forward(const Tensor& input) const { return gelu(input, {.approximate = approximate.c_str()}); }
std::string GELU::extra_repr() const { return Repr().add("approximate", approximate); }

Tensor GLU::forward(const Tensor& input) const { return glu(input, dim); }
std::string GLU::extra_repr() const { return Repr().add("dim", dim); }

Tensor Threshold::forward(const Tensor& input) const {
  if (Tensor x = input; inplace) return threshold_(x, double(threshold), double(value));
  return neura::threshold(input, double(threshold), double(value));
}
std::string Threshold::extra_repr() const {
  return Repr().add("threshold", threshold).add("value", value).add_if(inplace, "inplace", true);
}

PReLU::PReLU(const PReluOptions& o) : num_parameters(o.num_parameters), init(o.init) {
  weight = full({num_parameters}, o.init, {.dtype = o.dtype ? *o.dtype : default_dtype(), .device = o.device});
}
Tensor PReLU::forward(const Tensor& input) const { return prelu(input, weight); }
std::string PReLU::extra_repr() const { return Repr().add("num_parameters", num_parameters); }

Tensor RReLU::forward(const Tensor& input) const {
  const Tensor y = rrelu(input, lower, upper, training);
  return inplace ? Tensor(input).copy_(y) : y;
}
std::string RReLU::extra_repr() const {
  return Repr().add("lower", lower).add("upper", upper).add_if(inplace, "inplace", true);
}

int SoftmaxBase::dim_for(const Tensor& input) const {
  return dim ? *dim : input.dim() == 0 || input.dim() == 1 || input.dim() == 3 ? 0 : 1;
}
std::string SoftmaxBase::extra_repr() const { return Repr().add("dim", dim); }
Tensor Softmax::forward(const Tensor& input) const { return softmax(input, dim_for(input)); }
Tensor LogSoftmax::forward(const Tensor& input) const { return log_softmax(input, dim_for(input)); }
Tensor Softmin::forward(const Tensor& input) const { return softmin(input, dim_for(input)); }
Tensor Softmax2d::forward(const Tensor& input) const {
  check<ShapeError>(input.dim() == 3 || input.dim() == 4,
                    [&] { return "Softmax2d: expected an input of 3 or 4 dimensions, got " + input.shape().str(); });
  return softmax(input, -3);
}

}  // namespace neura::nn

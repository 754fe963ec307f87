// Activation layers: those of activations.def, and a few with arguments of another kind.
//
//   nn::ReLU()   nn::LeakyReLU(0.2)   nn::Hardtanh({.min_val = 0, .inplace = true})   nn::Softmax(1)
#pragma once
#include "neura/core/device_scope.h"
#include "neura/nn/module.h"
#include "neura/ops/pointwise/composed.h"

namespace neura::nn {

#define FIELD(name, function) Number name = double(function##_options().name);
#define ACTIVATION(Name, function) ACTIVATION_WITH(Name, function, )
#define ACTIVATION_INPLACE(Name, function) ACTIVATION_INPLACE_WITH(Name, function, )
#define ACTIVATION_WITH(Name, function, fields) \
  struct Name##Options {                        \
    fields                                      \
  };
#define ACTIVATION_INPLACE_WITH(Name, function, fields) \
  struct Name##Options {                                \
    fields bool inplace = false;                        \
  };
#include "neura/nn/activations.def"
#undef FIELD
#undef ACTIVATION_WITH
#undef ACTIVATION_INPLACE_WITH

#define NEURA_ARGUMENTS_BEHIND(Name, ...) NEURA_ARGUMENTS(__VA_ARGS__)
#define FIELD(name, function) , name
#define ACTIVATION_WITH(Name, function, ...)                                             \
  struct Name final : Module, Name##Options {                                            \
    Name(const Name##Options& o = {}) : Name##Options(o) {}                              \
    template <class... A>                                                                \
    requires(sizeof...(A) > 0 && (std::is_arithmetic_v<A> && ...)) explicit Name(A... a) \
        : Name##Options{Number(a)...} {}                                                 \
    Tensor forward(const Tensor& input) const;                                           \
    std::string extra_repr() const override;                                             \
    struct Taken : Name##Options {                                                       \
      NEURA_ARGUMENTS_BEHIND(Name __VA_ARGS__)                                           \
    };                                                                                   \
    static void taken(const Taken&);                                                     \
    static constexpr const char* taken_text() { return "o"; }                            \
    NEURA_LAYER(Name __VA_ARGS__)                                                        \
    NEURA_FORWARD("input")                                                               \
  };
#define ACTIVATION_INPLACE_WITH(Name, function, fields) ACTIVATION_WITH(Name, function, fields FIELD(inplace, false))
#include "neura/nn/activations.def"
#undef NEURA_ARGUMENTS_BEHIND
#undef FIELD
#undef ACTIVATION
#undef ACTIVATION_INPLACE
#undef ACTIVATION_WITH
#undef ACTIVATION_INPLACE_WITH

struct GELU final : Module {
  NEURA_INIT(explicit GELU, std::string approximate = "none") : approximate(std::move(approximate)) {}
  Tensor forward(const Tensor& input) const;
  std::string extra_repr() const override;

  std::string approximate;  // or "tanh"
  NEURA_LAYER(GELU, approximate)
  NEURA_FORWARD("input")
};

struct GLU final : Module {  // the first half along dim, gated by the second
  NEURA_INIT(explicit GLU, int dim = -1) : dim(dim) {}
  Tensor forward(const Tensor& input) const;
  std::string extra_repr() const override;

  int dim;
  NEURA_LAYER(GLU, dim)
  NEURA_FORWARD("input")
};

struct Threshold final : Module {
  NEURA_INIT(Threshold, Number threshold, Number value, bool inplace = false)
      : threshold(threshold), value(value), inplace(inplace) {}
  explicit Threshold(Blank) : Threshold(0, 0) {}
  Tensor forward(const Tensor& input) const;
  std::string extra_repr() const override;

  Number threshold, value;
  bool inplace;
  NEURA_LAYER(Threshold, threshold, value, inplace)
  NEURA_FORWARD("input")
};

struct PReluOptions {
  std::int64_t num_parameters = 1;  // or the number of channels
  double init = 0.25;
  Device device = default_device();
  std::optional<DType> dtype = {};
  NEURA_ARGUMENTS(num_parameters, init, device, dtype)
};
struct PReLU final : Module {  // leaky_relu with a learned slope
  NEURA_INIT(explicit PReLU, const PReluOptions& = {});
  Tensor forward(const Tensor& input) const;
  std::string extra_repr() const override;

  std::int64_t num_parameters;
  double init;  // of the weight
  Parameter weight;
  NEURA_LAYER(PReLU, num_parameters, init, weight)
  NEURA_FORWARD("input")
};

// leaky_relu whose slope is drawn from [lower, upper) for each element in training, and is their mean otherwise.
struct RReLU final : Module {
  NEURA_INIT(explicit RReLU, Number lower = 1.0 / 8, Number upper = 1.0 / 3, bool inplace = false)
      : lower(lower), upper(upper), inplace(inplace) {}
  Tensor forward(const Tensor& input) const;
  std::string extra_repr() const override;

  Number lower, upper;
  bool inplace;
  NEURA_LAYER(RReLU, lower, upper, inplace)
  NEURA_FORWARD("input")
};

// Along `dim`; without it by torch's old rule: dimension 0 of inputs of 0, 1 or 3 dimensions, else 1.
struct SoftmaxBase : Module {
  explicit SoftmaxBase(std::optional<int> dim) : dim(dim) {}
  std::string extra_repr() const override;
  std::optional<int> dim;

 protected:
  int dim_for(const Tensor& input) const;
};
#define NEURA_SOFTMAX(Name)                                                      \
  struct Name final : SoftmaxBase {                                              \
    NEURA_INIT(explicit Name, std::optional<int> dim = {}) : SoftmaxBase(dim) {} \
    Tensor forward(const Tensor& input) const;                                   \
    NEURA_LAYER(Name, dim)                                                       \
    NEURA_FORWARD("input")                                                       \
  };
NEURA_SOFTMAX(Softmax)
NEURA_SOFTMAX(LogSoftmax)
NEURA_SOFTMAX(Softmin)
#undef NEURA_SOFTMAX

struct Softmax2d final : Module {  // over the channels of [N, C, H, W] or [C, H, W]
  NEURA_INIT(Softmax2d) {}
  Tensor forward(const Tensor& input) const;
  NEURA_LAYER(Softmax2d)
  NEURA_FORWARD("input")
};

}  // namespace neura::nn

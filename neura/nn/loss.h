// Loss layers, those of losses.def: nn::CrossEntropyLoss({.label_smoothing = 0.1})(scores, classes).
#pragma once
#include "neura/nn/module.h"
#include "neura/ops/loss.h"

namespace neura::nn {

template <> struct BoxedAs<Reduction> {  // "none", "mean", "sum", as in torch
  static Value value(Reduction r) { return r == Reduction::none ? "none" : r == Reduction::mean ? "mean" : "sum"; }
  static Reduction back(const Value& v) { return to_reduction(unbox<std::string>(v)); }
};

#define FIELD(type, name, ...) type name = __VA_ARGS__;
#define LOSS(Name, function, fields) \
  struct Name##Options {             \
    fields                           \
  };
#define LOSS3(Name, function, a, b, c, fields) LOSS(Name, function, fields)
#include "neura/nn/losses.def"
#undef FIELD
#undef LOSS
#undef LOSS3

#define FIELD(type, name, ...) , name
#define LOSS(Name, function, fields)                                 \
  struct Name final : Module, Name##Options {                        \
    Name(const Name##Options& o = {}) : Name##Options(o) {}          \
    Tensor forward(const Tensor& input, const Tensor& target) const; \
    NEURA_LAYER(Name fields)                                         \
    NEURA_FORWARD("input", "target")                                 \
  };
#define LOSS3(Name, function, a, b, c, fields)                         \
  struct Name final : Module, Name##Options {                          \
    Name(const Name##Options& o = {}) : Name##Options(o) {}            \
    Tensor forward(const Tensor&, const Tensor&, const Tensor&) const; \
    NEURA_LAYER(Name fields)                                           \
    NEURA_FORWARD(a, b, c)                                             \
  };
#include "neura/nn/losses.def"
#undef FIELD
#undef LOSS
#undef LOSS3

struct CosineSimilarity final : Module {
  explicit CosineSimilarity(int dim = 1, double eps = 1e-8) : dim(dim), eps(eps) {}
  Tensor forward(const Tensor& x1, const Tensor& x2) const;

  int dim;
  double eps;
  NEURA_LAYER(CosineSimilarity, dim, eps)
  NEURA_FORWARD("x1", "x2")
};
struct PairwiseDistance final : Module {
  explicit PairwiseDistance(double p = 2, double eps = 1e-6, bool keepdim = false)
      : norm(p), eps(eps), keepdim(keepdim) {}
  Tensor forward(const Tensor& x1, const Tensor& x2) const;

  double norm, eps;
  bool keepdim;
  NEURA_LAYER(PairwiseDistance, norm, eps, keepdim)
  NEURA_FORWARD("x1", "x2")
};

}  // namespace neura::nn

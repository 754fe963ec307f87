// Loss layers, those of losses.def: nn::CrossEntropyLoss({.label_smoothing = 0.1})(scores, classes).
#pragma once
#include "neura/nn/module.h"
#include "neura/ops/loss/ctc_loss.h"
#include "neura/ops/loss/loss.h"

namespace neura::nn {

template <> struct BoxedAs<Reduction> {  // as text, as in torch
  static Value value(Reduction r) { return kReductions[int(r)]; }
  static Reduction back(const Value& v) { return to_reduction(unbox<std::string>(v)); }
};

#define FIELD(name) , name
#define LOSS(Name, function, Taken, fields, ...)                     \
  using Name##Options = neura::Taken;                                \
  struct Name final : Module, Name##Options {                        \
    Name(const Name##Options& o = {}) : Name##Options(o) {}          \
    Tensor forward(const Tensor& input, const Tensor& target) const; \
    NEURA_LAYER(Name fields)                                         \
    NEURA_FORWARD("input", "target")                                 \
  };
#define LOSS3(Name, function, a, b, c, Taken, fields, ...)             \
  using Name##Options = neura::Taken;                                  \
  struct Name final : Module, Name##Options {                          \
    Name(const Name##Options& o = {}) : Name##Options(o) {}            \
    Tensor forward(const Tensor&, const Tensor&, const Tensor&) const; \
    NEURA_LAYER(Name fields)                                           \
    NEURA_FORWARD(a, b, c)                                             \
  };
#include "neura/nn/losses.def"

struct Lengths {  // lengths of sequences: a tensor of integers, or numbers
  Tensor numbers;
  Lengths() = default;
  Lengths(const Tensor& t) : numbers(t) {}
  Lengths(const std::vector<std::int64_t>&);
  Lengths(std::initializer_list<std::int64_t> l) : Lengths(std::vector<std::int64_t>(l)) {}
};
template <> struct BoxedAs<Lengths> {
  static Value value(const Lengths& l) { return l.numbers; }
  static Lengths back(const Value& v) {
    return v.get<List>() ? Lengths(unbox<std::vector<std::int64_t>>(v)) : Lengths(unbox<Tensor>(v));
  }
};
struct CTCLoss final : Module {
  NEURA_INIT(CTCLoss, const CtcLossOptions& o = {})
      : blank_class(o.blank), reduction(o.reduction), zero_infinity(o.zero_infinity) {}
  Tensor forward(const Tensor& log_probs, const Tensor& targets, const Lengths& input_lengths,
                 const Lengths& target_lengths) const;

  std::int64_t blank_class;  // Python's `blank`: a module has a function of that name
  Reduction reduction;
  bool zero_infinity;
  NEURA_LAYER(CTCLoss, blank_class, reduction, zero_infinity)
  NEURA_FORWARD("log_probs", "targets", "input_lengths", "target_lengths")
};
struct CosineSimilarity final : Module {
  NEURA_INIT(explicit CosineSimilarity, int dim = 1, double eps = 1e-8) : dim(dim), eps(eps) {}
  Tensor forward(const Tensor& x1, const Tensor& x2) const;

  int dim;
  double eps;
  NEURA_LAYER(CosineSimilarity, dim, eps)
  NEURA_FORWARD("x1", "x2")
};
struct PairwiseDistance final : Module {
  NEURA_INIT(explicit PairwiseDistance, double p = 2, double eps = 1e-6, bool keepdim = false)
      : norm(p), eps(eps), keepdim(keepdim) {}
  Tensor forward(const Tensor& x1, const Tensor& x2) const;

  double norm, eps;
  bool keepdim;
  NEURA_LAYER(PairwiseDistance, norm, eps, keepdim)
  NEURA_FORWARD("x1", "x2")
};

}  // namespace neura::nn

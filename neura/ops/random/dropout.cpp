#include "neura/ops/random/dropout.h"

#include <cmath>

#include "neura/backend/kernels/dropout.h"
#include "neura/core/random.h"
#include "neura/op/apply.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

// Linear, and its own derivative: the same numbers are drawn again.
struct Dropout {
  static constexpr Operation op = operation("dropout").linear().draws();
  PhiloxState numbers;
  double p;
  std::int64_t group;  // neighbouring elements that share a number
  NEURA_FIELDS(numbers, p, group)
  void infer(const Spec& x, Spec& y) const {
    check<DTypeError>(is_floating(x.dtype), [&] { return "dropout: expected a floating input, got " + x.str(); });
    y = Spec::dense(x.dtype, x.sizes(), x.device);
  }
  void run(Context& c, View x, View y) const {
    c.backend.dropout->dropout(c, x, {numbers.seed, numbers.offset, p}, group, y);
  }
  void gradient(Gradient& g) const { g.result[0] = apply(*this, contiguous(g.g[0])); }
};

void check_probability(const char* op, double p) {
  check<ValueError>(p >= 0 && p <= 1, [&] {
    return std::string(op) + ": expected a probability p between 0 and 1, got " + Scalar(p).str();
  });
}
Tensor dropout_of(const Tensor& x, double p, std::int64_t group) {
  const Dropout op{.numbers = {}, .p = p, .group = group};
  if (!is_complex(x.dtype())) return apply(op, contiguous(x));
  return x * apply(op, ones(x.shape(), {.dtype = to_real(x.dtype()), .device = x.device()}));
}
// Elements of one channel of [N, C, …], or, where the batch is left out, of [C, …].
std::int64_t channel_size(const Tensor& x, bool batch) {
  std::int64_t n = 1;
  for (int d = batch ? 2 : 1; d < x.dim(); ++d) n *= x.shape()[d];
  return n;
}
// single: the number of dimensions of one sample without N.
Tensor channel_dropout(const char* op, const Tensor& x, double p, bool training, int single) {
  check_probability(op, p);
  check<ShapeError>(x.dim() >= 2, [&] {
    return std::string(op) + ": expected an input of at least two dimensions [N, C, ...], got " + x.shape().str();
  });
  if (!training || p == 0 || !x.numel()) return x;
  return dropout_of(x, p, channel_size(x, x.dim() != single));
}

// a (x kept + alpha' (1 - kept)) + b, with a and b so that mean 0 and deviation 1 stay; a sample of `shape` is kept or
// not
Tensor alpha_of(const char* op, const Tensor& x, double p, bool training, std::int64_t group) {
  check_probability(op, p);
  if (!training || p == 0 || !x.numel()) return x;
  if (p == 1) return x * 0;
  constexpr double alpha = 1.7580993408473766;  // scale * alpha of selu
  const double a = 1 / std::sqrt((alpha * alpha * p + 1) * (1 - p));
  const Tensor ones_there = ones(x.shape(), {.dtype = x.dtype(), .device = x.device()});
  const Tensor kept = apply(Dropout{.numbers = {}, .p = p, .group = group}, ones_there) * (1 - p);
  const Tensor shift = (kept - 1) * (alpha * a) + alpha * a * p;
  return x * (kept * a) + shift;
}

}  // namespace

Tensor dropout(const Tensor& input, double p, bool training) {
  check_probability("dropout", p);
  if (!training || p == 0) return input;
  return dropout_of(input, p, 1);
}
Tensor dropout1d(const Tensor& input, double p, bool training) {
  check<ShapeError>(input.dim() == 2 || input.dim() == 3,
                    [&] { return "dropout1d: expected an input [N, C, L] or [C, L], got " + input.shape().str(); });
  return channel_dropout("dropout1d", input, p, training, 2);
}
Tensor dropout2d(const Tensor& input, double p, bool training) {  // (torch) three dimensions are [N, C, L]
  return channel_dropout("dropout2d", input, p, training, 0);
}
Tensor dropout3d(const Tensor& input, double p, bool training) {
  return channel_dropout("dropout3d", input, p, training, 4);
}
Tensor alpha_dropout(const Tensor& input, double p, bool training) {
  return alpha_of("alpha_dropout", input, p, training, 1);
}
Tensor feature_alpha_dropout(const Tensor& input, double p, bool training) {
  check<ShapeError>(!training || p == 0 || input.dim() >= 2, [&] {
    return "feature_alpha_dropout: expected an input of at least two dimensions [N, C, ...], got " +
           input.shape().str();
  });
  return alpha_of("feature_alpha_dropout", input, p, training, input.dim() < 2 ? 1 : channel_size(input, true));
}

}  // namespace neura

NEURA_DEFINE_OPERATION(dropout, Dropout);

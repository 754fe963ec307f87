#include "neura/optim/matrix_step.h"

#include <cmath>

#include "neura/core/graph_api.h"
#include "neura/op/defer.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"

namespace neura::optim::detail {
namespace {

double precision_of(DType d) {  // what the dtype can tell from 1
  return std::ldexp(1.0, d == DType::float64 ? -52 : d == DType::float32 ? -23 : d == DType::float16 ? -10 : -7);
}
// The root of the mean of squares, without dimensions. Halves are summed in float32.
Tensor size_of(const Tensor& x) {
  const Tensor wide = x.dtype() == DType::float64 ? x : x.to(DType::float32);
  return vector_norm(wide) / std::sqrt(double(x.numel()));
}
double rate_factor(const std::optional<std::string>& how, double rows, double columns) {
  if (how == "match_rms_adamw") return 0.2 * std::sqrt(std::max(rows, columns));
  return std::sqrt(std::max(1.0, rows / columns));
}

}  // namespace

void refuse_recording(const char* name, const Tensor& p) {
  check<NotImplementedError>(!is_deferred() && !is_captured(p.device()), [&] {
    return std::string(name) + ": expected a step outside of a graph's capture and of a trace, got one inside";
  });
}

void adafactor_step(Tensor p, const Tensor& grad, double t, const AdafactorOptions& o, Tensor rows,
                    const Tensor& columns) {
  if (p.numel() == 0) return;
  const Tensor g = o.maximize ? neg(grad) : grad;
  const double tiny = o.eps.first.value_or(precision_of(p.dtype())), fresh = std::pow(t, o.beta2_decay);
  const Tensor rate = clamp(size_of(p), {.min = o.eps.second}) * std::min(o.lr, 1 / std::sqrt(t));
  if (o.weight_decay != 0) mul_(p, 1 - o.lr * o.weight_decay);
  Tensor average = rows, square = g * g;
  if (columns) {
    Tensor c = columns;
    lerp_(rows, mean(square, -1, true), fresh);
    lerp_(c, mean(square, -2, true), fresh);
    average = matmul(rows, c) / clamp(mean(rows, -2, true), {.min = tiny});
  } else {
    lerp_(rows, square, fresh);
  }
  const Tensor update = g * rsqrt(clamp(average, {.min = tiny * tiny}));
  const Tensor step = rate / clamp(size_of(update) / o.d, {.min = 1.0});
  sub_(p, update * step.to(update.dtype()));
}

Tensor orthogonal(const Tensor& matrix, const Triple& k, std::int64_t steps, double eps) {
  Tensor x = matrix.to(DType::bfloat16);
  const bool tall = x.size(0) > x.size(1);  // the smaller side comes first: less work
  if (tall) x = x.t();
  x = x / clamp(vector_norm(x), {.min = eps});
  for (std::int64_t i = 0; i < steps; ++i) {
    const Tensor gram = matmul(x, x.t());
    x = addmm(x, addmm(gram, gram, gram, {.beta = k[1], .alpha = k[2]}), x, {.beta = k[0]});
  }
  return tall ? x.t() : x;
}

void muon_step(Tensor p, const Tensor& g, const MuonOptions& o, Tensor average) {
  if (p.numel() == 0) return;
  lerp_(average, g, 1 - o.momentum);
  const Tensor update =
      orthogonal(o.nesterov ? lerp(g, average, o.momentum) : average, o.ns_coefficients, o.ns_steps, o.eps);
  mul_(p, 1 - o.lr * o.weight_decay);
  const double lr = o.lr * rate_factor(o.adjust_lr_fn, double(p.size(0)), double(p.size(1)));
  sub_(p, update.to(p.dtype()), lr);
}

}  // namespace neura::optim::detail

// clip_grad_norm_: norms by the reductions' kernels; the scaling is a loop that memory limits. And the loop that takes
// the scale of a loss off its gradients.
#include <atomic>
#include <cmath>

#include "neura/backend/cpu/optim/optim.h"
#include "neura/backend/kernels/reduce.h"
#include "neura/core/parallel.h"
#include "neura/core/scalar.h"

namespace neura {
namespace {

template <class N> N if_greater(N a, N b, N yes, N no) { return a > b ? yes : no; }
#define NEURA_RULE
#include "neura/backend/number/clip.h"
#undef NEURA_RULE

Spec as_reals(const View& t) {  // a line of real numbers: their order does not matter
  return Spec::dense(to_real(t.dtype()), Shape{t.numel() * (is_complex(t.dtype()) ? 2 : 1)});
}

template <class T> void multiply(T* p, std::int64_t n, T by) {
  for (std::int64_t i = 0; i < n; ++i) p[i] *= by;
}
// Whether all were finite: x - x is 0 or NaN.
template <class T> bool unscale(T* p, std::int64_t n, T by) {
  int other = 0;
  for (std::int64_t i = 0; i < n; ++i) other |= p[i] - p[i] != 0, p[i] *= by;
  return !other;
}
// f(float*, count) for halves, a block at a time by way of float.
template <class F> void by_way_of_float(Context& c, DType d, char* p, std::int64_t n, const F& f) {
  constexpr std::int64_t kBlock = 1024;
  float wide[kBlock];
  auto* const there = reinterpret_cast<char*>(wide);
  for (std::int64_t i = 0; i < n; i += kBlock) {
    const std::int64_t m = std::min(n - i, kBlock);
    c.backend.convert->pair[int(d)][int(DType::float32)](p + 2 * i, 2, there, 4, std::size_t(m));
    f(wide, m);
    c.backend.convert->pair[int(DType::float32)][int(d)](there, 4, p + 2 * i, 2, std::size_t(m));
  }
}

}  // namespace

void norm_of_all(Context& c, std::span<const View> tensors, View norm) {
  double all = 0;
  for (const View& t : tensors) {
    const Spec line = as_reals(t), one = Spec::dense(accumulation(line.dtype), {});
    if (!line.numel) continue;
    alignas(8) char number[8];
    c.backend.reduce->fold(c, ReduceOp::norm2, one.dtype, 1, {t.data, &line}, {}, {number, &one});
    const double each = Scalar::load(one.dtype, number).real();
    all = all != all || each != each ? all + each : std::hypot(all, each);  // NaN also if another is infinite
  }
  Scalar(all).store(norm.dtype(), norm.data);
}

void clip_all(Context& c, std::span<const View> tensors, View norm, double max_norm) {
  char rounded[8];
  Scalar(clip_factor(Scalar::load(norm.dtype(), norm.data).real(), max_norm)).store(norm.dtype(), rounded);
  const double by = Scalar::load(norm.dtype(), rounded).real();
  if (by == 1) return;
  for (const View& t : tensors) {
    const Spec line = as_reals(t);
    parallel_for(line.numel, kSerial, [&](std::int64_t b, std::int64_t e) {
      char* const p = t.data + b * size_of(line.dtype);
      if (line.dtype == DType::float32) multiply(reinterpret_cast<float*>(p), e - b, float(by));
      else if (line.dtype == DType::float64) multiply(reinterpret_cast<double*>(p), e - b, by);
      else by_way_of_float(c, line.dtype, p, e - b, [&](float* x, std::int64_t m) { multiply(x, m, float(by)); });
    });
  }
}

void unscale_all(Context& c, std::span<const View> tensors, View by_what, View found) {
  const float by = *by_what.as<const float>();
  std::atomic<bool> finite = true;
  for (const View& t : tensors) {
    const Spec line = as_reals(t);
    parallel_for(line.numel, kSerial, [&](std::int64_t b, std::int64_t e) {
      char* const p = t.data + b * size_of(line.dtype);
      bool all = true;
      if (line.dtype == DType::float32) all = unscale(reinterpret_cast<float*>(p), e - b, by);
      else if (line.dtype == DType::float64) all = unscale(reinterpret_cast<double*>(p), e - b, double(by));
      else by_way_of_float(c, line.dtype, p, e - b, [&](float* x, std::int64_t m) { all &= unscale(x, m, by); });
      if (!all) finite.store(false, std::memory_order_relaxed);
    });
  }
  if (!finite) *found.as<float>() = 1;
}

}  // namespace neura

// Optimizer steps: the formulas once, over a vector of any instruction set; a line of memory through registers.
#include "neura/backend/cpu/optim/optim.h"

#include "neura/core/parallel.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/optim/optim.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef NEURA_OPTIM_LINE
#define NEURA_OPTIM_LINE
namespace neura {
struct OptimLine {  // param, grad, states; of float or double
  void* at[5];
  std::int64_t size;
  bool wide;  // double
};
}  // namespace neura
#endif

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D> struct Number {
  using T = hn::TFromD<D>;
  hn::Vec<D> v;
  Number() : v(hn::Zero(D())) {}
  Number(hn::Vec<D> x) : v(x) {}
  explicit Number(double x) : v(hn::Set(D(), T(x))) {}
};
template <class D> HWY_INLINE Number<D> operator+(Number<D> a, Number<D> b) { return hn::Add(a.v, b.v); }
template <class D> HWY_INLINE Number<D> operator-(Number<D> a, Number<D> b) { return hn::Sub(a.v, b.v); }
template <class D> HWY_INLINE Number<D> operator*(Number<D> a, Number<D> b) { return hn::Mul(a.v, b.v); }
template <class D> HWY_INLINE Number<D> operator/(Number<D> a, Number<D> b) { return hn::Div(a.v, b.v); }
template <class D> HWY_INLINE Number<D> sqrt(Number<D> a) { return hn::Sqrt(a.v); }
template <class D> HWY_INLINE Number<D> abs(Number<D> a) { return hn::Abs(a.v); }
// A NaN in either operand comes out, as from torch's maximum.
template <class D> HWY_INLINE Number<D> maximum(Number<D> a, Number<D> b) {
  return hn::IfThenElse(hn::Or(hn::Gt(a.v, b.v), hn::Ne(a.v, a.v)), a.v, b.v);
}
template <class D> HWY_INLINE Number<D> minimum(Number<D> a, Number<D> b) {
  return hn::IfThenElse(hn::Lt(a.v, b.v), a.v, b.v);
}

template <class D> HWY_INLINE Number<D> if_greater(Number<D> a, Number<D> b, Number<D> yes, Number<D> no) {
  return hn::IfThenElse(hn::Gt(a.v, b.v), yes.v, no.v);
}

#define NEURA_RULE HWY_INLINE
#include "neura/backend/number/optim.h"
#undef NEURA_RULE

template <int States, class F, class D>
HWY_INLINE void vector_step(const F& f, D d, hn::TFromD<D>* const* at, std::size_t i) {
  using N = Number<D>;
  N p = hn::LoadU(d, at[0] + i), g = hn::LoadU(d, at[1] + i), s[3];
  for (int k = 0; k < States; ++k)
    if (at[2 + k]) s[k] = hn::LoadU(d, at[2 + k] + i);
  f.template step<States>(p, g, s);
  hn::StoreU(p.v, d, at[0] + i);
  for (int k = 0; k < States; ++k)
    if (at[2 + k]) hn::StoreU(s[k].v, d, at[2 + k] + i);
}

template <int States, class F, class D> void line_of(const F& f, D d, const OptimLine& line) {
  using T = hn::TFromD<D>;
  T* at[5];
  for (int k = 0; k < 5; ++k) at[k] = static_cast<T*>(line.at[k]);
  const std::size_t lanes = hn::Lanes(d), size = std::size_t(line.size), whole = size / lanes * lanes;
  for (std::size_t i = 0; i < whole; i += lanes) vector_step<States>(f, d, at, i);
  if (whole == size) return;
  // The rest takes the same instructions, so that an element's result does not depend on where lines are cut.
  alignas(64) T copies[5][64 / sizeof(T)];
  T* copy[5];
  for (int k = 0; k < 5; ++k) {
    copy[k] = at[k] ? copies[k] : nullptr;
    for (std::size_t i = 0; i < lanes; ++i) copies[k][i] = at[k] && whole + i < size ? at[k][whole + i] : T(1);
  }
  vector_step<States>(f, d, copy, 0);
  for (int k = 0; k < 5; ++k)
    if (k != 1 && at[k])
      for (std::size_t i = whole; i < size; ++i) at[k][i] = copies[k][i - whole];
}

template <template <class> class F, class D, class Step> void line_with(D d, const OptimLine& line, const Step& step) {
  const F<Number<D>> f(step);
  if (line.at[4]) line_of<3>(f, d, line);
  else if (line.at[3]) line_of<2>(f, d, line);
  else if (line.at[2]) line_of<1>(f, d, line);
  else line_of<0>(f, d, line);
}

#define OPTIMIZER_STEP(name, Step, ...)                                     \
  void name##_line(const OptimLine& line, const Step& step) {               \
    if (line.wide) line_with<name>(hn::CappedTag<double, 8>(), line, step); \
    else line_with<name>(hn::CappedTag<float, 16>(), line, step);           \
  }
#include "neura/tables/optimizers.def"

}  // namespace HWY_NAMESPACE

#if HWY_ONCE
namespace {

constexpr std::int64_t kBlock = 1024;

template <class Step> using LineOf = void(const OptimLine&, const Step&);

// A half block by block through float32.
template <class Step> void half_line(Context& c, const OptimTensors& t, LineOf<Step>* line, const Step& step,
                                     std::int64_t b, std::int64_t e) {
  alignas(64) float wide[5][kBlock];
  const DType dtype = t.param.dtype();
  const View* views[5] = {&t.param, &t.grad, &t.state[0], &t.state[1], &t.state[2]};
  const auto widen = c.backend.convert->pair[int(dtype)][int(DType::float32)];
  const auto narrow = c.backend.convert->pair[int(DType::float32)][int(dtype)];
  for (std::int64_t i = b; i < e; i += kBlock) {
    const std::int64_t n = e - i < kBlock ? e - i : kBlock;
    OptimLine l{{}, n, false};
    for (int k = 0; k < 5; ++k)
      if (*views[k]) {
        widen(views[k]->data + 2 * i, 2, reinterpret_cast<char*>(wide[k]), 4, std::size_t(n));
        l.at[k] = wide[k];
      }
    line(l, step);
    for (int k = 0; k < 5; ++k)
      if (*views[k] && k != 1)
        narrow(reinterpret_cast<const char*>(wide[k]), 4, views[k]->data + 2 * i, 2, std::size_t(n));
  }
}

template <class Step> void run(Context& c, const OptimTensors& t, LineOf<Step>* line, const Step& step) {
  const DType dtype = t.param.dtype();
  // A complex number is two real ones to every optimizer.
  const std::int64_t n = t.param.numel() * (is_complex(dtype) ? 2 : 1), size = size_of(to_real(dtype));
  parallel_for(n, kSerial / 4, [&](std::int64_t b, std::int64_t e) {
    if (bit(dtype) & dtypes::halves) return half_line(c, t, line, step, b, e);
    OptimLine l{{t.param.data + b * size, t.grad.data + b * size}, e - b, size == 8};
    for (int k = 0; k < 3; ++k) l.at[2 + k] = t.state[k] ? t.state[k].data + b * size : nullptr;
    line(l, step);
  });
}

#define OPTIMIZER_STEP(name, Step, ...)                                                                    \
  HWY_EXPORT(name##_line);                                                                                 \
  void name(Context& c, std::span<const OptimTensors> tensors, std::span<const Step> steps, const Step*) { \
    for (std::size_t i = 0; i < tensors.size(); ++i)                                                       \
      run<Step>(c, tensors[i], HWY_DYNAMIC_DISPATCH(name##_line), steps[i]);                               \
  }
#include "neura/tables/optimizers.def"

}  // namespace

const optim_kernels* cpu_optim() {
  static constexpr optim_kernels kernels = {
#define OPTIMIZER_STEP(name, ...) .name = name,
#include "neura/tables/optimizers.def"
      .norm_of_all = norm_of_all, .clip_all = clip_all, .unscale_all = unscale_all};
  return &kernels;
}
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();

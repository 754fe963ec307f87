// Optimizer steps: the formulas once, over a vector of any instruction set; a line of memory through registers.
#include "neura/backend/kernels/optim.h"

#include "neura/core/parallel.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/optim.cpp"
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

template <class N> struct sgd {
  N lr, weight_decay, momentum, rest, sign;
  bool nesterov, first;
  explicit sgd(const SgdStep& s)
      : lr(s.lr),
        weight_decay(s.weight_decay),
        momentum(s.momentum),
        rest(1 - s.dampening),
        sign(s.sign),
        nesterov(s.nesterov),
        first(s.first) {}
  template <int States> HWY_INLINE void step(N& p, N g, N* s) const {
    g = g * sign + p * weight_decay;
    if constexpr (States > 0) {
      s[0] = first ? g : s[0] * momentum + g * rest;
      g = nesterov ? g + s[0] * momentum : s[0];
    }
    p = p - g * lr;
  }
};

// What Adam, NAdam and RAdam do alike: decay, and the moving averages of the gradient and of its square.
template <class N> struct Moments {
  N decay, weight_decay, rest1, beta2, rest2, eps, sign;
  template <class Step> explicit Moments(const Step& s)
      : decay(s.decay),
        weight_decay(s.weight_decay),
        rest1(1 - s.beta1),
        beta2(s.beta2),
        rest2(1 - s.beta2),
        eps(s.eps),
        sign(s.sign) {}
  HWY_INLINE void update(N& p, N& g, N* s) const {
    p = p * decay;
    g = g * sign + p * weight_decay;
    s[0] = s[0] + (g - s[0]) * rest1;
    s[1] = s[1] * beta2 + g * g * rest2;
  }
};

template <class N> struct adam : Moments<N> {
  N step_size, scale;
  explicit adam(const AdamStep& s) : Moments<N>(s), step_size(s.step_size), scale(1 / s.bias_correction2_sqrt) {}
  template <int States> HWY_INLINE void step(N& p, N g, N* s) const {
    this->update(p, g, s);
    N v = s[1];
    if constexpr (States > 2) v = s[2] = maximum(s[2], v);
    p = p - step_size * s[0] / (sqrt(v) * scale + this->eps);
  }
};

// States: 1 plain, 2 with momentum, 3 centered (the momentum buffer, unless momentum is 0, in the middle).
template <class N> struct rmsprop {
  N lr, alpha, rest, eps, weight_decay, momentum, sign;
  bool inside, moving;
  explicit rmsprop(const RmspropStep& s)
      : lr(s.lr),
        alpha(s.alpha),
        rest(1 - s.alpha),
        eps(s.eps),
        weight_decay(s.weight_decay),
        momentum(s.momentum),
        sign(s.sign),
        inside(s.eps_inside_sqrt),
        moving(s.momentum > 0) {}
  template <int States> HWY_INLINE void step(N& p, N g, N* s) const {
    g = g * sign + p * weight_decay;
    s[0] = s[0] * alpha + g * g * rest;
    N v = s[0];
    if constexpr (States > 2) {
      s[2] = s[2] + (g - s[2]) * rest;
      v = v - s[2] * s[2];
    }
    const N move = g / (inside ? sqrt(v + eps) : sqrt(v) + eps);
    if (States > 1 && moving) {
      s[1] = s[1] * momentum + move;
      p = p - lr * s[1];
    } else {
      p = p - lr * move;
    }
  }
};

template <class N> struct adagrad {
  N lr, weight_decay, eps, sign;
  explicit adagrad(const AdagradStep& s) : lr(s.lr), weight_decay(s.weight_decay), eps(s.eps), sign(s.sign) {}
  template <int States> HWY_INLINE void step(N& p, N g, N* s) const {
    g = g * sign + p * weight_decay;
    s[0] = s[0] + g * g;
    p = p - lr * g / (sqrt(s[0]) + eps);
  }
};

template <class N> struct adadelta {
  N lr, rho, rest, eps, weight_decay, sign;
  explicit adadelta(const AdadeltaStep& s)
      : lr(s.lr), rho(s.rho), rest(1 - s.rho), eps(s.eps), weight_decay(s.weight_decay), sign(s.sign) {}
  template <int States> HWY_INLINE void step(N& p, N g, N* s) const {
    g = g * sign + p * weight_decay;
    s[0] = s[0] * rho + g * g * rest;
    const N delta = sqrt(s[1] + eps) / sqrt(s[0] + eps) * g;
    s[1] = s[1] * rho + delta * delta * rest;
    p = p - lr * delta;
  }
};

template <class N> struct adamax {
  N step_size, rest1, beta2, eps, weight_decay, sign;
  explicit adamax(const AdamaxStep& s)
      : step_size(s.step_size),
        rest1(1 - s.beta1),
        beta2(s.beta2),
        eps(s.eps),
        weight_decay(s.weight_decay),
        sign(s.sign) {}
  template <int States> HWY_INLINE void step(N& p, N g, N* s) const {
    g = g * sign + p * weight_decay;
    s[0] = s[0] + (g - s[0]) * rest1;
    s[1] = maximum(s[1] * beta2, abs(g) + eps);
    p = p - step_size * s[0] / s[1];
  }
};

template <class N> struct nadam : Moments<N> {
  N bias_correction2, grad_factor, average_factor;
  explicit nadam(const NadamStep& s)
      : Moments<N>(s),
        bias_correction2(s.bias_correction2),
        grad_factor(s.grad_factor),
        average_factor(s.average_factor) {}
  template <int States> HWY_INLINE void step(N& p, N g, N* s) const {
    this->update(p, g, s);
    const N denominator = sqrt(s[1] / bias_correction2) + this->eps;
    p = p - (grad_factor * g + average_factor * s[0]) / denominator;
  }
};

template <class N> struct radam : Moments<N> {
  N step_size, rectified;
  bool plain;
  explicit radam(const RadamStep& s)
      : Moments<N>(s), step_size(s.step_size), rectified(s.rectified), plain(s.rectified == 0) {}
  template <int States> HWY_INLINE void step(N& p, N g, N* s) const {
    this->update(p, g, s);
    p = p - step_size * (plain ? s[0] : s[0] * rectified / (sqrt(s[1]) + this->eps));
  }
};

template <class N> struct asgd {
  N shrink, eta, mu, weight_decay, sign;
  explicit asgd(const AsgdStep& s)
      : shrink(1 - s.lambd * s.eta), eta(s.eta), mu(s.mu), weight_decay(s.weight_decay), sign(s.sign) {}
  template <int States> HWY_INLINE void step(N& p, N g, N* s) const {
    g = g * sign + p * weight_decay;
    p = p * shrink - eta * g;
    s[0] = s[0] + mu * (p - s[0]);
  }
};

template <class N> struct rprop {
  N etaminus, etaplus, least, most, sign;
  explicit rprop(const RpropStep& s)
      : etaminus(s.etaminus), etaplus(s.etaplus), least(s.step_size_min), most(s.step_size_max), sign(s.sign) {}
  template <int States> HWY_INLINE void step(N& p, N g, N* s) const {
    g = g * sign;
    const N product = g * s[0], zero;
    const auto grows = hn::Gt(product.v, zero.v), turns = hn::Lt(product.v, zero.v);
    const N factor = hn::IfThenElse(grows, etaplus.v, hn::IfThenElse(turns, etaminus.v, N(1.0).v));
    s[1] = minimum(maximum(s[1] * factor, least), most);
    g = hn::IfThenZeroElse(turns, g.v);
    const N move =
        hn::IfThenElse(hn::Gt(g.v, zero.v), s[1].v, hn::IfThenElse(hn::Lt(g.v, zero.v), (zero - s[1]).v, zero.v));
    p = p - move;
    s[0] = g;
  }
};

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

#define X(name, Step)                                                       \
  void name##_line(const OptimLine& line, const Step& step) {               \
    if (line.wide) line_with<name>(hn::CappedTag<double, 8>(), line, step); \
    else line_with<name>(hn::CappedTag<float, 16>(), line, step);           \
  }
NEURA_OPTIM_KERNELS(X)
#undef X

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

#define X(name, Step)                                              \
  HWY_EXPORT(name##_line);                                         \
  void name(Context& c, const OptimTensors& t, const Step& step) { \
    run<Step>(c, t, HWY_DYNAMIC_DISPATCH(name##_line), step);      \
  }
NEURA_OPTIM_KERNELS(X)
#undef X

}  // namespace

const optim_kernels* cpu_optim() {
#define X(name, Step) .name = name,
  static constexpr optim_kernels kernels = {NEURA_OPTIM_KERNELS(X)};
#undef X
  return &kernels;
}
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();

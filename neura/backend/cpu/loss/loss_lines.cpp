#include "neura/backend/cpu/loss/loss_lines.h"

#include "neura/backend/number/prelude.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/loss/loss_lines.cpp"
#include "neura/backend/cpu/target.h"

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
#include "neura/backend/cpu/lanes.h"

template <class N, class T> void log_sum(const T* x, std::int64_t n, T* most, T* log_of_sum) {
  using L = Lanes<N>;
  const T least = -T(infinity);
  N m0 = L::all(least), m1 = m0, s0 = L::all(0), s1 = s0;
  std::int64_t i = 0;
  for (; i + 2 * L::count <= n; i += 2 * L::count)
    m0 = larger(m0, L::load(x + i)), m1 = larger(m1, L::load(x + i + L::count));
  each<N>(n - i, [&](std::int64_t k, auto part) { m0 = larger(m0, part.load(x + i + k, least)); });
  *most = L::max(larger(m0, m1));
  const N m = L::all(*most);
  for (i = 0; i + 2 * L::count <= n; i += 2 * L::count)
    s0 = s0 + exp_below(L::load(x + i) - m), s1 = s1 + exp_below(L::load(x + i + L::count) - m);
  each<N>(n - i, [&](std::int64_t k, auto part) { s0 = s0 + exp_below(part.load(x + i + k, least) - m); });
  *log_of_sum = log(L::sum(s0 + s1));
}

template <class N, class T> double weighted(const T* x, const T* w, T most, std::int64_t n) {
  using L = Lanes<N>;
  const N m = L::all(most);
  N s = L::all(0);
  each<N>(n, [&](std::int64_t i, auto part) {
    const N d = m - part.load(x + i, most);
    s = w ? fma(d, part.load(w + i, 0), s) : s + d;
  });
  return double(L::sum(s));
}

template <class N, class T> void backward(const T* x, const T* w, T most, T l, T a, T b, T* gx, std::int64_t n) {
  using L = Lanes<N>;
  const N m = L::all(most), k = L::all(l), p = L::all(a), q = L::all(b);
  each<N>(n, [&](std::int64_t i, auto part) {
    const N v = p * exp_below(part.load(x + i, 0) - m - k);
    part.store(w ? v - q * part.load(w + i, 0) : v - q, gx + i);
  });
}

template <class N, class T>
void columns(const T* x, T* buffer, std::int64_t n, std::int64_t stride, std::int64_t count, T* most, T* l) {
  using L = Lanes<N>;
  T m[kLossColumns], s[kLossColumns];
  for (T& v : m) v = -T(infinity);
  for (std::int64_t i = 0; i < n; ++i)
    each<N>(count, [&](std::int64_t k, auto part) {
      const N v = part.load(x + i * stride + k, 0);
      L::store(v, buffer + i * kLossColumns + k);
      L::store(larger(L::load(m + k), v), m + k);
    });
  for (std::int64_t k = 0; k < count; k += L::count) {
    const N top = L::load(m + k);
    N sum = L::all(0);
    for (const T* p = buffer + k; p < buffer + n * kLossColumns; p += kLossColumns)
      sum = sum + exp_below(L::load(p) - top);
    L::store(log(sum), s + k);
  }
  for (std::int64_t k = 0; k < count; ++k) most[k] = m[k], l[k] = s[k];
}

template <class N, class T> void columns_backward(const T* x, const T* w, const T* most, const T* l, const T* a,
                                                  const T* b, T* gx, std::int64_t n, std::int64_t stride,
                                                  std::int64_t count) {
  using L = Lanes<N>;
  for (std::int64_t i = 0; i < n; ++i) {
    const N factor = L::all(w ? w[i] : T(1));
    each<N>(count, [&](std::int64_t k, auto part) {
      const N e = exp_below(part.load(x + i * stride + k, 0) - part.load(most + k, 0) - part.load(l + k, 0));
      part.store(part.load(a + k, 0) * e - part.load(b + k, 0) * factor, gx + i * stride + k);
    });
  }
}

// f(x, t) and its derivative with respect to x
template <ElementLoss kind, class N, class T> HWY_INLINE N element(N x, N t, T parameter) {
  using L = Lanes<N>;
  const N p = L::all(parameter), d = x - t, size = abs(d), half = L::all(T(0.5)), one = L::all(1);
  if constexpr (kind == ElementLoss::mse) return d * d;
  if constexpr (kind == ElementLoss::l1) return size;
  if constexpr (kind == ElementLoss::smooth_l1) return where(size < p, half * d * d / p, size - half * p);
  if constexpr (kind == ElementLoss::huber) return where(size <= p, half * d * d, p * (size - half * p));
  if constexpr (kind == ElementLoss::bce) {
    const N least = L::all(-100);
    return (t - one) * max(log1p(-x), least) - t * max(log(x), least);
  }
  if constexpr (kind == ElementLoss::bce_logits) {  // an infinite logit that is right costs nothing
    const N zero = L::all(0), far = abs(x), wrong = where(x > zero, one - t, t);
    return where(wrong == zero, zero, far * wrong) + log1p(exp_below(-far));
  }
}
template <ElementLoss kind, class N, class T> HWY_INLINE N element_slope(N x, N t, T parameter) {
  using L = Lanes<N>;
  const N p = L::all(parameter), d = x - t, one = L::all(1);
  if constexpr (kind == ElementLoss::mse) return d + d;
  if constexpr (kind == ElementLoss::l1) return sgn(d);
  if constexpr (kind == ElementLoss::smooth_l1) return where(abs(d) >= p, sgn(d), d / p);
  if constexpr (kind == ElementLoss::huber) return where(abs(d) > p, p * sgn(d), d);
  if constexpr (kind == ElementLoss::bce) return d / max((one - x) * x, L::all(T(1e-12)));
  if constexpr (kind == ElementLoss::bce_logits) {
    const N e = exp_below(-abs(x)), small = e / (one + e);
    return where(x < L::all(0), small, one - small) - t;
  }
}
// The padding of a row is zeros, whose loss is 0; only in bce_logits it is log 2.
template <ElementLoss kind, class N, class T> double sum(const T* x, const T* t, T parameter, std::int64_t n) {
  using L = Lanes<N>;
  N s0 = L::all(0), s1 = s0;
  std::int64_t i = 0;
  for (; i + 2 * L::count <= n; i += 2 * L::count) {
    s0 = s0 + element<kind>(L::load(x + i), L::load(t + i), parameter);
    s1 = s1 + element<kind>(L::load(x + i + L::count), L::load(t + i + L::count), parameter);
  }
  double rest = 0;
  each<N>(n - i, [&](std::int64_t k, auto part) {
    const N v = element<kind>(part.load(x + i + k, 0), part.load(t + i + k, 0), parameter);
    if (kind != ElementLoss::bce_logits || i + k + L::count <= n) {
      s0 = s0 + v;
      return;
    }
    T values[L::count];
    L::store(v, values);
    for (std::int64_t j = 0; j < n - i - k; ++j) rest += double(values[j]);
  });
  return double(L::sum(s0 + s1)) + rest;
}
template <ElementLoss kind, class N, class T> void map(const T* x, const T* t, T parameter, T* y, std::int64_t n) {
  each<N>(n, [&](std::int64_t i, auto part) {
    part.store(element<kind>(part.load(x + i, 0), part.load(t + i, 0), parameter), y + i);
  });
}
template <ElementLoss kind, class N, class T>
void slope(const T* g, T scale, const T* x, const T* t, T parameter, T* gx, std::int64_t n) {
  const N s = Lanes<N>::all(scale);
  each<N>(n, [&](std::int64_t i, auto part) {
    const N d = element_slope<kind>(part.load(x + i, 0), part.load(t + i, 0), parameter) * s;
    part.store(g ? d * part.load(g + i, 0) : d, gx + i);
  });
}

template <class N, class T>
void paths(const T* a, const T* b, const T* c, const T* pass, const T* x, T* to, std::int64_t n) {
  const N none = Lanes<N>::all(-T(infinity)), zero = Lanes<N>::all(0);
  each<N>(n, [&](std::int64_t i, auto part) {
    const N u = part.load(a + i, 0), v = part.load(b + i, 0), w = part.load(c + i, 0) + part.load(pass + i, 0);
    const N most = larger(larger(u, v), w), base = where(most == none, zero, most);
    const N sum = exp_below(u - base) + exp_below(v - base) + exp_below(w - base);
    part.store(log(sum) + base + part.load(x + i, 0), to + i);
  });
}
template <class N, class T> void shares(const T* a, const T* b, const T* x, T loss, T* to, std::int64_t n) {
  const N none = Lanes<N>::all(-T(infinity)), zero = Lanes<N>::all(0), total = Lanes<N>::all(loss);
  each<N>(n, [&](std::int64_t i, auto part) {
    const N both = part.load(a + i, 0) + part.load(b + i, 0);
    part.store(where(both == none, zero, exp_below(both - part.load(x + i, 0) + total)), to + i);
  });
}

#define OF_EVERY(f)                                                                                 \
  {                                                                                                 \
    &f<ElementLoss::mse, N, T>, &f<ElementLoss::l1, N, T>, &f<ElementLoss::smooth_l1, N, T>,        \
        &f<ElementLoss::huber, N, T>, &f<ElementLoss::bce, N, T>, &f<ElementLoss::bce_logits, N, T> \
  }
template <class N, class T>
constexpr LossLines<T> lines{&log_sum<N, T>, &weighted<N, T>, &backward<N, T>, &columns<N, T>, &columns_backward<N, T>,
                             OF_EVERY(sum),  OF_EVERY(map),   OF_EVERY(slope), &paths<N, T>,   &shares<N, T>};
#undef OF_EVERY
constexpr LossTable table{lines<Floats, float>, lines<Doubles, double>};
const LossTable* loss_lines_table() { return &table; }

}  // namespace HWY_NAMESPACE
#if HWY_ONCE
HWY_EXPORT(loss_lines_table);
const LossTable& loss_table() { return *HWY_DYNAMIC_DISPATCH(loss_lines_table)(); }
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();

// Recurrences of first order, and running sums of exponentials.
#include "neura/backend/cuda/reduce/scan_lines.cuh"

namespace neura::cuda {
namespace {

// Elements are maps of what came before: v -> b + a v.
template <class Type> struct LinearRecurrence {
  using T = Type;
  struct State {
    Scaled<Wide<T>> a;
    Wide<T> b;
  };
  static __device__ State load(const Lines& l, std::int64_t at, std::int64_t k) {
    const Wide<T> b = widened(reinterpret_cast<const T*>(l.b)[at]);
    if (k == 0) return {{Wide<T>(0_c), 0}, b};
    return {first_scaled(widened(reinterpret_cast<const T*>(l.a)[l.reverse ? at + l.inner : at])), b};
  }
  static __device__ State combine(const Lines&, State f, State g) { return {f.a * g.a, g.b + times(g.a, f.b)}; }
  static __device__ void store(const Lines& l, std::int64_t at, State s) {
    reinterpret_cast<T*>(l.y)[at] = narrowed<T>(s.b);
  }
};

// log(sum exp(x)) = high + log(sum), of the largest x and a sum of at least 1.
template <class R> struct LogSum {
  R high;
  double sum;
};
template <class Type> struct LogCumSumExp {
  using T = Type;
  using State = LogSum<T>;
  static __device__ State of(const Lines&, T x, std::int64_t) { return {x, 1}; }
  static __device__ T result(State s) { return s.sum == 1 ? s.high : T(double(s.high) + ::log(s.sum)); }
  static __device__ State load(const Lines& l, std::int64_t at, std::int64_t) {
    return {reinterpret_cast<const T*>(l.a)[at], 1};
  }
  static __device__ State combine(const Lines&, State a, State b) {
    if (a.high != a.high) return a;
    if (b.high != b.high) return b;
    if (a.high < b.high) {
      const State c = a;
      a = b, b = c;
    }
    if (!finite(a.high)) return {a.high, 1};
    return {a.high, a.sum + b.sum * double(exp(b.high - a.high))};
  }
  static __device__ void store(const Lines& l, std::int64_t at, State s) { reinterpret_cast<T*>(l.y)[at] = result(s); }
};
template <class R> struct LogCumSumExp<complex<R>> {
  using T = complex<R>;
  using State = complex<double>;
  static __device__ State of(const Lines&, T x, std::int64_t) { return widened(x); }
  static __device__ T result(State s) { return narrowed<T>(s); }
  static __device__ State load(const Lines& l, std::int64_t at, std::int64_t) {
    return widened(reinterpret_cast<const T*>(l.a)[at]);
  }
  static __device__ State combine(const Lines&, State a, State b) {
    if (a.re != a.re || a.im != a.im) return a;
    if (b.re != b.re || b.im != b.im) return b;
    if (a.re < b.re) {
      const State c = a;
      a = b, b = c;
    }
    if (infinite(a.re)) return a.re < 0 || finite(b.re) ? a : log(exp(a) + exp(b));
    return a + log(State(1_c) + exp(b - a));
  }
  static __device__ void store(const Lines& l, std::int64_t at, State s) { reinterpret_cast<T*>(l.y)[at] = result(s); }
};

template <template <class> class Op> void scan_in(Context& c, Lines& l, DType d) {
  switch (d) {
    case DType::float32:
      return scan_lines<Op<float>>(c, l);
    case DType::float64:
      return scan_lines<Op<double>>(c, l);
    case DType::complex64:
      return scan_lines<Op<complex<float>>>(c, l);
    default:
      return scan_lines<Op<complex<double>>>(c, l);
  }
}

}  // namespace

void recurrence(Context& c, int dim, bool reverse, View a, View b, View y) {
  Lines l(y, dim);
  l.a = a.data, l.b = b.data, l.y = y.data, l.reverse = reverse;
  scan_in<LinearRecurrence>(c, l, y.dtype());
}
void logcumsumexp(Context& c, int dim, View x, View y) {
  Lines l(x, dim);
  l.a = x.data, l.y = y.data;
  scan_in<LogCumSumExp>(c, l, x.dtype());
}

}  // namespace neura::cuda

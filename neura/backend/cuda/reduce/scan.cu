// Running sums, products and extremes, and lines moved by one. Sums and products are kept in double.
#include <cstring>

#include "neura/backend/cuda/reduce/scan_lines.cuh"

namespace neura::cuda {
namespace {

template <class Type> struct Sum {
  using T = Type;
  using State = Wide<T>;
  static __device__ State of(const Lines&, T x, std::int64_t) { return widened(x); }
  static __device__ T result(State s) { return narrowed<T>(s); }
  static __device__ State load(const Lines& l, std::int64_t at, std::int64_t) {
    return widened(reinterpret_cast<const T*>(l.a)[at]);
  }
  static __device__ State combine(const Lines&, State a, State b) { return a + b; }
  static __device__ void store(const Lines& l, std::int64_t at, State s) { reinterpret_cast<T*>(l.y)[at] = result(s); }
};
template <class Type> struct Product {
  using T = Type;
  using State = Scaled<Wide<T>>;
  static __device__ State of(const Lines&, T x, std::int64_t) { return first_scaled(widened(x)); }
  static __device__ T result(State s) { return narrowed<T>(value_of(s.m, s.e)); }
  static __device__ State load(const Lines& l, std::int64_t at, std::int64_t) {
    return of(l, reinterpret_cast<const T*>(l.a)[at], 0);
  }
  static __device__ State combine(const Lines&, State a, State b) { return a * b; }
  static __device__ void store(const Lines& l, std::int64_t at, State s) { reinterpret_cast<T*>(l.y)[at] = result(s); }
};
template <> struct Product<std::int64_t> : Sum<std::int64_t> {
  static __device__ State combine(const Lines&, State a, State b) { return a * b; }
};
template <template <class> class Op> void cumulate_in(Context& c, Lines& l, DType d) {
  switch (d) {
    case DType::float32:
      return scan_lines<Op<float>>(c, l);
    case DType::float64:
      return scan_lines<Op<double>>(c, l);
    case DType::int64:
      return scan_lines<Op<std::int64_t>>(c, l);
    case DType::complex64:
      return scan_lines<Op<complex<float>>>(c, l);
    default:
      return scan_lines<Op<complex<double>>>(c, l);
  }
}
void cumulate(Context& c, bool product, int dim, bool reverse, View x, View y) {
  Lines l(x, dim);
  l.a = x.data, l.y = y.data, l.reverse = reverse;
  if (product) cumulate_in<Product>(c, l, x.dtype());
  else cumulate_in<Sum>(c, l, x.dtype());
}

template <class Type> struct Extreme {  // flag: the largest
  using T = Type;
  struct State {
    T value;
    alignas(8) std::int64_t at;
  };
  static __device__ State of(const Lines&, T x, std::int64_t k) { return {x, k}; }
  static __device__ State load(const Lines& l, std::int64_t at, std::int64_t k) {
    return {reinterpret_cast<const T*>(l.a)[at], k};
  }
  static __device__ State combine(const Lines& l, State a, State b) {  // the later of equals; NaN is beyond all
    return b.value != b.value || (l.flag ? b.value >= a.value : b.value <= a.value) ? b : a;
  }
  static __device__ void store(const Lines& l, std::int64_t at, State s) {
    reinterpret_cast<T*>(l.y)[at] = s.value, reinterpret_cast<std::int64_t*>(l.z)[at] = s.at;
  }
};
void running_extreme(Context& c, bool largest, int dim, View x, View values, View indices) {
  Lines l(x, dim);
  l.a = x.data, l.y = values.data, l.z = indices.data, l.flag = largest;
  switch (x.dtype()) {
    case DType::float32:
      return scan_lines<Extreme<float>>(c, l);
    case DType::float64:
      return scan_lines<Extreme<double>>(c, l);
    default:
      return scan_lines<Extreme<std::int64_t>>(c, l);
  }
}

struct Moved {
  Walk<1> walk;  // place along the dimension
  const char* x;
  char* y;
  std::int64_t n, inner;
  bool back;
  Sixteen fill;
};
template <class U, class I> __global__ void __launch_bounds__(kThreads) shift_kernel(const __grid_constant__ Moved a) {
  const I i = I(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= I(a.walk.numel)) return;
  std::int64_t k[1];
  locate(a.walk, i, k);
  const bool left = k[0] == (a.back ? a.n - 1 : 0);
  const U* from = reinterpret_cast<const U*>(a.x) + i;
  reinterpret_cast<U*>(a.y)[i] = left     ? *reinterpret_cast<const U*>(&a.fill)
                                 : a.back ? from[a.inner]
                                          : *(from - a.inner);
}
void shift(Context& c, int dim, bool back, double fill, View x, View y) {
  if (!y.numel()) return;
  const Lines l(x, dim);
  Moved a{{}, x.data, y.data, l.n, l.inner, back, {}};
  a.walk.add(l.outer, {0}), a.walk.add(l.n, {1}), a.walk.add(l.inner, {0});
  const auto put = [&](auto v) { std::memcpy(&a.fill, &v, sizeof v); };
  if (x.dtype() == DType::int64) put(std::int64_t(fill));
  else if (x.dtype() == DType::float32 || x.dtype() == DType::complex64) put(float(fill));
  else put(fill);
  const OnDevice on(c.device.index);
  const cudaStream_t stream = current_stream(c.device.index);
  NEURA_BY_WIDTH(shift_kernel, size_of(x.dtype()), a.walk.wide(), blocks_for(y.numel(), kThreads), stream, a);
  c.fail(launched(c.device.index));
}

}  // namespace

const scan_kernels* scan() {
  static constexpr scan_kernels table{.cumulate = cumulate,
                                      .recurrence = recurrence,
                                      .shift = shift,
                                      .extreme = running_extreme,
                                      .logcumsumexp = logcumsumexp};
  return &table;
}

}  // namespace neura::cuda

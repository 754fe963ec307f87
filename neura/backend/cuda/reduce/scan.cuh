// Scans of any associative operation. A line is a group's (a warp or a block) where it is contiguous, and a thread's
// where it has neighbours; few long lines are cut into segments, whose results are scanned before. How things are
// combined depends on sizes alone.
#pragma once
#include "neura/backend/cuda/index/index.cuh"
#include "neura/backend/kernels/scan.h"

namespace neura::cuda {

template <class T> struct WideOf { using type = T; };
template <> struct WideOf<float> { using type = double; };
template <> struct WideOf<std::int64_t> { using type = std::uint64_t; };  // wraps around
template <> struct WideOf<complex<float>> { using type = complex<double>; };
template <class T> using Wide = typename WideOf<T>::type;
template <class T> __device__ Wide<T> widened(T x) {
  if constexpr (is_same<T, std::int64_t>) return std::uint64_t(x);
  else return cast<Wide<T>>(x);
}
template <class T> __device__ T narrowed(Wide<T> x) {
  if constexpr (is_same<T, std::int64_t>) return std::int64_t(x);
  else return cast<T>(x);
}

struct Lines {  // [outer, n, inner]
  std::int64_t outer = 1, n = 1, inner = 1;
  std::int64_t segments = 1, segment = 1;  // of a line: how many, and how long
  bool reverse = false, flag = false;      // flag: the operation's own
  bool packs = false;                      // rows that may be read and written by 16 bytes
  const char *a = nullptr, *b = nullptr;
  char *y = nullptr, *z = nullptr;

  Lines(const View& v, int dim) {
    for (int d = 0; d < v.rank(); ++d) (d < dim ? outer : d == dim ? n : inner) *= v.size(d);
    segment = n;
  }
};

// A product of many numbers in the order of a tree, which may pass what a double can hold where one after the other
// does not (0 first, then many large ones): m * 2^(256 e), of an m near 1.
template <class W> struct Scaled {
  W m;
  int e;
};
__device__ inline double largest_part(double x) { return x < 0 ? -x : x; }
__device__ inline double largest_part(complex<double> x) { return ::fmax(::fabs(x.re), ::fabs(x.im)); }
template <class W> __device__ Scaled<W> scaled(W m, int e) {
  const double size = largest_part(m), one = size > 0x1p256 ? 0x1p-256 : size < 0x1p-256 ? 0x1p256 : 1.0;
  if (one == 1.0 || size == 0 || !(size < double(infinity))) return {m, e};
  return {one * m, size > 1 ? e + 1 : e - 1};
}
template <class W> __device__ Scaled<W> first_scaled(W x) {  // of any double
  Scaled<W> s{x, 0};
  for (int i = 0; i < 4; ++i) s = scaled(s.m, s.e);
  return s;
}
template <class W> __device__ Scaled<W> operator*(Scaled<W> a, Scaled<W> b) { return scaled(a.m * b.m, a.e + b.e); }
template <class W> __device__ W value_of(W m, int e) {
  const double by = e > 0 ? 0x1p256 : 0x1p-256;
  for (int i = ::min(e < 0 ? -e : e, 6); i > 0; --i) m = by * m;
  return m;
}
template <class W> __device__ W times(Scaled<W> a, W x) {
  return a.e > 0 ? value_of(a.m * x, a.e) : value_of(a.m, a.e) * x;
}

// An Op: T, its dtype in memory; State load(const Lines&, std::int64_t at, std::int64_t k), of element k of a line, at
// that offset; State combine(const Lines&, State, State); void store(const Lines&, std::int64_t at, State). With one
// operand also State of(const Lines&, T, std::int64_t k), and with one result T result(State).

template <class T, class F> __device__ T by_words(T a, F&& shuffle) {
  constexpr int words = int(sizeof(T) / 4);
  union Bits {
    T value;
    unsigned word[words];
    __device__ Bits() {}
  };
  Bits mine, other;
  mine.value = a;
#pragma unroll
  for (int w = 0; w < words; ++w) other.word[w] = shuffle(mine.word[w]);
  return other.value;
}
template <class Op> constexpr int kItems = int(32 / sizeof(typename Op::T));  // neighbours of one thread

// The threads of a group, W of them, scan items [begin, end); those before are in `carry` if `has`. Gives all.
template <class Op, int W, class Load, class Store>
__device__ void scan_group(const Lines& l, std::int64_t begin, std::int64_t end, typename Op::State& carry, bool has,
                           const Load& load, const Store& store) {
  using S = typename Op::State;
  constexpr int K = kItems<Op>;
  __shared__ alignas(16) char room[W > 32 ? (W / 32) * sizeof(S) : 16];
  S* const shared = reinterpret_cast<S*>(room);
  const int lane = int(threadIdx.x % W), warp = lane / 32;
  for (std::int64_t tile = begin; tile < end; tile += W * K) {
    const std::int64_t first = tile + lane * K;
    const int count = int(std::int64_t(K) < end - first ? std::int64_t(K) : end - first);  // of this thread: from 0
    const int full = int((std::int64_t(W * K) < end - tile ? std::int64_t(W * K) : end - tile) - 1) / K;  // last lane
    S v[K];
    load(first, count, v);
#pragma unroll
    for (int k = 1; k < K; ++k) v[k] = k < count ? Op::combine(l, v[k - 1], v[k]) : v[k - 1];
    S sum = v[K - 1];
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const S other = by_words(sum, [&](unsigned w) { return __shfl_up_sync(~0u, w, step); });
      if (lane % 32 >= step) sum = Op::combine(l, other, sum);
    }
    S before = by_words(sum, [&](unsigned w) { return __shfl_up_sync(~0u, w, 1); });
    bool some = lane % 32 > 0;
    if constexpr (W > 32) {
      if (lane == full || (lane % 32 == 31 && lane < full)) shared[warp] = sum;
      __syncthreads();
      S front;
      for (int w = 0; w < warp; ++w) front = w ? Op::combine(l, front, shared[w]) : shared[0];
      if (warp) before = some ? Op::combine(l, front, before) : front, some = true;
      sum = shared[0];
      for (int w = 1; w <= full / 32; ++w) sum = Op::combine(l, sum, shared[w]);
    } else {
      sum = by_words(sum, [&](unsigned w) { return __shfl_sync(~0u, w, full); });
    }
    if (has) before = some ? Op::combine(l, carry, before) : carry, some = true;
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (some && k < count) v[k] = Op::combine(l, before, v[k]);
    store(first, count, v);
    carry = has ? Op::combine(l, carry, sum) : sum, has = true;
    if constexpr (W > 32) __syncthreads();
  }
}

}  // namespace neura::cuda

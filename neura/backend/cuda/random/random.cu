// Random numbers: number i of a call comes from the same words of the same Philox block as on the cpu, by the same
// arithmetic. This file is compiled without contraction, so that products and sums are rounded one by one, as there.
#include "neura/backend/cuda/random/random.h"

#include <algorithm>
#include <cmath>

#include "neura/backend/cuda/runtime/memory.cuh"
#include "neura/backend/cuda/random/random.cuh"
#include "neura/backend/cuda/runtime/scratch.h"

namespace neura::cuda {
namespace {

struct Target {  // where the numbers go; of a complex tensor: both parts of an element, one after the other
  char* data;
  std::int64_t numel;
  DType dtype;
  bool dense;  // contiguous and aligned to 16 bytes
  int rank;
  std::int64_t size[kMaxRank + 1], stride[kMaxRank + 1];  // bytes
};
__device__ __noinline__ std::int64_t place(const Target& t, std::int64_t i) {
  std::int64_t at = 0;
  for (int d = t.rank - 1; d >= 0; --d) at += i % t.size[d] * t.stride[d], i /= t.size[d];
  return at;
}
template <class M, class E, int V> __device__ void store_as(const Target& t, std::int64_t first, const E (&v)[V]) {
  if (t.dense && first + V <= t.numel) {
    constexpr int P = sizeof(M) * V > 16 ? int(16 / sizeof(M)) : V;
    auto* const to = reinterpret_cast<PackOf<M, P>*>(t.data + first * std::int64_t(sizeof(M)));
#pragma unroll
    for (int j = 0; j < V / P; ++j) {
      PackOf<M, P> pack;
#pragma unroll
      for (int k = 0; k < P; ++k) pack.v[k] = cast<M>(v[j * P + k]);
      to[j] = pack;
    }
    return;
  }
#pragma unroll
  for (int k = 0; k < V; ++k)
    if (first + k < t.numel) *reinterpret_cast<M*>(t.data + place(t, first + k)) = cast<M>(v[k]);
}
// Elements first, first + 1, ... of the target.
template <class E, int V> __device__ void store(const Target& t, std::int64_t first, const E (&v)[V]) {
  switch (t.dtype) {
#define TO(dtype)    \
  case DType::dtype: \
    return store_as<typename Element<DType::dtype>::type>(t, first, v);
    // clang-format off
    TO(float32) TO(float16) TO(bfloat16)
    default: break;
  }
  if constexpr (!is_same<E, float>) switch (t.dtype) {
    TO(boolean) TO(uint8) TO(int8) TO(int16) TO(int32) TO(int64) TO(float64)
    default: break;
  }
    // clang-format on
#undef TO
}

// The logarithm, and the sine and cosine of turns, of the cpu's vectors, digit by digit. What is exact there in any
// order (a power of two as a factor, an exponent times a number of nine bits) is done in the shortest one here.
__device__ inline float horner(float, float sum) { return sum; }
template <class... C> __device__ float horner(float x, float sum, float c, C... rest) {
  return horner(x, sum * x + c, rest...);
}
__device__ inline float log_of_rest(std::uint32_t w) {  // of 1 - uniform32(w)
  const int bits = __float_as_int(float(0x1000000u - (w >> 8))), e = (bits - 0x3f3504f3) >> 23;
  const float m = __int_as_float(bits - e * (1 << 23)) - 1.0f, z = m * m;
  const float exponent = __int_as_float(0x4b400000 - 24 + e) - 12582912.0f;  // e - 24
  float y = horner(m, NEURA_LOG_TERMS);
  y = y * m * z;
  y = y + exponent * -2.12194440e-4f;
  y = __fmaf_rn(z, -0.5f, y);
  return __fmaf_rn(exponent, 0.693359375f, m + y);
}
__device__ inline void sin_cos_turns(std::uint32_t w, float& s, float& c) {  // of 2 pi uniform32(w)
  const std::uint32_t k = (w + 0x20000000u) >> 30;                           // the nearest quarter
  const float r = float(int(w - (k << 30)) >> 8) * (6.283185307f * 0x1p-24f), z = r * r;
  const float sine = r + r * z * horner(z, NEURA_SIN_TERMS), cosine = horner(z, NEURA_COS_TERMS);
  s = k & 1 ? cosine : sine, c = k & 1 ? sine : cosine;
  s = __uint_as_float(__float_as_uint(s) ^ (k & 2) << 30);
  c = __uint_as_float(__float_as_uint(c) ^ ((k + 1) & 2) << 30);
}
__device__ inline float root_of(float x) {  // rounded correctly; x is 0, or far from the least and greatest numbers
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  const float near = x * y;
  return x == 0 ? x : __fmaf_rn(__fmaf_rn(-near, near, x), y * 0.5f, near);
}
// standard: a is 0 and b is 1, so that the sum with a does not round.
template <bool standard>
__device__ void normal_pair(std::uint32_t w0, std::uint32_t w1, float a, float b, float& x, float& y) {
  const float radius = root_of(log_of_rest(w0) * -2.0f);
  float s, c;
  sin_cos_turns(w1, s, c);
  if constexpr (standard) x = __fmaf_rn(c, radius, a), y = __fmaf_rn(s, radius, a);
  else x = c * (radius * b) + a, y = s * (radius * b) + a;
}

enum class Simple { uniform, normal, standard_normal, exponential, bernoulli };
// Four numbers a block, computed in float32. below: of bernoulli, how many of the 2^24 uniform numbers are 1.
template <Simple kind> __device__ void transform(uint4 block, float a, float b, std::uint32_t below, float (&v)[4]) {
  const std::uint32_t w[4] = {block.x, block.y, block.z, block.w};
  if constexpr (kind == Simple::normal || kind == Simple::standard_normal) {
#pragma unroll
    for (int k = 0; k < 4; k += 2) normal_pair<kind == Simple::standard_normal>(w[k], w[k + 1], a, b, v[k], v[k + 1]);
  } else {
#pragma unroll
    for (int k = 0; k < 4; ++k)
      v[k] = kind == Simple::bernoulli ? float(w[k] >> 8 < below)
             : kind == Simple::uniform ? uniform32(w[k]) * b + a
                                       : log_of_rest(w[k]) * b;
  }
}
template <Simple kind> __global__ void __launch_bounds__(kThreads)
    draw_simple(PhiloxDraw d, float a, float b, std::uint32_t below, const __grid_constant__ Target t) {
  d.begin();
  const std::int64_t step = std::int64_t(gridDim.x) * kThreads;
  std::int64_t g = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (t.dense && t.dtype == DType::float32) {
    auto* const to = reinterpret_cast<PackOf<float, 4>*>(t.data);
    for (; 4 * (g + step) + 4 <= t.numel; g += 2 * step) {  // two blocks at once share the keys of Philox's rounds
      PackOf<float, 4> one, other;
      transform<kind>(d.block(std::uint64_t(g)), a, b, below, one.v);
      transform<kind>(d.block(std::uint64_t(g + step)), a, b, below, other.v);
      to[g] = one, to[g + step] = other;
    }
  }
  for (; 4 * g < t.numel; g += step) {
    float v[4];
    transform<kind>(d.block(std::uint64_t(g)), a, b, below, v);
    store(t, 4 * g, v);
  }
}

__device__ double transform(Draw::Kind kind, double a, double b, double u) {
  switch (kind) {
    case Draw::cauchy:
      return a + b * ::tan(3.14159265358979323846 * (u - 0.5));
    case Draw::exponential:
      return -::log1p(-u) / a;
    case Draw::geometric:
      return a >= 1 ? 1.0 : ::fmax(1.0, ::ceil(::log1p(-u) / ::log1p(-a)));
    case Draw::bernoulli:
      return u < a;
    default:
      return a + b * u;
  }
}
// In double: four numbers a block of 24 bits each, or (fine) two of 53.
template <bool fine> __global__ void __launch_bounds__(kThreads)
    draw_double(PhiloxDraw d, Draw::Kind kind, double a, double b, const double* p, const __grid_constant__ Target t) {
  constexpr int V = fine ? 2 : 4;
  d.begin();
  const std::int64_t step = std::int64_t(gridDim.x) * kThreads;
  for (std::int64_t g = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; V * g < t.numel; g += step) {
    const uint4 block = d.block(std::uint64_t(g));
    const std::uint32_t w[4] = {block.x, block.y, block.z, block.w};
    double v[V];
#pragma unroll
    for (int k = 0; k < V; ++k) v[k] = fine ? uniform64(w[2 * k % 4], w[(2 * k + 1) % 4]) : double(uniform32(w[k]));
    if (kind == Draw::normal || kind == Draw::log_normal) {
#pragma unroll
      for (int k = 0; k < V; k += 2) {
        const double r = ::sqrt(-2 * ::log1p(-v[k])), angle = 6.283185307179586477 * v[k + 1];
        double s, c;
        ::sincos(angle, &s, &c);
        v[k] = a + b * (r * c), v[k + 1] = a + b * (r * s);
        if (kind == Draw::log_normal) v[k] = ::exp(v[k]), v[k + 1] = ::exp(v[k + 1]);
      }
    } else {
#pragma unroll
      for (int k = 0; k < V; ++k)
        if (!p) v[k] = transform(kind, a, b, v[k]);
        else if (V * g + k < t.numel) v[k] = v[k] < p[V * g + k];
    }
    store(t, V * g, v);
  }
}

// low + [0, range): from one word, or (wide) from two.
__device__ inline std::int64_t integer_of(std::uint32_t w, std::uint64_t range, std::int64_t low) {
  return std::int64_t((std::uint64_t(w) * range >> 32) + std::uint64_t(low));
}
template <bool wide> __global__ void __launch_bounds__(kThreads)
    draw_integers(PhiloxDraw d, std::int64_t low, std::uint64_t range, const __grid_constant__ Target t) {
  constexpr int V = wide ? 2 : 4;
  d.begin();
  const std::int64_t step = std::int64_t(gridDim.x) * kThreads;
  for (std::int64_t g = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; V * g < t.numel; g += step) {
    const uint4 block = d.block(std::uint64_t(g));
    const std::uint32_t w[4] = {block.x, block.y, block.z, block.w};
    std::int64_t v[V];
#pragma unroll
    for (int k = 0; k < V; ++k) {
      if constexpr (wide) {
        std::uint64_t x = std::uint64_t(w[2 * k]) << 32 | w[2 * k + 1];
        if (range) x = __umul64hi(x, range);
        v[k] = std::int64_t(x + std::uint64_t(low));
      } else {
        v[k] = integer_of(w[k], range, low);
      }
    }
    store(t, V * g, v);
  }
}
// The same from one word to a dense int64 target: a thread's four numbers are 32 bytes, so that lanes exchange words
// first, and each write of a warp is 512 bytes without gaps.
__global__ void __launch_bounds__(kThreads)
    draw_longs(PhiloxDraw d, std::int64_t low, std::uint64_t range, const __grid_constant__ Target t) {
  d.begin();
  const int lane = int(threadIdx.x % 32);
  const std::int64_t step = std::int64_t(gridDim.x) * kThreads, groups = (t.numel + 3) / 4;
  for (std::int64_t g = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; g - lane < groups; g += step) {
    const uint4 w = d.block(std::uint64_t(g));
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int from = 16 * half + lane / 2;
      const std::uint32_t x = __shfl_sync(~0u, w.x, from), y = __shfl_sync(~0u, w.y, from);
      const std::uint32_t z = __shfl_sync(~0u, w.z, from), u = __shfl_sync(~0u, w.w, from);
      const std::int64_t v[2] = {integer_of(lane % 2 ? z : x, range, low), integer_of(lane % 2 ? u : y, range, low)};
      const std::int64_t first = 4 * (g - lane) + 64 * half + 2 * lane;
      if (first < t.numel) store_as<std::int64_t>(t, first, v);
    }
  }
}

// Uniform numbers for one element that needs an unknown count of them: blocks far after all elements' own.
struct Stream {
  PhiloxDraw d;
  std::uint64_t element, used = 0;
  __device__ double next() {
    const uint4 w = d.block(element | (++used << 44));
    return uniform64(w.x, w.y);
  }
};
__device__ double poisson_of(double rate, Stream s) {
  if (!(rate > 0)) return rate == 0 ? 0 : __longlong_as_double(0x7ff8000000000000);
  if (rate < 10) {
    const double limit = ::exp(-rate);
    double k = 0, product = s.next();
    while (product > limit) ++k, product *= s.next();
    return k;
  }
  // Hörmann, The transformed rejection method for generating Poisson random variables (PTRS), 1993
  const double root = ::sqrt(rate), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  const double inverse = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = s.next() - 0.5, v = s.next(), us = 0.5 - ::fabs(u);
    const double k = ::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (::log(v) + ::log(inverse) - ::log(a / (us * us) + b) <= -rate + k * ::log(rate) - ::lgamma(k + 1)) return k;
  }
}
__global__ void __launch_bounds__(kThreads)
    draw_poisson(PhiloxDraw d, const double* rates, const __grid_constant__ Target t) {
  d.begin();
  const std::int64_t step = std::int64_t(gridDim.x) * kThreads;
  for (std::int64_t i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; i < t.numel; i += step) {
    const double k[1] = {poisson_of(rates[i], {d, std::uint64_t(i)})};
    store(t, i, k);
  }
}

Target target_of(const View& out) {
  const bool parts = neura::is_complex(out.dtype());
  Target t{out.data, out.numel() * (parts ? 2 : 1), to_real(out.dtype()), false, 0, {}, {}};
  t.dense = out.spec->contiguous && reinterpret_cast<std::uintptr_t>(out.data) % 16 == 0;
  const auto push = [&t](std::int64_t size, std::int64_t stride) {
    t.size[t.rank] = size, t.stride[t.rank++] = stride;
  };
  if (out.spec->contiguous) return push(std::max<std::int64_t>(t.numel, 1), size_of(t.dtype)), t;
  for (int d = 0; d < out.rank(); ++d) push(out.size(d), out.stride(d) * size_of(out.dtype()));
  if (parts) push(2, size_of(t.dtype));
  return t;
}

void draw(Context& c, const Draw& asked, View p, View out) {
  if (!out.numel()) return;
  Draw d = asked;
  const Target t = target_of(out);
  if (neura::is_complex(out.dtype()) && d.kind == Draw::normal)
    d.b *= 0.70710678118654752440;  // half the variance in each
  const bool integers = d.kind == Draw::random;
  const bool wide = integers ? d.range == 0 || d.range > (1u << 24) : t.dtype == DType::float64;
  const int index = c.device.index, each = d.kind == Draw::poisson ? 1 : wide ? 2 : 4;
  const OnDevice on(index);
  const cudaStream_t stream = current_stream(index);
  const std::int64_t needed = (t.numel + std::int64_t(each) * kThreads - 1) / (std::int64_t(each) * kThreads);
  const unsigned blocks = unsigned(std::min<std::int64_t>(needed, 132 * 32));
  const PhiloxDraw from = drawn(d, index);
  const float a = float(d.a), b = float(d.b);
  const bool simple = !wide && !p;
  if (d.kind == Draw::poisson) {
    draw_poisson<<<blocks, kThreads, 0, stream>>>(from, p.as<double>(), t);
  } else if (integers) {
    if (wide) draw_integers<true><<<blocks, kThreads, 0, stream>>>(from, d.low, d.range, t);
    else if (t.dense && t.dtype == DType::int64) draw_longs<<<blocks, kThreads, 0, stream>>>(from, d.low, d.range, t);
    else draw_integers<false><<<blocks, kThreads, 0, stream>>>(from, d.low, d.range, t);
  } else if (simple && d.kind == Draw::uniform) {
    draw_simple<Simple::uniform><<<blocks, kThreads, 0, stream>>>(from, a, b, 0, t);
  } else if (simple && d.kind == Draw::normal && a == 0 && b == 1) {
    draw_simple<Simple::standard_normal><<<blocks, kThreads, 0, stream>>>(from, a, b, 0, t);
  } else if (simple && d.kind == Draw::normal) {
    draw_simple<Simple::normal><<<blocks, kThreads, 0, stream>>>(from, a, b, 0, t);
  } else if (simple && d.kind == Draw::exponential) {
    draw_simple<Simple::exponential><<<blocks, kThreads, 0, stream>>>(from, 0, -float(1 / d.a), 0, t);
  } else if (simple && d.kind == Draw::bernoulli && is_floating(t.dtype)) {
    const auto below = std::uint32_t(std::ceil(std::clamp(d.a, 0.0, 1.0) * 0x1p24));  // m * 2^-24 < a, for integers m
    draw_simple<Simple::bernoulli><<<blocks, kThreads, 0, stream>>>(from, 0, 0, below, t);
  } else if (wide) {
    draw_double<true><<<blocks, kThreads, 0, stream>>>(from, d.kind, d.a, d.b, p.as<double>(), t);
  } else {
    draw_double<false><<<blocks, kThreads, 0, stream>>>(from, d.kind, d.a, d.b, p.as<double>(), t);
  }
  c.fail(launched(index));
}

}  // namespace

const random_kernels* random() {
  static constexpr random_kernels table{.draw = draw, .permutation = permutation, .multinomial = multinomial};
  return &table;
}

}  // namespace neura::cuda

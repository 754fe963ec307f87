// Random numbers: number i of a call comes from the same words of the same Philox block as on the cpu, by the same
// arithmetic. This file is compiled without contraction, so that products and sums are rounded one by one, as there.
#include "neura/backend/cuda/random.h"

#include <algorithm>

#include "neura/backend/cuda/memory.cuh"
#include "neura/backend/cuda/random.cuh"
#include "neura/backend/cuda/scratch.h"

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
__device__ std::int64_t place(const Target& t, std::int64_t i) {
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

// The logarithm, and the sine and cosine of turns, of the cpu's vectors, digit by digit.
__device__ inline float horner(float, float sum) { return sum; }
template <class... C> __device__ float horner(float x, float sum, float c, C... rest) {
  return horner(x, sum * x + c, rest...);
}
__device__ inline float log_of(float x) {  // of normal numbers
  const int bits = __float_as_int(x), e = (bits - 0x3f3504f3) >> 23;
  const float m = __int_as_float(bits - e * (1 << 23)) - 1.0f, exponent = float(e), z = m * m;
  float y = horner(m, NEURA_LOG_TERMS);
  y = y * m * z;
  y = y + exponent * -2.12194440e-4f;
  y = y - z * 0.5f;
  return m + y + exponent * 0.693359375f;
}
__device__ inline void sin_cos_turns(float u, float& s, float& c) {  // of 2 pi u, u in [0, 1)
  const int k = int(u * 4.0f + 0.5f);                                // the nearest quarter
  const float r = (u - float(k) * 0.25f) * 6.283185307f, z = r * r;
  const float sine = r + r * z * horner(z, NEURA_SIN_TERMS), cosine = horner(z, NEURA_COS_TERMS);
  s = k & 1 ? cosine : sine, c = k & 1 ? sine : cosine;
  s = __uint_as_float(__float_as_uint(s) ^ (unsigned(k) & 2) << 30);
  c = __uint_as_float(__float_as_uint(c) ^ (unsigned(k + 1) & 2) << 30);
}
__device__ inline void normal_pair(std::uint32_t w0, std::uint32_t w1, float a, float b, float& x, float& y) {
  const float radius = __fsqrt_rn(log_of(1.0f - uniform32(w0)) * -2.0f), scale = radius * b;
  float s, c;
  sin_cos_turns(uniform32(w1), s, c);
  x = c * scale + a, y = s * scale + a;
}

// Four numbers a block, computed in float32.
template <Draw::Kind kind> __global__ void __launch_bounds__(kThreads)
    draw_simple(PhiloxDraw d, float a, float b, const __grid_constant__ Target t) {
  d.begin();
  const std::int64_t step = std::int64_t(gridDim.x) * kThreads;
  for (std::int64_t g = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; 4 * g < t.numel; g += step) {
    const uint4 block = d.block(std::uint64_t(g));
    const std::uint32_t w[4] = {block.x, block.y, block.z, block.w};
    float v[4];
    if constexpr (kind == Draw::normal) {
      normal_pair(w[0], w[1], a, b, v[0], v[1]), normal_pair(w[2], w[3], a, b, v[2], v[3]);
    } else {
#pragma unroll
      for (int k = 0; k < 4; ++k)
        v[k] = kind == Draw::uniform ? uniform32(w[k]) * b + a : log_of(1.0f - uniform32(w[k])) * b;
    }
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
      std::uint64_t x;
      if constexpr (wide) {
        x = std::uint64_t(w[2 * k]) << 32 | w[2 * k + 1];
        if (range) x = __umul64hi(x, range);
      } else {
        x = std::uint64_t(w[k]) * range >> 32;
      }
      v[k] = std::int64_t(x + std::uint64_t(low));
    }
    store(t, V * g, v);
  }
}

// Uniform numbers for one element that needs an unknown count of them: blocks far behind all elements' own.
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
  const bool integers = d.kind == Draw::integers;
  const bool wide = integers ? d.range == 0 || d.range > (1u << 24) : t.dtype == DType::float64;
  const int index = c.device.index, each = d.kind == Draw::poisson ? 1 : wide ? 2 : 4;
  const OnDevice on(index);
  const cudaStream_t stream = current_stream(index);
  const std::int64_t needed = (t.numel + std::int64_t(each) * kThreads - 1) / (std::int64_t(each) * kThreads);
  const unsigned blocks = unsigned(std::min<std::int64_t>(needed, 132 * 32));
  const PhiloxDraw from = drawn(d, index);
  const float a = float(d.a), b = float(d.b);
  if (d.kind == Draw::poisson) {
    draw_poisson<<<blocks, kThreads, 0, stream>>>(from, p.as<double>(), t);
  } else if (integers) {
    if (wide) draw_integers<true><<<blocks, kThreads, 0, stream>>>(from, d.low, d.range, t);
    else draw_integers<false><<<blocks, kThreads, 0, stream>>>(from, d.low, d.range, t);
  } else if (!wide && !p && d.kind == Draw::uniform) {
    draw_simple<Draw::uniform><<<blocks, kThreads, 0, stream>>>(from, a, b, t);
  } else if (!wide && !p && d.kind == Draw::normal) {
    draw_simple<Draw::normal><<<blocks, kThreads, 0, stream>>>(from, a, b, t);
  } else if (!wide && !p && d.kind == Draw::exponential) {
    draw_simple<Draw::exponential><<<blocks, kThreads, 0, stream>>>(from, 0, -float(1 / d.a), t);
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

// Random numbers of all distributions; permutations and samples by weight.
#include "neura/backend/kernels/random.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "neura/backend/cpu/random/random_lines.h"
#include "neura/core/parallel.h"
#include "neura/core/random.h"

namespace neura {
namespace {

constexpr int kWords = 4 * kGroup;

// out[first … first + n) in logical order = values, converted.
void store(Context& c, const View& out, std::int64_t first, std::int64_t n, const char* values, DType dtype) {
  ConvertFn* const convert = c.backend.convert->pair[int(dtype)][int(out.dtype())];
  const std::int64_t from = size_of(dtype), to = size_of(out.dtype());
  if (out.spec->contiguous) {
    char* at = out.data + first * to;
    if (dtype == out.dtype()) std::memcpy(at, values, std::size_t(n * to));
    else convert(values, from, at, to, std::size_t(n));
    return;
  }
  const int last = out.rank() - 1;
  while (n > 0) {
    std::int64_t flat = first, at = 0, column = 0;
    for (int d = last; d >= 0; --d) {
      const std::int64_t i = flat % out.size(d);
      flat /= out.size(d), at += i * out.stride(d);
      if (d == last) column = i;
    }
    const std::int64_t m = std::min(n, out.size(last) - column);
    convert(values, from, out.data + at * to, out.stride(last) * to, std::size_t(m));
    values += m * from, first += m, n -= m;
  }
}

// Uniform in [0, 1): of 24 bits from one word, or of 53 from two.
double unit(const std::uint32_t* words, int i, bool fine) {
  return fine ? to_uniform64(words[2 * i], words[2 * i + 1]) : double(to_uniform32(words[i]));
}

double transform(const Draw& d, double u) {
  switch (d.kind) {
    case Draw::cauchy:
      return d.a + d.b * std::tan(3.14159265358979323846 * (u - 0.5));
    case Draw::exponential:
      return -std::log1p(-u) / d.a;
    case Draw::geometric:
      return d.a >= 1 ? 1.0 : std::max(1.0, std::ceil(std::log1p(-u) / std::log1p(-d.a)));
    case Draw::bernoulli:
      return u < d.a;
    default:
      return d.a + d.b * u;
  }
}

// Numbers of a group in double; normal ones in pairs.
void fine_group(const Draw& d, const std::uint32_t* words, bool fine, int n, const double* p, double* out) {
  if (d.kind == Draw::normal || d.kind == Draw::log_normal) {
    for (int i = 0; i < n; i += 2) {
      const double r = std::sqrt(-2 * std::log1p(-unit(words, i, fine)));
      const double angle = 6.283185307179586477 * unit(words, i + 1, fine);
      out[i] = d.a + d.b * (r * std::cos(angle)), out[i + 1] = d.a + d.b * (r * std::sin(angle));
    }
    if (d.kind == Draw::log_normal)
      for (int i = 0; i < n; ++i) out[i] = std::exp(out[i]);
    return;
  }
  for (int i = 0; i < n; ++i) {
    const double u = unit(words, i, fine);
    out[i] = p ? double(u < p[i]) : transform(d, u);
  }
}

void integer_group(const Draw& d, const std::uint32_t* words, bool wide, int n, std::int64_t* out) {
  for (int i = 0; i < n; ++i) {
    std::uint64_t x;
    if (wide) {
      x = std::uint64_t(words[2 * i]) << 32 | words[2 * i + 1];
      if (d.range) x = std::uint64_t(static_cast<unsigned __int128>(x) * d.range >> 64);
    } else {
      x = std::uint64_t(words[i]) * d.range >> 32;
    }
    out[i] = std::int64_t(x + std::uint64_t(d.low));
  }
}

// Uniform numbers for one element that needs an unknown count of them: blocks far after all elements' own.
struct Stream {
  const Draw& d;
  std::uint64_t element, used = 0;
  double next() {
    const auto w = philox(d.seed, d.offset, element | (++used << 44));
    return to_uniform64(w[0], w[1]);
  }
};
double log_gamma(double x) {
#ifdef __GLIBC__
  int sign;
  return ::lgamma_r(x, &sign);  // lgamma itself writes a global, from every thread
#else
  return std::lgamma(x);
#endif
}
double poisson_of(double rate, Stream s) {
  if (!(rate > 0)) return rate == 0 ? 0 : NAN;
  if (rate < 10) {
    const double limit = std::exp(-rate);
    double k = 0, product = s.next();
    while (product > limit) ++k, product *= s.next();
    return k;
  }
  // Hörmann, The transformed rejection method for generating Poisson random variables (PTRS), 1993
  const double root = std::sqrt(rate), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  const double inverse = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = s.next() - 0.5, v = s.next(), us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v) + std::log(inverse) - std::log(a / (us * us) + b) <= -rate + k * std::log(rate) - log_gamma(k + 1))
      return k;
  }
}
void draw_poisson(Context& c, const Draw& d, const View& p, const View& out) {
  parallel_for(out.numel(), 512, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const double k = poisson_of(p.as<double>()[i], {d, std::uint64_t(i)});
      store(c, out, i, 1, reinterpret_cast<const char*>(&k), DType::float64);
    }
  });
}

void draw_numbers(Context& c, const Draw& draw, View p, View out) {
  if (draw.kind == Draw::poisson) return draw_poisson(c, draw, p, out);
  Draw d = draw;
  View to = out;
  Spec parts;
  if (is_complex(out.dtype())) {  // two real numbers each; a normal one has half the variance in each
    if (!out.spec->contiguous && out.rank() == kMaxRank) {  // no room for one more dimension
      const Spec dense = Spec::dense(out.dtype(), out.spec->sizes());
      char* const values = static_cast<char*>(c.scratch(dense.bytes()));
      draw_numbers(c, draw, p, {values, &dense});
      return store(c, out, 0, out.numel(), values, out.dtype());
    }
    parts = out.spec->contiguous ? Spec::dense(out.dtype(), Shape{out.numel()}) : *out.spec;
    parts.dtype = to_real(out.dtype());
    for (int i = 0; i < parts.rank; ++i) parts.strides[i] *= 2;
    parts.shape[parts.rank] = 2, parts.strides[parts.rank++] = 1;
    parts.finish();
    to.spec = &parts;
    if (d.kind == Draw::normal) d.b *= 0.70710678118654752440;
  }
  const DType dtype = to.dtype();
  const bool integers = d.kind == Draw::random;
  const bool wide = integers ? d.range == 0 || d.range > (1u << 24) : dtype == DType::float64;
  const bool lines = !wide && !p && (d.kind == Draw::uniform || d.kind == Draw::normal || d.kind == Draw::exponential);
  const std::int64_t per = wide ? kWords / 2 : kWords, n = to.numel();
  parallel_for((n + per - 1) / per, 16, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::uint32_t words[kWords];
    alignas(64) double buffer[kWords];
    for (std::int64_t g = begin; g < end; ++g) {
      const std::int64_t first = g * per, count = std::min(per, n - first);
      philox_group(d.seed, d.offset, std::uint64_t(g) * kGroup, words);
      char* at = reinterpret_cast<char*>(buffer);
      if (lines) {
        const bool direct = dtype == DType::float32 && to.spec->contiguous && count == per;
        float* f = direct ? to.as<float>() + first : reinterpret_cast<float*>(buffer);
        if (d.kind == Draw::uniform) uniform_group(words, float(d.a), float(d.b), f);
        else if (d.kind == Draw::exponential) exponential_group(words, float(1 / d.a), f);
        else normal_group(words, float(d.a), float(d.b), f);
        if (!direct) store(c, to, first, count, at, DType::float32);
      } else if (integers) {
        integer_group(d, words, wide, int(per), reinterpret_cast<std::int64_t*>(buffer));
        store(c, to, first, count, at, DType::int64);
      } else {
        fine_group(d, words, wide, p ? int(count) : int(per), p ? p.as<double>() + first : nullptr, buffer);
        store(c, to, first, count, at, DType::float64);
      }
    }
  });
}

void permutation(Context&, const Draw& d, View out) {
  std::int64_t* p = out.as<std::int64_t>();
  const std::int64_t n = out.numel();
  alignas(64) std::uint32_t words[kWords];
  for (std::int64_t i = 0; i < n; ++i) p[i] = i;
  for (std::int64_t i = 0; i + 1 < n; ++i) {  // Fisher and Yates
    const int k = int(i % (kWords / 2));
    if (k == 0) philox_group(d.seed, d.offset, std::uint64_t(i / (kWords / 2)) * kGroup, words);
    const std::uint64_t x = std::uint64_t(words[2 * k]) << 32 | words[2 * k + 1];
    std::swap(p[i], p[i + std::int64_t(static_cast<unsigned __int128>(x) * std::uint64_t(n - i) >> 64)]);
  }
}

double unit_at(const Draw& d, std::int64_t i) {
  const auto w = philox(d.seed, d.offset, std::uint64_t(i) / 2);
  return i % 2 ? to_uniform64(w[2], w[3]) : to_uniform64(w[0], w[1]);
}
void multinomial(Context& c, const Draw& d, bool replacement, View weights, View out) {
  const std::int64_t rows = weights.size(0), n = weights.size(1), samples = out.size(1);
  double* const key = c.scratch_of<double>(n);
  std::int64_t* const order = c.scratch_of<std::int64_t>(n);
  for (std::int64_t r = 0; r < rows; ++r) {
    const double* w = weights.as<double>() + r * n;
    std::int64_t* to = out.as<std::int64_t>() + r * samples;
    if (replacement) {
      double sum = 0;
      for (std::int64_t i = 0; i < n; ++i) key[i] = sum += w[i];
      for (std::int64_t s = 0; s < samples; ++s) {
        const double* at = std::upper_bound(key, key + n, unit_at(d, r * samples + s) * sum);
        std::int64_t i = std::min<std::int64_t>(at - key, n - 1);
        while (i > 0 && w[i] == 0) --i;  // u * sum may round up to sum
        to[s] = i;
      }
      continue;
    }
    // The order of E / w, E exponential, is that of drawing one after the other (Efraimidis and Spirakis, 2006).
    for (std::int64_t i = 0; i < n; ++i) {
      order[i] = i;
      key[i] = w[i] > 0 ? -std::log1p(-unit_at(d, r * n + i)) / w[i] : INFINITY;
    }
    std::partial_sort(order, order + samples, order + n,
                      [&](std::int64_t a, std::int64_t b) { return key[a] != key[b] ? key[a] < key[b] : a < b; });
    std::copy(order, order + samples, to);
  }
}

}  // namespace

const random_kernels* cpu_random() {
  static constexpr random_kernels table{draw_numbers, permutation, multinomial};
  return &table;
}

}  // namespace neura

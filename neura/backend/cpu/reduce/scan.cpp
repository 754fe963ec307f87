// Scans: sequential along their dimension, side by side across the others. Sums and products are kept in double.
#include "neura/backend/kernels/scan.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>
#include <utility>

#include "neura/backend/cpu/unsupported_dtype.h"
#include "neura/core/parallel.h"

namespace neura {
namespace {

template <class T> struct WideOf { using type = T; };
template <> struct WideOf<float> { using type = double; };
template <> struct WideOf<std::int64_t> { using type = std::uint64_t; };  // wraps around
template <> struct WideOf<std::complex<float>> { using type = std::complex<double>; };
template <class T> using Wide = typename WideOf<T>::type;

template <class F> void with_dtype(Context& c, DType d, F f) {
  switch (d) {
    case DType::float32:
      return f(float());
    case DType::float64:
      return f(double());
    case DType::int64:
      return f(std::int64_t());
    case DType::complex64:
      return f(std::complex<float>());
    case DType::complex128:
      return f(std::complex<double>());
    default:
      return fail_dtype(c, d);
  }
}

constexpr std::int64_t kTile = 128;  // neighbours that one task scans side by side

struct Lines {
  std::int64_t outer = 1, n = 1, inner = 1;
  Lines(View x, int dim) {
    for (int d = 0; d < x.rank(); ++d) (d < dim ? outer : d == dim ? n : inner) *= x.size(d);
  }
  // f(offset of the first element, width): `width` neighbouring lines, whose elements have stride `inner`
  template <class F> void each(F f) const {
    if (outer * n * inner == 0) return;
    const std::int64_t tiles = (inner + kTile - 1) / kTile, work = n * std::min(inner, kTile);
    parallel_for(outer * tiles, std::max<std::int64_t>(1, kSerial / work), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) {
        const std::int64_t first = t % tiles * kTile;
        f(t / tiles * n * inner + first, std::min(kTile, inner - first));
      }
    });
  }
};

template <class T, bool product> void cumulate_lines(const Lines& l, bool reverse, const T* x, T* y) {
  l.each([&](std::int64_t at, std::int64_t width) {
    Wide<T> acc[kTile];
    std::fill(acc, acc + width, Wide<T>(product ? 1 : 0));
    const std::int64_t step = reverse ? -l.inner : l.inner;
    if (reverse) at += (l.n - 1) * l.inner;
    for (std::int64_t k = 0; k < l.n; ++k, at += step)
      for (std::int64_t i = 0; i < width; ++i) {
        if constexpr (product) acc[i] *= Wide<T>(x[at + i]);
        else acc[i] += Wide<T>(x[at + i]);
        y[at + i] = T(acc[i]);
      }
  });
}
// Rows: four at a time, since a row alone waits for each of its additions.
template <class T, bool product> void cumulate_rows(const Lines& l, bool reverse, const T* x, T* y) {
  constexpr std::int64_t kRows = 4;
  const std::int64_t n = l.n, groups = (l.outer + kRows - 1) / kRows, step = reverse ? -1 : 1,
                     first = reverse ? n - 1 : 0;
  parallel_for(groups, std::max<std::int64_t>(1, kSerial / n / kRows), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t g = begin; g < end; ++g) {
      const std::int64_t rows = std::min(kRows, l.outer - g * kRows);
      const T* from = x + g * kRows * n + first;
      T* to = y + g * kRows * n + first;
      const auto run = [&](auto count) {
        Wide<T> acc[kRows];
        std::fill(acc, acc + kRows, Wide<T>(product ? 1 : 0));
        for (std::int64_t k = 0, at = 0; k < n; ++k, at += step)
          for (std::int64_t r = 0; r < count; ++r) {
            if constexpr (product) acc[r] *= Wide<T>(from[r * n + at]);
            else acc[r] += Wide<T>(from[r * n + at]);
            to[r * n + at] = T(acc[r]);
          }
      };
      if (rows == kRows) run(std::integral_constant<std::int64_t, kRows>());
      else run(rows);
    }
  });
}
void cumulate(Context& c, bool product, int dim, bool reverse, View x, View y) {
  with_dtype(c, x.dtype(), [&]<class T>(T) {
    const Lines l(x, dim);
    if (l.inner == 1 && l.n && product) cumulate_rows<T, true>(l, reverse, x.as<T>(), y.as<T>());
    else if (l.inner == 1 && l.n) cumulate_rows<T, false>(l, reverse, x.as<T>(), y.as<T>());
    else if (product) cumulate_lines<T, true>(l, reverse, x.as<T>(), y.as<T>());
    else cumulate_lines<T, false>(l, reverse, x.as<T>(), y.as<T>());
  });
}

template <class T> void recurrence_lines(const Lines& l, bool reverse, const T* a, const T* b, T* y) {
  l.each([&](std::int64_t at, std::int64_t width) {
    Wide<T> acc[kTile];
    std::fill(acc, acc + width, Wide<T>(0));
    const std::int64_t step = reverse ? -l.inner : l.inner;
    if (reverse) at += (l.n - 1) * l.inner;
    for (std::int64_t k = 0; k < l.n; ++k, at += step) {
      const T* factor = reverse ? a + at + l.inner : a + at;
      for (std::int64_t i = 0; i < width; ++i) {
        acc[i] = k ? Wide<T>(b[at + i]) + Wide<T>(factor[i]) * acc[i] : Wide<T>(b[at + i]);
        y[at + i] = T(acc[i]);
      }
    }
  });
}
void recurrence(Context& c, int dim, bool reverse, View a, View b, View y) {
  with_dtype(c, y.dtype(), [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) fail_dtype(c, y.dtype());
    else recurrence_lines<T>(Lines(y, dim), reverse, a.as<T>(), b.as<T>(), y.as<T>());
  });
}

void shift(Context& c, int dim, bool back, double fill, View x, View y) {
  with_dtype(c, x.dtype(), [&]<class T>(T) {
    const Lines l(x, dim);
    l.each([&](std::int64_t at, std::int64_t width) {
      for (std::int64_t k = 0; k < l.n; ++k) {
        const std::int64_t from = back ? k + 1 : k - 1;
        T* to = y.as<T>() + at + k * l.inner;
        if (from < 0 || from >= l.n) std::fill(to, to + width, T(fill));
        else std::copy_n(x.as<T>() + at + from * l.inner, width, to);
      }
    });
  });
}

void extreme(Context& c, bool largest, int dim, View x, View values, View indices) {
  with_dtype(c, x.dtype(), [&]<class T>(T) {
    if constexpr (!std::is_arithmetic_v<T>) {
      fail_dtype(c, x.dtype());
    } else {
      const Lines l(x, dim);
      std::int64_t* places = indices.as<std::int64_t>();
      l.each([&](std::int64_t at, std::int64_t width) {
        T best[kTile];
        std::int64_t place[kTile] = {};
        for (std::int64_t k = 0; k < l.n; ++k, at += l.inner)
          for (std::int64_t i = 0; i < width; ++i) {
            const T v = x.as<T>()[at + i];
            if (k == 0 || v != v || (largest ? v >= best[i] : v <= best[i])) best[i] = v, place[i] = k;
            values.as<T>()[at + i] = best[i], places[at + i] = place[i];
          }
      });
    }
  });
}

// log(exp(a) + exp(b)); NaN of either, and infinities that do not cancel.
double log_add(double a, double b) {
  const double high = std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b), low = std::min(a, b);
  return std::isinf(high) || std::isnan(high) ? high : high + std::log1p(std::exp(low - high));
}
std::complex<double> log_add(std::complex<double> a, std::complex<double> b) {
  if (std::isnan(a.real()) || std::isnan(a.imag())) return a;
  if (std::isnan(b.real()) || std::isnan(b.imag())) return b;
  if (a.real() < b.real()) std::swap(a, b);
  if (std::isinf(a.real())) return a.real() < 0 || std::isfinite(b.real()) ? a : std::log(std::exp(a) + std::exp(b));
  return a + std::log(1.0 + std::exp(b - a));
}
template <class T> void logcumsumexp_lines(const Lines& l, const T* x, T* y) {
  l.each([&](std::int64_t at, std::int64_t width) {
    Wide<T> acc[kTile];
    std::fill(acc, acc + width, Wide<T>(-std::numeric_limits<double>::infinity()));
    for (std::int64_t k = 0; k < l.n; ++k, at += l.inner)
      for (std::int64_t i = 0; i < width; ++i) {
        acc[i] = k ? log_add(acc[i], Wide<T>(x[at + i])) : Wide<T>(x[at + i]);
        y[at + i] = T(acc[i]);
      }
  });
}
void logcumsumexp(Context& c, int dim, View x, View y) {
  with_dtype(c, x.dtype(), [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) fail_dtype(c, x.dtype());
    else logcumsumexp_lines(Lines(x, dim), x.as<T>(), y.as<T>());
  });
}
}  // namespace

const scan_kernels* cpu_scan() {
  static constexpr scan_kernels kernels = {cumulate, recurrence, shift, extreme, logcumsumexp};
  return &kernels;
}

}  // namespace neura

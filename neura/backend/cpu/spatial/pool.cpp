// Pooling by plain loops over windows, and the dtypes.
#include "neura/backend/cpu/spatial/pool.h"

#include <algorithm>
#include <type_traits>

#include "neura/backend/cpu/split_complex.h"
#include "neura/backend/cpu/visit.h"
#include "neura/core/parallel.h"

namespace neura {
namespace {

using std::int64_t;

std::int64_t grain(const PoolShape& s) { return std::max<int64_t>(1, kSerial / (s.in_size() + 4 * s.out_size() + 1)); }

// f(result, its three coordinates) in order.
template <class F> void each_result(const PoolShape& s, F f) {
  int64_t i = 0;
  for (int64_t z = 0; z < s.out[0]; ++z)
    for (int64_t y = 0; y < s.out[1]; ++y)
      for (int64_t x = 0; x < s.out[2]; ++x, ++i) f(i, z, y, x);
}
// f(element of the image) for the window of result (z, y, x), in order.
template <class F> void each_element(const PoolShape& s, int64_t z, int64_t y, int64_t x, F f) {
  const int64_t x_begin = s.begin(2, x), x_end = s.end(2, x), y_begin = s.begin(1, y), y_end = s.end(1, y);
  for (int64_t a = s.begin(0, z); a < s.end(0, z); a += s.step(0))
    for (int64_t b = y_begin; b < y_end; b += s.step(1))
      for (int64_t c = x_begin; c < x_end; c += s.step(2)) f((a * s.in[1] + b) * s.in[2] + c);
}
// A place in the window of (z, y, x) as an element of the image, and back.
int64_t element_of(const PoolShape& s, int64_t place, int64_t z, int64_t y, int64_t x) {
  const int64_t at[3] = {place / (s.kernel[1] * s.kernel[2]), place / s.kernel[2] % s.kernel[1], place % s.kernel[2]};
  const int64_t result[3] = {z, y, x};
  int64_t element = 0;
  for (int d = 0; d < 3; ++d)
    element = element * s.in[d] + result[d] * s.stride[d] - s.padding[d] + at[d] * s.dilation[d];
  return element;
}
int64_t place_of(const PoolShape& s, int64_t element, int64_t z, int64_t y, int64_t x) {
  const int64_t at[3] = {element / (s.in[1] * s.in[2]), element / s.in[2] % s.in[1], element % s.in[2]};
  const int64_t result[3] = {z, y, x};
  int64_t place = 0;
  for (int d = 0; d < 3; ++d)
    place = place * s.kernel[d] + (at[d] - (result[d] * s.stride[d] - s.padding[d])) / s.dilation[d];
  return place;
}

bool is_half(const View& v) { return bit(v.dtype()) & dtypes::halves; }

// Two spatial dimensions, every window inside, results that fill a vector: as pool_tile wants them.
bool has_fast_max(const PoolShape& s, const View& x, const View& places) {
  if (s.adaptive || x.dtype() != DType::float32 || places.dtype() != DType::uint8 || s.out[2] < 4) return false;
  if (s.in[0] != 1 || s.out[0] != 1 || s.kernel[0] != 1 || s.stride[2] > 2) return false;
  if (s.stride[2] == 2 && (s.dilation[2] != 1 || s.kernel[2] % 2)) return false;  // loads take pairs
  for (int d = 0; d < 3; ++d)
    if (s.padding[d] || (s.out[d] - 1) * s.stride[d] + (s.kernel[d] - 1) * s.dilation[d] >= s.in[d]) return false;
  return true;
}
bool has_fast_scatter(const PoolShape& s, const View& x, const View& places) {
  return has_fast_max(s, x, places) && s.kernel[1] == 2 && s.kernel[2] == 2 && s.stride[1] == 2 && s.stride[2] == 2 &&
         s.dilation[1] == 1 && s.in[2] == 2 * s.out[2];
}

template <class T, class P> void max_image(const T* x, T* y, P* places, const PoolShape& s) {
  each_result(s, [&](int64_t i, int64_t z, int64_t row, int64_t column) {
    int64_t best = -1;
    T value{};
    each_element(s, z, row, column, [&](int64_t at) {
      const T v = x[at];
      if (best < 0 || v > value || v != v) best = at, value = v;  // the first of equals, the last nan
    });
    y[i] = value;
    places[i] = std::is_same_v<P, std::uint8_t> ? P(place_of(s, best, z, row, column)) : P(best);
  });
}
void max(Context& c, View x, View y, View places, const PoolShape& s) {
  if (is_half(x)) {
    const FloatCopy fx(c, x), fy(c, y, false);
    max(c, fx.view(), fy.view(), places, s);
    return fy.store(y);
  }
  if (!y.numel()) return;
  const int64_t images = y.numel() / s.out_size(), in = s.in_size(), out = s.out_size();
  const bool fast = has_fast_max(s, x, places), bytes = places.dtype() == DType::uint8;
  visit_integers_and_floats(x.dtype(), [&]<class T>() {
    parallel_for(images, grain(s), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* const from = x.as<T>() + i * in;
        T* const to = y.as<T>() + i * out;
        if constexpr (std::is_same_v<T, float>)
          if (fast) {
            pool_tile().max(from, to, places.as<std::uint8_t>() + i * out, s);
            continue;
          }
        if (bytes) max_image(from, to, places.as<std::uint8_t>() + i * out, s);
        else max_image(from, to, places.as<int64_t>() + i * out, s);
      }
    });
  });
}

// f(result, element) of one image.
template <class F> void each_place(const PoolShape& s, const View& places, int64_t image, F f) {
  const int64_t out = s.out_size();
  if (places.dtype() == DType::int64) {
    for (int64_t i = 0; i < out; ++i) f(i, places.as<int64_t>()[image * out + i]);
  } else {
    each_result(s, [&](int64_t i, int64_t z, int64_t y, int64_t x) {
      f(i, element_of(s, places.as<std::uint8_t>()[image * out + i], z, y, x));
    });
  }
}
void scatter(Context& c, View g, View places, View x, const PoolShape& s) {
  if (is_half(x)) {
    const FloatCopy fg(c, g), fx(c, x, false);
    scatter(c, fg.view(), places, fx.view(), s);
    return fx.store(x);
  }
  if (!x.numel()) return;
  const int64_t images = x.numel() / s.in_size(), in = s.in_size(), out = s.out_size();
  const bool fast = has_fast_scatter(s, x, places);
  visit_integers_and_floats(x.dtype(), [&]<class T>() {
    parallel_for(images, grain(s), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* const to = x.as<T>() + i * in;
        const T* const from = g.as<T>() + i * out;
        if constexpr (std::is_same_v<T, float>)
          if (fast) {
            pool_tile().scatter_2x2(from, places.as<std::uint8_t>() + i * out, to, s);
            std::fill(to + 2 * s.out[1] * s.in[2], to + in, 0.0f);
            continue;
          }
        std::fill_n(to, in, T(0));
        each_place(s, places, i, [&](int64_t r, int64_t at) { to[at] = T(to[at] + from[r]); });
      }
    });
  });
}
void gather(Context& c, View x, View places, View y, const PoolShape& s) {
  if (is_half(x)) {
    const FloatCopy fx(c, x), fy(c, y, false);
    gather(c, fx.view(), places, fy.view(), s);
    return fy.store(y);
  }
  if (!y.numel()) return;
  const int64_t images = y.numel() / s.out_size(), in = s.in_size(), out = s.out_size();
  visit_integers_and_floats(x.dtype(), [&]<class T>() {
    parallel_for(images, grain(s), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* const to = y.as<T>() + i * out;
        const T* const from = x.as<T>() + i * in;
        each_place(s, places, i, [&](int64_t r, int64_t at) { to[r] = from[at]; });
      }
    });
  });
}

int64_t divisor(const PoolShape& s, const int64_t (&at)[3]) {
  if (s.divisor) return s.divisor;
  int64_t count = 1;
  for (int d = 0; d < 3; ++d) {
    if (!s.adaptive && s.count_include_pad) {
      const int64_t first = at[d] * s.stride[d] - s.padding[d];
      count *= std::min(first + s.kernel[d], s.in[d] + s.padding[d]) - first;
    } else {
      count *= s.end(d, at[d]) - s.begin(d, at[d]);
    }
  }
  return count;
}
void mean(Context& c, View x, View y, const PoolShape& s) {
  if (is_half(x)) {
    const FloatCopy fx(c, x), fy(c, y, false);
    mean(c, fx.view(), fy.view(), s);
    return fy.store(y);
  }
  if (!y.numel()) return;
  const int64_t images = y.numel() / s.out_size(), in = s.in_size(), out = s.out_size();
  visit_integers_and_floats(x.dtype(), [&]<class T>() {
    parallel_for(images, grain(s), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* const from = x.as<T>() + i * in;
        T* const to = y.as<T>() + i * out;
        each_result(s, [&](int64_t r, int64_t z, int64_t row, int64_t column) {
          T sum = 0;
          each_element(s, z, row, column, [&](int64_t at) { sum = T(sum + from[at]); });
          to[r] = T(sum / T(divisor(s, {z, row, column})));
        });
      }
    });
  });
}
void mean_gradient(Context& c, View g, View x, const PoolShape& s) {
  if (is_half(x)) {
    const FloatCopy fg(c, g), fx(c, x, false);
    mean_gradient(c, fg.view(), fx.view(), s);
    return fx.store(x);
  }
  if (!x.numel()) return;
  const int64_t images = x.numel() / s.in_size(), in = s.in_size(), out = s.out_size();
  visit_integers_and_floats(x.dtype(), [&]<class T>() {
    parallel_for(images, grain(s), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* const to = x.as<T>() + i * in;
        const T* const from = g.as<T>() + i * out;
        std::fill_n(to, in, T(0));
        each_result(s, [&](int64_t r, int64_t z, int64_t row, int64_t column) {
          const T part = T(from[r] / T(divisor(s, {z, row, column})));
          each_element(s, z, row, column, [&](int64_t at) { to[at] = T(to[at] + part); });
        });
      }
    });
  });
}

}  // namespace

const pool_kernels* cpu_pool() {
  static constexpr pool_kernels kernels = {
      .max = &max, .scatter = &scatter, .gather = &gather, .mean = &mean, .mean_gradient = &mean_gradient};
  return &kernels;
}

}  // namespace neura

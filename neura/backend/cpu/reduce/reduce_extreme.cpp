// Largest and smallest elements with their places. Lines of float, double or int64, once per instruction set.
#include <algorithm>
#include <vector>

#include "neura/backend/cpu/reduce/reduce.h"
#include "neura/core/parallel.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/reduce/reduce_extreme.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

#ifndef NEURA_EXTREME_LOOPS
#define NEURA_EXTREME_LOOPS
namespace neura {
struct ExtremeLoops {
  // the first extreme of n elements: its value to `value`, its place is returned
  std::int64_t (*row)(const void* x, std::int64_t n, void* value);
  // element i of line number `line` into value[i] and place[i] (integers as wide as x), where it is better
  void (*column)(const void* x, std::int64_t n, std::int64_t line, void* value, void* place);
  bool (*better)(const void* a, const void* b);
};
struct ExtremeTable {
  ExtremeLoops loops[2][3];  // smallest, largest; float, double, int64
};
}  // namespace neura
#endif

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <class T, bool largest> struct Extreme {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  using I = hn::RebindToSigned<D>;
  static constexpr int kLanes = int(hn::MaxLanes(D()));

  static bool nan(T a) { return a != a; }
  static bool wins(T a, T b) { return (largest ? a > b : a < b) || (nan(a) && !nan(b)); }
  static HWY_INLINE auto not_number(V a) { return hn::Not(hn::Eq(a, a)); }  // hn::Ne of NaN is false
  static HWY_INLINE auto wins(V a, V b) {
    const auto m = largest ? hn::Gt(a, b) : hn::Lt(a, b);
    if constexpr (T(0.5) == T(0)) return m;
    else return hn::Or(m, hn::And(hn::Eq(b, b), not_number(a)));
  }
  static HWY_INLINE V pick(V a, V b) { return hn::IfThenElse(wins(b, a), b, a); }

  static T block(const T* x, std::int64_t n) {
    T best = x[0];
    std::int64_t i = 0;
    if (n >= 4 * kLanes) {
      V a = hn::LoadU(D(), x), b = a, c = a, d = a;
      for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
        a = pick(a, hn::LoadU(D(), x + i)), b = pick(b, hn::LoadU(D(), x + i + kLanes));
        c = pick(c, hn::LoadU(D(), x + i + 2 * kLanes)), d = pick(d, hn::LoadU(D(), x + i + 3 * kLanes));
      }
      alignas(64) T lane[kLanes];
      hn::StoreU(pick(pick(a, b), pick(c, d)), D(), lane);
      for (T v : lane)
        if (wins(v, best)) best = v;
    }
    for (; i < n; ++i)
      if (wins(x[i], best)) best = x[i];
    return best;
  }
  static std::int64_t place(const T* x, std::int64_t n, T value) {  // it is there
    const V v = hn::Set(D(), value);
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      const V a = hn::LoadU(D(), x + i);
      if (!hn::AllFalse(D(), nan(value) ? not_number(a) : hn::Eq(a, v))) break;
    }
    while (i + 1 < n && !(nan(value) ? nan(x[i]) : x[i] == value)) ++i;
    return i;
  }
  static std::int64_t row(const void* p, std::int64_t n, void* value) {
    const T* x = static_cast<const T*>(p);
    T best = x[0];
    std::int64_t at = 0;
    for (std::int64_t b = 0; b < n; b += 2048) {  // a block is still near when its place is looked for
      const std::int64_t size = n - b < 2048 ? n - b : 2048;
      const T v = block(x + b, size);
      if (b == 0 || wins(v, best)) best = v, at = b + place(x + b, size, v);
    }
    *static_cast<T*>(value) = best;
    return at;
  }
  static void column(const void* p, std::int64_t n, std::int64_t line, void* value, void* place) {
    using P = hn::TFromD<I>;
    const T* x = static_cast<const T*>(p);
    T* v = static_cast<T*>(value);
    P* at = static_cast<P*>(place);
    const auto number = hn::Set(I(), P(line));
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      const V a = hn::LoadU(D(), x + i), b = hn::LoadU(D(), v + i);
      const auto m = wins(a, b);
      hn::StoreU(hn::IfThenElse(m, a, b), D(), v + i);
      hn::StoreU(hn::IfThenElse(hn::RebindMask(I(), m), number, hn::LoadU(I(), at + i)), I(), at + i);
    }
    for (; i < n; ++i)
      if (wins(x[i], v[i])) v[i] = x[i], at[i] = P(line);
  }
  static bool better(const void* a, const void* b) {
    return wins(*static_cast<const T*>(a), *static_cast<const T*>(b));
  }
  static constexpr ExtremeLoops loops() { return {row, column, better}; }
};

#if HWY_HAVE_FLOAT64
template <bool largest> using ExtremeDouble = Extreme<double, largest>;
#else  // one after the other: 32-bit ARM has no vectors of double
template <bool largest> struct ExtremeDouble {
  static bool wins(double a, double b) { return (largest ? a > b : a < b) || (a != a && b == b); }
  static std::int64_t row(const void* p, std::int64_t n, void* value) {
    const double* x = static_cast<const double*>(p);
    std::int64_t at = 0;
    for (std::int64_t i = 1; i < n; ++i)
      if (wins(x[i], x[at])) at = i;
    *static_cast<double*>(value) = x[at];
    return at;
  }
  static void column(const void* p, std::int64_t n, std::int64_t line, void* value, void* place) {
    const double* x = static_cast<const double*>(p);
    double* v = static_cast<double*>(value);
    for (std::int64_t i = 0; i < n; ++i)
      if (wins(x[i], v[i])) v[i] = x[i], static_cast<std::int64_t*>(place)[i] = line;
  }
  static bool better(const void* a, const void* b) {
    return wins(*static_cast<const double*>(a), *static_cast<const double*>(b));
  }
  static constexpr ExtremeLoops loops() { return {row, column, better}; }
};
#endif

constexpr ExtremeTable table = {
    {{Extreme<float, false>::loops(), ExtremeDouble<false>::loops(), Extreme<std::int64_t, false>::loops()},
     {Extreme<float, true>::loops(), ExtremeDouble<true>::loops(), Extreme<std::int64_t, true>::loops()}}};
}  // namespace
const ExtremeTable* extreme_table() { return &table; }
}  // namespace HWY_NAMESPACE
#if HWY_ONCE
HWY_EXPORT(extreme_table);

namespace {
struct ExtremeWalk {
  ExtremeLoops loops;
  ConvertFn* convert;  // null where x needs none
  ConvertFn* back;
  View x;
  char* values;          // of values' dtype, or null
  std::int64_t* places;  // or null
  std::int64_t outer, n, inner, size, x_size, value_size;

  const char* line(std::int64_t from, std::int64_t length, char* buffer) const {
    const char* p = x.data + from * x_size;
    if (!convert) return p;
    convert(p, x_size, buffer, size, std::size_t(length));
    return buffer;
  }
  void deliver(std::int64_t at, const char* value, std::int64_t place) const {
    if (values) back(value, size, values + at * value_size, value_size, 1);
    if (places) places[at] = place;
  }
  // One row in fixed chunks, which a large row shares among threads.
  void row(std::int64_t o) const {
    constexpr std::int64_t chunk = 8192;
    alignas(64) char buffer[chunk * 8], best[8], next[8];
    std::int64_t at = 0;
    for (std::int64_t b = 0; b < n; b += chunk) {
      const std::int64_t length = std::min(chunk, n - b);
      const std::int64_t i = loops.row(line(o * n + b, length, buffer), length, next);
      if (b == 0 || loops.better(next, best)) std::copy(next, next + 8, best), at = b + i;
    }
    deliver(o, best, at);
  }
  void one_row(Context& c) const {
    constexpr std::int64_t part = 65536;
    const std::int64_t parts = (n + part - 1) / part;
    char* best = c.scratch_of<char>(parts * 8);
    std::int64_t* at = c.scratch_of<std::int64_t>(parts);
    ExtremeWalk w = *this;
    parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) {
        ExtremeWalk piece = w;
        piece.x.data += p * part * x_size, piece.n = std::min(part, n - p * part);
        piece.values = best + p * 8, piece.value_size = 8, piece.places = at + p;
        piece.back = keep, piece.row(0);
      }
    });
    std::int64_t first = 0;
    for (std::int64_t p = 1; p < parts; ++p)
      if (loops.better(best + p * 8, best + first * 8)) first = p;
    deliver(0, best + first * 8, at[first] + first * part);
  }
  static void keep(const char* from, std::ptrdiff_t step, char* to, std::ptrdiff_t, std::size_t) {
    std::copy(from, from + step, to);
  }
  void tile(std::int64_t o, std::int64_t begin, std::int64_t width) const {
    alignas(64) char buffer[4096], value[4096], place[4096];
    std::int64_t at[1024];
    const std::int64_t from = o * n * inner + begin;
    const char* first = line(from, width, buffer);
    std::copy(first, first + width * size, value);
    std::fill(place, place + width * size, char(0));
    std::fill(at, at + width, 0);
    constexpr std::int64_t most = std::int64_t(1) << 30;  // place counts within such a run of lines
    for (std::int64_t run = 0; run < n; run += most) {
      std::fill(place, place + width * size, char(0xff));  // -1: nothing in this run was better
      for (std::int64_t l = run; l < std::min(n, run + most); ++l)
        if (l) loops.column(line(from + l * inner, width, buffer), width, l - run, value, place);
      for (std::int64_t i = 0; i < width; ++i) {
        const std::int64_t p =
            size == 4 ? reinterpret_cast<std::int32_t*>(place)[i] : reinterpret_cast<std::int64_t*>(place)[i];
        if (p >= 0) at[i] = run + p;
      }
    }
    for (std::int64_t i = 0; i < width; ++i) deliver(o * inner + begin + i, value + i * size, at[i]);
  }
};
}  // namespace

void extreme(Context& c, bool largest, int dim, View x, View values, View indices) {
  ExtremeWalk w;
  const DType d = x.dtype(), computed = is_integral(d) ? DType::int64 : accumulation(d);
  const int kind = computed == DType::float32 ? 0 : computed == DType::float64 ? 1 : 2;
  w.loops = HWY_DYNAMIC_DISPATCH(extreme_table)()->loops[largest][kind];
  w.convert = d == computed ? nullptr : c.backend.convert->pair[int(d)][int(computed)];
  w.back = c.backend.convert->pair[int(computed)][int(d)];
  w.x = x, w.values = values.data, w.places = indices.as<std::int64_t>();
  w.size = size_of(computed), w.x_size = w.value_size = size_of(d);
  w.outer = w.inner = w.n = 1;
  for (int i = 0; i < x.rank(); ++i) (i < dim ? w.outer : i == dim ? w.n : w.inner) *= x.size(i);
  if (!x.numel()) return;
  if (w.inner == 1) {
    if (w.outer == 1 && w.n > kSerial) return w.one_row(c);
    return parallel_for(w.outer, std::max<std::int64_t>(1, kSerial / w.n), [&](std::int64_t b, std::int64_t e) {
      for (std::int64_t o = b; o < e; ++o) w.row(o);
    });
  }
  const std::int64_t most = 4096 / w.size, tiles = (w.inner + most - 1) / most;
  parallel_for(w.outer * tiles, std::max<std::int64_t>(1, kSerial / w.n / std::min(w.inner, most)),
               [&](std::int64_t b, std::int64_t e) {
                 for (std::int64_t t = b; t < e; ++t) {
                   const std::int64_t begin = t % tiles * most;
                   w.tile(t / tiles, begin, std::min(most, w.inner - begin));
                 }
               });
}
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();

// The loops of every fold, once per instruction set.
#include "neura/backend/cpu/reduce/reduce.h"

#include <cmath>
#include <type_traits>
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/reduce/reduce.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "hwy/contrib/math/math-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
#include "neura/backend/cpu/reduce/reduce_vector.h"

constexpr DTypeSet reals = bit(DType::float32) | bit(DType::float64);
constexpr DTypeSet parts = reals | dtypes::complexes;
constexpr DTypeSet sums = parts | bit(DType::int64);
constexpr DTypeSet ordered = reals | dtypes::integers | dtypes::booleans;

#define REDUCE(name, kinds, begin, mapped, combination, finished)                       \
  struct name##_row {                                                                   \
    static constexpr DTypeSet computed = kinds;                                         \
    template <class N> static HWY_INLINE N start() { return N(begin); }                 \
    template <class N> static HWY_INLINE N map(N x, N p) { return (void)p, N(mapped); } \
    template <class N> static HWY_INLINE N combine(N a, N b) { return N(combination); } \
    template <class N> static HWY_INLINE N finish(N a, N p, N n) {                      \
      const N one = N(1_c);                                                             \
      return (void)p, (void)n, (void)one, N(finished);                                  \
    }                                                                                   \
  };
#include "neura/tables/reduction.def"

// The lanes of a vector to its first: halves, then one by one.
template <class Row, class N> HWY_INLINE typename N::One lanes_to_one(N v) {
  using One = typename N::One;
  if constexpr (N::kLanes == 1) return One(v);
  else if constexpr (sizeof(typename N::T) * N::kLanes > 16)
    return lanes_to_one<Row>(Row::combine(v.lower(), v.upper()));
  else {
    alignas(16) typename N::T lane[N::kLanes];
    v.store(lane);
    One r = One::load(lane);
    for (int i = 1; i < N::kLanes; ++i) r = Row::combine(r, One::load(lane + i));
    return r;
  }
}

template <class N> struct Chains { N a, b, c, d; };  // independent, so that they hide the latency
template <class Row, class N> HWY_INLINE void extend(Chains<N>& s, const typename N::T* x, N p) {
  constexpr std::int64_t step = N::kLanes;
  s.a = Row::combine(s.a, Row::map(N::load(x), p)), s.b = Row::combine(s.b, Row::map(N::load(x + step), p));
  s.c = Row::combine(s.c, Row::map(N::load(x + 2 * step), p)),
  s.d = Row::combine(s.d, Row::map(N::load(x + 3 * step), p));
}
template <class Row, class N> HWY_INLINE void merge(Chains<N>& s, const Chains<N>& o) {
  s.a = Row::combine(s.a, o.a), s.b = Row::combine(s.b, o.b), s.c = Row::combine(s.c, o.c),
  s.d = Row::combine(s.d, o.d);
}

// r and what of n elements filled no four vectors.
template <class Row, class N>
HWY_INLINE typename N::One with_rest(N r, const typename N::T* x, std::int64_t i, std::int64_t n, N p) {
  constexpr std::int64_t step = N::kLanes;
  for (; i + step <= n; i += step) r = Row::combine(r, Row::map(N::load(x + i), p));
  if constexpr (N::kMaskedLoads) {
    if (i < n) r = N::first(n - i, Row::combine(r, Row::map(N::load_first(n - i, x + i), p)), r);
    return lanes_to_one<Row>(r);
  } else {
    using One = typename N::One;
    One one = lanes_to_one<Row>(r);
    for (; i < n; ++i) one = Row::combine(one, Row::map(One::load(x + i), p.one()));
    return one;
  }
}

template <class Row, class N> HWY_NOINLINE void with_rest_apart(N r, const typename N::T* x, std::int64_t i,
                                                                std::int64_t n, N p, typename N::T* out) {
  with_rest<Row>(r, x, i, n, p).store(out);
}

// Lines of n elements, x[l] with p[l]: each as it would be alone, but side by side, because the memory's bandwidth
// is used better by several streams. The chains go home often, so that long sums stay exact.
template <class Row, class N, int... l> HWY_INLINE void fold_lines(const typename N::T* const* x, std::int64_t n,
                                                                   const N* p, typename N::T* out, Numbers<l...>) {
  constexpr std::int64_t step = N::kLanes;
  const N start = Row::template start<N>();
  const Chains<N> none{start, start, start, start};
  Chains<N> sums[] = {((void)l, none)...};
  std::int64_t i = 0;
  if (n >= 8 * step)
    while (i + 4 * step <= n) {
      const std::int64_t end = n - i > 64 * step ? i + 64 * step : n;
      Chains<N> block[] = {((void)l, none)...};
      for (; i + 4 * step <= end; i += 4 * step) (extend<Row>(block[l], x[l] + i, p[l]), ...);
      (merge<Row>(sums[l], block[l]), ...);
    }
  const auto whole = [&](const Chains<N>& s) { return Row::combine(Row::combine(s.a, s.b), Row::combine(s.c, s.d)); };
  if constexpr (sizeof...(l) == 1) (with_rest<Row>(i ? whole(sums[l]) : start, x[l], i, n, p[l]).store(out + l), ...);
  else (with_rest_apart<Row>(whole(sums[l]), x[l], i, n, p[l], out + l), ...);
}

// In halves, so that rounding errors grow with the depth and not with the length.
template <class Row, class N, int lines>
void fold_long(const typename N::T* const* x, std::int64_t n, const N* p, typename N::T* out) {
  using One = typename N::One;
  if (n <= 512 * N::kLanes) return fold_lines<Row>(x, n, p, out, NumbersUpTo<lines>());
  const std::int64_t half = n / 2 & -N::kLanes;
  const typename N::T* rest[lines];
  typename N::T of_rest[lines];
  for (int l = 0; l < lines; ++l) rest[l] = x[l] + half;
  fold_long<Row, N, lines>(x, half, p, out);
  fold_long<Row, N, lines>(rest, n - half, p, of_rest);
  for (int l = 0; l < lines; ++l) Row::combine(One::load(out + l), One::load(of_rest + l)).store(out + l);
}

// Folds that people wait for; the others would only make the library larger.
template <class Row, class... Rows> constexpr bool is_one_of = (std::is_same_v<Row, Rows> || ...);
template <class Row> constexpr bool often_long =
    is_one_of<Row, sum_row, mean_row, amax_row, amin_row, norm2_row, sum_dev_row, sum_sq_dev_row>;

template <class Row, class N> struct Loops {
  using T = typename N::T;
  using One = typename N::One;
  static const T* at(const char* p) { return reinterpret_cast<const T*>(p); }
  static T* at(char* p) { return reinterpret_cast<T*>(p); }

  static void rows(const char* x, std::int64_t x_step, std::int64_t n, std::int64_t rows, const char* p,
                   std::int64_t p_step, char* out, std::int64_t out_step) {
    constexpr int together = N::kLanes > 1 && hwy::IsFloat<T>() && often_long<Row> ? 4 : 1;
    std::int64_t r = 0;
    if (const std::int64_t part = rows / together; together > 1 && n >= 256)
      for (; r < part; ++r)
        side_by_side(x + r * x_step, part * x_step, n, p ? p + r * p_step : p, part * p_step, out + r * out_step,
                     part * out_step, NumbersUpTo<together>());
    for (r *= together; r < rows; ++r) {
      const char *line = x + r * x_step, *q = p ? p + r * p_step : p;
      if (n < N::kLanes && n <= 4) {
        const One one = p ? One::load(at(q)) : One(0_c);
        One a = Row::template start<One>();
        for (std::int64_t i = 0; i < n; ++i) a = Row::combine(a, Row::map(One::load(at(line) + i), one));
        a.store(at(out + r * out_step));
      } else if (n < 8 * N::kLanes) {
        const N each = p ? N::splat(at(q)) : N(0_c);
        with_rest<Row>(Row::template start<N>(), at(line), 0, n, each).store(at(out + r * out_step));
      } else side_by_side(line, 0, n, q, 0, out + r * out_step, 0, NumbersUpTo<1>());
    }
  }
  template <int... l> static void side_by_side(const char* x, std::int64_t x_step, std::int64_t n, const char* p,
                                               std::int64_t p_step, char* out, std::int64_t out_step, Numbers<l...>) {
    const T* const lines[] = {at(x + l * x_step)...};
    const N q[] = {(p ? N::splat(at(p + l * p_step)) : N(0_c))...};
    T results[sizeof...(l)];
    fold_long<Row, N, int(sizeof...(l))>(lines, n, q, results);
    (One::load(results + l).store(at(out + l * out_step)), ...);
  }
  // one strip, one vector wide, of eight lines or of one
  template <class M, int lines>
  static HWY_INLINE void strip(T* acc, const char* x, std::int64_t x_step, std::int64_t i, M p) {
    M a = M::load(acc + i);
    for (int l = 0; l < lines; ++l) a = Row::combine(a, Row::map(M::load(at(x + l * x_step) + i), p));
    a.store(acc + i);
  }
  template <int lines> static HWY_INLINE void pass(T* acc, const char* x, std::int64_t x_step, std::int64_t width,
                                                   const char* p, std::int64_t p_step) {
    constexpr std::int64_t step = N::kLanes;
    N q = p ? N::splat(at(p)) : N(0_c);
    std::int64_t i = 0;
    for (; i + step <= width; i += step) {
      if (p && p_step) q = N::load(at(p) + i);
      strip<N, lines>(acc, x, x_step, i, q);
    }
    for (; i < width; ++i) strip<One, lines>(acc, x, x_step, i, p && p_step ? One::load(at(p) + i) : q.one());
  }
  static void columns(char* acc, const char* x, std::int64_t x_step, std::int64_t lines, std::int64_t width,
                      const char* p, std::int64_t p_step) {
    for (; lines >= 8; lines -= 8, x += 8 * x_step) pass<8>(at(acc), x, x_step, width, p, p_step);
    for (; lines > 0; --lines, x += x_step) pass<1>(at(acc), x, x_step, width, p, p_step);
  }
  static void merge(char* acc, const char* other, std::int64_t n) {
    std::int64_t i = 0;
    for (; i + N::kLanes <= n; i += N::kLanes)
      Row::combine(N::load(at(acc) + i), N::load(at(other) + i)).store(at(acc) + i);
    for (; i < n; ++i) Row::combine(One::load(at(acc) + i), One::load(at(other) + i)).store(at(acc) + i);
  }
  static void start(char* acc, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) Row::template start<One>().store(at(acc) + i);
  }
  static void finish(char* acc, std::int64_t n, const char* p, std::int64_t p_step, std::int64_t count) {
    const One number = One(Constant{double(count)});
    for (std::int64_t i = 0; i < n; ++i) {
      const One q = p ? One::load(at(p + i * p_step)) : One(0_c);
      Row::finish(One::load(at(acc) + i), q, number).store(at(acc) + i);
    }
  }
};

// A mean of float32 is computed in float64.
template <class Row, DType d>
constexpr bool is_compiled = (Row::computed &
                              (dtypes::compiled | (is_one_of<Row, mean_row> ? bit(DType::float64) : 0)) & bit(d)) != 0;
template <class Row, bool is_wanted, DType d> constexpr FoldLoops loops_of() {
  if constexpr (is_wanted && is_compiled<Row, d>) {
    using L = Loops<Row, typename NumberOf<d>::type>;
    return {L::rows, L::columns, L::merge, L::start, L::finish};
  } else return {};
}
template <class Row, bool is_wanted, int... d> constexpr void fill(FoldLoops* row, Numbers<d...>) {
  ((row[d] = loops_of<Row, is_wanted, DType(d)>()), ...);
}
constexpr FoldTable make_table() {
  FoldTable t{};
#define REDUCE(name, ...) \
  fill<name##_row, in_build::kernel("fold", #name)>(t.loops[int(ReduceOp::name)], NumbersUpTo<kDTypes>());
#include "neura/tables/reduction.def"
  return t;
}
constexpr FoldTable table = make_table();
}  // namespace

const FoldTable* fold_loops() { return &table; }
}  // namespace HWY_NAMESPACE
#if HWY_ONCE
HWY_EXPORT(fold_loops);
const FoldTable& fold_table() {
  static const FoldTable* const table = HWY_DYNAMIC_DISPATCH(fold_loops)();
  return *table;
}
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();

// The loops of every fold, once per instruction set.
#include "neura/backend/cpu/reduce.h"

#include <cmath>
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/reduce.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "hwy/contrib/math/math-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
#include "neura/backend/cpu/reduce_pack.h"

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
#undef REDUCE

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

template <class Row, class N> HWY_INLINE typename N::One fold_line(const typename N::T* x, std::int64_t n, N p) {
  constexpr std::int64_t step = N::kLanes;
  std::int64_t i = 0;
  N c0 = Row::template start<N>();
  if (n >= 8 * step) {  // independent chains hide the latency, and go home often, so that long sums stay exact
    const N none = c0;
    N c1 = c0, c2 = c0, c3 = c0;
    while (i + 4 * step <= n) {
      const std::int64_t end = n - i > 64 * step ? i + 64 * step : n;
      N b0 = none, b1 = none, b2 = none, b3 = none;
      for (; i + 4 * step <= end; i += 4 * step) {
        b0 = Row::combine(b0, Row::map(N::load(x + i), p));
        b1 = Row::combine(b1, Row::map(N::load(x + i + step), p));
        b2 = Row::combine(b2, Row::map(N::load(x + i + 2 * step), p));
        b3 = Row::combine(b3, Row::map(N::load(x + i + 3 * step), p));
      }
      c0 = Row::combine(c0, b0), c1 = Row::combine(c1, b1);
      c2 = Row::combine(c2, b2), c3 = Row::combine(c3, b3);
    }
    c0 = Row::combine(Row::combine(c0, c1), Row::combine(c2, c3));
  }
  for (; i + step <= n; i += step) c0 = Row::combine(c0, Row::map(N::load(x + i), p));
  if constexpr (N::kMaskedLoads) {
    if (i < n) c0 = N::first(n - i, Row::combine(c0, Row::map(N::load_first(n - i, x + i), p)), c0);
    return lanes_to_one<Row>(c0);
  } else {
    using One = typename N::One;
    One r = lanes_to_one<Row>(c0);
    for (; i < n; ++i) r = Row::combine(r, Row::map(One::load(x + i), p.one()));
    return r;
  }
}

// In halves, so that rounding errors grow with the depth and not with the length.
template <class Row, class N> typename N::One fold_long(const typename N::T* x, std::int64_t n, N p) {
  if (n <= 512 * N::kLanes) return fold_line<Row, N>(x, n, p);
  const std::int64_t half = n / 2 & -N::kLanes;
  return Row::combine(fold_long<Row, N>(x, half, p), fold_long<Row, N>(x + half, n - half, p));
}

template <class Row, class N> struct Loops {
  using T = typename N::T;
  using One = typename N::One;
  static const T* at(const char* p) { return reinterpret_cast<const T*>(p); }
  static T* at(char* p) { return reinterpret_cast<T*>(p); }

  static void rows(const char* x, std::int64_t x_step, std::int64_t n, std::int64_t rows, const char* p,
                   std::int64_t p_step, char* out, std::int64_t out_step) {
    N q = p ? N::splat(at(p)) : N(0_c);
    for (std::int64_t r = 0; r < rows; ++r) {
      if (p && p_step) q = N::splat(at(p + r * p_step));
      if (n < N::kLanes && n <= 4) {
        One a = Row::template start<One>();
        for (std::int64_t i = 0; i < n; ++i) a = Row::combine(a, Row::map(One::load(at(x + r * x_step) + i), q.one()));
        a.store(at(out + r * out_step));
      } else fold_long<Row, N>(at(x + r * x_step), n, q).store(at(out + r * out_step));
    }
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

template <class Row, DType d> constexpr FoldLoops loops_of() {
  if constexpr (Row::computed & bit(d)) {
    using L = Loops<Row, typename NumberOf<d>::type>;
    return {L::rows, L::columns, L::merge, L::start, L::finish};
  } else return {};
}
template <class Row, int... d> constexpr void fill(FoldLoops* row, Numbers<d...>) {
  ((row[d] = loops_of<Row, DType(d)>()), ...);
}
constexpr FoldTable make_table() {
  FoldTable t{};
#define REDUCE(name, ...) fill<name##_row>(t.loops[int(Fold::name)], NumbersUpTo<kDTypes>());
#include "neura/tables/reduction.def"
#undef REDUCE
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

// Softmax, log_softmax and their gradients: a row is read from memory once and stays in the cache for the other passes.
// Where the dimension is not the last, a vector of neighbouring columns takes the place of a number.
#include "neura/backend/cpu/norm/softmax.h"

#include "neura/backend/cpu/rowwise.h"
#include "neura/backend/number/prelude.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/norm/softmax.cpp"
#include "neura/backend/cpu/target.h"

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
#include "neura/backend/cpu/lanes.h"

// Zeros in place of the softmax of nothing but -inf? A NaN may have hidden from the maximum.
template <class T> bool hidden(const T* x, T most, std::int64_t n, std::int64_t stride) {
  if (most != -T(infinity)) return false;
  for (std::int64_t i = 0; i < n; ++i)
    if (x[i * stride] != most) return false;
  return true;
}

template <class N, SoftmaxKind kind, class T> void row(const T* x, T* y, std::int64_t n) {
  using L = Lanes<N>;
  constexpr bool logarithm = kind == SoftmaxKind::log_softmax;
  const T least = -T(infinity);
  if (n <= L::count) {  // one register holds it
    const N v = L::load(x, n, least), e = exp_below(v - L::all(L::max(v)));
    if (kind == SoftmaxKind::safe_softmax && hidden(x, L::max(v), n, 1)) return L::store(L::all(0), y, n);
    const T sum = L::sum(e);
    L::store(logarithm ? v - L::all(L::max(v)) - L::all(log(sum)) : e * L::all(T(1) / sum), y, n);
    return;
  }
  // While a row is computed, what comes next is prefetched: the results' cache lines, then the next row, which the
  // hardware prefetcher does not follow across a page boundary.
  N m0 = L::all(least), m1 = m0;
  std::int64_t i = 0;
  for (; i + 2 * L::count <= n; i += 2 * L::count) {
    m0 = larger(m0, L::load(x + i)), m1 = larger(m1, L::load(x + i + L::count));
    __builtin_prefetch(y + i);
  }
  each<N>(n - i, [&](std::int64_t k, auto part) { m0 = larger(m0, part.load(x + i + k, least)); });
  const N m = L::all(L::max(larger(m0, m1)));
  if (kind == SoftmaxKind::safe_softmax && hidden(x, L::max(m), n, 1)) {
    each<N>(n, [&](std::int64_t k, auto part) { part.store(L::all(0), y + k); });
    return;
  }
  N s0 = L::all(0), s1 = s0;  // two sums: the additions of one would be a chain
  for (i = 0; i + 2 * L::count <= n; i += 2 * L::count) {
    const N a = exp_below(L::load(x + i) - m), b = exp_below(L::load(x + i + L::count) - m);
    if constexpr (!logarithm) L::store(a, y + i), L::store(b, y + i + L::count);
    s0 = s0 + a, s1 = s1 + b;
    __builtin_prefetch(x + n + i);
  }
  each<N>(n - i, [&](std::int64_t k, auto part) {
    const N a = exp_below(part.load(x + i + k, least) - m);
    if constexpr (!logarithm) part.store(a, y + i + k);
    s0 = s0 + a;
  });
  // A NaN among the numbers may have hidden from the maximum, but not from the sum; nor did the lanes beyond the end of
  // a row of -inf (NaN as well, torch's answer).
  const T sum = L::sum(s0 + s1);
  if constexpr (logarithm) {
    const N l = L::all(log(sum));
    each<N>(n, [&](std::int64_t k, auto part) { part.store(part.load(x + k, 0) - m - l, y + k); });
  } else {
    const N r = L::all(T(1) / sum);
    each<N>(n, [&](std::int64_t k, auto part) { part.store(part.load(y + k, 0) * r, y + k); });
  }
}

template <class N, bool logarithm, class T> void row_backward(const T* g, const T* y, T* gx, std::int64_t n) {
  using L = Lanes<N>;
  N s0 = L::all(0), s1 = s0;
  std::int64_t i = 0;
  for (; i + 2 * L::count <= n; i += 2 * L::count) {
    const N a = L::load(g + i), b = L::load(g + i + L::count);
    if constexpr (logarithm) s0 = s0 + a, s1 = s1 + b;
    else s0 = fma(a, L::load(y + i), s0), s1 = fma(b, L::load(y + i + L::count), s1);
    __builtin_prefetch(gx + i);
  }
  each<N>(n - i, [&](std::int64_t k, auto part) {
    const N a = part.load(g + i + k, 0);
    if constexpr (logarithm) s0 = s0 + a;
    else s0 = fma(a, part.load(y + i + k, 0), s0);
  });
  const N s = L::all(L::sum(s0 + s1));
  each<N>(n, [&](std::int64_t k, auto part) {
    const N a = part.load(g + k, 0), b = part.load(y + k, 0);
    part.store(logarithm ? a - exp_below(b) * s : b * (a - s), gx + k);
    __builtin_prefetch(g + n + k), __builtin_prefetch(y + n + k);  // the next row's
  });
}

// Columns pass through a buffer of whole lines: with rows a power of two apart they would evict each other from the
// cache.
template <class N, SoftmaxKind kind, class T>
void columns(const T* x, T* y, T* buffer, std::int64_t n, std::int64_t stride, std::int64_t count) {
  using L = Lanes<N>;
  constexpr bool logarithm = kind == SoftmaxKind::log_softmax;
  T m[kSoftmaxColumns], s[kSoftmaxColumns];
  for (T& v : m) v = -T(infinity);
  for (std::int64_t i = 0; i < n; ++i)
    each<N>(count, [&](std::int64_t k, auto part) {
      const N v = part.load(x + i * stride + k, 0);
      L::store(v, buffer + i * kSoftmaxColumns + k);
      L::store(larger(L::load(m + k), v), m + k);
    });
  for (std::int64_t k = 0; k < count; k += L::count) {
    const N most = L::load(m + k);
    N sum = L::all(0);
    for (T* p = buffer + k; p < buffer + n * kSoftmaxColumns; p += kSoftmaxColumns) {
      const N e = exp_below(L::load(p) - most);
      if constexpr (!logarithm) L::store(e, p);
      sum = sum + e;
    }
    L::store(logarithm ? log(sum) : L::all(1) / sum, s + k);
  }
  if (kind == SoftmaxKind::safe_softmax)
    for (std::int64_t k = 0; k < count; ++k)
      if (hidden(x + k, m[k], n, stride))
        for (std::int64_t i = s[k] = 0; i < n; ++i) buffer[i * kSoftmaxColumns + k] = 0;
  for (std::int64_t i = 0; i < n; ++i)
    each<N>(count, [&](std::int64_t k, auto part) {
      const N v = L::load(buffer + i * kSoftmaxColumns + k), t = L::load(s + k);
      part.store(logarithm ? v - L::load(m + k) - t : v * t, y + i * stride + k);
    });
}

template <class N, bool logarithm, class T> void columns_backward(const T* g, const T* y, T* gx, T* buffer,
                                                                  std::int64_t n, std::int64_t stride,
                                                                  std::int64_t count) {
  using L = Lanes<N>;
  T s[kSoftmaxColumns] = {};
  T *gs = buffer, *ys = buffer + n * kSoftmaxColumns;
  for (std::int64_t i = 0; i < n; ++i)
    each<N>(count, [&](std::int64_t k, auto part) {
      const N a = part.load(g + i * stride + k, 0), b = part.load(y + i * stride + k, 0), sum = L::load(s + k);
      L::store(a, gs + i * kSoftmaxColumns + k);
      L::store(b, ys + i * kSoftmaxColumns + k);
      L::store(logarithm ? sum + a : fma(a, b, sum), s + k);
    });
  for (std::int64_t i = 0; i < n; ++i)
    each<N>(count, [&](std::int64_t k, auto part) {
      const N a = L::load(gs + i * kSoftmaxColumns + k), b = L::load(ys + i * kSoftmaxColumns + k),
              sum = L::load(s + k);
      part.store(logarithm ? a - exp_below(b) * sum : b * (a - sum), gx + i * stride + k);
    });
}

using in_build::kept;
constexpr bool kPlain = in_build::operation("softmax"), kLog = in_build::operation("log_softmax"),
               kSafe = in_build::operation("_safe_softmax") || in_build::kernel("attention", "forward"),
               kBackward = in_build::kernel("softmax", "softmax_backward");
template <class N, class T> constexpr SoftmaxLines<T> lines{
    {kept<kPlain>(&row<N, SoftmaxKind::softmax, T>), kept<kLog>(&row<N, SoftmaxKind::log_softmax, T>),
     kept<kSafe>(&row<N, SoftmaxKind::safe_softmax, T>)},
    {kept<kBackward>(&row_backward<N, false, T>), kept<kBackward>(&row_backward<N, true, T>)},
    {kept<kPlain>(&columns<N, SoftmaxKind::softmax, T>), kept<kLog>(&columns<N, SoftmaxKind::log_softmax, T>),
     kept<kSafe>(&columns<N, SoftmaxKind::safe_softmax, T>)},
    {kept<kBackward>(&columns_backward<N, false, T>), kept<kBackward>(&columns_backward<N, true, T>)}};
const SoftmaxLines<float>* singles_table() { return &lines<Floats, float>; }
const SoftmaxLines<double>* doubles_table() { return &lines<Doubles, double>; }

}  // namespace HWY_NAMESPACE
}  // namespace neura
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace neura {
HWY_EXPORT(singles_table);
HWY_EXPORT(doubles_table);
template <> const SoftmaxLines<float>& softmax_lines<float>() { return *HWY_DYNAMIC_DISPATCH(singles_table)(); }
template <> const SoftmaxLines<double>& softmax_lines<double>() { return *HWY_DYNAMIC_DISPATCH(doubles_table)(); }

namespace {

// Contiguous tensors seen as [outer, n, inner]: may columns be taken together?
struct Columns {
  std::int64_t outer = 1, n, inner = 1;
  bool fast;
  Columns(const View& x, int dim, std::initializer_list<const View*> all) : n(x.rank() ? x.size(dim) : 1) {
    for (int d = 0; d < x.rank(); ++d) (d < dim ? outer : inner) *= d == dim ? 1 : x.size(d);
    fast = inner > 1;
    for (const View* v : all) fast = fast && v->spec->contiguous && v->dtype() == x.dtype() && size_of(x.dtype()) > 2;
  }
  // f(offset, columns, buffer)
  template <class T, class F> void run(Context& c, std::int64_t operands, F&& f) const {
    const std::int64_t pieces = (inner + kSoftmaxColumns - 1) / kSoftmaxColumns;
    const Blocks blocks(outer * pieces, 4 * n * kSoftmaxColumns, outer * pieces);
    const std::int64_t size = n * kSoftmaxColumns * operands;
    T* buffer = c.scratch_of<T>(size * blocks.slots.count);
    blocks.run([&](Blocks::Block block, std::int64_t piece, std::int64_t end) {
      for (; piece < end; ++piece) {
        const std::int64_t first = piece % pieces * kSoftmaxColumns;
        f(piece / pieces * n * inner + first, std::min(kSoftmaxColumns, inner - first), buffer + block.slot * size);
      }
    });
  }
};

template <class T> void forward(Context& c, const View& x, int dim, SoftmaxKind kind, const View& y) {
  const Columns columns(x, dim, {&x, &y});
  if (columns.fast) {
    columns.run<T>(c, 1, [&](std::int64_t at, std::int64_t count, T* buffer) {
      softmax_lines<T>().columns[int(kind)](x.as<T>() + at, y.as<T>() + at, buffer, columns.n, columns.inner, count);
    });
    return;
  }
  const Rows in(x, dim), out(y, dim);
  const Blocks blocks(in.count, 4 * in.length);
  const RowAccess<T> from(c, in, blocks), to(c, out, blocks);
  const auto line = softmax_lines<T>().row[int(kind)];
  blocks.run([&](Blocks::Block block, std::int64_t r, std::int64_t end) {
    for (; r < end; ++r) {
      line(from.read(block, r), to.target(block, r), in.length);
      to.written(block, r);
    }
  });
}

template <class T> void backward(Context& c, const View& g, const View& y, int dim, bool logarithm, const View& gx) {
  const Columns columns(y, dim, {&g, &y, &gx});
  if (columns.fast) {
    columns.run<T>(c, 2, [&](std::int64_t at, std::int64_t count, T* buffer) {
      softmax_lines<T>().columns_backward[logarithm](g.as<T>() + at, y.as<T>() + at, gx.as<T>() + at, buffer, columns.n,
                                                     columns.inner, count);
    });
    return;
  }
  const Rows gr(g, dim), yr(y, dim), out(gx, dim);
  const Blocks blocks(yr.count, 2 * yr.length);
  const RowAccess<T> gs(c, gr, blocks), ys(c, yr, blocks), to(c, out, blocks);
  const auto line = softmax_lines<T>().row_backward[logarithm];
  blocks.run([&](Blocks::Block block, std::int64_t r, std::int64_t end) {
    for (; r < end; ++r) {
      line(gs.read(block, r), ys.read(block, r), to.target(block, r), yr.length);
      to.written(block, r);
    }
  });
}

void softmax(Context& c, View x, int dim, SoftmaxKind kind, View y) {
  if (!x.numel()) return;
  x.dtype() == DType::float64 ? forward<double>(c, x, dim, kind, y) : forward<float>(c, x, dim, kind, y);
}
void softmax_backward(Context& c, View g, View y, int dim, bool logarithm, View gx) {
  if (!y.numel()) return;
  y.dtype() == DType::float64 ? backward<double>(c, g, y, dim, logarithm, gx)
                              : backward<float>(c, g, y, dim, logarithm, gx);
}

}  // namespace

const softmax_kernels* cpu_softmax() {
  static constexpr softmax_kernels table{.softmax = &softmax, .softmax_backward = &softmax_backward};
  return &table;
}

}  // namespace neura
#endif  // HWY_ONCE

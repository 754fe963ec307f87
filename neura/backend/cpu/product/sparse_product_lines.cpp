// Rows of products with a sparse matrix, once per instruction set.
#include "neura/backend/cpu/product/sparse_product.h"

#include "neura/backend/number/prelude.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/product/sparse_product_lines.cpp"
#include "neura/backend/cpu/target.h"

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
#include "neura/backend/cpu/lanes.h"

// So many registers of the result at a time: they stay there while all stored elements are added.
template <int registers, class N, class T> HWY_INLINE void tile(const std::int64_t* columns, const T* values,
                                                                std::int64_t stored, const T* b, std::int64_t step,
                                                                T* y) {
  using L = Lanes<N>;
  N sums[registers];
  for (int r = 0; r < registers; ++r) sums[r] = L::all(0);
  for (std::int64_t i = 0; i < stored; ++i) {
    const T* row = b + columns[i] * step;
    const N v = L::all(values[i]);
    for (int r = 0; r < registers; ++r) sums[r] = fma(v, L::load(row + r * L::count), sums[r]);
  }
  for (int r = 0; r < registers; ++r) L::store(sums[r], y + r * L::count);
}

template <class T> HWY_INLINE T single(const std::int64_t* columns, const T* values, std::int64_t stored, const T* b) {
  T sums[4] = {};
  std::int64_t i = 0;
  for (; i + 4 <= stored; i += 4)
    for (int k = 0; k < 4; ++k) sums[k] += values[i + k] * b[columns[i + k]];
  for (; i < stored; ++i) sums[0] += values[i] * b[columns[i]];
  return sums[0] + sums[1] + (sums[2] + sums[3]);
}

template <class N, class T> void product(const std::int64_t* columns, const T* values, std::int64_t stored, const T* b,
                                         std::int64_t step, std::int64_t n, T* y) {
  using L = Lanes<N>;
  if (step == 1) return void(*y = single(columns, values, stored, b));
  std::int64_t j = 0;
  for (; j + 8 * L::count <= n; j += 8 * L::count) tile<8, N>(columns, values, stored, b + j, step, y + j);
  if (j + 4 * L::count <= n) tile<4, N>(columns, values, stored, b + j, step, y + j), j += 4 * L::count;
  if (j + 2 * L::count <= n) tile<2, N>(columns, values, stored, b + j, step, y + j), j += 2 * L::count;
  if (j + L::count <= n) tile<1, N>(columns, values, stored, b + j, step, y + j), j += L::count;
  if (j == n) return;
  N sum = L::all(0);
  for (std::int64_t i = 0; i < stored; ++i)
    sum = fma(L::all(values[i]), L::load(b + columns[i] * step + j, n - j, T(0)), sum);
  L::store(sum, y + j, n - j);
}

template <class N, class T> T dot(const T* a, const T* b, std::int64_t n) {
  using L = Lanes<N>;
  N s0 = L::all(0), s1 = s0;
  std::int64_t i = 0;
  for (; i + 2 * L::count <= n; i += 2 * L::count) {
    s0 = fma(L::load(a + i), L::load(b + i), s0);
    s1 = fma(L::load(a + i + L::count), L::load(b + i + L::count), s1);
  }
  each<N>(n - i, [&](std::int64_t k, auto part) { s0 = fma(part.load(a + i + k, 0), part.load(b + i + k, 0), s0); });
  return L::sum(s0 + s1);
}

template <class N, class T> constexpr SparseLines<T> lines{&product<N, T>, &dot<N, T>};
constexpr SparseTable table{lines<Floats, float>, lines<Doubles, double>};
const SparseTable* sparse_lines_table() { return &table; }

}  // namespace HWY_NAMESPACE
#if HWY_ONCE
HWY_EXPORT(sparse_lines_table);
const SparseTable& sparse_table() { return *HWY_DYNAMIC_DISPATCH(sparse_lines_table)(); }
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();

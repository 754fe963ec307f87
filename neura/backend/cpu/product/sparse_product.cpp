#include "neura/backend/cpu/product/sparse_product.h"

#include <algorithm>
#include <atomic>

#include "neura/core/parallel.h"

namespace neura {
namespace {

template <class T> const SparseLines<T>& lines() {
  if constexpr (sizeof(T) == 4) return sparse_table().singles;
  else return sparse_table().doubles;
}

constexpr std::int64_t kPanel = 64;  // columns of b that are taken together

// Whatever the indices say, no row reaches beyond what is stored, and no column beyond `columns`.
struct Rows {
  const std::int64_t *starts, *columns;
  std::int64_t rows, stored;
  Rows(View s, View c)
      : starts(s.as<std::int64_t>()), columns(c.as<std::int64_t>()), rows(s.numel() - 1), stored(c.numel()) {}

  bool inside(Context& c, std::int64_t bound) const {
    bool good = starts[0] >= 0 && starts[rows] <= stored;
    for (std::int64_t r = 0; r < rows; ++r) good &= starts[r] <= starts[r + 1];
    if (!good) return c.fail_index(starts[rows], stored + 1), false;
    std::atomic<std::uint64_t> signs = 0;  // its highest bit: that an index is negative, or above the last one
    parallel_for(stored, 2 * kSerial, [&](std::int64_t i, std::int64_t end) {
      const auto last = std::uint64_t(bound - 1);
      std::uint64_t all = 0;
      for (; i < end; ++i) all |= std::uint64_t(columns[i]) | (last - std::uint64_t(columns[i]));
      signs.fetch_or(all, std::memory_order_relaxed);
    });
    if (!(signs >> 63)) return true;
    c.fail_index(*std::find_if(columns, columns + stored, [&](std::int64_t j) { return j < 0 || j >= bound; }), bound);
    return false;
  }
  // f(first row, last) in threads that get as many stored elements each; one costs `cost` additions.
  template <class F> void each(std::int64_t cost, F&& f) const {
    const auto first_from = [&](std::int64_t work) {  // the first row that begins at or after this much work
      std::int64_t low = 0, high = rows;
      while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        if (starts[middle] + middle < work) low = middle + 1;
        else high = middle;
      }
      return low;
    };
    parallel_for(starts[rows] + rows, kSerial / std::max<std::int64_t>(cost, 1) + 1,
                 [&](std::int64_t begin, std::int64_t end) { f(first_from(begin), first_from(end)); });
  }
};

template <class T>
void product(Context& c, const Rows& m, const T* values, const T* b, std::int64_t k, std::int64_t n, T* y) {
  if (!m.inside(c, k) || !n) return;
  const auto line = lines<T>().product;
  m.each(n / 4 + 2, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = 0; j < n; j += kPanel)  // what the rows read of b stays in the cache
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t first = m.starts[r];
        line(m.columns + first, values + first, m.starts[r + 1] - first, b + j, n, std::min(kPanel, n - j),
             y + r * n + j);
      }
  });
}
template <class T>
void sample(Context& c, const Rows& m, const T* a, const T* b, std::int64_t rows_of_b, std::int64_t k, T* y) {
  if (!m.inside(c, rows_of_b)) return;
  const auto line = lines<T>().dot;
  m.each(k / 4 + 2, [&](std::int64_t r, std::int64_t end) {
    for (; r < end; ++r)
      for (std::int64_t i = m.starts[r]; i < m.starts[r + 1]; ++i) y[i] = line(a + r * k, b + m.columns[i] * k, k);
  });
}

void product(Context& c, View starts, View columns, View values, View b, View y) {
  const Rows m(starts, columns);
  if (y.dtype() == DType::float64)
    return product(c, m, values.as<double>(), b.as<double>(), b.size(0), b.size(1), y.as<double>());
  product(c, m, values.as<float>(), b.as<float>(), b.size(0), b.size(1), y.as<float>());
}
void sample(Context& c, View starts, View columns, View a, View b, View y) {
  const Rows m(starts, columns);
  std::fill_n(y.data, y.numel() * size_of(y.dtype()), char(0));  // of elements that no row has
  if (y.dtype() == DType::float64)
    return sample(c, m, a.as<double>(), b.as<double>(), b.size(0), b.size(1), y.as<double>());
  sample(c, m, a.as<float>(), b.as<float>(), b.size(0), b.size(1), y.as<float>());
}

}  // namespace

const sparse_kernels* cpu_sparse() {
  static constexpr sparse_kernels kernels = {.product = &product, .sample = &sample};
  return &kernels;
}

}  // namespace neura

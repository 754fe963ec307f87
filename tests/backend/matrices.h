// Matrices for tests of linear algebra: random ones, and how far a product is from what is wanted.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "neura/backend/kernels/linalg.h"
#include "tests/backend/kernels.h"

namespace neura::test {

template <class T> Array<T> uniform(const Shape& sizes, std::uint64_t seed = 1) {  // in [-1, 1)
  Array<T> x(sizes);
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    x.at(i) = T(double(seed >> 32) / 2147483648.0 - 1);
  }
  return x;
}
template <class T> double eps() { return double(std::numeric_limits<T>::epsilon()); }

template <class T> struct Rows {  // the elements of a matrix
  std::int64_t m, n;
  std::vector<T> values;
  explicit Rows(const Array<T>& a) : m(a.spec().shape[0]), n(a.spec().shape[1]), values(a.values()) {}
  double operator()(std::int64_t i, std::int64_t j) const { return double(values[std::size_t(i * n + j)]); }
};
// The largest difference of row i of a sum over k of x(i, k) y(k, j), k in [0, depth), and what is wanted there.
template <class X, class Y, class W>
double difference(std::int64_t m, std::int64_t n, std::int64_t depth, X&& x, Y&& y, W&& wanted) {
  std::vector<double> row(static_cast<std::size_t>(n));
  double most = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    std::fill(row.begin(), row.end(), 0);
    for (std::int64_t k = 0; k < depth; ++k)
      if (const double factor = x(i, k); factor != 0)
        for (std::int64_t j = 0; j < n; ++j) row[std::size_t(j)] += factor * y(k, j);
    for (std::int64_t j = 0; j < n; ++j) most = std::max(most, std::abs(row[std::size_t(j)] - wanted(i, j)));
  }
  return most;
}
// Of a x and b.
template <class T> double difference(const Array<T>& a, const Array<T>& x, const Array<T>& b) {
  const Rows<T> rows(b), inner(x);
  return difference(rows.m, rows.n, inner.m, Rows<T>(a), inner, rows);
}

}  // namespace neura::test

// Matrices of at most 16 rows and columns, row-major: a call of LAPACK would cost more than the work. Pivots count from
// 1, as LAPACK's; what is returned is LAPACK's info.
#pragma once
#include <cmath>
#include <utility>

#include "neura/backend/cpu/linalg/lapack.h"

namespace neura::batched::small {

inline constexpr std::int64_t kMost = 16;

template <class T> T conjugate(T x) {
  if constexpr (lapack::is_complex_v<T>) return std::conj(x);
  else return x;
}
// Without the checks for infinite parts that C++ asks of a product of complex numbers.
template <class T> T times(T a, T b) {
  if constexpr (lapack::is_complex_v<T>)
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  else return a * b;
}
template <class T> lapack::real_t<T> pivot_magnitude(T x) {
  if constexpr (lapack::is_complex_v<T>) return std::abs(x.real()) + std::abs(x.imag());
  else return std::abs(x);
}

// a = P L U in place, of m rows and n columns.
template <class T> int factorise(T* a, std::int64_t m, std::int64_t n, std::int32_t* pivots) {
  int info = 0;
  for (std::int64_t k = 0; k < std::min(m, n); ++k) {
    std::int64_t best = k;
    for (std::int64_t i = k + 1; i < m; ++i)
      if (pivot_magnitude(a[i * n + k]) > pivot_magnitude(a[best * n + k])) best = i;
    pivots[k] = std::int32_t(best + 1);
    if (best != k)
      for (std::int64_t j = 0; j < n; ++j) std::swap(a[k * n + j], a[best * n + j]);
    if (a[k * n + k] == T(0)) {
      if (!info) info = int(k + 1);
      continue;
    }
    const T one_over = T(1) / a[k * n + k];
    for (std::int64_t i = k + 1; i < m; ++i) {
      const T f = a[i * n + k] = times(a[i * n + k], one_over);
      for (std::int64_t j = k + 1; j < n; ++j) a[i * n + j] -= times(f, a[k * n + j]);
    }
  }
  return info;
}

// x of a x = b over b [n, k]; of a triangle of a [n, n].
template <class T> void triangular(bool upper, bool unit, const T* a, std::int64_t n, T* x, std::int64_t k) {
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t i = upper ? n - 1 - step : step;
    T* const row = x + i * k;
    for (std::int64_t j = upper ? i + 1 : 0; j < (upper ? n : i); ++j)
      for (std::int64_t c = 0; c < k; ++c) row[c] -= times(a[i * n + j], x[j * k + c]);
    if (unit) continue;
    const T one_over = T(1) / a[i * n + i];
    for (std::int64_t c = 0; c < k; ++c) row[c] = times(row[c], one_over);
  }
}
template <class T> void solve(const T* lu, const std::int32_t* pivots, std::int64_t n, T* x, std::int64_t k) {
  for (std::int64_t i = 0; i < n; ++i)
    if (const std::int64_t p = pivots[i] - 1; p != i)
      for (std::int64_t c = 0; c < k; ++c) std::swap(x[i * k + c], x[p * k + c]);
  triangular(false, true, lu, n, x, k);
  triangular(true, false, lu, n, x, k);
}

// l l^H = a, or (upper) f^H f = a, of the triangle that is read; the other one of f becomes 0.
template <class T> int cholesky(bool upper, const T* a, std::int64_t n, T* f) {
  T l[kMost * kMost] = {};
  const auto given = [&](std::int64_t i, std::int64_t j) { return upper ? conjugate(a[j * n + i]) : a[i * n + j]; };
  int info = 0;
  for (std::int64_t j = 0; j < n && !info; ++j) {
    auto d = std::real(given(j, j));
    for (std::int64_t k = 0; k < j; ++k) d -= std::norm(l[j * n + k]);
    if (!(d > 0)) info = int(j + 1);
    const auto root = std::sqrt(d);
    l[j * n + j] = T(root);
    for (std::int64_t i = j + 1; i < n && !info; ++i) {
      T sum = given(i, j);
      for (std::int64_t k = 0; k < j; ++k) sum -= times(l[i * n + k], conjugate(l[j * n + k]));
      l[i * n + j] = sum / root;
    }
  }
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) f[i * n + j] = upper ? conjugate(l[j * n + i]) : l[i * n + j];
  return info;
}

}  // namespace neura::batched::small

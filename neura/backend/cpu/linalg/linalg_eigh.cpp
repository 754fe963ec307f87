// Kernels of eigenvalues of symmetric and Hermitian matrices. Real ones become tridiagonal by blocks, and their vectors
// come back by blocks: all threads share these two. The tridiagonal problem, and complex matrices, are LAPACK's.
#include <cmath>

#include "neura/backend/cpu/linalg/linalg.h"
#include "neura/backend/cpu/linalg/spectral.h"

namespace neura {

using namespace batched;

namespace {

template <class T> T conjugate(T x) { return x; }
template <class R> std::complex<R> conjugate(std::complex<R> x) { return std::conj(x); }

template <class T> bool triangle_is_finite(bool upper, const T* a, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    if (!(upper ? all_finite(a + i * n + i, n - i) : all_finite(a + i * n, i + 1))) return false;
  return true;
}

// The upper triangle times `scale`, and of the lower one what is in the squares on the diagonal; zeros beyond n.
template <class T> void read_triangle(bool upper, T scale, const T* a, std::int64_t n, blocked::Matrix<T> to) {
  for (std::int64_t i = 0; i < blocked::whole_tiles(n); ++i) std::fill(to[i] + (i < n ? i : 0), to[i] + to.row, T(0));
  for (std::int64_t i = 0; i < n; i += kTile)
    for (std::int64_t j = i; j < n; j += kTile)
      for (std::int64_t r = i; r < std::min(n, i + kTile); ++r)
        for (std::int64_t k = j; k < std::min(n, j + kTile); ++k)
          to[r][k] = scale * a[upper == (r <= k) ? r * n + k : k * n + r];
}

template <class T> T largest(bool upper, const T* a, std::int64_t n) {
  T most = 0;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = upper ? i : 0; j < (upper ? n : i + 1); ++j) most = std::max(most, std::abs(a[i * n + j]));
  return most;
}
template <class T> struct Symmetric {
  const lapack::Routines<T>& l;
  bool upper;
  std::int64_t n;
  std::int64_t rows = blocked::whole_tiles(n), row = blocked::apart<T>(n);

  // LAPACK's info; `vectors` may be null.
  int solve(Context& c, const T* a, T* values, T* vectors) const {
    Context own(c.backend, c.device, c.op);
    const T scale = blocked::scale_of(largest(upper, a, n));
    const blocked::Matrix<T> t{own.scratch_of<T>(rows * row), row}, v{own.scratch_of<T>(rows * row), row};
    T *const beside = own.scratch_of<T>(n), *const tau = own.scratch_of<T>(n);
    read_triangle(upper, scale, a, n, t);
    blocked::tridiagonalise(own, n, t, values, beside, v, tau);
    const int info = vectors ? with_vectors(own, values, beside, v, tau, vectors) : l.sterf(n, values, beside);
    if (scale != 1)
      for (std::int64_t i = 0; i < n; ++i) values[i] /= scale;
    return info;
  }

 private:
  int with_vectors(Context& c, T* values, T* beside, blocked::Matrix<T> v, const T* tau, T* vectors) const {
    const blocked::Matrix<T> z{c.scratch_of<T>(n * row), row};
    auto* const order = c.scratch_of<std::int32_t>(n);
    const int info = blocked::divide(c, l, n, values, beside, z, order);
    blocked::reflect_columns<T>(c, n, n, n - 1, 1, v, tau, {{z.data, row}, n, order}, {vectors, n});
    return info;
  }
};

template <class T>
void eigh_by_blocks(Context& c, const lapack::Routines<T>& l, bool upper, View a, View values, View vectors) {
  const MatrixSizes b(a);
  const std::int64_t n = b.rows;
  const bool wanted = vectors.rank() >= 2;
  const Symmetric<T> symmetric{l, upper, n};
  Failures failures;
  const auto solve = [&](std::int64_t i, T) {
    const T* const from = a.as<T>() + i * n * n;
    if (!triangle_is_finite(upper, from, n)) return failures.add(i, 0);
    const int info = symmetric.solve(c, from, values.as<T>() + i * n, wanted ? vectors.as<T>() + i * n * n : nullptr);
    if (info) failures.add(i, info);
  };
  when_blocked(c, a, b, solve);
  failures.report(c);
}

constexpr std::int64_t kLeast = 28;  // smaller matrices take LAPACK less time

}  // namespace

// The row-major elements are the transpose, whose other triangle this one is, and whose eigenvectors are the
// conjugates.
void cpu_eigh(Context& c, bool upper, View a, View values, View vectors) {
  with_lapack(c, a, [&](const auto& l) {
    using T = element_of<decltype(l)>;
    using R = lapack::real_t<T>;
    const MatrixSizes b(a);
    if (!b.numel()) return;
    const std::int64_t n = b.rows;
    if constexpr (!lapack::is_complex_v<T>)
      if (n >= kLeast) return eigh_by_blocks<T>(c, l, upper, a, values, vectors);
    const bool wanted = vectors.rank() >= 2;
    const char* const job = wanted ? "V" : "N";
    const auto room = l.workspace_syevd(job, n);
    const std::size_t bytes = Memory::bytes<T>(b.numel()) + Memory::bytes<T>(room.work) + Memory::bytes<R>(room.reals) +
                              Memory::bytes<Int>(room.integers);
    Failures failures;
    each_matrix(c, b.count, 10 * double(b.numel()) * double(n), bytes, [&](std::int64_t i, Memory memory) {
      T *const t = memory.take<T>(b.numel()), *const work = memory.take<T>(room.work);
      R* const reals = memory.take<R>(room.reals);
      Int* const integers = memory.take<Int>(room.integers);
      const T* const from = a.as<T>() + i * b.numel();
      for (std::int64_t r = 0; r < n; ++r)
        if (!(upper ? all_finite(from + r * n + r, n - r) : all_finite(from + r * n, r + 1))) return failures.add(i, 0);
      copy_elements(from, t, b.numel());
      const int info = l.syevd(job, upper ? "L" : "U", n, t, values.as<R>() + i * n, work, room.work, reals, room.reals,
                               integers, room.integers);
      if (info) return failures.add(i, info);
      if (!wanted) return;
      for (std::int64_t k = 0; k < b.numel(); ++k) t[k] = conjugate(t[k]);
      transpose(t, vectors.as<T>() + i * b.numel(), n, n);
    });
    failures.report(c);
  });
}

}  // namespace neura

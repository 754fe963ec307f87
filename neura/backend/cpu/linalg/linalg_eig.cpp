// Kernels of eigenvalues of general matrices. All is LAPACK's but the order of the sweeps that give real matrices their
// Schur form, and the last product of their vectors, which all threads share.
#include <cmath>

#include "neura/backend/cpu/linalg/linalg.h"
#include "neura/backend/cpu/linalg/schur.h"
#include "neura/backend/cpu/linalg/spectral.h"

namespace neura {

using namespace batched;

namespace {

// Of real numbers, LAPACK gives a pair of conjugates as two columns: real and imaginary part.
template <class R> void to_complex(std::int64_t n, const R* re, const R* im, const R* v, std::complex<R>* values,
                                   std::complex<R>* vectors) {
  for (std::int64_t j = 0; j < n; ++j) values[j] = {re[j], im[j]};
  for (std::int64_t j = 0; vectors && j < n; ++j) {
    const bool pair = im[j] != 0 && j + 1 < n;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::complex<R> x(v[j * n + i], pair ? v[(j + 1) * n + i] : R(0));
      vectors[i * n + j] = x;
      if (pair) vectors[i * n + j + 1] = std::conj(x);
    }
    j += pair;
  }
}

template <class L, class T, class C>
int eig_of_one(const L& l, std::int64_t n, const T* a, C* values, C* vectors, Int room, Memory memory) {
  using R = lapack::real_t<T>;
  T *const t = memory.take<T>(n * n), *const v = memory.take<T>(n * n);
  T *const w = memory.take<T>(n), *const imaginary = memory.take<T>(n), *const work = memory.take<T>(room);
  R* const reals = memory.take<R>(2 * n);
  transpose(a, t, n, n);
  const int info = l.geev(vectors ? "V" : "N", n, t, w, imaginary, v, work, room, reals);
  if (info) return info;
  if constexpr (lapack::is_complex_v<T>) {
    copy_elements(w, values, n);
    if (vectors) transpose(v, vectors, n, n);
  } else {
    to_complex(n, w, imaginary, v, values, vectors);
  }
  return 0;
}

constexpr std::int64_t kLeast = 76;  // rows: smaller matrices have the plain algorithm from LAPACK, too

// Vectors [n, n], by columns, have length 1, and of a pair of conjugates the largest element is real.
template <class T> void normalise(std::int64_t n, const T* im, T* v) {
  for (std::int64_t j = 0; j < n; ++j) {
    T *const x = v + j * n, *const y = im[j] != 0 && j + 1 < n ? x + n : nullptr;
    const auto square = [&](std::int64_t i) { return x[i] * x[i] + (y ? y[i] * y[i] : T(0)); };
    T most = 0, sum = 0;
    std::int64_t largest = 0;
    for (std::int64_t i = 0; i < n; ++i) most = std::max({most, std::abs(x[i]), y ? std::abs(y[i]) : T(0)});
    if (!(most > 0)) continue;
    for (std::int64_t i = 0; i < (y ? 2 * n : n); ++i) x[i] /= most;
    for (std::int64_t i = 0; i < n; ++i) {
      sum += square(i);
      if (square(i) > square(largest)) largest = i;
    }
    const T size = std::sqrt(sum), turn = y ? std::sqrt(square(largest)) : T(1);
    const T cosine = y ? x[largest] / turn : T(1), sine = y ? y[largest] / turn : T(0);
    for (std::int64_t i = 0; i < n; ++i) {
      const T re = x[i] / size, other = y ? y[i] / size : T(0);
      x[i] = cosine * re + sine * other;
      if (y) y[i] = cosine * other - sine * re;
    }
    if (y) y[largest] = 0, ++j;
  }
}

// Balanced, then Hessenberg, then of Schur form, whose vectors come back by one product that all threads share.
template <class T> struct General {
  using Problem = typename lapack::SchurRoutines<T>::Problem;
  const lapack::SchurRoutines<T>& l;
  std::int64_t n;
  bool wanted;
  Int room = l.workspace_gehrd(n);

  // LAPACK's info; re and im [n], and v [n, n] by columns, if vectors are wanted.
  int solve(Context& c, const T* a, T* re, T* im, T* v) const {
    Context own(c.backend, c.device, c.op);
    const std::int64_t column = blocked::apart<T>(n);
    T *const h = own.scratch_of<T>(n * column), *const scales = own.scratch_of<T>(n), *const tau = own.scratch_of<T>(n);
    T most = 0;
    for (std::int64_t i = 0; i < n * n; ++i) most = std::max(most, std::abs(a[i]));
    const T scale = blocked::scale_of(most);
    for (std::int64_t i = 0; i < n; i += kTile)
      for (std::int64_t j = 0; j < n; j += kTile)
        for (std::int64_t r = i; r < std::min(n, i + kTile); ++r)
          for (std::int64_t k = j; k < std::min(n, j + kTile); ++k) h[k * column + r] = scale * a[r * n + k];
    const auto range = l.gebal(n, h, column, scales);
    T* const work = own.scratch_of<T>(std::max<std::int64_t>(room, 3 * n));
    l.gehrd(n, range, h, column, tau, work, room);
    T* const q = own.scratch_of<T>(wanted ? n * column : 1);
    if (wanted) {
      copy_elements(h, q, n * column);
      l.orghr(n, range, q, column, tau, work, room);
    }
    for (std::int64_t j = 0; j + 2 < n; ++j) std::fill(h + j * column + j + 2, h + j * column + n, T(0));
    for (std::int64_t i = 0; i < n; ++i) re[i] = h[i * column + i], im[i] = 0;  // of those that are found already
    const int info = blocked::schur<T>(own, l, Problem{wanted, n, h, column, q}, range, re, im);
    if (info) return info;
    for (std::int64_t i = 0; scale != 1 && i < n; ++i) re[i] /= scale, im[i] /= scale;
    if (!wanted) return 0;
    T* const x = own.scratch_of<T>(n * column);
    std::fill_n(x, n * column, T(0));
    l.trevc(n, h, column, x, work);
    blocked::product<T>(own, n, n, n, 1, {x, column}, {q, column}, {v, n}, false);
    l.gebak(n, range, scales, v, n);
    normalise(n, im, v);
    return 0;
  }
};

template <class T> void eig_by_schur(Context& c, View a, View values, View vectors) {
  using C = std::complex<T>;
  const MatrixSizes b(a);
  const std::int64_t n = b.rows;
  const lapack::SchurRoutines<T> l(*lapack::library());
  const General<T> general{l, n, vectors.rank() >= 2};
  Failures failures;
  const auto solve = [&](std::int64_t i, auto) {
    const T* const from = a.as<T>() + i * n * n;
    if (!all_finite(from, n * n)) return failures.add(i, 0);
    Context own(c.backend, c.device, c.op);
    T *const re = own.scratch_of<T>(n), *const im = own.scratch_of<T>(n);
    T* const v = own.scratch_of<T>(general.wanted ? n * n : 1);
    if (const int info = general.solve(own, from, re, im, v)) return failures.add(i, info);
    to_complex(n, re, im, v, values.as<C>() + i * n, general.wanted ? vectors.as<C>() + i * n * n : nullptr);
  };
  when_blocked(c, a, b, solve);
  failures.report(c);
}

}  // namespace

void cpu_eig(Context& c, View a, View values, View vectors) {
  with_lapack(c, a, [&](const auto& l) {
    using T = element_of<decltype(l)>;
    using R = lapack::real_t<T>;
    using C = std::complex<R>;
    const MatrixSizes b(a);
    if (!b.numel()) return;
    const std::int64_t n = b.rows;
    const bool wanted = vectors.rank() >= 2;
    if constexpr (!lapack::is_complex_v<T>)
      if (n >= kLeast) return eig_by_schur<T>(c, a, values, vectors);
    const Int room = l.workspace_geev(wanted ? "V" : "N", n);
    const std::size_t bytes =
        2 * Memory::bytes<T>(n * n) + 2 * Memory::bytes<T>(n) + Memory::bytes<T>(room) + Memory::bytes<R>(2 * n);
    Failures failures;
    each_matrix(c, b.count, 25 * double(n) * double(n) * double(n), bytes, [&](std::int64_t i, Memory memory) {
      const T* const from = a.as<T>() + i * n * n;
      if (!all_finite(from, n * n)) return failures.add(i, 0);
      const int info =
          eig_of_one(l, n, from, values.as<C>() + i * n, wanted ? vectors.as<C>() + i * n * n : nullptr, room, memory);
      if (info) failures.add(i, info);
    });
    failures.report(c);
  });
}

}  // namespace neura

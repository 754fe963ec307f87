// Kernels of singular values. Real matrices that are about square become bidiagonal by blocks, and their vectors come
// back by blocks: all threads share these two. The bidiagonal problem, and all other matrices, are LAPACK's.
#include "neura/backend/cpu/linalg/linalg.h"
#include "neura/backend/cpu/linalg/spectral.h"

namespace neura {

using namespace batched;

namespace {

constexpr std::int64_t kLeast = 40;  // rows or columns: smaller matrices take LAPACK less time

// Of the matrix or its transpose, whichever has at least as many rows as columns.
template <class T> struct Singular {
  const lapack::Routines<T>& l;
  std::int64_t rows, columns;  // of the matrix
  bool turned = rows < columns;
  std::int64_t m = std::max(rows, columns), n = std::min(rows, columns);

  // LAPACK's info. u [rows, width] and vh [height, columns], or null.
  int solve(Context& c, const T* a, T* u, std::int64_t width, T* s, T* vh, std::int64_t height) const {
    using blocked::Matrix;
    Context own(c.backend, c.device, c.op);
    const std::int64_t row = blocked::apart<T>(n);
    T most = 0;
    for (std::int64_t i = 0; i < m * n; ++i) most = std::max(most, std::abs(a[i]));
    const T scale = blocked::scale_of(most);
    const Matrix<T> t{own.scratch_of<T>(m * row), row};
    read(scale, a, t);
    T* const beside = own.scratch_of<T>(n);
    const Matrix<T> left{own.scratch_of<T>(n * blocked::apart<T>(m)), blocked::apart<T>(m)};
    const Matrix<T> right{own.scratch_of<T>(n * row), row};
    const blocked::Sides<T> sides{left, right, own.scratch_of<T>(n), own.scratch_of<T>(n), s, beside};
    blocked::bidiagonalise(own, m, n, t, sides);
    T *const x = u ? own.scratch_of<T>(n * row) : nullptr, *const y = u ? own.scratch_of<T>(n * row) : nullptr;
    T* const work = own.scratch_of<T>(u ? 3 * n * n + 4 * n : 4 * n);
    const int info = l.bdsdc(n, s, beside, x, y, row, work, own.scratch_of<Int>(8 * n));
    for (std::int64_t i = 0; scale != 1 && i < n; ++i) s[i] /= scale;
    if (!u) return info;
    const Matrix<T> to_u{u, width}, to_v{vh, 1, columns};
    blocked::reflect_columns<T>(own, m, turned ? height : width, n, 0, left, sides.left, {{x, row}, n, nullptr},
                                turned ? to_v : to_u);
    blocked::reflect_columns<T>(own, n, n, n - 1, 1, right, sides.right, {{y, 1, row}, n, nullptr},
                                turned ? to_u : to_v);
    return info;
  }

 private:
  void read(T scale, const T* a, blocked::Matrix<T> to) const {
    for (std::int64_t i = 0; i < m; ++i) std::fill(to[i] + n, to[i] + to.row, T(0));
    for (std::int64_t i = 0; i < m; i += kTile)
      for (std::int64_t j = 0; j < n; j += kTile)
        for (std::int64_t r = i; r < std::min(m, i + kTile); ++r)
          for (std::int64_t k = j; k < std::min(n, j + kTile); ++k)
            to[r][k] = scale * a[turned ? k * m + r : r * n + k];
  }
};

template <class T> void svd_by_blocks(Context& c, const lapack::Routines<T>& l, View a, View u, View s, View vh) {
  const MatrixSizes b(a);
  const bool wanted = u.rank() >= 2;
  const std::int64_t width = wanted ? u.size(u.rank() - 1) : 0, height = wanted ? vh.size(vh.rank() - 2) : 0;
  const Singular<T> singular{l, b.rows, b.columns};
  Failures failures;
  const auto solve = [&](std::int64_t i, auto) {
    const T* const from = a.as<T>() + i * b.numel();
    if (!all_finite(from, b.numel())) return failures.add(i, 0);
    const int info =
        singular.solve(c, from, wanted ? u.as<T>() + i * b.rows * width : nullptr, width, s.as<T>() + i * b.least(),
                       wanted ? vh.as<T>() + i * height * b.columns : nullptr, height);
    if (info) failures.add(i, info);
  };
  when_blocked(c, a, b, solve);
  failures.report(c);
}

}  // namespace

// Of the transpose: its left factor, column-major, is this one's right factor, row-major.
void cpu_svd(Context& c, View a, View u, View s, View vh) {
  with_lapack(c, a, [&](const auto& l) {
    using T = element_of<decltype(l)>;
    using R = lapack::real_t<T>;
    const MatrixSizes b(a);
    const std::int64_t m = b.rows, n = b.columns, k = b.least();
    if constexpr (!lapack::is_complex_v<T>)
      if (k >= kLeast && 2 * k > std::max(m, n)) return svd_by_blocks<T>(c, l, a, u, s, vh);
    const bool wanted = u.rank() >= 2;
    const std::int64_t width = wanted ? u.size(u.rank() - 1) : 0, height = wanted ? vh.size(vh.rank() - 2) : 0;
    if (!b.numel()) {  // all vectors of an empty matrix: the identity
      for (const auto& [f, size] : {std::pair(u, m), std::pair(vh, n)})
        for (std::int64_t i = 0; wanted && i < f.numel(); ++i) f.template as<T>()[i] = i / size % size == i % size;
      return;
    }
    const char* const job = !wanted ? "N" : width == k && height == k ? "S" : "A";
    const auto room = l.workspace_gesdd(job, n, m);
    const std::size_t bytes = Memory::bytes<T>(b.numel()) + Memory::bytes<T>(room.work) + Memory::bytes<R>(room.reals) +
                              Memory::bytes<Int>(room.integers);
    Failures failures;
    each_matrix(c, b.count, 20 * double(b.numel()) * double(k), bytes, [&](std::int64_t i, Memory memory) {
      T *const t = memory.take<T>(b.numel()), *const work = memory.take<T>(room.work);
      R* const reals = memory.take<R>(room.reals);
      Int* const integers = memory.take<Int>(room.integers);
      copy_elements(a.as<T>() + i * b.numel(), t, b.numel());
      if (!all_finite(t, b.numel())) return failures.add(i, 0);
      T unread{};
      const int info = l.gesdd(job, n, m, t, s.as<R>() + i * k, wanted ? vh.as<T>() + i * height * n : &unread,
                               wanted ? u.as<T>() + i * m * width : &unread, work, room.work, reals, integers);
      if (info) failures.add(i, info);
    });
    failures.report(c);
  });
}

}  // namespace neura

// Factorisations that solve: LU, Cholesky and triangles. Large matrices by cuSOLVER and cuBLAS.
#include "neura/backend/cuda/linalg/linalg.h"

#include "neura/backend/cuda/linalg/linalg_matrix.h"
#include "neura/backend/cuda/pointwise/execute.h"

namespace neura::cuda {
namespace {

using namespace solver;
using std::int64_t;

// Batches of which a library makes one call, although each of its matrices has one block.
constexpr int64_t kBatchedLu = 512, kBatchedCholesky = 512, kBatchedTriangle = 512;

template <class T> Failed batched_lu(Solver& s, Scratch& scratch, const MatrixSizes& b, char* t, std::int32_t* pivots) {
  char* matrices = nullptr;
  int *swaps = nullptr, *info = nullptr;
  if (Failed f = scratch.take(std::size_t(b.count) * sizeof(void*), &matrices)) return f;
  if (Failed f = scratch.take(std::size_t(b.count * b.rows) * sizeof(int), &swaps)) return f;
  if (Failed f = scratch.take(std::size_t(b.count) * sizeof(int), &info)) return f;
  if (Failed f = moves::pointers(s.index, t, b.numel() * int64_t(sizeof(T)), b.count, matrices)) return f;
  NEURA_SOLVER_TRY(Routines<T>::getrf_batched()(s->blas, int(b.rows), reinterpret_cast<T* const*>(matrices),
                                                int(b.rows), swaps, info, int(b.count)),
                   "LU");
  return moves::pivots_of(s.index, swaps, info, b.count, b.rows, pivots);
}
template <class T> Failed single_lus(Solver& s, Scratch& scratch, const MatrixSizes& b, char* t, std::int32_t* pivots) {
  const Library& l = library();
  constexpr cudaDataType d = Routines<T>::dtype;
  const int64_t k = b.least();
  int64_t* swaps = nullptr;
  int* info = nullptr;
  void* work = nullptr;
  std::size_t device = 0, host = 0;
  NEURA_SOLVER_TRY(
      l.cusolverDnXgetrf_bufferSize(s->solver, s->params, b.rows, b.columns, d, t, b.rows, d, &device, &host), "LU");
  if (Failed f = s.rooms(scratch, device, host, &work)) return f;
  if (Failed f = scratch.take(std::size_t(b.count * k) * sizeof(int64_t), &swaps)) return f;
  if (Failed f = scratch.take(std::size_t(b.count) * sizeof(int), &info)) return f;
  for (int64_t i = 0; i < b.count; ++i)
    NEURA_SOLVER_TRY(l.cusolverDnXgetrf(s->solver, s->params, b.rows, b.columns, d, t + i * b.numel() * sizeof(T),
                                        b.rows, swaps + i * k, d, work, device, s->host.data(), host, info + i),
                     "LU");
  return moves::pivots_of(s.index, swaps, info, b.count, k, pivots);
}

// Writes lu and pivots.
Failed factorise(Solver& s, const View& a, const View& lu, std::int32_t* pivots) {
  const MatrixSizes b(a);
  if (!b.numel() || by_warps(b)) {
    if (Failed f = assign(lu, a)) return f;
    return (b.numel() && by_threads(b) ? tiny_lu : small_lu)(s.index, a.dtype(), b, lu.data, pivots);
  }
  Scratch scratch(s.index, s.stream);
  Columns t(a);
  if (Failed f = t.fill(scratch, a)) return f;
  const Failed f = with_type(a.dtype(), [&]<class T>(T) {
    const bool batched = b.rows == b.columns && b.count > 1 && b.rows <= kBatchedLu && b.count <= INT32_MAX;
    return (batched ? batched_lu<T> : single_lus<T>)(s, scratch, b, t.data(), pivots);
  });
  return f ? f : assign(lu, t.view());
}

// x of a triangle of a, in place. The row-major elements are those of the transposes: x^T a^T = b^T.
template <class T>
Failed solve_triangles(Solver& s, bool upper, bool unit, const char* a, const MatrixSizes& x, char* to) {
  using R = Routines<T>;
  const cublasFillMode_t fill = upper ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
  const cublasDiagType_t diagonal = unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
  const int64_t n = x.rows, k = x.columns, step_a = n * n * int64_t(sizeof(T)), step_x = n * k * int64_t(sizeof(T));
  const T one = number_of<T>(1);
  if (x.count == 1 || n > kBatchedTriangle) {
    for (int64_t i = 0; i < x.count; ++i)
      NEURA_SOLVER_TRY(
          R::trsm()(s->blas, CUBLAS_SIDE_RIGHT, fill, CUBLAS_OP_N, diagonal, k, n, &one,
                    reinterpret_cast<const T*>(a + i * step_a), n, reinterpret_cast<T*>(to + i * step_x), k),
          "a triangle");
    return nullptr;
  }
  Scratch scratch(s.index, s.stream);
  char *as = nullptr, *xs = nullptr;
  if (Failed f = scratch.take(std::size_t(x.count) * sizeof(void*), &as)) return f;
  if (Failed f = scratch.take(std::size_t(x.count) * sizeof(void*), &xs)) return f;
  if (Failed f = moves::pointers(s.index, const_cast<char*>(a), step_a, x.count, as)) return f;
  if (Failed f = moves::pointers(s.index, to, step_x, x.count, xs)) return f;
  return failed(
      R::trsm_batched()(s->blas, CUBLAS_SIDE_RIGHT, fill, CUBLAS_OP_N, diagonal, k, n, &one,
                        reinterpret_cast<const T* const*>(as), n, reinterpret_cast<T* const*>(xs), k, x.count),
      "triangles");
}
Failed triangles(Solver& s, bool upper, bool unit, const View& a, const View& x) {
  const MatrixSizes b(x);
  if (!x.numel()) return nullptr;
  return with_type(x.dtype(), [&]<class T>(T) { return solve_triangles<T>(s, upper, unit, a.data, b, x.data); });
}

// x of lu x = b, or of the identity where there is no b
Failed solve_by(Context& c, Solver& s, const View& lu, const std::int32_t* pivots, const char* b, const View& x) {
  const MatrixSizes f(lu);
  Scratch scratch(s.index, s.stream);
  int64_t* order = nullptr;
  if (!x.numel()) return nullptr;
  if (by_threads(f)) return tiny_solve(s.index, x.dtype(), lu.data, pivots, b, MatrixSizes(x), x.data);
  if (Failed e = scratch.take(std::size_t(f.count * f.rows) * sizeof(int64_t), &order)) return e;
  if (Failed e = moves::order_of(c, pivots, f.rows + 1, f.rows, f.count, f.rows, order)) return e;
  if (Failed e = moves::rows_of(s.index, x.dtype(), b, order, MatrixSizes(x), x.data)) return e;
  if (Failed e = triangles(s, false, true, lu, x)) return e;
  return triangles(s, true, false, lu, x);
}

Failed lu_of(Context&, Solver& s, View a, View lu, View pivots) {
  return factorise(s, a, lu, pivots.as<std::int32_t>());
}

Failed solve_of(Context& c, Solver& s, View a, View b, View x, View lu, View pivots) {
  std::int32_t* const p = pivots.as<std::int32_t>();
  if (Failed f = factorise(s, a, lu, p)) return f;
  return solve_by(c, s, lu, p, b.data, x);
}

Failed inverse_of(Context& c, Solver& s, View a, View inverse, View info) {
  const MatrixSizes b(a);
  Scratch scratch(s.index, s.stream);
  const Spec spec = Spec::dense(a.dtype(), a.spec->sizes(), a.spec->device);
  View lu{nullptr, &spec};
  std::int32_t* pivots = nullptr;
  if (Failed f = scratch.take(std::max<std::size_t>(spec.bytes(), 1), &lu.data)) return f;
  if (Failed f = scratch.take(std::size_t(b.count * (b.rows + 1)) * sizeof *pivots, &pivots)) return f;
  if (Failed f = factorise(s, a, lu, pivots)) return f;
  if (Failed f = moves::copy_info(s.index, pivots, b.rows, b.count, info.as<std::int32_t>())) return f;
  return solve_by(c, s, lu, pivots, nullptr, inverse);
}

Failed determinant_of(Context&, Solver& s, View a, View determinant, View lu, View pivots) {
  std::int32_t* const p = pivots.as<std::int32_t>();
  if (Failed f = factorise(s, a, lu, p)) return f;
  return moves::determinants(s.index, a.dtype(), MatrixSizes(a), lu.data, p, determinant.data);
}

// Of matrices column by column, in place.
template <class T> Failed single_choleskys(Solver& s, cublasFillMode_t fill, const MatrixSizes& b, char* f, int* info) {
  const Library& l = library();
  constexpr cudaDataType d = Routines<T>::dtype;
  const int64_t step = b.numel() * int64_t(sizeof(T)), n = b.rows;
  Scratch scratch(s.index, s.stream);
  std::size_t device = 0, host = 0;
  void* work = nullptr;
  NEURA_SOLVER_TRY(l.cusolverDnXpotrf_bufferSize(s->solver, s->params, fill, n, d, f, n, d, &device, &host),
                   "Cholesky");
  if (Failed e = s.rooms(scratch, device, host, &work)) return e;
  for (int64_t i = 0; i < b.count; ++i)
    NEURA_SOLVER_TRY(l.cusolverDnXpotrf(s->solver, s->params, fill, n, d, f + i * step, n, d, work, device,
                                        s->host.data(), host, info + i),
                     "Cholesky");
  return nullptr;
}
template <class T> Failed batched_cholesky(Solver& s, cublasFillMode_t fill, const MatrixSizes& b, char* f, int* info) {
  Scratch scratch(s.index, s.stream);
  char* matrices = nullptr;
  if (Failed e = scratch.take(std::size_t(b.count) * sizeof(void*), &matrices)) return e;
  if (Failed e = moves::pointers(s.index, f, b.numel() * int64_t(sizeof(T)), b.count, matrices)) return e;
  return failed(Routines<T>::potrf_batched()(s->solver, fill, int(b.rows), reinterpret_cast<T**>(matrices), int(b.rows),
                                             info, int(b.count)),
                "Cholesky");
}
// Row-major elements are column by column those of the transpose, whose other triangle this one is: a^T = u^H u,
// l = u^T. The library is fastest with lower triangles, for which single matrices are turned.
Failed cholesky_of(Context&, Solver& s, bool upper, View a, View factor, View info) {
  const MatrixSizes b(a);
  if (!b.numel()) {
    NEURA_CUDA_TRY(cudaMemsetAsync(info.data, 0, info.spec->bytes(), s.stream), "Cholesky");
    return nullptr;
  }
  const bool batched = b.count > 1 && b.rows <= kBatchedCholesky && b.count <= INT32_MAX;
  if (!by_threads(b) && !batched && !upper) {
    Scratch scratch(s.index, s.stream);
    Columns t(a);
    if (Failed f = t.fill(scratch, a)) return f;
    Failed f = with_type(a.dtype(), [&]<class T>(T) {
      return single_choleskys<T>(s, CUBLAS_FILL_MODE_LOWER, b, t.data(), info.as<int>());
    });
    if (!f) f = assign(factor, t.view());
    return f ? f : moves::clear(s.index, a.dtype(), b, true, factor.data);
  }
  if (Failed f = assign(factor, a)) return f;
  if (by_threads(b)) return tiny_cholesky(s.index, a.dtype(), b, upper, factor.data, info.as<std::int32_t>());
  const Failed f = with_type(a.dtype(), [&]<class T>(T) {
    return (batched ? batched_cholesky<T>
                    : single_choleskys<T>)(s, upper ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER, b, factor.data,
                                           info.as<int>());
  });
  return f ? f : moves::clear(s.index, a.dtype(), b, !upper, factor.data);
}

Failed triangular_of(Context&, Solver& s, bool upper, bool unit, View a, View b, View x) {
  if (Failed f = assign(x, b)) return f;
  return triangles(s, upper, unit, a, x);
}

void permutation(Context& c, View pivots, View order) {
  const int64_t k = pivots.size(pivots.rank() - 1), m = order.size(order.rank() - 1);
  if (!order.numel()) return;
  const OnDevice on(c.device.index);
  c.fail(moves::order_of(c, pivots.as<std::int32_t>(), k, k, order.numel() / m, m, order.as<int64_t>()));
}

}  // namespace

const linalg_kernels* linalg() {
  static constexpr linalg_kernels kernels{
      .lu = with_solver<lu_of>,
      .permutation = &permutation,
      .solve = with_solver<solve_of>,
      .inverse = with_solver<inverse_of>,
      .determinant = with_solver<determinant_of>,
      .cholesky = with_solver<cholesky_of>,
      .triangular = with_solver<triangular_of>,
      .householder = &householder,
      .reflect = &reflect,
      .qr = &qr,
      .eigh = &eigh,
      .eig = &eig,
      .svd = &svd,
      .ldl = &ldl,
      .ldl_solve = &ldl_solve,
  };
  return &kernels;
}

}  // namespace neura::cuda

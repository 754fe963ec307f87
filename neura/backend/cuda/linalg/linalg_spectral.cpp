// Eigenvalues and singular values by cuSOLVER. What does not converge is an error, so these wait for the device.
#include <algorithm>

#include "neura/backend/cuda/linalg/linalg_matrix.h"
#include "neura/backend/cuda/runtime/capture.h"

namespace neura::cuda {
namespace {

using namespace solver;
using std::int64_t;
constexpr int64_t kBatched = 512;  // rows of matrices that are given to the library together

// What the library says of each matrix, and which of them had elements that are not finite: these were made 0, on
// which every algorithm ends.
class Verdict {
 public:
  Verdict(Solver& s, int64_t count) : s_(s), count_(count), scratch_(s.index, s.stream) {}
  Failed begin(const View& a, const MatrixSizes& b, moves::Part part, char* copy) {
    if (Failed f = refuse_wait(s_.index, s_.stream)) return f;
    if (Failed f = scratch_.take(2 * std::size_t(count_) * sizeof(int), &info_)) return f;
    return moves::finite(s_.index, a.dtype(), b, part, copy, info_ + count_);
  }
  int* info(int64_t i = 0) const { return info_ + i; }
  Failed end() const {
    std::vector<int> all(2 * std::size_t(count_));
    NEURA_CUDA_TRY(cudaMemcpyAsync(all.data(), info_, all.size() * sizeof(int), cudaMemcpyDeviceToHost, s_.stream),
                   "info");
    NEURA_CUDA_TRY(cudaStreamSynchronize(s_.stream), "info");
    for (int64_t i = 0; i < count_; ++i) {
      if (all[std::size_t(count_ + i)])
        return fail(DeviceFailure::singular, "expected finite elements, got inf or nan in matrix %lld of the batch",
                    static_cast<long long>(i));
      if (all[std::size_t(i)])
        return fail(DeviceFailure::singular,
                    "expected a matrix for which the algorithm converges, got matrix %lld of the batch, which is "
                    "ill-conditioned or has too many repeated values (info %d)",
                    static_cast<long long>(i), all[std::size_t(i)]);
    }
    return nullptr;
  }

 private:
  Solver& s_;
  int64_t count_;
  Scratch scratch_;
  int* info_ = nullptr;
};

struct Symmetric {
  cusolverEigMode_t mode;
  cublasFillMode_t fill;
};
// A batch of 100,000 matrices of 4 x 4 is an internal error of cuSOLVER 12 on an H200: parts of this many are none.
constexpr int64_t kTogether = 1 << 14;
template <class T> Failed syev_batched(Solver& s, Symmetric o, const MatrixSizes& b, char* t, char* values, int* info) {
  const Library& l = library();
  using R = Routines<T>;
  Scratch scratch(s.index, s.stream);
  std::size_t device = 0, host = 0;
  void* work = nullptr;
  NEURA_SOLVER_TRY(l.cusolverDnXsyevBatched_bufferSize(s->solver, s->params, o.mode, o.fill, b.rows, R::dtype, t,
                                                       b.rows, R::real_dtype, values, R::dtype, &device, &host,
                                                       std::min(b.count, kTogether)),
                   "eigenvalues");
  if (Failed f = s.rooms(scratch, device, host, &work)) return f;
  for (int64_t i = 0; i < b.count; i += kTogether)
    NEURA_SOLVER_TRY(
        l.cusolverDnXsyevBatched(s->solver, s->params, o.mode, o.fill, b.rows, R::dtype, t + i * b.numel() * sizeof(T),
                                 b.rows, R::real_dtype, values + i * b.rows * sizeof(typename R::Real), R::dtype, work,
                                 device, s->host.data(), host, info + i, std::min(b.count - i, kTogether)),
        "eigenvalues");
  return nullptr;
}
template <class T> Failed syev_each(Solver& s, Symmetric o, const MatrixSizes& b, char* t, char* values, int* info) {
  const Library& l = library();
  using R = Routines<T>;
  Scratch scratch(s.index, s.stream);
  std::size_t device = 0, host = 0;
  void* work = nullptr;
  NEURA_SOLVER_TRY(l.cusolverDnXsyevd_bufferSize(s->solver, s->params, o.mode, o.fill, b.rows, R::dtype, t, b.rows,
                                                 R::real_dtype, values, R::dtype, &device, &host),
                   "eigenvalues");
  if (Failed f = s.rooms(scratch, device, host, &work)) return f;
  for (int64_t i = 0; i < b.count; ++i)
    NEURA_SOLVER_TRY(
        l.cusolverDnXsyevd(s->solver, s->params, o.mode, o.fill, b.rows, R::dtype, t + i * b.numel() * sizeof(T),
                           b.rows, R::real_dtype, values + i * b.rows * sizeof(typename R::Real), R::dtype, work,
                           device, s->host.data(), host, info + i),
        "eigenvalues");
  return nullptr;
}

Failed eigh_of(Context&, Solver& s, bool upper, View a, View values, View vectors) {
  const MatrixSizes b(a);
  if (!b.numel() || !b.count) return nullptr;
  const bool wanted = vectors.rank() >= 2;
  Scratch scratch(s.index, s.stream);
  Columns t(a);
  Verdict verdict(s, b.count);
  if (Failed f = t.fill(scratch, a)) return f;
  // Column by column, a triangle's rows are its columns.
  if (Failed f = verdict.begin(a, b, upper ? moves::Part::lower : moves::Part::upper, t.data())) return f;
  const Symmetric options{wanted ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR,
                          upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER};
  const bool together = b.count > 1 && b.rows <= kBatched;
  const Failed f = with_type(a.dtype(), [&]<class T>(T) {
    return (together ? syev_batched<T> : syev_each<T>)(s, options, b, t.data(), values.data, verdict.info());
  });
  if (f) return f;
  if (Failed e = verdict.end()) return e;
  return wanted ? assign(vectors, t.view()) : nullptr;
}

// v: the right eigenvectors, column by column, of a's dtype; null: not wanted
template <class T> Failed geev(Solver& s, const MatrixSizes& b, char* t, char* values, char* v, int* info) {
  const Library& l = library();
  using R = Routines<T>;
  constexpr cudaDataType complex = std::is_same_v<typename R::Real, float> ? CUDA_C_32F : CUDA_C_64F;
  constexpr cusolverEigMode_t none = CUSOLVER_EIG_MODE_NOVECTOR;
  const cusolverEigMode_t mode = v ? CUSOLVER_EIG_MODE_VECTOR : none;
  const int64_t n = b.rows, step = b.numel() * int64_t(sizeof(T)), line = 2 * n * int64_t(sizeof(typename R::Real));
  Scratch scratch(s.index, s.stream);
  std::size_t device = 0, host = 0;
  void* work = nullptr;
  NEURA_SOLVER_TRY(l.cusolverDnXgeev_bufferSize(s->solver, s->params, none, mode, n, R::dtype, t, n, complex, values,
                                                R::dtype, nullptr, n, R::dtype, v, n, R::dtype, &device, &host),
                   "eigenvalues");
  if (Failed f = s.rooms(scratch, device, host, &work)) return f;
  for (int64_t i = 0; i < b.count; ++i)
    NEURA_SOLVER_TRY(l.cusolverDnXgeev(s->solver, s->params, none, mode, n, R::dtype, t + i * step, n, complex,
                                       values + i * line, R::dtype, nullptr, n, R::dtype, v ? v + i * step : nullptr, n,
                                       R::dtype, work, device, s->host.data(), host, info + i),
                     "eigenvalues");
  return nullptr;
}

Failed eig_of(Context&, Solver& s, View a, View values, View vectors) {
  const MatrixSizes b(a);
  if (!b.numel() || !b.count) return nullptr;
  const bool wanted = vectors.rank() >= 2;
  Scratch scratch(s.index, s.stream);
  Columns t(a), v(a);
  Verdict verdict(s, b.count);
  if (Failed f = t.fill(scratch, a)) return f;
  if (wanted)
    if (Failed f = v.take(scratch)) return f;
  if (Failed f = verdict.begin(a, b, moves::Part::all, t.data())) return f;
  const Failed f =
      with_type(a.dtype(), [&]<class T>(T) { return geev<T>(s, b, t.data(), values.data, v.data(), verdict.info()); });
  if (f) return f;
  if (Failed e = verdict.end()) return e;
  if (!wanted) return nullptr;
  if (is_complex(a.dtype())) return assign(vectors, v.view());
  const int64_t width = size_of(a.dtype());
  for (int64_t i = 0; i < b.count; ++i)
    if (Failed e = moves::complex_vectors(s.index, a.dtype(), b.rows, values.data + i * b.rows * 2 * width,
                                          v.data() + i * b.numel() * width, vectors.data + i * b.numel() * 2 * width))
      return e;
  return nullptr;
}

// Of the transposes, which the row-major elements are column by column: t^T = conj(v) s u^T. left becomes conj(v), as
// columns, which are rows of vh; right becomes conj(u), column by column.
struct Factors {
  char *left, *right;
  int64_t width, height;  // columns of u, rows of vh
  bool vectors;
};
template <class T> Failed gesvdj(Solver& s, const MatrixSizes& b, const Factors& o, char* t, char* values, int* info) {
  using R = Routines<T>;
  using Real = typename R::Real;
  const cusolverEigMode_t mode = o.vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
  const int m = int(b.columns), n = int(b.rows), reduced = o.width == b.least() && o.height == b.least();
  const auto matrix = [](char* p, int64_t i, int64_t each) { return reinterpret_cast<T*>(p) + i * each; };
  Scratch scratch(s.index, s.stream);
  Real* const sigma = reinterpret_cast<Real*>(values);
  T* work = nullptr;
  int room = 0;
  NEURA_SOLVER_TRY(R::gesvdj_room()(s->solver, mode, reduced, m, n, matrix(t, 0, 0), m, sigma, matrix(o.left, 0, 0), m,
                                    matrix(o.right, 0, 0), n, &room, s->jacobi),
                   "singular values");
  if (Failed f = scratch.take(std::size_t(std::max(room, 1)) * sizeof(T), &work)) return f;
  for (int64_t i = 0; i < b.count; ++i)
    NEURA_SOLVER_TRY(R::gesvdj()(s->solver, mode, reduced, m, n, matrix(t, i, b.numel()), m, sigma + i * b.least(),
                                 matrix(o.left, i, o.height * m), m, matrix(o.right, i, o.width * n), n, work, room,
                                 info + i, s->jacobi),
                     "singular values");
  return nullptr;
}
template <class T>
Failed gesvdj_batched(Solver& s, const MatrixSizes& b, const Factors& o, char* t, char* values, int* info) {
  using R = Routines<T>;
  const cusolverEigMode_t mode = o.vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
  const int m = int(b.columns), n = int(b.rows), count = int(b.count);
  T *const a = reinterpret_cast<T*>(t), *const left = reinterpret_cast<T*>(o.left),
           *const right = reinterpret_cast<T*>(o.right);
  auto* const sigma = reinterpret_cast<typename R::Real*>(values);
  Scratch scratch(s.index, s.stream);
  T* work = nullptr;
  int room = 0;
  NEURA_SOLVER_TRY(
      R::gesvdj_batched_room()(s->solver, mode, m, n, a, m, sigma, left, m, right, n, &room, s->jacobi, count),
      "singular values");
  if (Failed f = scratch.take(std::size_t(std::max(room, 1)) * sizeof(T), &work)) return f;
  return failed(
      R::gesvdj_batched()(s->solver, mode, m, n, a, m, sigma, left, m, right, n, work, room, info, s->jacobi, count),
      "singular values");
}

Shape with_sizes(const View& a, int64_t rows, int64_t columns) {
  Shape sizes(a.spec->shape, std::size_t(a.rank() - 2));
  sizes.push_back(rows), sizes.push_back(columns);
  return sizes;
}

Failed svd_of(Context&, Solver& s, View a, View u, View sigma, View vh) {
  const MatrixSizes b(a);
  const bool wanted = u.rank() >= 2, together = b.count > 1 && b.most() <= 32 && b.count <= INT32_MAX;
  if (!b.numel() || !b.count) {  // all vectors of an empty matrix: the identity
    if (wanted && u.numel())
      if (Failed f = moves::identity(s.index, u.dtype(), MatrixSizes(u), u.data)) return f;
    return wanted && vh.numel() ? moves::identity(s.index, vh.dtype(), MatrixSizes(vh), vh.data) : nullptr;
  }
  if (b.most() > INT32_MAX) return fail(DeviceFailure::absent, "expected fewer than 2^31 rows and columns on cuda");
  const int64_t width = together ? b.rows : wanted ? u.size(u.rank() - 1) : b.least();
  const int64_t height = together ? b.columns : wanted ? vh.size(vh.rank() - 2) : b.least();
  const Device device = a.spec->device;
  const Spec copy = Spec::dense(a.dtype(), a.spec->sizes(), device),
             rows = Spec::dense(a.dtype(), with_sizes(a, height, b.columns), device);
  Scratch scratch(s.index, s.stream);
  View t{nullptr, &copy}, left{nullptr, &rows};
  Columns right(a.dtype(), with_sizes(a, b.rows, width), device);
  Verdict verdict(s, b.count);
  if (Failed f = scratch.take(copy.bytes(), &t.data)) return f;
  if (Failed f = scratch.take(rows.bytes(), &left.data)) return f;  // a library wants both, even if it writes neither
  if (Failed f = right.take(scratch)) return f;
  if (Failed f = assign(t, a)) return f;
  if (Failed f = verdict.begin(a, b, moves::Part::all, t.data)) return f;
  const Factors factors{left.data, right.data(), width, height, wanted};
  const Failed f = with_type(a.dtype(), [&]<class T>(T) {
    return (together ? gesvdj_batched<T> : gesvdj<T>)(s, b, factors, t.data, sigma.data, verdict.info());
  });
  if (f) return f;
  if (Failed e = verdict.end()) return e;
  if (!wanted) return nullptr;
  Spec own_rows, own_columns;
  if (Failed e = assign(vh, narrowed(left, own_rows, -2, vh.size(vh.rank() - 2)))) return e;
  if (Failed e = assign(u, narrowed(right.view(), own_columns, -1, u.size(u.rank() - 1)))) return e;
  return moves::conjugate(s.index, u.dtype(), u.numel(), u.data);
}

}  // namespace

void eigh(Context& c, bool upper, View a, View values, View vectors) {
  with_solver<eigh_of>(c, upper, a, values, vectors);
}
void eig(Context& c, View a, View values, View vectors) { with_solver<eig_of>(c, a, values, vectors); }
void svd(Context& c, View a, View u, View s, View vh) { with_solver<svd_of>(c, a, u, s, vh); }

}  // namespace neura::cuda

// QR and Householder reflectors: of small matrices by warps, in place; of large ones by cuSOLVER, column by column.
#include "neura/backend/cuda/linalg/linalg_matrix.h"

namespace neura::cuda {
namespace {

using namespace solver;
using std::int64_t;

template <class T> Failed geqrf(Solver& s, const MatrixSizes& b, char* t, char* tau) {
  const Library& l = library();
  constexpr cudaDataType d = Routines<T>::dtype;
  Scratch scratch(s.index, s.stream);
  std::size_t device = 0, host = 0;
  void* work = nullptr;
  int* info = nullptr;
  NEURA_SOLVER_TRY(
      l.cusolverDnXgeqrf_bufferSize(s->solver, s->params, b.rows, b.columns, d, t, b.rows, d, tau, d, &device, &host),
      "QR");
  if (Failed f = s.rooms(scratch, device, host, &work)) return f;
  if (Failed f = scratch.take(sizeof(int), &info)) return f;
  for (int64_t i = 0; i < b.count; ++i)
    NEURA_SOLVER_TRY(
        l.cusolverDnXgeqrf(s->solver, s->params, b.rows, b.columns, d, t + i * b.numel() * sizeof(T), b.rows, d,
                           tau + i * b.least() * sizeof(T), d, work, device, s->host.data(), host, info),
        "QR");
  return nullptr;
}

// b: of q, whose first k columns hold reflectors.
template <class T> Failed orgqr(Solver& s, const MatrixSizes& b, int64_t k, char* q, const char* tau) {
  using R = Routines<T>;
  if (b.most() > INT32_MAX) return fail(DeviceFailure::absent, "expected fewer than 2^31 rows and columns on cuda");
  const int m = int(b.rows), n = int(b.columns), reflectors = int(k);
  Scratch scratch(s.index, s.stream);
  int room = 0, *info = nullptr;
  T* work = nullptr;
  const auto at = [&](int64_t i) { return reinterpret_cast<T*>(q + i * b.numel() * int64_t(sizeof(T))); };
  const auto factors = [&](int64_t i) { return reinterpret_cast<const T*>(tau + i * k * int64_t(sizeof(T))); };
  NEURA_SOLVER_TRY(R::orgqr_room()(s->solver, m, n, reflectors, at(0), m, factors(0), &room), "Q");
  if (Failed f = scratch.take(std::size_t(std::max(room, 1)) * sizeof(T), &work)) return f;
  if (Failed f = scratch.take(sizeof(int), &info)) return f;
  for (int64_t i = 0; i < b.count; ++i)
    NEURA_SOLVER_TRY(R::orgqr()(s->solver, m, n, reflectors, at(i), m, factors(i), work, room, info), "Q");
  return nullptr;
}

Failed householder_of(Context&, Solver& s, View a, View reflectors, View tau) {
  const MatrixSizes b(a);
  if (!b.numel()) return nullptr;
  if (by_warps(b)) {
    if (Failed f = assign(reflectors, a)) return f;
    return small_householder(s.index, a.dtype(), b, reflectors.data, tau.data);
  }
  Scratch scratch(s.index, s.stream);
  Columns t(a);
  if (Failed f = t.fill(scratch, a)) return f;
  const Failed f = with_type(a.dtype(), [&]<class T>(T) { return geqrf<T>(s, b, t.data(), tau.data); });
  return f ? f : assign(reflectors, t.view());
}

Failed reflect_of(Context&, Solver& s, View reflectors, View tau, View q) {
  const MatrixSizes b(q);
  const int64_t k = tau.size(tau.rank() - 1);
  if (!b.numel()) return nullptr;
  if (!k) return moves::identity(s.index, q.dtype(), b, q.data);
  if (by_warps(b)) {
    if (Failed f = assign(q, reflectors)) return f;
    return small_reflect(s.index, q.dtype(), b, k, q.data, tau.data);
  }
  Scratch scratch(s.index, s.stream);
  Columns t(reflectors);
  if (Failed f = t.fill(scratch, reflectors)) return f;
  const Failed f = with_type(q.dtype(), [&]<class T>(T) { return orgqr<T>(s, b, k, t.data(), tau.data); });
  return f ? f : assign(q, t.view());
}

// q [m, width] of the first min(n, width) columns of reflectors [m, n]
Failed q_of(Solver& s, const View& reflectors, const View& tau, const View& q) {
  const MatrixSizes from(reflectors), to(q);
  const int64_t shared = std::min(from.columns, to.columns);
  Spec own_from, own_to;
  Scratch scratch(s.index, s.stream);
  if (by_warps(to)) {
    if (Failed f = assign(narrowed(q, own_to, -1, shared), narrowed(reflectors, own_from, -1, shared))) return f;
    return small_reflect(s.index, q.dtype(), to, from.least(), q.data, tau.data);
  }
  Columns t(q);
  if (Failed f = t.take(scratch)) return f;
  if (Failed f = assign(narrowed(t.view(), own_to, -1, shared), narrowed(reflectors, own_from, -1, shared))) return f;
  const Failed f = with_type(q.dtype(), [&]<class T>(T) { return orgqr<T>(s, to, from.least(), t.data(), tau.data); });
  return f ? f : assign(q, t.view());
}

Failed qr_of(Context& c, Solver& s, View a, View q, View r) {
  const MatrixSizes b(a);
  const bool wanted = q.rank() >= 2;
  if (!b.numel()) return wanted && q.numel() ? moves::identity(s.index, q.dtype(), MatrixSizes(q), q.data) : nullptr;
  Scratch scratch(s.index, s.stream);
  const Spec spec = Spec::dense(a.dtype(), a.spec->sizes(), a.spec->device);
  Shape sizes(a.spec->shape, std::size_t(a.rank() - 2));
  sizes.push_back(b.least());
  const Spec factors = Spec::dense(a.dtype(), sizes, a.spec->device);
  View reflectors{nullptr, &spec}, tau{nullptr, &factors};
  if (Failed f = scratch.take(spec.bytes(), &reflectors.data)) return f;
  if (Failed f = scratch.take(factors.bytes(), &tau.data)) return f;
  if (Failed f = householder_of(c, s, a, reflectors, tau)) return f;
  Spec own, own_r;
  const int64_t height = r.size(r.rank() - 2), shared = std::min(height, b.rows);
  if (Failed f = assign(narrowed(r, own_r, -2, shared), narrowed(reflectors, own, -2, shared))) return f;
  if (Failed f = moves::clear(s.index, r.dtype(), MatrixSizes(r), false, r.data)) return f;
  return wanted ? q_of(s, reflectors, tau, q) : nullptr;
}

}  // namespace

void householder(Context& c, View a, View reflectors, View tau) { with_solver<householder_of>(c, a, reflectors, tau); }
void reflect(Context& c, View reflectors, View tau, View q) { with_solver<reflect_of>(c, reflectors, tau, q); }
void qr(Context& c, View a, View q, View r) { with_solver<qr_of>(c, a, q, r); }

}  // namespace neura::cuda

// Kernels of QR. Real matrices are factorised by blocks; all others by LAPACK, with one thread for each matrix.
#include "neura/backend/cpu/linalg/blocked.h"
#include "neura/backend/cpu/linalg/linalg.h"

namespace neura {

using namespace batched;

namespace {

constexpr std::int64_t kLeast = 24 * 24;  // elements: smaller matrices take LAPACK less time
template <class F> bool by_blocks(Context& c, const View& a, F&& f) {
  const MatrixSizes b(a);
  return b.numel() >= kLeast && when_blocked(c, a, b, f);
}

}  // namespace

void cpu_householder(Context& c, View a, View reflectors, View tau) {
  const auto blocked = [&]<class T>(std::int64_t i, T) {
    const MatrixSizes b(a);
    T* const f = reflectors.as<T>() + i * b.numel();
    copy_elements(a.as<T>() + i * b.numel(), f, b.numel());
    blocked::householder<T>(c, b.rows, b.columns, {f, b.columns}, tau.as<T>() + i * b.least());
  };
  if (by_blocks(c, a, blocked)) return;
  with_lapack(c, a, [&](const auto& l) {
    using T = element_of<decltype(l)>;
    const MatrixSizes b(a);
    const Int room = b.numel() ? l.workspace_geqrf(b.rows, b.columns) : 1;
    each_matrix(c, b.count, double(b.numel()) * double(b.least()), Memory::bytes<T>(b.numel()) + Memory::bytes<T>(room),
                [&](std::int64_t i, Memory memory) {
                  if (!b.numel()) return;
                  T *const t = memory.take<T>(b.numel()), *const work = memory.take<T>(room);
                  transpose(a.as<T>() + i * b.numel(), t, b.rows, b.columns);
                  l.geqrf(b.rows, b.columns, t, tau.as<T>() + i * b.least(), work, room);
                  transpose(t, reflectors.as<T>() + i * b.numel(), b.columns, b.rows);
                });
  });
}

void cpu_reflect(Context& c, View reflectors, View tau, View q) {
  const auto blocked = [&]<class T>(std::int64_t i, T) {
    const MatrixSizes b(reflectors);
    const std::int64_t k = tau.size(tau.rank() - 1), at = i * b.numel();
    blocked::reflect<T>(c, b.rows, b.columns, k, {reflectors.as<T>() + at, b.columns}, tau.as<T>() + i * k,
                        {q.as<T>() + at, b.columns});
  };
  if (by_blocks(c, reflectors, blocked)) return;
  with_lapack(c, reflectors, [&](const auto& l) {
    using T = element_of<decltype(l)>;
    const MatrixSizes b(reflectors);
    const std::int64_t k = tau.size(tau.rank() - 1);
    const Int room = b.numel() ? l.workspace_orgqr(b.rows, b.columns, k) : 1;
    each_matrix(c, b.count, double(b.numel()) * double(k + 1), Memory::bytes<T>(b.numel()) + Memory::bytes<T>(room),
                [&](std::int64_t i, Memory memory) {
                  if (!b.numel()) return;
                  T *const t = memory.take<T>(b.numel()), *const work = memory.take<T>(room);
                  transpose(reflectors.as<T>() + i * b.numel(), t, b.rows, b.columns);
                  l.orgqr(b.rows, b.columns, k, t, tau.as<T>() + i * k, work, room);
                  transpose(t, q.as<T>() + i * b.numel(), b.columns, b.rows);
                });
  });
}

namespace {

template <class T> struct QrPlan {
  std::int64_t rows, columns, least, width, height;  // of q, of r
  Int room;
  std::size_t bytes() const {
    return Memory::bytes<T>(rows * std::max(columns, width)) + Memory::bytes<T>(least) + Memory::bytes<T>(room);
  }
};

template <class L, class T> void qr_of_one(const L& l, const QrPlan<T>& p, const T* a, T* q, T* r, Memory memory) {
  T *const t = memory.take<T>(p.rows * std::max(p.columns, p.width)), *const tau = memory.take<T>(p.least);
  T* const work = memory.take<T>(p.room);
  transpose(a, t, p.rows, p.columns);
  if (p.least) l.geqrf(p.rows, p.columns, t, tau, work, p.room);
  for (std::int64_t i = 0; i < p.height; ++i)
    for (std::int64_t j = 0; j < p.columns; ++j) r[i * p.columns + j] = i <= j ? t[j * p.rows + i] : T(0);
  if (!q || !p.rows || !p.width) return;
  l.orgqr(p.rows, p.width, p.least, t, tau, work, p.room);
  transpose(t, q, p.width, p.rows);
}

template <class T>
void qr_by_blocks(Context& c, const MatrixSizes& b, std::int64_t width, std::int64_t height, const T* a, T* q, T* r) {
  Context own(c.backend, c.device, c.op);
  T *const f = own.scratch_of<T>(b.numel()), *const tau = own.scratch_of<T>(b.least());
  copy_elements(a, f, b.numel());
  blocked::householder<T>(c, b.rows, b.columns, {f, b.columns}, tau);
  for (std::int64_t i = 0; i < height; ++i) {
    const std::int64_t zeros = std::min(i, b.columns);
    std::fill_n(r + i * b.columns, zeros, T(0));
    copy_elements(f + i * b.columns + zeros, r + i * b.columns + zeros, b.columns - zeros);
  }
  if (q) blocked::reflect<T>(c, b.rows, width, b.least(), {f, b.columns}, tau, {q, width});
}

}  // namespace

void cpu_qr(Context& c, View a, View q, View r) {
  const auto blocked = [&]<class T>(std::int64_t i, T) {
    const MatrixSizes b(a);
    const std::int64_t width = q.rank() >= 2 ? q.size(q.rank() - 1) : 0, height = r.size(r.rank() - 2);
    qr_by_blocks(c, b, width, height, a.as<T>() + i * b.numel(), width ? q.as<T>() + i * b.rows * width : nullptr,
                 r.as<T>() + i * height * b.columns);
  };
  if (by_blocks(c, a, blocked)) return;
  with_lapack(c, a, [&](const auto& l) {
    using T = element_of<decltype(l)>;
    const MatrixSizes b(a);
    const bool with_q = q.rank() >= 2;
    QrPlan<T> p{b.rows, b.columns, b.least(), with_q ? q.size(q.rank() - 1) : 0, r.size(r.rank() - 2), 1};
    if (b.numel()) p.room = l.workspace_geqrf(b.rows, b.columns);
    if (with_q && b.rows && p.width) p.room = std::max(p.room, l.workspace_orgqr(b.rows, p.width, p.least));
    each_matrix(c, b.count, double(b.numel()) * double(b.least()), p.bytes(), [&](std::int64_t i, Memory memory) {
      qr_of_one(l, p, a.as<T>() + i * b.numel(), with_q ? q.as<T>() + i * b.rows * p.width : nullptr,
                r.as<T>() + i * p.height * b.columns, memory);
    });
  });
}

}  // namespace neura

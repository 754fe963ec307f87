// Kernels of linear algebra that solve: LU, Cholesky, LDL and triangles. Small matrices are factorised by
// linalg_small.h, large real ones by blocked.h, all others by LAPACK, which has one thread for each matrix.
#include "neura/backend/cpu/linalg/blocked.h"
#include "neura/backend/cpu/linalg/linalg.h"
#include "neura/backend/cpu/linalg/linalg_small.h"
#include "neura/backend/cpu/linalg/small_lanes.h"

namespace neura {

using namespace batched;

void cpu_householder(Context&, View a, View reflectors, View tau);
void cpu_reflect(Context&, View reflectors, View tau, View q);
void cpu_qr(Context&, View a, View q, View r);
void cpu_eigh(Context&, bool upper, View a, View values, View vectors);
void cpu_eig(Context&, View a, View values, View vectors);
void cpu_svd(Context&, View a, View u, View s, View vh);

namespace {

double cube(const MatrixSizes& b) {
  return double(b.rows) * double(b.columns) * double(std::max<std::int64_t>(b.least(), 1));
}

constexpr std::int64_t kWorthLanes = 3;  // so many matrices one by one take as long as all lanes

// Is each matrix one for linalg_small.h? Then f is called, and no library is asked for.
template <class F> bool when_small(Context& c, const View& a, const MatrixSizes& b, F&& f) {
  if (std::max(b.rows, b.columns) > small::kMost) return false;
  with_dtype(c, a, f);
  return true;
}

// Small matrices: many(kernels, first, count) for those that fill a register's lanes well enough, one(i) for the
// others.
template <class T, class Many, class One>
void each_small(Context& c, std::int64_t count, double work, const Many& many, const One& one) {
  if constexpr (std::is_floating_point_v<T>) {
    const SmallLanes<T>& kernels = small_lanes<T>();
    each_matrix(c, (count + kernels.lanes - 1) / kernels.lanes, work * double(kernels.lanes), 0,
                [&](std::int64_t group, Memory) {
                  std::int64_t i = group * kernels.lanes;
                  const std::int64_t n = std::min(kernels.lanes, count - i);
                  if (n >= kWorthLanes) return many(kernels, i, n);
                  for (const std::int64_t end = i + n; i < end; ++i) one(i);
                });
  } else {
    each_matrix(c, count, work, 0, [&](std::int64_t i, Memory) { one(i); });
  }
}

// Factorises a column-major copy at `t`; LAPACK's pivots stay at `swaps`.
template <class L, class T>
int factorise(const L& l, const MatrixSizes& b, const T* a, T* t, Int* swaps, T* lu, std::int32_t* pivots) {
  const std::int64_t k = b.least();
  transpose(a, t, b.rows, b.columns);
  const int info = b.numel() ? l.getrf(b.rows, b.columns, t, swaps) : 0;
  transpose(t, lu, b.columns, b.rows);
  for (std::int64_t i = 0; i < k; ++i) pivots[i] = std::int32_t(lapack::read(swaps, i, l.wide));
  pivots[k] = info;
  return info;
}

template <class T> void factorise_blocked(Context& c, const MatrixSizes& b, const T* a, T* lu, std::int32_t* pivots) {
  copy_elements(a, lu, b.numel());
  pivots[b.least()] = blocked::factorise<T>(c, b.rows, b.columns, {lu, b.columns}, pivots);
}

void factors(Context& c, View a, View lu, View pivots) {
  const MatrixSizes b(a);
  const auto of_small = [&]<class T>(T) {
    const auto one = [&](std::int64_t i) {
      T* const f = lu.as<T>() + i * b.numel();
      std::int32_t* const p = pivots.as<std::int32_t>() + i * (b.least() + 1);
      copy_elements(a.as<T>() + i * b.numel(), f, b.numel());
      p[b.least()] = small::factorise(f, b.rows, b.columns, p);
    };
    const auto many = [&](const auto& kernels, std::int64_t i, std::int64_t n) {
      if (b.rows == b.columns)
        return kernels.factorise(a.as<T>() + i * b.numel(), b.rows, n, lu.as<T>() + i * b.numel(),
                                 pivots.as<std::int32_t>() + i * (b.rows + 1));
      for (const std::int64_t end = i + n; i < end; ++i) one(i);
    };
    each_small<T>(c, b.count, cube(b), many, one);
  };
  if (when_small(c, a, b, of_small)) return;
  const auto by_blocks = [&]<class T>(std::int64_t i, T) {
    factorise_blocked(c, b, a.as<T>() + i * b.numel(), lu.as<T>() + i * b.numel(),
                      pivots.as<std::int32_t>() + i * (b.least() + 1));
  };
  if (when_blocked(c, a, b, by_blocks)) return;
  with_lapack(c, a, [&](const auto& l) {
    using T = element_of<decltype(l)>;
    each_matrix(c, b.count, cube(b), Memory::bytes<T>(b.numel()) + Memory::bytes<Int>(b.least()),
                [&](std::int64_t i, Memory memory) {
                  T* const t = memory.take<T>(b.numel());
                  factorise(l, b, a.as<T>() + i * b.numel(), t, memory.take<Int>(b.least()), lu.as<T>() + i * b.numel(),
                            pivots.as<std::int32_t>() + i * (b.least() + 1));
                });
  });
}

void permutation(Context& c, View pivots, View order) {
  const std::int64_t k = pivots.size(pivots.rank() - 1), m = order.size(order.rank() - 1);
  const std::int64_t count = m ? order.numel() / m : 0;
  const std::int32_t* p = pivots.as<std::int32_t>();
  for (std::int64_t i = 0; i < count * k; ++i)
    if (p[i] < 1 || p[i] > m) return c.fail_index(std::int64_t(p[i]) - 1, m);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t* const o = order.as<std::int64_t>() + i * m;
    for (std::int64_t j = 0; j < m; ++j) o[j] = j;
    for (std::int64_t j = 0; j < k; ++j) std::swap(o[j], o[p[i * k + j] - 1]);
  }
}

void solve(Context& c, View a, View b, View x, View lu, View pivots) {
  const MatrixSizes s(a), r(b);
  const auto of_small = [&]<class T>(T) {
    const auto one = [&](std::int64_t i) {
      T *const f = lu.as<T>() + i * s.numel(), *const y = x.as<T>() + i * r.numel();
      std::int32_t* const p = pivots.as<std::int32_t>() + i * (s.rows + 1);
      copy_elements(a.as<T>() + i * s.numel(), f, s.numel());
      copy_elements(b.as<T>() + i * r.numel(), y, r.numel());
      p[s.rows] = small::factorise(f, s.rows, s.rows, p);
      small::solve(f, p, s.rows, y, r.columns);
    };
    const auto many = [&](const auto& kernels, std::int64_t i, std::int64_t n) {
      kernels.solve(a.as<T>() + i * s.numel(), s.rows, n, b.as<T>() + i * r.numel(), r.columns,
                    x.as<T>() + i * r.numel(), lu.as<T>() + i * s.numel(),
                    pivots.as<std::int32_t>() + i * (s.rows + 1));
    };
    each_small<T>(c, s.count, cube(s) + double(s.rows) * double(r.numel()), many, one);
  };
  if (when_small(c, a, s, of_small)) return;
  const auto by_blocks = [&]<class T>(std::int64_t i, T) {
    T *const f = lu.as<T>() + i * s.numel(), *const y = x.as<T>() + i * r.numel();
    std::int32_t* const p = pivots.as<std::int32_t>() + i * (s.rows + 1);
    factorise_blocked(c, s, a.as<T>() + i * s.numel(), f, p);
    copy_elements(b.as<T>() + i * r.numel(), y, r.numel());
    blocked::swap_rows<T>({y, r.columns}, r.columns, p, s.rows);
    blocked::solve_triangle<T>(c, false, true, s.rows, r.columns, {f, s.rows}, {y, r.columns});
    blocked::solve_triangle<T>(c, true, false, s.rows, r.columns, {f, s.rows}, {y, r.columns});
  };
  if (when_blocked(c, a, s, by_blocks)) return;
  with_lapack(c, a, [&](const auto& l) {
    using T = element_of<decltype(l)>;
    const std::size_t bytes = Memory::bytes<T>(s.numel()) + Memory::bytes<T>(r.numel()) + Memory::bytes<Int>(s.rows);
    each_matrix(c, s.count, cube(s) + double(s.rows) * double(r.numel()), bytes, [&](std::int64_t i, Memory memory) {
      T *const t = memory.take<T>(s.numel()), *const y = memory.take<T>(r.numel());
      Int* const swaps = memory.take<Int>(s.rows);
      factorise(l, s, a.as<T>() + i * s.numel(), t, swaps, lu.as<T>() + i * s.numel(),
                pivots.as<std::int32_t>() + i * (s.rows + 1));
      transpose(b.as<T>() + i * r.numel(), y, r.rows, r.columns);
      if (r.numel()) l.getrs(s.rows, r.columns, t, swaps, y);
      transpose(y, x.as<T>() + i * r.numel(), r.columns, r.rows);
    });
  });
}

// In place on the row-major elements: the inverse of the transpose is the transpose of the inverse.
void inverse(Context& c, View a, View inverse, View info) {
  const MatrixSizes b(a);
  const auto of_small = [&]<class T>(T) {
    const auto one = [&](std::int64_t i) {
      T lu[small::kMost * small::kMost], *const y = inverse.as<T>() + i * b.numel();
      std::int32_t p[small::kMost];
      copy_elements(a.as<T>() + i * b.numel(), lu, b.numel());
      info.as<std::int32_t>()[i] = small::factorise(lu, b.rows, b.rows, p);
      std::fill(y, y + b.numel(), T(0));
      for (std::int64_t k = 0; k < b.rows; ++k) y[k * b.rows + k] = 1;
      small::solve(lu, p, b.rows, y, b.rows);
    };
    const auto many = [&](const auto& kernels, std::int64_t i, std::int64_t n) {
      kernels.invert(a.as<T>() + i * b.numel(), b.rows, n, inverse.as<T>() + i * b.numel(),
                     info.as<std::int32_t>() + i);
    };
    each_small<T>(c, b.count, 3 * cube(b), many, one);
  };
  if (when_small(c, a, b, of_small)) return;
  const auto by_blocks = [&]<class T>(std::int64_t i, T) {
    Context own(c.backend, c.device, c.op);
    T* const lu = own.scratch_of<T>(b.numel());
    auto* const p = own.scratch_of<std::int32_t>(b.rows + 1);
    factorise_blocked(own, b, a.as<T>() + i * b.numel(), lu, p);
    info.as<std::int32_t>()[i] = p[b.rows];
    T* const y = inverse.as<T>() + i * b.numel();
    if (!p[b.rows]) blocked::invert<T>(own, b.rows, {lu, b.rows}, p, {y, b.rows});
    else copy_elements(lu, y, b.numel());
  };
  if (when_blocked(c, a, b, by_blocks)) return;
  with_lapack(c, a, [&](const auto& l) {
    using T = element_of<decltype(l)>;
    const Int room = b.numel() ? l.workspace_getri(b.rows) : 1;
    each_matrix(c, b.count, 3 * cube(b), Memory::bytes<T>(room) + Memory::bytes<Int>(b.rows),
                [&](std::int64_t i, Memory memory) {
                  T* const y = inverse.as<T>() + i * b.numel();
                  std::int32_t& said = info.as<std::int32_t>()[i];
                  copy_elements(a.as<T>() + i * b.numel(), y, b.numel());
                  said = 0;
                  if (!b.numel()) return;
                  T* const work = memory.take<T>(room);
                  Int* const swaps = memory.take<Int>(b.rows);
                  said = l.getrf(b.rows, b.rows, y, swaps);
                  if (!said) l.getri(b.rows, y, swaps, work, room);
                });
  });
}

void determinant(Context& c, View a, View determinant, View lu, View pivots) {
  factors(c, a, lu, pivots);
  if (c.failure) return;
  const MatrixSizes b(a);
  with_dtype(c, a, [&]<class T>(T) {
    for (std::int64_t i = 0; i < b.count; ++i) {
      const T* const f = lu.as<T>() + i * b.numel();
      const std::int32_t* const p = pivots.as<std::int32_t>() + i * (b.rows + 1);
      T product = 1;
      for (std::int64_t k = 0; k < b.rows; ++k) product *= p[k] == k + 1 ? f[k * b.rows + k] : -f[k * b.rows + k];
      determinant.as<T>()[i] = product;
    }
  });
}

// Sets what is above (or below) the diagonal to 0.
template <class T> void clear(T* y, std::int64_t n, bool above) {
  for (std::int64_t r = 0; r < n; ++r)
    if (above) std::fill(y + r * n + r + 1, y + (r + 1) * n, T(0));
    else std::fill(y + r * n, y + r * n + r, T(0));
}

// The row-major elements are the transpose, whose other triangle this one is: a^T = u^H u, l = u^T.
void cholesky(Context& c, bool upper, View a, View factor, View info) {
  const MatrixSizes b(a);
  const auto of_small = [&]<class T>(T) {
    each_matrix(c, b.count, cube(b), 0, [&](std::int64_t i, Memory) {
      const std::int64_t at = i * b.numel();
      info.as<std::int32_t>()[i] = small::cholesky(upper, a.as<T>() + at, b.rows, factor.as<T>() + at);
    });
  };
  if (when_small(c, a, b, of_small)) return;
  const auto by_blocks = [&]<class T>(std::int64_t i, T) {
    info.as<std::int32_t>()[i] =
        blocked::cholesky<T>(c, upper, b.rows, a.as<T>() + i * b.numel(), factor.as<T>() + i * b.numel());
  };
  if (when_blocked(c, a, b, by_blocks)) return;
  with_lapack(c, a, [&](const auto& l) {
    using T = element_of<decltype(l)>;
    each_matrix(c, b.count, cube(b), 0, [&](std::int64_t i, Memory) {
      T* const y = factor.as<T>() + i * b.numel();
      copy_elements(a.as<T>() + i * b.numel(), y, b.numel());
      info.as<std::int32_t>()[i] = b.numel() ? l.potrf(upper ? "L" : "U", b.rows, y) : 0;
      clear(y, b.rows, !upper);
    });
  });
}

// x^T a^T = b^T on the transposes that the row-major elements are.
void triangular(Context& c, bool upper, bool unit, View a, View b, View x) {
  const MatrixSizes s(a), r(b);
  const auto of_small = [&]<class T>(T) {
    each_matrix(c, s.count, double(s.rows) * double(r.numel()), 0, [&](std::int64_t i, Memory) {
      T* const y = x.as<T>() + i * r.numel();
      copy_elements(b.as<T>() + i * r.numel(), y, r.numel());
      small::triangular(upper, unit, a.as<T>() + i * s.numel(), s.rows, y, r.columns);
    });
  };
  if (when_small(c, a, s, of_small)) return;
  const auto by_blocks = [&]<class T>(std::int64_t i, T) {
    T *const f = a.as<T>() + i * s.numel(), *const y = x.as<T>() + i * r.numel();
    copy_elements(b.as<T>() + i * r.numel(), y, r.numel());
    blocked::solve_triangle<T>(c, upper, unit, s.rows, r.columns, {f, s.rows}, {y, r.columns});
  };
  if (when_blocked(c, a, s, by_blocks)) return;
  with_lapack(c, a, [&](const auto& l) {
    using T = element_of<decltype(l)>;
    each_matrix(c, s.count, double(s.rows) * double(r.numel()), 0, [&](std::int64_t i, Memory) {
      T* const y = x.as<T>() + i * r.numel();
      copy_elements(b.as<T>() + i * r.numel(), y, r.numel());
      if (r.numel()) l.trsm_right(upper ? "L" : "U", unit ? "U" : "N", r.columns, s.rows, a.as<T>() + i * s.numel(), y);
    });
  });
}

void ldl(Context& c, bool hermitian, View a, View ld, View pivots) {
  with_lapack(c, a, [&](const auto& l) {
    using T = element_of<decltype(l)>;
    const MatrixSizes b(a);
    const Int room = b.numel() ? l.workspace_sytrf(hermitian, b.rows) : 1;
    const std::size_t bytes = Memory::bytes<T>(b.numel()) + Memory::bytes<T>(room) + Memory::bytes<Int>(b.rows);
    each_matrix(c, b.count, cube(b), bytes, [&](std::int64_t i, Memory memory) {
      T *const t = memory.take<T>(b.numel()), *const work = memory.take<T>(room);
      Int* const swaps = memory.take<Int>(b.rows);
      std::int32_t* const p = pivots.as<std::int32_t>() + i * (b.rows + 1);
      transpose(a.as<T>() + i * b.numel(), t, b.rows, b.rows);
      p[b.rows] = b.numel() ? l.sytrf(hermitian, b.rows, t, swaps, work, room) : 0;
      for (std::int64_t k = 0; k < b.rows; ++k) p[k] = std::int32_t(lapack::read(swaps, k, l.wide));
      transpose(t, ld.as<T>() + i * b.numel(), b.rows, b.rows);
      clear(ld.as<T>() + i * b.numel(), b.rows, true);
    });
  });
}

// The first pivot by which LAPACK would leave the matrix, or -1. A pair of equal negative ones is a block of two rows.
std::int64_t wrong_pivot(const std::int32_t* p, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    if (p[k] == 0 || p[k] > n || p[k] < -n) return k;
    if (p[k] < 0 && (++k == n || p[k] != p[k - 1])) return k - 1;
  }
  return -1;
}

void ldl_solve(Context& c, bool hermitian, View ld, View pivots, View b, View x) {
  with_lapack(c, ld, [&](const auto& l) {
    using T = element_of<decltype(l)>;
    const MatrixSizes s(ld), r(b);
    const std::int32_t* const p = pivots.as<std::int32_t>();
    for (std::int64_t i = 0; i < s.count; ++i)
      if (const std::int64_t k = wrong_pivot(p + i * s.rows, s.rows); k >= 0)
        return c.fail_index(p[i * s.rows + k], s.rows);
    const std::size_t bytes = Memory::bytes<T>(s.numel()) + Memory::bytes<T>(r.numel()) + Memory::bytes<Int>(s.rows);
    each_matrix(c, s.count, double(s.rows) * double(r.numel()), bytes, [&](std::int64_t i, Memory memory) {
      T *const t = memory.take<T>(s.numel()), *const y = memory.take<T>(r.numel());
      Int* const swaps = memory.take<Int>(s.rows);
      for (std::int64_t k = 0; k < s.rows; ++k) lapack::write(swaps, k, l.wide, p[i * s.rows + k]);
      transpose(ld.as<T>() + i * s.numel(), t, s.rows, s.rows);
      transpose(b.as<T>() + i * r.numel(), y, r.rows, r.columns);
      if (r.numel()) l.sytrs(hermitian, s.rows, r.columns, t, swaps, y);
      transpose(y, x.as<T>() + i * r.numel(), r.columns, r.rows);
    });
  });
}

}  // namespace

const linalg_kernels* cpu_linalg() {
  static constexpr linalg_kernels kernels{
      .lu = &factors,
      .permutation = &permutation,
      .solve = &solve,
      .inverse = &inverse,
      .determinant = &determinant,
      .cholesky = &cholesky,
      .triangular = &triangular,
      .householder = &cpu_householder,
      .reflect = &cpu_reflect,
      .qr = &cpu_qr,
      .eigh = &cpu_eigh,
      .eig = &cpu_eig,
      .svd = &cpu_svd,
      .ldl = &ldl,
      .ldl_solve = &ldl_solve,
  };
  return &kernels;
}

}  // namespace neura

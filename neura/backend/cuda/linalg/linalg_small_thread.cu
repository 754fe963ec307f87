// LU with pivots, what it solves, and Cholesky, of many matrices of at most 8 rows: a thread for each, in registers.
#include "neura/backend/cuda/linalg/linalg.cuh"

namespace neura::cuda {
namespace {

using namespace factor;

// A matrix with n rows, continued by those of the identity.
template <class N, int S> struct Square {
  N a[S][S];
  __device__ Square(const N* from, int n) {
#pragma unroll
    for (int i = 0; i < S; ++i)
#pragma unroll
      for (int j = 0; j < S; ++j) a[i][j] = i < n && j < n ? from[i * n + j] : N(i == j ? 1.0f : 0.0f);
  }
};

template <class N, int S> struct Lu {
  N* all;
  std::int32_t* pivots;
  int n;
  __device__ void operator()(int64_t at) const {
    N* const to = all + at * n * n;
    std::int32_t* const rows = pivots + at * (n + 1);
    Square<N, S> m(to, n);
    int info = 0;
#pragma unroll
    for (int k = 0; k < S; ++k) {
      real_of<N> best = -1;
      int row = k;
#pragma unroll
      for (int i = k; i < S; ++i)
        if (const real_of<N> size = pivot_magnitude(m.a[i][k]); (i < n || i == k) && size > best) best = size, row = i;
#pragma unroll
      for (int i = k + 1; i < S; ++i)
#pragma unroll
        for (int j = 0; i == row && j < S; ++j) {
          const N x = m.a[k][j];
          m.a[k][j] = m.a[i][j], m.a[i][j] = x;
        }
      if (k < n) rows[k] = row + 1;
      const N pivot = m.a[k][k];
      if (pivot_magnitude(pivot) == 0) {
        if (!info) info = k + 1;
        continue;
      }
#pragma unroll
      for (int i = k + 1; i < S; ++i) {
        const N f = m.a[i][k] / pivot;
        m.a[i][k] = f;
#pragma unroll
        for (int j = k + 1; j < S; ++j) m.a[i][j] = m.a[i][j] - f * m.a[k][j];
      }
    }
    rows[n] = info;
#pragma unroll
    for (int i = 0; i < S; ++i)
#pragma unroll
      for (int j = 0; j < S; ++j)
        if (i < n && j < n) to[i * n + j] = m.a[i][j];
  }
};

template <class N, int S> struct Solve {  // a column of x
  const N *lu, *b;
  const std::int32_t* pivots;
  N* x;
  int n;
  int64_t columns;
  __device__ void operator()(int64_t at) const {
    const int64_t matrix = at / columns, column = at - matrix * columns;
    const Square<N, S> m(lu + matrix * n * n, n);
    int order[S];
#pragma unroll
    for (int i = 0; i < S; ++i) order[i] = i;
#pragma unroll
    for (int k = 0; k < S; ++k) {
      const int row = k < n ? pivots[matrix * (n + 1) + k] - 1 : k;
#pragma unroll
      for (int i = k + 1; i < S; ++i)
        if (i == row) {
          const int other = order[k];
          order[k] = order[i], order[i] = other;
        }
    }
    N v[S];
#pragma unroll
    for (int i = 0; i < S; ++i) {
      v[i] = N(0.0f);
      if (i < n) v[i] = b ? b[(matrix * n + order[i]) * columns + column] : N(order[i] == column ? 1.0f : 0.0f);
#pragma unroll
      for (int j = 0; j < i; ++j) v[i] = v[i] - m.a[i][j] * v[j];
    }
#pragma unroll
    for (int i = S - 1; i >= 0; --i) {
#pragma unroll
      for (int j = i + 1; j < S; ++j) v[i] = v[i] - m.a[i][j] * v[j];
      v[i] = v[i] / m.a[i][i];
      if (i < n) x[(matrix * n + i) * columns + column] = v[i];
    }
  }
};

template <class N, int S> struct Cholesky {
  N* all;
  std::int32_t* infos;
  int n;
  bool upper;
  __device__ void operator()(int64_t at) const {
    using R = real_of<N>;
    N* const to = all + at * n * n;
    Square<N, S> m(to, n);
    int info = 0;
#pragma unroll
    for (int j = 0; j < S; ++j) {
#pragma unroll
      for (int i = j + 1; i < S; ++i)
        if (upper) m.a[i][j] = conj(m.a[j][i]);
      R d = real(m.a[j][j]);
#pragma unroll
      for (int k = 0; k < j; ++k) d -= real(m.a[j][k] * conj(m.a[j][k]));
      if (!info && !(d > R(0.0f))) info = j + 1;
      d = sqrt(d);
      m.a[j][j] = number_of<N>(d, R(0.0f));
#pragma unroll
      for (int i = j + 1; i < S; ++i) {
#pragma unroll
        for (int k = 0; k < j; ++k) m.a[i][j] = m.a[i][j] - m.a[i][k] * conj(m.a[j][k]);
        m.a[i][j] = m.a[i][j] / m.a[j][j];
      }
    }
    infos[at] = info;
#pragma unroll
    for (int i = 0; i < S; ++i)
#pragma unroll
      for (int j = 0; j < S; ++j)
        if (i < n && j < n) to[i * n + j] = upper ? (j < i ? N(0.0f) : conj(m.a[j][i])) : j > i ? N(0.0f) : m.a[i][j];
  }
};

// F<number, 4 or 8>, with what follows it, for each of so many.
template <template <class, int> class F, class N, class... A>
Failed by_threads_of(int index, int n, int64_t count, A... operands) {
  if (n <= 4) return for_each(index, count, F<N, 4>{operands...});
  return for_each(index, count, F<N, 8>{operands...});
}

}  // namespace

Failed tiny_lu(int index, DType d, const MatrixSizes& b, char* a, std::int32_t* pivots) {
  const int n = int(b.rows);
  return with_number(
      d, [&]<class N>(N) { return by_threads_of<Lu, N>(index, n, b.count, reinterpret_cast<N*>(a), pivots, n); });
}
Failed tiny_solve(int index, DType d, const char* lu, const std::int32_t* pivots, const char* b, const MatrixSizes& x,
                  char* to) {
  const int n = int(x.rows);
  return with_number(d, [&]<class N>(N) {
    return by_threads_of<Solve, N>(index, n, x.count * x.columns, reinterpret_cast<const N*>(lu),
                                   reinterpret_cast<const N*>(b), pivots, reinterpret_cast<N*>(to), n, x.columns);
  });
}
Failed tiny_cholesky(int index, DType d, const MatrixSizes& b, bool upper, char* a, std::int32_t* infos) {
  const int n = int(b.rows);
  return with_number(d, [&]<class N>(N) {
    return by_threads_of<Cholesky, N>(index, n, b.count, reinterpret_cast<N*>(a), infos, n, upper);
  });
}

}  // namespace neura::cuda

// What linear algebra does besides its factorisations: pivots, orders, triangles, checks, one element a thread.
#include "neura/backend/cuda/linalg/linalg.cuh"
#include "neura/backend/cuda/runtime/report.h"

namespace neura::cuda::moves {
namespace {

using namespace factor;

struct Address {
  char** to;
  char* base;
  int64_t step;
  __device__ void operator()(int64_t i) const { to[i] = base + i * step; }
};

template <class P> struct Pivots {
  const P* from;
  const int* info;
  int64_t k;
  std::int32_t* to;
  __device__ void operator()(int64_t i) const {
    const int64_t matrix = i / (k + 1), at = i - matrix * (k + 1);
    to[i] = at == k ? info[matrix] : std::int32_t(from[matrix * k + at]);
  }
};
template <class P>
Failed all_pivots(int index, const P* from, const int* info, int64_t count, int64_t k, std::int32_t* to) {
  return for_each(index, count * (k + 1), Pivots<P>{from, info, k, to});
}

// A block for each matrix: exchanges follow one another.
constexpr int64_t kShared = 8192;  // rows whose order is kept in shared memory
struct Order {
  const std::int32_t* pivots;
  int64_t step, k, m;
  int64_t* order;
};
__global__ void __launch_bounds__(kGridThreads) exchange(const __grid_constant__ Order o, Reporter reporter) {
  __shared__ std::int32_t rows[kShared];
  const std::int32_t* const p = o.pivots + int64_t(blockIdx.x) * o.step;
  int64_t* const to = o.order + int64_t(blockIdx.x) * o.m;
  const bool shared = o.m <= kShared;
  for (int64_t i = threadIdx.x; i < o.m; i += kGridThreads)
    if (shared) rows[i] = std::int32_t(i);
    else to[i] = i;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int64_t i = 0; i < o.k; ++i) {
      const int64_t j = int64_t(p[i]) - 1;
      if (!reporter.check(j, o.m)) break;
      if (shared) {
        const std::int32_t row = rows[i];
        rows[i] = rows[j], rows[j] = row;
      } else {
        const int64_t row = to[i];
        to[i] = to[j], to[j] = row;
      }
    }
  __syncthreads();
  if (!shared) return;
  for (int64_t i = threadIdx.x; i < o.m; i += kGridThreads) to[i] = rows[i];
}

template <class N> struct Rows {
  const N* b;
  const int64_t* order;
  int64_t rows, columns;
  N* to;
  __device__ void operator()(int64_t i) const {
    const int64_t row = i / columns, column = i - row * columns, from = order[row];
    to[i] = b ? b[(row / rows * rows + from) * columns + column] : N(from == column ? 1.0f : 0.0f);
  }
};

struct Info {
  const std::int32_t* pivots;
  int64_t n;
  std::int32_t* to;
  __device__ void operator()(int64_t i) const { to[i] = pivots[i * (n + 1) + n]; }
};

template <class N>
__global__ void determinant(const N* lu, const std::int32_t* pivots, int64_t n, N* to) {  // by a warp
  lu += int64_t(blockIdx.x) * n * n, pivots += int64_t(blockIdx.x) * (n + 1);
  N product(1.0f);
  for (int64_t k = threadIdx.x; k < n; k += 32) {
    const N d = lu[k * n + k];
    product = product * (pivots[k] == k + 1 ? d : -d);
  }
  for (int step = 16; step; step /= 2) product = product * across(product, step);
  if (threadIdx.x == 0) to[blockIdx.x] = pivots[n] ? N(0.0f) : product;  // libraries may continue with NaN after a 0
}

template <class N> struct Clear {
  N* x;
  int64_t rows, columns;
  bool above;
  __device__ void operator()(int64_t i) const {
    const int64_t column = i % columns, row = i / columns % rows;
    if (above ? column > row : column < row) x[i] = N(0.0f);
  }
};
template <class N> struct Identity {
  N* x;
  int64_t rows, columns;
  __device__ void operator()(int64_t i) const { x[i] = N(i % columns == i / columns % rows ? 1.0f : 0.0f); }
};
template <class R> struct Conjugate {
  complex<R>* x;
  __device__ void operator()(int64_t i) const { x[i].im = -x[i].im; }
};

__device__ bool is_finite(double x) { return x - x == 0; }
template <class R> __device__ bool is_finite(complex<R> x) { return is_finite(x.re) && is_finite(x.im); }
template <class N> struct Finite {
  const N* a;
  int64_t rows, columns;
  Part part;
  std::int32_t* bad;
  __device__ void operator()(int64_t i) const {
    const int64_t column = i % columns, row = i / columns % rows;
    if (part == Part::lower ? column > row : part == Part::upper && column < row) return;
    if (!is_finite(a[i])) bad[i / (rows * columns)] = 1;
  }
};
template <class N> struct Emptied {
  N* a;
  int64_t each;
  const std::int32_t* bad;
  __device__ void operator()(int64_t i) const {
    if (bad[i / each]) a[i] = N(0.0f);
  }
};

template <class R> struct Vectors {
  const complex<R>* values;
  const R* v;
  int64_t n;
  complex<R>* to;
  __device__ void operator()(int64_t i) const {
    const int64_t row = i / n, column = i - row * n;
    const R im = values[column].im;
    const bool second = im < R(0.0f), pair = im != R(0.0f);
    const int64_t first = second ? column - 1 : column;
    const R re = v[first * n + row], other = pair && first + 1 < n ? v[(first + 1) * n + row] : R(0.0f);
    to[i] = {re, second ? -other : other};
  }
};

}  // namespace

Failed pointers(int index, char* base, int64_t step, int64_t count, void* to) {
  return for_each(index, count, Address{static_cast<char**>(to), base, step});
}
Failed pivots_of(int index, const std::int32_t* from, const int* info, int64_t count, int64_t k, std::int32_t* to) {
  return all_pivots(index, from, info, count, k, to);
}
Failed pivots_of(int index, const int64_t* from, const int* info, int64_t count, int64_t k, std::int32_t* to) {
  return all_pivots(index, from, info, count, k, to);
}
Failed order_of(Context& c, const std::int32_t* pivots, int64_t step, int64_t k, int64_t count, int64_t m,
                int64_t* order) {
  Reporter reporter;
  if (Failed f = reporter_of(c, &reporter)) return f;
  launch_kernel(exchange, {.x = count}, current_stream(c.device.index), Order{pivots, step, k, m, order}, reporter);
  return launched(c.device.index);
}
Failed rows_of(int index, DType d, const char* b, const int64_t* order, const MatrixSizes& x, char* to) {
  return with_number(d, [&]<class N>(N) {
    const Rows<N> f{reinterpret_cast<const N*>(b), order, x.rows, x.columns, reinterpret_cast<N*>(to)};
    return for_each(index, x.count * x.numel(), f);
  });
}
Failed copy_info(int index, const std::int32_t* pivots, int64_t n, int64_t count, std::int32_t* info) {
  return for_each(index, count, Info{pivots, n, info});
}
Failed determinants(int index, DType d, const MatrixSizes& b, const char* lu, const std::int32_t* pivots, char* to) {
  return with_number(d, [&]<class N>(N) {
    launch_kernel(determinant<N>, {.x = b.count, .threads = 32}, current_stream(index), reinterpret_cast<const N*>(lu),
                  pivots, b.rows, reinterpret_cast<N*>(to));
    return launched(index);
  });
}
Failed clear(int index, DType d, const MatrixSizes& b, bool above, char* x) {
  return with_number(d, [&]<class N>(N) {
    return for_each(index, b.count * b.numel(), Clear<N>{reinterpret_cast<N*>(x), b.rows, b.columns, above});
  });
}
Failed identity(int index, DType d, const MatrixSizes& b, char* x) {
  return with_number(d, [&]<class N>(N) {
    return for_each(index, b.count * b.numel(), Identity<N>{reinterpret_cast<N*>(x), b.rows, b.columns});
  });
}
Failed conjugate(int index, DType d, int64_t count, char* x) {
  if (d == DType::complex64) return for_each(index, count, Conjugate<float>{reinterpret_cast<complex<float>*>(x)});
  if (d == DType::complex128) return for_each(index, count, Conjugate<double>{reinterpret_cast<complex<double>*>(x)});
  return nullptr;
}
Failed finite(int index, DType d, const MatrixSizes& b, Part part, char* a, std::int32_t* bad) {
  NEURA_CUDA_TRY(cudaMemsetAsync(bad, 0, std::size_t(b.count) * sizeof *bad, current_stream(index)), "finite elements");
  return with_number(d, [&]<class N>(N) {
    N* const x = reinterpret_cast<N*>(a);
    if (Failed f = for_each(index, b.count * b.numel(), Finite<N>{x, b.rows, b.columns, part, bad})) return f;
    return for_each(index, b.count * b.numel(), Emptied<N>{x, b.numel(), bad});
  });
}
Failed complex_vectors(int index, DType real, int64_t n, const char* values, const char* v, char* to) {
  const auto run = [&]<class R>(R) {
    return for_each(index, n * n,
                    Vectors<R>{reinterpret_cast<const complex<R>*>(values), reinterpret_cast<const R*>(v), n,
                               reinterpret_cast<complex<R>*>(to)});
  };
  return real == DType::float32 ? run(float()) : run(double());
}

}  // namespace neura::cuda::moves

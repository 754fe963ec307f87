// Products of integers, which wrap around: sums of the lowest 32 bits (64 of int64) have the right lowest bits.
#include <algorithm>

#include "neura/backend/cuda/product/matmul.h"
#include "neura/backend/cuda/runtime/stream.h"

namespace neura::cuda {
namespace {

constexpr int kTile = 64, kDepth = 16, kSide = 16, kOwn = kTile / kSide;  // a thread has kOwn x kOwn results

struct Operand {
  const char* data;
  std::int64_t row, column, step[kMaxRank];  // elements
};
struct Arguments {
  Operand a, b, init;
  char* y;
  std::int64_t m, n, k, batch, alpha, beta, size[kMaxRank];
  std::int64_t tiles;  // of a line of results
  int rank;            // of the batch
};

__device__ std::int64_t place(const Operand& x, const Arguments& p, std::int64_t matrix) {
  std::int64_t at = 0;
#pragma unroll 1
  for (int d = p.rank - 1; d >= 0; --d) at += matrix % p.size[d] * x.step[d], matrix /= p.size[d];
  return at;
}
// Lines [first, first + kTile) x [depth, depth + kDepth) of x to shared memory; zeros outside. Neighbouring threads
// read along whichever step is shorter.
template <class T, class A> __device__ void load(A (*to)[kTile + 1], const T* x, std::int64_t line_step,
                                                 std::int64_t depth_step, std::int64_t first, std::int64_t depth,
                                                 std::int64_t lines, std::int64_t k) {
  const bool along_depth = depth_step < line_step;
#pragma unroll
  for (int i = 0; i < kTile * kDepth / (kSide * kSide); ++i) {
    const int e = int(threadIdx.x) + i * kSide * kSide;
    const int line = along_depth ? e / kDepth : e % kTile, d = along_depth ? e % kDepth : e / kTile;
    const bool inside = first + line < lines && depth + d < k;
    to[d][line] = inside ? A(x[(first + line) * line_step + (depth + d) * depth_step]) : A(0);
  }
}

template <class T, class A> __global__ void __launch_bounds__(kSide* kSide) multiply(const Arguments p) {
  __shared__ A left[kDepth][kTile + 1], right[kDepth][kTile + 1];
  const std::int64_t row = blockIdx.x / p.tiles * kTile, column = blockIdx.x % p.tiles * kTile;
  const int x = int(threadIdx.x) % kSide, y = int(threadIdx.x) / kSide;
  for (std::int64_t matrix = blockIdx.y; matrix < p.batch; matrix += gridDim.y) {
    const T* a = reinterpret_cast<const T*>(p.a.data) + place(p.a, p, matrix);
    const T* b = reinterpret_cast<const T*>(p.b.data) + place(p.b, p, matrix);
    A sum[kOwn][kOwn] = {};
    for (std::int64_t depth = 0; depth < p.k; depth += kDepth) {
      load<T>(left, a, p.a.row, p.a.column, row, depth, p.m, p.k);
      load<T>(right, b, p.b.column, p.b.row, column, depth, p.n, p.k);
      __syncthreads();
#pragma unroll
      for (int d = 0; d < kDepth; ++d)
#pragma unroll
        for (int i = 0; i < kOwn; ++i)
#pragma unroll
          for (int j = 0; j < kOwn; ++j) sum[i][j] += left[d][y + i * kSide] * right[d][x + j * kSide];
      __syncthreads();
    }
    const T* init = p.init.data ? reinterpret_cast<const T*>(p.init.data) + place(p.init, p, matrix) : nullptr;
    T* out = reinterpret_cast<T*>(p.y) + matrix * p.m * p.n;
#pragma unroll
    for (int i = 0; i < kOwn; ++i)
#pragma unroll
      for (int j = 0; j < kOwn; ++j) {
        const std::int64_t r = row + y + i * kSide, c = column + x + j * kSide;
        if (r >= p.m || c >= p.n) continue;
        A result = A(p.alpha) * sum[i][j];
        if (init) result += A(p.beta) * A(init[r * p.init.row + c * p.init.column]);
        out[r * p.n + c] = T(result);
      }
  }
}

// x as an operand of y's batch; missing dimensions and those of size 1 have steps of 0.
Operand operand(const View& x, const View& y) {
  const int r = x.rank();
  const auto step = [&](int d) { return d < 0 || x.size(d) == 1 ? 0 : x.stride(d); };
  Operand o{x.data, step(r - 2), step(r - 1), {}};
  for (int d = 0; d < y.rank() - 2; ++d) o.step[d] = batch_step(x, y, d);
  return o;
}

}  // namespace

Failed multiply_integers(int index, View a, View b, View init, View y, const Product& options) {
  const int r = y.rank();
  Arguments p{operand(a, y), operand(b, y), {}, y.data, y.size(r - 2), y.size(r - 1), a.size(a.rank() - 1)};
  if (init) p.init = operand(init, y);
  p.rank = r - 2, p.batch = y.numel() / (p.m * p.n);
  for (int d = 0; d < p.rank; ++d) p.size[d] = y.size(d);
  p.alpha = std::int64_t(options.alpha.real()), p.beta = std::int64_t(options.beta.real());  // 0.6 is 0 (torch)
  p.tiles = (p.n + kTile - 1) / kTile;
  const std::int64_t blocks = p.tiles * ((p.m + kTile - 1) / kTile);
  if (blocks >> 31)
    return fail(DeviceFailure::absent, "expected a product of fewer than 2^43 integers on cuda, got %lld x %lld",
                static_cast<long long>(p.m), static_cast<long long>(p.n));
  const dim3 grid(unsigned(blocks), unsigned(std::min<std::int64_t>(p.batch, 65535)));
  const auto launch = [&]<class T, class A>() { multiply<T, A><<<grid, kSide * kSide, 0, current_stream(index)>>>(p); };
  switch (size_of(y.dtype())) {
    case 1:
      launch.template operator()<std::uint8_t, std::uint32_t>();
      break;
    case 2:
      launch.template operator()<std::uint16_t, std::uint32_t>();
      break;
    case 4:
      launch.template operator()<std::uint32_t, std::uint32_t>();
      break;
    default:
      launch.template operator()<std::uint64_t, std::uint64_t>();
  }
  return launched(index);
}

}  // namespace neura::cuda

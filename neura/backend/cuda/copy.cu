// Copies within a device that change no bits: between equal layouts, of contiguous lines, and of transposed ones by
// tiles.
#include "neura/backend/cuda/copy.h"

#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/cuda/runtime/memory.cuh"
#include "neura/backend/cuda/runtime/stream.h"

namespace neura::cuda {
namespace {

__global__ void __launch_bounds__(kThreads) packs(const uint4* from, uint4* to, std::int64_t n) {
  const std::int64_t i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) to[i] = from[i];
}

constexpr std::uint32_t kTile = 32, kRows = 8;  // a block: a tile, by so many rows at once
struct Tiles {
  const char* from;
  char* to;
  std::uint32_t rows, columns;  // neighbours in `from`; in `to`
  Division tiles_of_rows, tiles_of_columns;
  std::int64_t to_row, from_column;  // bytes to the next
  int outer = 0;                     // further dimensions
  Division size[kMaxRank];
  std::int64_t to_step[kMaxRank], from_step[kMaxRank];
};
template <class W> __global__ void __launch_bounds__(kTile* kRows) across(const __grid_constant__ Tiles t) {
  __shared__ W tile[kTile][kTile + 1];
  std::uint32_t rest = quotient(blockIdx.x, t.tiles_of_columns), batch = quotient(rest, t.tiles_of_rows);
  const std::uint32_t c = (blockIdx.x - rest * t.tiles_of_columns.divisor) * kTile;
  const std::uint32_t r = (rest - batch * t.tiles_of_rows.divisor) * kTile;
  const char* from = t.from;
  char* to = t.to;
#pragma unroll 1
  for (int d = t.outer - 1; d >= 0; --d) {
    const std::uint32_t q = d ? quotient(batch, t.size[d]) : 0, i = batch - q * t.size[d].divisor;
    from += i * t.from_step[d], to += i * t.to_step[d], batch = q;
  }
#pragma unroll
  for (std::uint32_t k = threadIdx.y; k < kTile; k += kRows)
    if (r + threadIdx.x < t.rows && c + k < t.columns)
      tile[k][threadIdx.x] =
          *reinterpret_cast<const W*>(from + (c + k) * t.from_column + (r + threadIdx.x) * sizeof(W));
  __syncthreads();
#pragma unroll
  for (std::uint32_t k = threadIdx.y; k < kTile; k += kRows)
    if (c + threadIdx.x < t.columns && r + k < t.rows)
      *reinterpret_cast<W*>(to + (r + k) * t.to_row + (c + threadIdx.x) * sizeof(W)) = tile[threadIdx.x][k];
}

bool copy_packs(const Plan& p, cudaStream_t stream) {
  const std::int64_t bytes = p.numel * size_of(p.dtype[0]);
  const bool alike = p.rank == 1 && p.strides[0][0] == size_of(p.dtype[0]) && p.strides[0][1] == p.strides[0][0];
  const auto bits = reinterpret_cast<std::uintptr_t>(p.data[0]) | reinterpret_cast<std::uintptr_t>(p.data[1]);
  if (!alike || (bits | std::uintptr_t(bytes)) % 16 || bytes / 16 > std::int64_t(kThreads) * INT32_MAX) return false;
  packs<<<unsigned((bytes / 16 + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      reinterpret_cast<const uint4*>(p.data[1]), reinterpret_cast<uint4*>(p.data[0]), bytes / 16);
  return true;
}

bool copy_tiles(const Plan& p, cudaStream_t stream) {
  const std::int64_t width = size_of(p.dtype[0]);
  const int last = p.rank - 1;
  int row = last - 1;
  while (row >= 0 && p.strides[row][1] != width) --row;
  if (row < 0 || p.strides[last][0] != width || p.strides[last][1] < width * 2 || p.strides[row][0] < width * 2 ||
      p.shape[row] < 8 || p.shape[last] < 8 || p.shape[row] >> 30 || p.shape[last] >> 30)
    return false;
  Tiles t{.from = p.data[1], .to = p.data[0]};
  t.rows = std::uint32_t(p.shape[row]), t.columns = std::uint32_t(p.shape[last]);
  t.to_row = p.strides[row][0], t.from_column = p.strides[last][1];
  const std::uint32_t down = (t.rows + kTile - 1) / kTile, along = (t.columns + kTile - 1) / kTile;
  t.tiles_of_rows = division(down), t.tiles_of_columns = division(along);
  std::int64_t blocks = std::int64_t(down) * along;
  for (int d = 0; d < last; ++d) {
    if (d == row) continue;
    t.size[t.outer] = division(std::uint32_t(p.shape[d]));
    t.to_step[t.outer] = p.strides[d][0], t.from_step[t.outer++] = p.strides[d][1], blocks *= p.shape[d];
  }
  if (blocks >= INT32_MAX) return false;
  const dim3 threads(kTile, kRows);
  switch (width) {
#define WIDTH(bytes, Word) \
  case bytes:              \
    return across<Word><<<unsigned(blocks), threads, 0, stream>>>(t), true;
    WIDTH(1, std::uint8_t)
    WIDTH(2, std::uint16_t)
    WIDTH(4, std::uint32_t)
    WIDTH(8, std::uint64_t)
    WIDTH(16, uint4)
#undef WIDTH
    default:
      return false;
  }
}

// Lines that are contiguous in both, by words of several elements.
constexpr int kWords = 4;  // of a thread
struct Lines {
  const char* from;
  char* to;
  std::uint32_t words;
  int dims = 0;  // the innermost first
  Division size[kMaxRank];
  std::int64_t to_step[kMaxRank], from_step[kMaxRank];
};
template <class W> __global__ void __launch_bounds__(kThreads) lines(const __grid_constant__ Lines t) {
  const std::uint32_t first = blockIdx.x * (kThreads * kWords) + threadIdx.x;
  W word[kWords];
  char* to[kWords];
#pragma unroll
  for (int k = 0; k < kWords; ++k) {
    std::uint32_t rest = first + k * kThreads;
    to[k] = rest < t.words ? t.to : nullptr;
    if (!to[k]) continue;
    const char* from = t.from;
#pragma unroll 1
    for (int d = 0; d < t.dims; ++d) {
      const std::uint32_t q = d + 1 < t.dims ? quotient(rest, t.size[d]) : 0, i = rest - q * t.size[d].divisor;
      from += i * t.from_step[d], to[k] += i * t.to_step[d], rest = q;
    }
    word[k] = *reinterpret_cast<const W*>(from);
  }
#pragma unroll
  for (int k = 0; k < kWords; ++k)
    if (to[k]) *reinterpret_cast<W*>(to[k]) = word[k];
}

bool copy_lines(const Plan& p, cudaStream_t stream) {
  const std::int64_t width = size_of(p.dtype[0]);
  const int last = p.rank - 1;
  if (last < 1 || p.strides[last][0] != width || p.strides[last][1] != width) return false;
  const std::int64_t line = p.shape[last] * width;
  auto bits = reinterpret_cast<std::uintptr_t>(p.data[0]) | reinterpret_cast<std::uintptr_t>(p.data[1]) |
              std::uintptr_t(line) | 16;
  for (int d = 0; d < last; ++d) bits |= std::uintptr_t(p.strides[d][0] | p.strides[d][1]);
  const auto word = std::int64_t(bits & -bits), words = p.numel * width / word;  // as large as all of it allows
  if (word < 4 || word <= width || words > INT32_MAX) return false;
  Lines t{.from = p.data[1], .to = p.data[0], .words = std::uint32_t(words)};
  for (int d = last; d >= 0; --d) {
    t.size[t.dims] = division(std::uint32_t(d == last ? line / word : p.shape[d]));
    t.to_step[t.dims] = d == last ? word : p.strides[d][0];
    t.from_step[t.dims++] = d == last ? word : p.strides[d][1];
  }
  const auto blocks = unsigned((words + kThreads * kWords - 1) / (kThreads * kWords));
  if (word == 4) lines<std::uint32_t><<<blocks, kThreads, 0, stream>>>(t);
  else if (word == 8) lines<std::uint64_t><<<blocks, kThreads, 0, stream>>>(t);
  else lines<uint4><<<blocks, kThreads, 0, stream>>>(t);
  return true;
}

}  // namespace

bool copy_bits(const Plan& p, cudaStream_t stream) {
  return p.dtype[0] == p.dtype[1] && (copy_packs(p, stream) || copy_lines(p, stream) || copy_tiles(p, stream));
}

}  // namespace neura::cuda

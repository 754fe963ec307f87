// Writing by index with a sum, product, mean or extreme. Indices are sorted, so that all that meet in one place are
// neighbours in their old order; a run of them is combined one after the other, or, where it is longer than a chunk, by
// the pieces into which the ends of chunks cut it.
#include "neura/backend/cuda/index/index_put.cuh"
#include "neura/backend/cuda/runtime/scratch.h"
// after numbers.cuh
#include <cub/device/device_radix_sort.cuh>

namespace neura::cuda {
namespace {

struct Runs {
  Places places;
  const char* source;
  char* out;
  char* pieces;                     // [2 * chunks, columns], of long runs: even rows begin where the chunk begins
  const std::uint32_t *key, *from;  // [count], sorted by place; null: no two indices meet
  std::uint32_t count, columns, chunk;
  int shift;  // 2^shift threads for each position in the sorted list
  int spare;  // bits of an int64 that the dtype does not have
  DType dtype;
  ScatterReduce how;
  Reporter reporter;
};

template <class E> __device__ E combined(ScatterReduce::Mode mode, E a, E b) {
  if constexpr (is_same<E, std::int64_t>) {
    if (mode == ScatterReduce::prod) return E(std::uint64_t(a) * std::uint64_t(b));
    if (mode >= ScatterReduce::amax) return (mode == ScatterReduce::amax ? a < b : b < a) ? b : a;
    return E(std::uint64_t(a) + std::uint64_t(b));
  } else {
    if (mode == ScatterReduce::prod) return a * b;
    if constexpr (!is_complex<E>)
      if (mode >= ScatterReduce::amax)
        return b != b || (mode == ScatterReduce::amax ? a < b : b < a) ? b : a;  // NaN wins
    return a + b;
  }
}
// What a place begins with if its old value does not count.
template <class E> __device__ E beginning(ScatterReduce::Mode mode) {
  if (mode == ScatterReduce::prod) return cast<E>(1.0f);
  if constexpr (is_same<E, std::int64_t>) {
    const E lowest = E(std::uint64_t{1} << 63);
    return mode == ScatterReduce::amax ? lowest : mode == ScatterReduce::amin ? ~lowest : 0;
  } else {
    return cast<E>(mode == ScatterReduce::amax ? -INFINITY : mode == ScatterReduce::amin ? INFINITY : 0.0f);
  }
}
__device__ inline std::int64_t wrapped(std::int64_t v, int spare, bool sign) {  // as a number of fewer bits
  const std::uint64_t high = std::uint64_t(v) << spare;
  return sign ? std::int64_t(high) >> spare : std::int64_t(high >> spare);
}
template <class E> __device__ E finished(const Runs& a, E v, std::uint32_t length) {
  const std::int64_t n = std::int64_t(length) + a.how.include_self;
  if (a.how.mode != ScatterReduce::mean || n <= 1 || a.dtype == DType::boolean) return v;
  if constexpr (is_same<E, std::int64_t>) {
    v = wrapped(v, a.spare, a.dtype != DType::uint8);
    return v / n - (v % n < 0);
  } else {
    return v / cast<real_of<E>>(n);
  }
}

// Where the columns of out's place and of the source begin for an index, by number.
struct Spot {
  std::int64_t source, out;
  bool inside;
};
__device__ inline Spot spot_of(const Runs& a, std::uint32_t e) {
  std::int64_t at[5];
  locate(a.places.keyed, e, at);
  const std::int64_t i = a.places.indices[at[0]];
  return {at[1], at[2] + i * a.places.step, a.key || a.reporter.check(i, a.places.bound)};
}
__device__ inline std::int64_t source_of(const Runs& a, std::uint32_t e) {
  std::int64_t at[5];
  locate(a.places.keyed, e, at);
  return at[1];
}
__device__ inline std::uint32_t from_at(const Runs& a, std::uint32_t q) { return a.from ? a.from[q] : q; }

// The first position from `low` on where the key is above (or not below) this one.
__device__ inline std::uint32_t bound_of(const Runs& a, std::uint32_t key, std::uint32_t low, std::uint32_t high,
                                         bool above) {
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (above ? a.key[middle] <= key : a.key[middle] < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
__device__ inline bool is_long(const Runs& a, std::uint32_t key, std::uint32_t begin) {
  return a.count - begin > a.chunk && a.key[begin + a.chunk] == key;
}

// A run, or the part of it that is in one chunk: C columns of a thread.
template <class E, int C> __device__ void fold_piece(const Runs& a, std::uint32_t p, std::uint32_t key, bool begins,
                                                     bool whole, std::uint32_t limit, std::uint32_t column) {
  constexpr int K = C == 1 ? 4 : 2;
  const std::uint32_t width = 1u << a.shift;
  const Spot place = spot_of(a, from_at(a, p));
  if (!place.inside) return;
  std::int64_t at[C][2];
  E sum[C];
#pragma unroll
  for (int c = 0; c < C; ++c) {
    if (column + c * width >= a.columns) break;
    locate(a.places.columns, column + c * width, at[c]);
    if (begins)
      sum[c] = a.how.include_self ? load_one<E>(a.out + place.out + at[c][1], a.dtype) : beginning<E>(a.how.mode);
    else sum[c] = load_one<E>(a.source + place.source + at[c][0], a.dtype);
  }
  std::uint32_t q = p + !begins;
  for (bool more = true; more && q < limit;) {
    E v[K][C];
    int n = 0;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (n < k || q + k >= limit || (a.key && a.key[q + k] != key)) continue;
      n = k + 1;
      const std::int64_t source = a.key ? source_of(a, a.from[q + k]) : place.source;
#pragma unroll
      for (int c = 0; c < C; ++c)
        if (column + c * width < a.columns) v[k][c] = load_one<E>(a.source + source + at[c][0], a.dtype);
    }
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (k < n)
#pragma unroll
        for (int c = 0; c < C; ++c) sum[c] = combined(a.how.mode, sum[c], v[k][c]);
    q += n, more = n == K;
  }
  E* const pieces = reinterpret_cast<E*>(a.pieces) + (2 * (p / a.chunk) + (p % a.chunk != 0)) * std::size_t(a.columns);
#pragma unroll
  for (int c = 0; c < C; ++c) {
    if (column + c * width >= a.columns) break;
    if (whole) store_one(a.out + place.out + at[c][1], a.dtype, finished(a, sum[c], q - p));
    else pieces[column + c * width] = sum[c];
  }
}
template <class E, int C> __global__ void __launch_bounds__(kThreads) fold_kernel(const __grid_constant__ Runs a) {
  const std::uint32_t p = blockIdx.x * (kThreads >> a.shift) + (threadIdx.x >> a.shift), width = 1u << a.shift;
  if (p >= a.count) return;
  std::uint32_t key = 0, limit = p + 1;
  bool begins = true, whole = true;
  if (a.key) {
    key = a.key[p];
    begins = p == 0 || a.key[p - 1] != key;
    if (key == std::uint32_t(a.places.count) || (!begins && p % a.chunk)) return;  // no place; another's
    const bool far = !begins && p >= a.chunk && a.key[p - a.chunk] == key;
    whole = !far && !is_long(a, key, begins ? p : bound_of(a, key, p - ::min(p, a.chunk), p, false));
    if (whole && !begins) return;
    limit = ::min(a.count, whole ? p + a.chunk : p - p % a.chunk + a.chunk);
  }
  for (std::uint32_t column = blockIdx.y * (C * width) + threadIdx.x % width; column < a.columns;
       column += gridDim.y * (C * width))
    fold_piece<E, C>(a, p, key, begins, whole, limit, column);
}

// A block for each chunk: the run that begins there and reaches over its end. Strips of threads share its pieces.
template <class E> __global__ void __launch_bounds__(kThreads) join_kernel(const __grid_constant__ Runs a) {
  __shared__ alignas(16) char room[kThreads * sizeof(E)];
  E* const shared = reinterpret_cast<E*>(room);
  const std::uint32_t begin = blockIdx.x * a.chunk, end = begin + a.chunk;
  if (end >= a.count) return;
  const std::uint32_t key = a.key[end];
  if (key == std::uint32_t(a.places.count) || a.key[end - 1] != key) return;
  const bool all = a.key[begin] == key;
  if (all && begin && a.key[begin - 1] == key) return;
  const std::uint32_t from = bound_of(a, key, begin, end, false), to = bound_of(a, key, end, a.count, true);
  if (!is_long(a, key, from)) return;
  const std::uint32_t more = (to - 1) / a.chunk - blockIdx.x;  // pieces after the first
  const std::uint32_t width = 1u << a.shift, strips = kThreads >> a.shift, strip = threadIdx.x >> a.shift;
  const std::int64_t out = spot_of(a, a.from[end]).out;
  for (std::uint32_t c0 = blockIdx.y * width; c0 < a.columns; c0 += gridDim.y * width) {
    const std::uint32_t column = c0 + threadIdx.x % width;
    const E* const pieces =
        reinterpret_cast<const E*>(a.pieces) + std::size_t(2 * blockIdx.x) * a.columns + ::min(column, a.columns - 1);
    const auto piece = [&](std::uint32_t k) { return pieces[std::size_t(2 * (k + 1)) * a.columns]; };
    if (strip < more) {
      E sum = piece(strip);
#pragma unroll 4
      for (std::uint32_t k = strip + strips; k < more; k += strips) sum = combined(a.how.mode, sum, piece(k));
      shared[threadIdx.x] = sum;
    }
    for (std::uint32_t half = strips / 2; half; half /= 2) {
      __syncthreads();
      if (strip < half && strip + half < more)
        shared[threadIdx.x] = combined(a.how.mode, shared[threadIdx.x], shared[threadIdx.x + half * width]);
    }
    if (strip == 0 && column < a.columns) {
      const E first = pieces[from == begin ? 0 : a.columns];
      std::int64_t at[2];
      locate(a.places.columns, column, at);
      store_one(a.out + out + at[1], a.dtype, finished(a, combined(a.how.mode, first, shared[threadIdx.x]), to - from));
    }
    __syncthreads();
  }
}

__global__ void __launch_bounds__(kThreads)
    key_kernel(const __grid_constant__ Places p, std::uint32_t* key, std::uint32_t* from, Reporter reporter) {
  const std::uint32_t e = blockIdx.x * kThreads + threadIdx.x;
  if (e >= std::uint32_t(p.keyed.numel)) return;
  std::int64_t at[5];
  locate(p.keyed, e, at);
  const std::int64_t i = p.indices[at[0]];
  key[e] = std::uint32_t(reporter.check(i, p.bound) ? at[3] + i : p.count), from[e] = e;
}
// keys: room for 4 * count numbers, two of which become a.key and a.from.
Failed sort(Runs& a, Scratch& scratch, cudaStream_t stream) {
  std::uint32_t* room;
  const std::size_t n = a.count;
  if (Failed f = scratch.take(4 * n * sizeof *room, &room)) return f;
  key_kernel<<<blocks_for(a.count, kThreads), kThreads, 0, stream>>>(a.places, room, room + n, a.reporter);
  int bits = 1;
  while (a.places.count >> bits) ++bits;
  std::size_t bytes = 0;
  const auto run = [&](void* temporary) {
    return failed(cub::DeviceRadixSort::SortPairs(temporary, bytes, room, room + 2 * n, room + n, room + 3 * n, int(n),
                                                  0, bits, stream),
                  "sort");
  };
  if (Failed f = run(nullptr)) return f;
  char* temporary;
  if (Failed f = scratch.take(bytes, &temporary)) return f;
  a.key = room + 2 * n, a.from = room + 3 * n;
  return run(temporary);
}

template <class E> Failed fold(Runs& a, Scratch& scratch, cudaStream_t stream) {
  const std::uint32_t width = 1u << a.shift, positions = kThreads >> a.shift, chunks = (a.count - 1) / a.chunk + 1;
  const auto rows = [](std::uint32_t columns, std::uint32_t each) { return ::min((columns - 1) / each + 1, 65535u); };
  if (a.key)
    if (Failed f = scratch.take(2 * std::size_t(chunks) * a.columns * sizeof(E), &a.pieces)) return f;
  const unsigned blocks = blocks_for(a.count, positions);
  if (a.columns > 32) fold_kernel<E, 4><<<dim3(blocks, rows(a.columns, 4 * width)), kThreads, 0, stream>>>(a);
  else fold_kernel<E, 1><<<dim3(blocks, rows(a.columns, width)), kThreads, 0, stream>>>(a);
  if (a.key && chunks > 1) join_kernel<E><<<dim3(chunks, rows(a.columns, width)), kThreads, 0, stream>>>(a);
  return nullptr;
}
Failed fold_in(Runs& a, Scratch& scratch, cudaStream_t stream) {
  switch (a.dtype) {
    case DType::float64:
      return fold<double>(a, scratch, stream);
    case DType::complex64:
      return fold<complex<float>>(a, scratch, stream);
    case DType::complex128:
      return fold<complex<double>>(a, scratch, stream);
    default:
      return is_integral(a.dtype) ? fold<std::int64_t>(a, scratch, stream) : fold<float>(a, scratch, stream);
  }
}

}  // namespace

void combine(Context& c, const Places& p, const View& out, const View& source, ScatterReduce how) {
  if (p.count >= std::int64_t{1} << 32 || p.columns.wide())
    return c.fail(fail(DeviceFailure::absent, "expected fewer than 2^32 places on cuda; write in parts"));
  const OnDevice on(c.device.index);
  const cudaStream_t stream = current_stream(c.device.index);
  Scratch scratch(c.device.index, stream);
  Runs a{p,
         source.data,
         out.data,
         nullptr,
         nullptr,
         nullptr,
         std::uint32_t(p.keyed.numel),
         std::uint32_t(p.columns.numel),
         64,
         0,
         64 - 8 * size_of(out.dtype()),
         out.dtype(),
         how,
         {}};
  if (Failed f = reporter_of(c, &a.reporter)) return c.fail(f);
  while (a.shift < 5 && 1u << a.shift < a.columns) ++a.shift;
  while (a.chunk < 1024 && std::int64_t(a.count) * a.columns / a.chunk > 1 << 17) a.chunk *= 2;
  if (p.depth > 1)
    if (Failed f = sort(a, scratch, stream)) return c.fail(f);
  if (Failed f = fold_in(a, scratch, stream)) return c.fail(f);
  c.fail(launched(c.device.index));
}

}  // namespace neura::cuda

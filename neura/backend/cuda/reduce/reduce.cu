// Folds: rows of tables/reduction.def over any dimensions. What is combined with what depends on sizes and strides
// alone. A result's elements are read by a warp, by a block, or by several blocks whose parts are combined after.
#include "neura/backend/kernels/reduce.h"

#include <algorithm>

#include "neura/backend/cuda/pointwise/execute.h"
#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/cuda/reduce/reduce.cuh"
#include "neura/backend/cuda/runtime/scratch.h"

namespace neura::cuda {
namespace {

constexpr DTypeSet reals = bit(DType::float32) | bit(DType::float64);
constexpr DTypeSet parts = reals | dtypes::complexes;
constexpr DTypeSet sums = parts | bit(DType::int64);
constexpr DTypeSet everything_ordered = reals | dtypes::integers | dtypes::booleans;

template <class N> __device__ N or_zero(N x) { return x == x ? x : N(0_c); }
template <class N> __device__ N one_unless_zero(N x) { return x == N(0_c) ? N(0_c) : N(1_c); }

template <class N> __device__ N first_of(Constant c) {
  if constexpr (is_same<N, Bool>) return Bool(c.value > 0);  // below all is false
  else return N(c);
}

#define ordered everything_ordered
#define REDUCE(name, kinds, begin, mapped, combination, finished)                       \
  struct name##_fold {                                                                  \
    static constexpr DTypeSet computed = kinds;                                         \
    template <class N> static __device__ N start() { return first_of<N>(begin); }       \
    template <class N> static __device__ N map(N x, N p) { return (void)p, N(mapped); } \
    template <class N> static __device__ N combine(N a, N b) { return N(combination); } \
    template <class N> static __device__ N finish(N a, N p, N n, bool) {                \
      const N one = N(1_c);                                                             \
      return (void)p, (void)n, (void)one, N(finished);                                  \
    }                                                                                   \
  };
#include "neura/tables/reduction.def"
#undef ordered

__device__ inline std::uint32_t lesser(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }
template <class N> __device__ N element(const FoldArguments& f, std::int64_t at) {
  return number_from<N>(load_simple<memory_of<N>>(f.x + at, f.x_dtype, 0));
}
template <class M, class N, int K> __device__ void gather(const char* p, std::int64_t step, N (&to)[K]) {
#pragma unroll
  for (int k = 0; k < K; ++k) to[k] = number_from<N>(cast<memory_of<N>>(*reinterpret_cast<const M*>(p + k * step)));
}
// Several at once, and their dtype asked for once: so they are all in flight together.
template <class N, int K>
__device__ void elements(const FoldArguments& f, std::int64_t at, std::int64_t step, N (&to)[K]) {
  if constexpr (is_same<N, float>) {
    if (f.x_dtype == DType::bfloat16) return gather<BFloat16>(f.x + at, step, to);
    if (f.x_dtype == DType::float16) return gather<Half>(f.x + at, step, to);
  }
  gather<memory_of<N>>(f.x + at, step, to);
}
template <class Row, class N, int K> __device__ N fold_array(N (&v)[K], N p, N a) {
#pragma unroll
  for (int k = 0; k < K; ++k) v[k] = Row::map(v[k], p);
#pragma unroll
  for (int half = K / 2; half; half /= 2)
#pragma unroll
    for (int k = 0; k < half; ++k) v[k] = Row::combine(v[k], v[k + half]);
  return Row::combine(a, v[0]);
}
// a combined with the elements begin, begin + by, ... below end of a line.
template <class Row, class N> __device__ N fold_line(const FoldArguments& f, std::int64_t x, std::int64_t step,
                                                     std::uint32_t begin, std::uint32_t end, std::uint32_t by, N p,
                                                     N a) {
  constexpr int K = sizeof(N) <= 8 ? 8 : 4;
  std::uint32_t i = begin;
  for (; i + (K - 1) * by < end; i += K * by) {
    N v[K];
    elements(f, x + std::int64_t(i) * step, std::int64_t(by) * step, v);
    a = fold_array<Row>(v, p, a);
  }
  for (; i < end; i += by) a = Row::combine(a, Row::map(element<N>(f, x + std::int64_t(i) * step), p));
  return a;
}
// The same for a contiguous line that is aligned to 16 bytes: packs, four of them in flight.
template <class Row, class N> __device__ N fold_packs(const FoldArguments& f, std::int64_t x, std::uint32_t begin,
                                                      std::uint32_t end, std::uint32_t lane, std::uint32_t width, N p,
                                                      N a) {
  using E = memory_of<N>;
  constexpr std::uint32_t V = kPack<E>, K = 4;
  const char* line = f.x + x;
  std::uint32_t i = begin + lane * V;
  for (; i + (K - 1) * width * V + V <= end; i += K * width * V) {
    E e[K][V];
#pragma unroll
    for (std::uint32_t k = 0; k < K; ++k) load_pack(e[k], line, f.x_dtype, i + k * width * V);
#pragma unroll
    for (std::uint32_t k = 0; k < K; ++k) {
      N v[V];
#pragma unroll
      for (std::uint32_t j = 0; j < V; ++j) v[j] = number_from<N>(e[k][j]);
      a = fold_array<Row>(v, p, a);
    }
  }
  for (; i < end; i += width * V)
    for (std::uint32_t j = i; j < i + V && j < end; ++j)
      a = Row::combine(a, Row::map(number_from<N>(load_simple<E>(line, f.x_dtype, j)), p));
  return a;
}
template <class N> __device__ N centre(const FoldArguments& f, std::uint32_t output) {
  return f.p ? number_from<N>(reinterpret_cast<const memory_of<N>*>(f.p)[std::size_t(output) * f.p_step])
             : number_of_double<N>(f.centre);
}
template <class Row, class N>
__device__ void deliver(const FoldArguments& f, std::uint32_t output, std::uint32_t chunk, std::int64_t y, N a) {
  if (f.partial) {
    reinterpret_cast<memory_of<N>*>(f.partial)[std::size_t(chunk) * f.outputs + output] = memory_from(a);
    return;
  }
  const N n = number_of_double<N>(f.number);
  store_simple(f.y + y, f.y_dtype, 0, memory_from(Row::template finish<N>(a, centre<N>(f, output), n, f.root)));
}
// The first thread of each group of `width` gets what the group has.
template <class Row, int width, class N> __device__ N together(N a) {
  __shared__ char room[kThreads / 32 * sizeof(N)];
  a = across_warp(a, [](N u, N v) { return Row::combine(u, v); });
  if constexpr (width > 32) {
    N* shared = reinterpret_cast<N*>(room);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = a;
    __syncthreads();
    if (threadIdx.x == 0)
      for (int w = 1; w < kThreads / 32; ++w) a = Row::combine(a, shared[w]);
  }
  return a;
}

// Neighbouring threads read along the reduced elements: `width` threads a result and chunk.
template <class Row, class N, int width> __global__ void __launch_bounds__(kThreads)
    fold_rows(const __grid_constant__ FoldArguments f) {
  const std::uint32_t task = blockIdx.x * (kThreads / width) + threadIdx.x / width, lane = threadIdx.x % width;
  const bool there = task < f.outputs * f.chunks;
  const std::uint32_t output = there ? task / f.chunks : 0, chunk = there ? task % f.chunks : 0;
  const std::uint32_t begin = chunk * f.chunk, end = there ? lesser(f.count, begin + f.chunk) : 0;
  std::int64_t x = 0, y = 0, none = 0;
  locate(f.kept, output, x, y);
  const N p = centre<N>(f, output);
  N a = Row::template start<N>();
  if (f.reduced.rank <= 1) {
    const std::int64_t step = f.reduced.rank ? f.reduced.x[0] : 0;
    a = f.packs ? fold_packs<Row>(f, x, begin, end, lane, width, p, a)
                : fold_line<Row>(f, x, step, begin + lane, end, width, p, a);
  } else {
    for (std::uint32_t i = begin + lane; i < end; i += width) {
      std::int64_t at = x;
      locate(f.reduced, i, at, none);
      a = Row::combine(a, Row::map(element<N>(f, at), p));
    }
  }
  a = together<Row, width>(a);
  if (there && lane == 0) deliver<Row>(f, output, chunk, y, a);
}
// Neighbouring threads read along the results: 32 results by 8 threads each.
template <class Row, class N> __global__ void __launch_bounds__(kThreads)
    fold_columns(const __grid_constant__ FoldArguments f) {
  __shared__ char room[kThreads * sizeof(N)];
  const std::uint32_t tiles = (f.outputs + 31) / 32, tile = blockIdx.x % tiles, chunk = blockIdx.x / tiles;
  const std::uint32_t lane = threadIdx.x % 32, part = threadIdx.x / 32, output = tile * 32 + lane;
  const std::uint32_t begin = chunk * f.chunk, end = output < f.outputs ? lesser(f.count, begin + f.chunk) : 0;
  std::int64_t x = 0, y = 0, none = 0;
  if (output < f.outputs) locate(f.kept, output, x, y);
  const N p = output < f.outputs ? centre<N>(f, output) : N(0_c);
  N a = Row::template start<N>();
  if (f.reduced.rank == 1) {
    a = fold_line<Row>(f, x, f.reduced.x[0], begin + part, end, kThreads / 32, p, a);
  } else {
    for (std::uint32_t i = begin + part; i < end; i += kThreads / 32) {
      std::int64_t at = x;
      locate(f.reduced, i, at, none);
      a = Row::combine(a, Row::map(element<N>(f, at), p));
    }
  }
  N* shared = reinterpret_cast<N*>(room);
  shared[threadIdx.x] = a;
  __syncthreads();
  if (part || output >= f.outputs) return;
  for (int i = 1; i < kThreads / 32; ++i) a = Row::combine(a, shared[i * 32 + lane]);
  deliver<Row>(f, output, chunk, y, a);
}
// The chunks of a result: a warp each.
template <class Row, class N> __global__ void __launch_bounds__(kThreads)
    merge(const __grid_constant__ FoldArguments f, const char* partial) {
  const std::uint32_t output = blockIdx.x * (kThreads / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  N a = Row::template start<N>();
  if (output < f.outputs)
    for (std::uint32_t c = lane; c < f.chunks; c += 32)
      a = Row::combine(
          a, number_from<N>(reinterpret_cast<const memory_of<N>*>(partial)[std::size_t(c) * f.outputs + output]));
  a = together<Row, 32>(a);
  if (output >= f.outputs || lane) return;
  std::int64_t x = 0, y = 0;
  locate(f.kept, output, x, y);
  deliver<Row>(f, output, 0, y, a);
}

using FoldFn = Failed(FoldArguments&, bool by_columns, cudaStream_t, int index);
template <class Row, class N> Failed run(FoldArguments& f, bool by_columns, cudaStream_t stream, int index) {
  if constexpr (is_same<Row, sum_fold> && is_same<N, float>)
    if (by_columns && takes_column_sums(f)) return sum_columns(f, index, stream);
  const std::uint32_t enough = 132 * (by_columns ? 8 : 4);  // blocks that keep a large device busy
  const std::uint32_t tiles = by_columns ? (f.outputs + 31) / 32 : f.outputs;
  const bool warp = !by_columns && f.count <= 1024 && f.outputs >= enough;
  f.chunks = 1;
  if (!warp && tiles < enough) {
    const std::uint32_t least = by_columns ? 64 : 4096;  // elements of a chunk
    f.chunks = std::max(1u, std::min((enough + tiles - 1) / tiles, f.count / least));
  }
  f.chunk = ((f.count + f.chunks - 1) / f.chunks + 15) / 16 * 16;  // whole packs
  Scratch scratch(index, stream);
  f.partial = nullptr;
  if (f.chunks > 1)
    if (Failed e = scratch.take(std::size_t(f.chunks) * f.outputs * sizeof(N), &f.partial)) return e;
  if (by_columns) fold_columns<Row, N><<<tiles * f.chunks, kThreads, 0, stream>>>(f);
  else if (warp) fold_rows<Row, N, 32><<<(f.outputs + 7) / 8, kThreads, 0, stream>>>(f);
  else fold_rows<Row, N, kThreads><<<f.outputs * f.chunks, kThreads, 0, stream>>>(f);
  if (f.chunks > 1) {
    const char* partial = std::exchange(f.partial, nullptr);
    merge<Row, N><<<(f.outputs + 7) / 8, kThreads, 0, stream>>>(f, partial);
  }
  return launched(index);
}

template <class Row, int D = 0> constexpr FoldFn* fold_of(DType d) {
  if constexpr (D == kDTypes) return nullptr;
  else {
    if constexpr (Row::computed >> D & 1)
      if (d == DType(D)) return run<Row, typename NumberOf<DType(D)>::type>;
    return fold_of<Row, D + 1>(d);
  }
}
FoldFn* fold_of(ReduceOp row, DType d) {
  switch (row) {
#define REDUCE(name, ...) \
  case ReduceOp::name:    \
    return fold_of<name##_fold>(d);
#include "neura/tables/reduction.def"
    default:
      return nullptr;
  }
}

void push(Axes& a, std::int64_t size, std::int64_t x, std::int64_t y) {
  if (size == 1) return;
  if (a.rank && a.x[a.rank - 1] == x * size && a.y[a.rank - 1] == y * size) {  // mergeable with the next outer one
    a.size[a.rank - 1] = division(a.size[a.rank - 1].divisor * std::uint32_t(size));
    a.x[a.rank - 1] = x, a.y[a.rank - 1] = y;
    return;
  }
  a.size[a.rank] = division(std::uint32_t(size)), a.x[a.rank] = x, a.y[a.rank++] = y;
}

// The axes of x, split by `reduced`; y has x's rank or lacks the reduced dimensions.
Failed arrange(unsigned reduced, const View& x, const View& y, FoldArguments& f) {
  std::int64_t outputs = 1, count = 1;
  f.kept = f.reduced = {};
  const bool lacks = y.rank() != x.rank();
  for (int d = 0, j = 0; d < x.rank(); ++d) {
    const std::int64_t step = x.stride(d) * size_of(x.dtype());
    if (reduced >> d & 1) {
      push(f.reduced, x.size(d), step, 0), count *= x.size(d), j += !lacks;
    } else {
      push(f.kept, x.size(d), step, y.stride(j) * size_of(y.dtype())), outputs *= x.size(d), ++j;
    }
  }
  if (outputs >> 31 || count >> 31)
    return fail(DeviceFailure::absent, "expected fewer than 2^31 results of fewer than 2^31 elements on cuda");
  f.outputs = std::uint32_t(outputs), f.count = std::uint32_t(count);
  f.x = x.data, f.y = y.data, f.x_dtype = x.dtype(), f.y_dtype = y.dtype();
  f.number = double(count), f.root = false, f.p = nullptr, f.p_step = 0, f.centre = 0;
  f.packs =
      f.reduced.rank == 1 && f.reduced.x[0] == size_of(f.x_dtype) && reinterpret_cast<std::uintptr_t>(f.x) % 16 == 0;
  for (int d = 0; d < f.kept.rank; ++d) f.packs = f.packs && f.kept.x[d] % 16 == 0;
  return nullptr;
}
Failed launch_fold(Context& c, FoldFn* fn, FoldArguments& f) {
  if (!f.outputs) return nullptr;
  const OnDevice on(c.device.index);
  const std::int64_t kept = f.kept.rank ? std::abs(f.kept.x[f.kept.rank - 1]) : INT64_MAX;
  const std::int64_t inner = f.reduced.rank ? std::abs(f.reduced.x[f.reduced.rank - 1]) : 0;
  return fn(f, kept < inner && f.count > 1, current_stream(c.device.index), c.device.index);
}

// Kernels know the computing dtype and its halves; what is neither goes through memory of its own.
Failed prepared(View& x, DType computed, Spec& own, Scratch& scratch) {
  if (is_read(x.dtype(), computed)) return nullptr;
  own = Spec::dense(computed, x.spec->sizes(), x.spec->device);
  View copy{nullptr, &own};
  if (Failed f = scratch.take(own.bytes(), &copy.data)) return f;
  if (Failed f = assign(copy, x)) return f;
  x = copy;
  return nullptr;
}

void fold(Context& c, ReduceOp row, DType computed, unsigned reduced, View x, View p, View y) {
  Scratch scratch(c.device.index, current_stream(c.device.index));
  Spec own_x, own_y;
  View result = y;
  if (Failed e = prepared(x, computed, own_x, scratch)) return c.fail(e);
  if (!is_read(y.dtype(), computed)) {
    own_y = Spec::dense(computed, y.spec->sizes(), y.spec->device);
    result.spec = &own_y;
    if (Failed e = scratch.take(own_y.bytes(), &result.data)) return c.fail(e);
  }
  FoldArguments f;
  if (Failed e = arrange(reduced, x, result, f)) return c.fail(e);
  if (p && p.spec->device.is_cpu()) f.centre = computed == DType::float64 ? *p.as<double>() : double(*p.as<float>());
  else if (p) f.p = p.data, f.p_step = p.numel() > 1;
  c.fail(launch_fold(c, fold_of(row, computed), f));
  if (result.data != y.data) c.fail(assign(y, result));
}

Spec results_of(DType dtype, const View& y) { return Spec::dense(dtype, y.spec->sizes(), y.spec->device); }

// Where one pass does not do: the first element of each result is the pilot, near enough to the mean for the distances
// from it to have no large part in common. What rounding takes from the mean (of numbers around 10^6 a float holds
// 0.03) the spread around the rounded one has too much, times n and squared.
Failed moments_about_pilots(Context& c, const FoldArguments& f, unsigned reduced, const View& x, const View& centre,
                            Scratch& scratch, cudaStream_t stream) {
  const DType computed = centre.dtype();
  View rests = centre, spread = centre;
  for (View* v : {&rests, &spread})
    if (Failed e = scratch.take(centre.spec->bytes(), &v->data)) return e;
  FoldArguments g;
  if (Failed e = arrange(reduced, x, rests, g)) return e;
  if (f.count) first_elements(f, computed, centre.data, stream);
  g.p = centre.data, g.p_step = 1;
  if (Failed e = launch_fold(c, fold_of<sum_dev_fold>(computed), g)) return e;
  settle_means(f, computed, centre.data, rests.data, stream);
  if (Failed e = arrange(reduced, x, spread, g)) return e;
  g.p = centre.data, g.p_step = 1;
  if (Failed e = launch_fold(c, fold_of<sum_sq_dev_fold>(computed), g)) return e;
  deliver_spread(f, computed, spread.data, rests.data, stream);
  return launched(c.device.index);
}

void moments(Context& c, double correction, bool root, unsigned reduced, View x, View y, View mean) {
  const DType computed = accumulation(x.dtype());
  const int index = c.device.index;
  const cudaStream_t stream = current_stream(index);
  Scratch scratch(index, stream);
  const Spec dense = results_of(computed, y);
  View centre{nullptr, &dense};
  if (Failed e = scratch.take(dense.bytes(), &centre.data)) return c.fail(e);
  FoldArguments f;
  if (Failed e = arrange(reduced, x, y, f)) return c.fail(e);
  f.number = std::max(0.0, double(f.count) - correction), f.root = root;
  if (!f.outputs) return;
  const OnDevice on(index);
  if (moments_in_one_pass(f, computed, centre.data, stream)) c.fail(launched(index));
  else c.fail(moments_about_pilots(c, f, reduced, x, centre, scratch, stream));
  if (mean) c.fail(assign(mean, centre));
}

template <class N> __global__ void finite_or_zero(N* p, std::uint32_t n) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n && !(p[i] - p[i] == N(0))) p[i] = p[i] != p[i] ? p[i] : N(0);
}
void logsumexp(Context& c, unsigned reduced, View x, View y) {
  const DType computed = accumulation(x.dtype());
  const cudaStream_t stream = current_stream(c.device.index);
  Scratch scratch(c.device.index, stream);
  const Spec dense = results_of(computed, y);
  View centre{nullptr, &dense};
  if (Failed e = scratch.take(dense.bytes(), &centre.data)) return c.fail(e);
  FoldArguments f;
  if (Failed e = arrange(reduced, x, centre, f)) return c.fail(e);
  if (Failed e = launch_fold(c, fold_of<amax_fold>(computed), f)) return c.fail(e);
  if (f.outputs) {
    const OnDevice on(c.device.index);
    const std::uint32_t blocks = (f.outputs + kThreads - 1) / kThreads;
    if (computed == DType::float64) finite_or_zero<<<blocks, kThreads, 0, stream>>>(centre.as<double>(), f.outputs);
    else finite_or_zero<<<blocks, kThreads, 0, stream>>>(centre.as<float>(), f.outputs);
  }
  if (Failed e = arrange(reduced, x, y, f)) return c.fail(e);
  f.p = centre.data, f.p_step = 1;
  c.fail(launch_fold(c, fold_of<sum_exp_fold>(computed), f));
}

}  // namespace

const reduce_kernels* reduce() {
  static constexpr reduce_kernels table{.fold = fold, .extreme = extreme, .moments = moments, .logsumexp = logsumexp};
  return &table;
}

}  // namespace neura::cuda

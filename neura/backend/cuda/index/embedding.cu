// Embedding: rows of a table are read, and their gradients added, by the kernels of indexing.
#include "neura/backend/kernels/embedding.h"

#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/cuda/runtime/memory.cuh"
#include "neura/backend/cuda/runtime/report.h"
#include "neura/backend/cuda/runtime/scratch.h"
#include "neura/backend/kernels/index.h"

namespace neura::cuda {

const index_kernels* index();

namespace {

struct Flat {  // [n] numbers and [n, width] elements of a row each
  Spec numbers, rows;
  Flat(const View& indices, const View& all, std::int64_t width)
      : numbers(Spec::dense(DType::int64, Shape{indices.numel()}, indices.spec->device)),
        rows(Spec::dense(all.dtype(), Shape{indices.numel(), width}, all.spec->device)) {}
};

void look_up(Context& c, View indices, View weight, View out) {
  const Flat flat(indices, out, weight.size(1));
  index()->select(c, weight, {indices.data, &flat.numbers}, {out.data, &flat.rows}, 0);
}

void embedding_backward(Context& c, View g, View indices, std::int64_t padding, bool by_frequency, View gw) {
  if (!gw.numel()) return;
  const OnDevice on(c.device.index);
  const cudaStream_t stream = current_stream(c.device.index);
  const auto clear = [&](char* from, std::size_t bytes) {
    c.fail(failed(cudaMemsetAsync(from, 0, bytes, stream), "embedding"));
  };
  clear(gw.data, gw.spec->bytes());
  const Flat flat(indices, g, gw.size(1));
  index()->write(c, gw, {indices.data, &flat.numbers}, {g.data, &flat.rows}, 0,
                 {by_frequency ? ScatterReduce::mean : ScatterReduce::add, false});
  const std::size_t row = std::size_t(gw.size(1) * size_of(gw.dtype()));
  if (padding >= 0 && padding < gw.size(0)) clear(gw.data + std::size_t(padding) * row, row);
}

__global__ void __launch_bounds__(kThreads)
    set_ones(const std::int64_t* ids, std::int64_t n, std::int64_t classes, std::int64_t* out, Reporter reporter) {
  const std::int64_t i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n && reporter.check(ids[i], classes)) out[i * classes + ids[i]] = 1;
}
void one_hot(Context& c, View indices, View out) {
  if (!indices.numel()) return;
  const OnDevice on(c.device.index);
  const cudaStream_t stream = current_stream(c.device.index);
  Reporter reporter;
  if (Failed f = reporter_of(c, &reporter)) return c.fail(f);
  c.fail(failed(cudaMemsetAsync(out.data, 0, out.spec->bytes(), stream), "one_hot"));
  const std::int64_t n = indices.numel();
  set_ones<<<unsigned((n + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      indices.as<std::int64_t>(), n, out.size(out.rank() - 1), out.as<std::int64_t>(), reporter);
  c.fail(launched(c.device.index));
}

struct Table {
  char* data;
  DType dtype;
  std::int64_t row_bytes, rows, width, n;
  const std::int64_t* ids;
  unsigned* taken;  // of each row: the first thread that reads its index scales it
  double most, p;
  Reporter reporter;
};
template <class N> __global__ void __launch_bounds__(kThreads) shrink(const __grid_constant__ Table t) {
  const std::int64_t i = std::int64_t(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  const int lane = int(threadIdx.x % 32);
  if (i >= t.n) return;
  const std::int64_t id = t.ids[i];
  bool mine = false;
  if (lane == 0) mine = t.reporter.check(id, t.rows) && atomicExch(t.taken + id, 1u) == 0;
  if (!__shfl_sync(~0u, mine, 0)) return;
  char* row = t.data + id * t.row_bytes;
  const bool largest = isinf(t.p);
  double norm = 0;
  for (std::int64_t k = lane; k < t.width; k += 32) {
    const double a = ::fabs(double(load_simple<N>(row, t.dtype, std::uint32_t(k))));
    if (largest) norm = norm < a ? a : norm;
    else norm += t.p == 2 ? a * a : t.p == 1 ? a : ::pow(a, t.p);
  }
  norm = across_warp(norm, [&](double a, double b) { return largest ? (a < b ? b : a) : a + b; });
  norm = __shfl_sync(~0u, norm, 0);
  if (!largest) norm = ::pow(norm, 1 / t.p);
  if (!(norm > t.most)) return;
  const N scale = N(t.most / (norm + 1e-7));
  for (std::int64_t k = lane; k < t.width; k += 32)
    store_simple(row, t.dtype, std::uint32_t(k), load_simple<N>(row, t.dtype, std::uint32_t(k)) * scale);
}
void renormalize(Context& c, View weight, View indices, double most, double p) {
  const std::int64_t rows = weight.size(0), width = weight.size(1), n = indices.numel();
  if (!n) return;
  if (width >> 32 || n >> 31)
    return c.fail(fail(DeviceFailure::absent, "expected fewer than 2^31 indices on cuda; look them up in parts"));
  const OnDevice on(c.device.index);
  const cudaStream_t stream = current_stream(c.device.index);
  Scratch scratch(c.device.index, stream);
  Table t{weight.data,
          weight.dtype(),
          width * size_of(weight.dtype()),
          rows,
          width,
          n,
          indices.as<std::int64_t>(),
          nullptr,
          most,
          p,
          {}};
  if (Failed f = reporter_of(c, &t.reporter)) return c.fail(f);
  if (Failed f = scratch.take(std::size_t(rows) * sizeof *t.taken, &t.taken)) return c.fail(f);
  c.fail(failed(cudaMemsetAsync(t.taken, 0, std::size_t(rows) * sizeof *t.taken, stream), "embedding"));
  const unsigned blocks = unsigned((n + kThreads / 32 - 1) / (kThreads / 32));
  if (weight.dtype() == DType::float64) shrink<double><<<blocks, kThreads, 0, stream>>>(t);
  else if (bit(weight.dtype()) & (dtypes::halves | bit(DType::float32)))
    shrink<float><<<blocks, kThreads, 0, stream>>>(t);
  else
    c.fail(
        fail(DeviceFailure::absent, "expected a floating weight, got %s; convert it with .to()", name(weight.dtype())));
  c.fail(launched(c.device.index));
}

}  // namespace

const embedding_kernels* embedding() {
  static constexpr embedding_kernels table{
      .embedding = look_up, .embedding_backward = embedding_backward, .one_hot = one_hot, .renormalize = renormalize};
  return &table;
}

}  // namespace neura::cuda

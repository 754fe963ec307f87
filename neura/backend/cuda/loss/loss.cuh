// What the kernels of the losses share: sums over samples, in an order that depends on sizes alone, and what an operand
// must be before they read it.
#pragma once
#include <algorithm>

#include "neura/backend/cuda/pointwise/execute.h"
#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/cuda/pointwise/floating.cuh"
#include "neura/backend/cuda/runtime/memory.cuh"
#include "neura/backend/cuda/runtime/report.h"
#include "neura/backend/cuda/runtime/scratch.h"
#include "neura/backend/kernels/loss.h"

namespace neura::cuda {

constexpr int kMost = 1024;  // threads of a block
template <class M> constexpr int kLossPack = int(16 / sizeof(M));

// What all threads of a block have, combined; thread 0 has it. Every thread calls it, once for each room.
template <class T, class F> __device__ T across_block(T a, T* room, const F& combine) {
  a = across_warp(a, combine);
  if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = a;
  __syncthreads();
  if (threadIdx.x == 0)
    for (std::uint32_t w = 1; w < blockDim.x / 32; ++w) a = combine(a, room[w]);
  return a;
}

struct Totals {
  double loss, weight;
  __device__ Totals operator+(const Totals& o) const { return {loss + o.loss, weight + o.weight}; }
};
struct Scalars {       // where a loss goes that is one number
  char *loss, *total;  // null: not wanted
  DType loss_dtype, total_dtype;
  bool mean;
  __device__ void deliver(const Totals& t) const {
    if (loss) store_other(loss, loss_dtype, mean ? t.loss / t.weight : t.loss);
    if (total) store_other(total, total_dtype, t.weight);
  }
};
// The sums of blocks become those of all.
Failed finish(const Totals* parts, std::uint32_t count, const Scalars&, cudaStream_t);

// Dense, of this dtype: itself, or a copy in scratch memory.
inline Failed dense(View& v, DType d, Spec& own, Scratch& scratch) {
  if (!v || (v.dtype() == d && v.spec->contiguous)) return nullptr;
  own = Spec::dense(d, v.spec->sizes(), v.spec->device);
  View copy{nullptr, &own};
  if (Failed f = scratch.take(own.bytes(), &copy.data)) return f;
  if (Failed f = assign(copy, v)) return f;
  v = copy;
  return nullptr;
}
template <class N> struct Scores {  // [samples / inner, classes, inner]
  const char* x;
  char* gx;                // dense
  std::int64_t row, step;  // from sample to sample where inner is 1, from class to class
  std::uint32_t samples, classes, inner;
  const std::int64_t* target;
  const N *weight, *weights;  // of each class, or null; their sum, where it is needed
  std::int64_t ignore;
  N smoothing, share;  // share: of each class
  N *most, *logs;
  char* values;  // of each sample
  DType values_dtype, g_dtype;
  Scalars to;
  const char* g;  // one, or one for each sample
  const N* total;
  bool each;  // g, of samples
  Reporter report;

  __device__ std::int64_t target_of(std::uint32_t i) const {  // -1: none
    const std::int64_t t = target[i];
    return t != ignore && report.check(t, classes) ? t : -1;
  }
  __device__ N weight_of(std::int64_t t) const { return weight ? weight[t] : N(1); }
  // Where sample i's scores begin, in elements.
  __device__ std::int64_t begin(std::uint32_t i) const {
    if (inner == 1) return i * row;
    return std::int64_t(i / inner) * classes * inner + i % inner;
  }
  __device__ Totals totals() const {  // of this thread's samples
    Totals t{};
    for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < samples; i += gridDim.x * blockDim.x) {
      t.loss += double(load_simple<N>(values, values_dtype, i));
      if (const std::int64_t c = target[i]; c != ignore && c >= 0 && c < classes) t.weight += double(weight_of(c));
    }
    return t;
  }
};

template <class N> __device__ N incoming(const Scores<N>& s, std::uint32_t i) {
  const N g = load_simple<N>(s.g, s.g_dtype, s.each ? i : 0);
  return s.to.mean ? g / *s.total : g;
}
template <class N> __global__ void __launch_bounds__(kMost)
    sum_samples(const __grid_constant__ Scores<N> s, Totals* parts) {
  __shared__ Totals room[32];
  const Totals t = across_block(s.totals(), room, [](const Totals& a, const Totals& b) { return a + b; });
  if (threadIdx.x) return;
  if (parts) parts[blockIdx.x] = t;
  else s.to.deliver(t);
}
template <class N> __global__ void __launch_bounds__(kMost) sum_weights(const N* w, std::uint32_t n, N* to) {
  __shared__ double room[32];
  double sum = 0;
  for (std::uint32_t i = threadIdx.x; i < n; i += blockDim.x) sum += double(w[i]);
  sum = across_block(sum, room, [](double a, double b) { return a + b; });
  if (threadIdx.x == 0) *to = N(sum);
}

struct LossCall {  // what the entries have in common
  explicit LossCall(Context& context) : c(context) {}
  Context& c;
  const OnDevice on{c.device.index};
  const cudaStream_t stream = current_stream(c.device.index);
  Scratch scratch{c.device.index, stream};
  Spec own[3];

  // `rows`: a row's scores must be contiguous.
  template <class N> Failed prepare(View x, View target, View weight, const LossOptions& o, bool rows, Scores<N>& s) {
    constexpr DType d = sizeof(N) == 8 ? DType::float64 : DType::float32;
    const int dim = x.rank() > 1;
    std::int64_t inner = 1;
    for (int k = 2; k < x.rank(); ++k) inner *= x.size(k);
    const std::int64_t samples = target.numel(), classes = x.size(dim);
    if (samples >> 31 || classes >> 31 || inner >> 31)
      return fail(DeviceFailure::absent, "expected fewer than 2^31 samples and classes on cuda; call it in parts");
    if (inner > 1 || (rows && classes > 1 && x.stride(dim) != 1))
      if (Failed f = dense(x, x.dtype(), own[0], scratch)) return f;
    if (Failed f = dense(target, DType::int64, own[1], scratch)) return f;
    if (Failed f = dense(weight, d, own[2], scratch)) return f;
    if (Failed f = reporter_of(c, &s.report)) return f;
    s.x = x.data, s.row = x.rank() > 1 ? x.stride(0) : 0, s.step = inner > 1 ? inner : x.stride(dim);
    s.samples = std::uint32_t(samples), s.classes = std::uint32_t(classes), s.inner = std::uint32_t(inner);
    s.target = target.as<std::int64_t>(), s.weight = weight.as<N>(), s.weights = nullptr;
    s.ignore = o.ignore, s.smoothing = N(o.smoothing), s.share = N(o.smoothing / double(classes));
    s.to.mean = o.reduction == Reduction::mean;
    if (!o.smoothing || !weight) return nullptr;
    N* sum = nullptr;
    if (Failed f = scratch.take(sizeof(N), &sum)) return f;
    sum_weights<<<1, kMost, 0, stream>>>(s.weight, s.classes, sum);
    s.weights = sum;
    return nullptr;
  }
  // Where the samples' losses go, and what comes of them.
  template <class N> Failed results(View loss, char* total, const LossOptions& o, Scores<N>& s) {
    constexpr DType d = sizeof(N) == 8 ? DType::float64 : DType::float32;
    const bool each = o.reduction == Reduction::none;
    s.values = loss.data, s.values_dtype = each ? loss.dtype() : d;
    s.to.loss = each ? nullptr : loss.data, s.to.loss_dtype = loss.dtype();
    s.to.total = total, s.to.total_dtype = d;
    return each ? nullptr : scratch.take(s.samples * sizeof(N), &s.values);
  }
  template <class N> void incoming(View g, const N* total, const LossOptions& o, View gx, Scores<N>& s) {
    s.g = g.data, s.g_dtype = g.dtype(), s.each = o.reduction == Reduction::none, s.total = total, s.gx = gx.data;
  }
  template <class N> Failed sum(const Scores<N>& s) {
    constexpr std::uint32_t each = kMost * 16;
    const std::uint32_t blocks = std::clamp((s.samples + each - 1) / each, 1u, 256u);
    Totals* parts = nullptr;
    if (blocks > 1)
      if (Failed f = scratch.take(blocks * sizeof(Totals), &parts)) return f;
    sum_samples<<<blocks, kMost, 0, stream>>>(s, parts);
    return parts ? finish(parts, blocks, s.to, stream) : nullptr;
  }
};

inline std::uint32_t blocks_of(std::uint32_t n, std::uint32_t of) { return (n + of - 1) / of; }
// The dtype of the scores chooses a function; what its launches say comes last.
#define NEURA_LOSS_BY_DTYPE(scores, f, ...)                                                      \
  c.fail(with_floating(scores.dtype(), [&]<class M>() -> Failed { return f<M>(__VA_ARGS__); })); \
  c.fail(launched(c.device.index))
void nll_loss(Context&, View x, View target, View weight, const LossOptions&, View loss, View total);
void nll_loss_backward(Context&, View g, View target, View weight, View total, const LossOptions&, View gx);
void element_loss(Context&, View x, View target, ElementLoss, double parameter, Reduction, View loss);
void element_loss_backward(Context&, View g, View x, View target, ElementLoss, double parameter, Reduction, View gx);

}  // namespace neura::cuda

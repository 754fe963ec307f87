// Connectionist temporal classification: a block for each sample, a thread for each state of its paths, one time after
// the other. All sums are of logarithms, in an order that depends on sizes alone.
#include <cmath>

#include "neura/backend/cuda/loss/loss_ctc.h"
#include "neura/backend/cuda/runtime/launch.h"
#include "neura/backend/cuda/runtime/report.h"
#include "neura/backend/cuda/runtime/scratch.h"

namespace neura::cuda {
namespace {

using std::int64_t;
constexpr int kMostThreads = 1024;

template <class T> __device__ constexpr T never() { return -T(INFINITY); }

template <class T> struct Ctc {
  const T* x;
  int64_t step_time, step_sample;  // of x, in elements
  int64_t most_times, samples, classes, most_labels, blank;
  const int64_t *targets, *times, *labels;
  T* rows;  // 2 of states for each sample; null: they are in shared memory
  Reporter reporter;
  __device__ __host__ int64_t width() const { return 2 * most_labels + 1; }
};

// The sample of this block.
template <class T> struct Sample {
  const Ctc<T>& o;
  const int64_t *targets, times, states;
  const T* x;
  T* rows;
  __device__ Sample(const Ctc<T>& all, T* shared)
      : o(all),
        targets(all.targets + blockIdx.x * all.most_labels),
        times(all.times[blockIdx.x]),
        states(2 * all.labels[blockIdx.x] + 1),
        x(all.x + blockIdx.x * all.step_sample),
        rows(all.rows ? all.rows + blockIdx.x * 2 * all.width() : shared) {}
  __device__ bool valid() const {
    bool fine = true;
    if (threadIdx.x == 0)
      fine = o.reporter.check(times, o.most_times + 1) && o.reporter.check(o.labels[blockIdx.x], o.most_labels + 1);
    if (!__syncthreads_and(fine)) return false;
    for (int64_t i = threadIdx.x; i < states / 2; i += blockDim.x)
      fine = o.reporter.check(targets[i], o.classes) && fine;
    return __syncthreads_and(fine);
  }
  __device__ int64_t label(int64_t state) const { return state % 2 ? targets[state / 2] : o.blank; }
  // True if a path may come to `state` from two before.
  __device__ bool passes(int64_t state) const { return state >= 2 && label(state) != label(state - 2); }
  __device__ T score(int64_t time, int64_t state) const { return x[time * o.step_time + label(state)]; }
};

template <class T> __device__ T sum_of(T a, T b, T c) {
  const T most = max(a, max(b, c));
  return most == never<T>() ? most : most + log(exp(a - most) + exp(b - most) + exp(c - most));
}

template <class T> __global__ void __launch_bounds__(kMostThreads)
    forward(const __grid_constant__ Ctc<T> o, T* loss, T* alphas) {
  extern __shared__ __align__(16) char memory[];
  const Sample<T> s(o, reinterpret_cast<T*>(memory));
  if (!s.valid()) return;
  const int64_t width = o.width();
  for (int64_t t = 0; t < s.times; ++t) {
    T *const row = s.rows + t % 2 * width, *const before = s.rows + (t + 1) % 2 * width;
    for (int64_t i = threadIdx.x; i < s.states; i += blockDim.x) {
      T here = i < 2 ? T(0) : never<T>();
      if (t) here = sum_of(before[i], i > 0 ? before[i - 1] : never<T>(), s.passes(i) ? before[i - 2] : never<T>());
      row[i] = here + s.score(t, i);
      if (alphas) alphas[(blockIdx.x * o.most_times + t) * width + i] = row[i];
    }
    __syncthreads();
  }
  if (threadIdx.x) return;
  const T* const row = s.rows + (s.times + 1) % 2 * width;
  if (!s.times) loss[blockIdx.x] = s.states == 1 ? T(0) : -never<T>();
  else loss[blockIdx.x] = -sum_of(row[s.states - 1], s.states > 1 ? row[s.states - 2] : never<T>(), never<T>());
}

template <class T> struct Incoming {
  const T *g, *loss, *alphas;
  int64_t step;  // of g
  bool zero_infinity;
};

// g exp(x) of all classes: what each would be without a target.
template <class T> __global__ void __launch_bounds__(kGridThreads)
    exponentials(const __grid_constant__ Ctc<T> o, const __grid_constant__ Incoming<T> in, T* gx) {
  const int64_t count = o.most_times * o.samples * o.classes;
  for (int64_t i = int64_t(blockIdx.x) * kGridThreads + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * kGridThreads) {
    const int64_t c = i % o.classes, n = i / o.classes % o.samples, t = i / (o.classes * o.samples);
    T value = 0;
    if (t < o.times[n]) {
      if (in.loss[n] == -never<T>()) value = in.zero_infinity ? T(0) : T(NAN);
      else value = in.g[n * in.step] * exp(o.x[t * o.step_time + n * o.step_sample + c]);
    }
    gx[i] = value;
  }
}

// next[i]: the state after i with i's label, or -1. first[i]: is i the first of its label, and no blank?
template <class T> __device__ void link_labels(const Sample<T>& s, int* next, int* first) {
  for (int64_t i = threadIdx.x; i < s.states; i += blockDim.x) {
    const int64_t label = s.label(i);
    next[i] = -1, first[i] = label != s.o.blank;
    if (label == s.o.blank) continue;
    for (int64_t k = 1; k < i; k += 2)
      if (s.label(k) == label) {
        first[i] = 0;
        break;
      }
    for (int64_t k = i + 2; k < s.states; k += 2)
      if (s.label(k) == label) {
        next[i] = int(k);
        break;
      }
  }
}

// The gradient of the classes that paths are in at one time, less their part of all paths: of the blank by the first
// warp, of a label by the thread of its first state.
template <class T> __device__ void take_off(const Sample<T>& s, int64_t t, const T* shares, const int* next,
                                            const int* first, T g, T* gx) {
  const T* const x = s.x + t * s.o.step_time;
  for (int64_t i = threadIdx.x; i < s.states; i += blockDim.x) {
    if (!first[i]) continue;
    T sum = 0;
    for (int64_t k = i; k >= 0; k = next[k]) sum += shares[k];
    const int64_t label = s.label(i);
    gx[label] = g * (exp(x[label]) - sum);
  }
  if (threadIdx.x >= 32) return;
  T sum = 0;
  for (int64_t i = threadIdx.x; i < s.states; i += 32)
    if (s.label(i) == s.o.blank) sum += shares[i];
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x == 0) gx[s.o.blank] = g * (exp(x[s.o.blank]) - sum);
}

template <class T> __global__ void __launch_bounds__(kMostThreads)
    backward(const __grid_constant__ Ctc<T> o, const __grid_constant__ Incoming<T> in, T* all_shares, int* links,
             T* gx) {
  extern __shared__ __align__(16) char memory[];
  const Sample<T> s(o, reinterpret_cast<T*>(memory));
  if (!s.valid()) return;
  const int64_t n = blockIdx.x, width = o.width();
  const T loss = in.loss[n], g = in.g[n * in.step];
  if (loss == -never<T>()) return;
  T* const shares = all_shares + n * width;
  int *const next = links + n * 2 * width, *const first = next + width;
  link_labels(s, next, first);
  for (int64_t turn = 0; turn < s.times; ++turn) {  // row: the logarithm of all ends of paths from each state
    const int64_t t = s.times - 1 - turn;
    T *const row = s.rows + turn % 2 * width, *const after = s.rows + (turn + 1) % 2 * width;
    for (int64_t i = threadIdx.x; i < s.states; i += blockDim.x) {
      T there = i + 2 < s.states ? never<T>() : T(0);
      if (turn)
        there = sum_of(after[i], i + 1 < s.states ? after[i + 1] : never<T>(),
                       i + 2 < s.states && s.passes(i + 2) ? after[i + 2] : never<T>());
      const T score = s.score(t, i), both = in.alphas[(n * o.most_times + t) * width + i] + (there + score);
      row[i] = there + score;
      shares[i] = both == never<T>() ? T(0) : exp(both - score + loss);
    }
    __syncthreads();
    take_off(s, t, shares, next, first, g, gx + (t * o.samples + n) * o.classes);
    __syncthreads();
  }
}

template <class T> struct Launch {
  Ctc<T> o;
  Grid grid;
};
constexpr std::size_t kShared = 40 << 10;

template <class T> Failed prepare(Context& c, const CtcOperands& v, int64_t blank, Scratch& scratch, Launch<T>* l) {
  Ctc<T>& o = l->o;
  o.x = v.x.as<T>(), o.step_time = v.x.stride(0), o.step_sample = v.x.stride(1);
  o.most_times = v.x.size(0), o.samples = v.x.size(1), o.classes = v.x.size(2);
  o.most_labels = v.targets.size(1), o.blank = blank, o.rows = nullptr;
  o.targets = v.targets.as<int64_t>(), o.times = v.times.as<int64_t>(), o.labels = v.labels.as<int64_t>();
  if (Failed f = reporter_of(c, &o.reporter)) return f;
  const int64_t width = o.width();
  if (width > INT32_MAX) return fail(DeviceFailure::absent, "expected targets of fewer than 2^30 labels on cuda");
  l->grid.x = o.samples, l->grid.threads = unsigned(std::min<int64_t>(kMostThreads, (width + 31) / 32 * 32));
  const std::size_t bytes = 2 * std::size_t(width) * sizeof(T);
  if (bytes <= kShared) return l->grid.shared = bytes, nullptr;
  return scratch.take(std::size_t(o.samples) * bytes, &o.rows);
}

template <class T>
Failed loss_of(Context& c, const CtcOperands& v, int64_t blank, const View& loss, const View& alpha) {
  const int index = c.device.index;
  cudaStream_t const stream = current_stream(index);
  Scratch scratch(index, stream);
  Launch<T> l;
  if (Failed f = prepare(c, v, blank, scratch, &l)) return f;
  launch_kernel(forward<T>, l.grid, stream, l.o, loss.as<T>(), alpha ? alpha.as<T>() : nullptr);
  return launched(index);
}

template <class T> Failed gradient_of(Context& c, const View& g, const CtcOperands& v, const View& loss,
                                      const View& alpha, int64_t blank, bool zero_infinity, const View& gx) {
  const int index = c.device.index;
  cudaStream_t const stream = current_stream(index);
  Scratch scratch(index, stream);
  Launch<T> l;
  T* shares = nullptr;
  int* links = nullptr;
  if (Failed f = prepare(c, v, blank, scratch, &l)) return f;
  const auto room = std::size_t(l.o.samples * l.o.width());
  if (Failed f = scratch.take(room * sizeof(T), &shares)) return f;
  if (Failed f = scratch.take(2 * room * sizeof(int), &links)) return f;
  const Incoming<T> in{g.as<T>(), loss.as<T>(), alpha.as<T>(), g.stride(0), zero_infinity};
  launch_kernel(exponentials<T>, grid_striding(gx.numel()), stream, l.o, in, gx.as<T>());
  launch_kernel(backward<T>, l.grid, stream, l.o, in, shares, links, gx.as<T>());
  return launched(index);
}

}  // namespace

void ctc_loss(Context& c, const CtcOperands& o, int64_t blank, View loss, View alpha) {
  const OnDevice on(c.device.index);
  c.fail((o.x.dtype() == DType::float64 ? loss_of<double> : loss_of<float>)(c, o, blank, loss, alpha));
}
void ctc_loss_backward(Context& c, View g, const CtcOperands& o, View loss, View alpha, int64_t blank,
                       bool zero_infinity, View gx) {
  const OnDevice on(c.device.index);
  c.fail((o.x.dtype() == DType::float64 ? gradient_of<double> : gradient_of<float>)(c, g, o, loss, alpha, blank,
                                                                                    zero_infinity, gx));
}

}  // namespace neura::cuda

// Sums by index in an arbitrary order of threads, by atomics: of integers, and of floats unless results have to be the
// same each time.
#include "neura/backend/cuda/index/index_put.cuh"
#include "neura/backend/cuda/runtime/precision.h"

namespace neura::cuda {
namespace {

struct Terms {
  Walk<4> walk;
  IndexOperand index;
  const char* source;
  char* out;
  std::int64_t step, bound;
  Reporter reporter;
};
// Sums whose old values are not used: what atomicAdd becomes here would send the old values back.
#define ADD_TO(T, type, constraint)                                                                                 \
  __device__ inline void add_to(T* p, T v) {                                                                        \
    asm volatile("red.global.add." type " [%0], %1;" ::"l"(__cvta_generic_to_global(p)), constraint(v) : "memory"); \
  }
ADD_TO(float, "f32", "f")
ADD_TO(double, "f64", "d")
ADD_TO(unsigned, "u32", "r")
ADD_TO(unsigned long long, "u64", "l")
#undef ADD_TO
template <class R> __device__ void add_to(complex<R>* p, complex<R> v) { add_to(&p->re, v.re), add_to(&p->im, v.im); }

constexpr int kEach = 4;
template <class E, class I> __global__ void __launch_bounds__(kThreads) add_kernel(const __grid_constant__ Terms a) {
  const I first = I(blockIdx.x) * (kThreads * kEach) + threadIdx.x, numel = I(a.walk.numel);
  std::int64_t at[kEach][4], index[kEach];
  E term[kEach];
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const I i = first + I(k * kThreads);
    if (i >= numel) break;
    locate(a.walk, i, at[k]), index[k] = a.index[at[k][0]];
    term[k] = *reinterpret_cast<const E*>(a.source + at[k][1]);
  }
#pragma unroll
  for (int k = 0; k < kEach; ++k)
    if (first + I(k * kThreads) < numel && a.reporter.check(index[k], a.bound))
      add_to(reinterpret_cast<E*>(a.out + at[k][2] + index[k] * a.step), term[k]);
}
template <class E> void run(const Terms& a, cudaStream_t stream) {
  const unsigned blocks = blocks_for(a.walk.numel, kThreads * kEach);
  if (a.walk.wide()) add_kernel<E, std::uint64_t><<<blocks, kThreads, 0, stream>>>(a);
  else add_kernel<E, std::uint32_t><<<blocks, kThreads, 0, stream>>>(a);
}

}  // namespace

bool adds_in_any_order(const Places& p, DType d, ScatterReduce how) {
  if (how.mode != ScatterReduce::add || !how.include_self || p.depth == 1) return false;
  // Whole rows are added as fast by sorting their indices, and so are very many numbers to very few places.
  if (p.columns.numel >= 32 || p.keyed.numel / 2048 >= p.count) return false;
  const DTypeSet whole = bit(DType::int32) | bit(DType::int64);
  const DTypeSet floats = bit(DType::float32) | bit(DType::float64) | dtypes::complexes;
  return bit(d) & whole || (bit(d) & floats && !deterministic_algorithms());
}
void add_in_any_order(Context& c, const Places& p, const View& out, const View& source) {
  Terms a{p.all, p.indices, source.data, out.data, p.step, p.bound, {}};
  if (Failed f = reporter_of(c, &a.reporter)) return c.fail(f);
  const OnDevice on(c.device.index);
  const cudaStream_t stream = current_stream(c.device.index);
  switch (out.dtype()) {
    case DType::float32:
      run<float>(a, stream);
      break;
    case DType::float64:
      run<double>(a, stream);
      break;
    case DType::complex64:
      run<complex<float>>(a, stream);
      break;
    case DType::complex128:
      run<complex<double>>(a, stream);
      break;
    case DType::int32:
      run<unsigned>(a, stream);
      break;
    default:
      run<unsigned long long>(a, stream);
  }
  c.fail(launched(c.device.index));
}

}  // namespace neura::cuda

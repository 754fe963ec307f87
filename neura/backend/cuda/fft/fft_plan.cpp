// cuFFT: plans are costly to make, so each device keeps those it used last.
#include <cufft.h>
#include <dlfcn.h>

#include <list>
#include <mutex>

#include "neura/backend/cuda/fft/fft.h"
#include "neura/backend/cuda/runtime/capture.h"
#include "neura/backend/cuda/runtime/dynamic_library.h"
#include "neura/backend/cuda/runtime/scratch.h"

namespace neura::cuda {
namespace {

constexpr std::size_t kPlans = 128;  // of a device

#define NEURA_CUFFT_CALLS(X) \
  X(cufftCreate)             \
  X(cufftDestroy)            \
  X(cufftSetAutoAllocation)  \
  X(cufftMakePlanMany64)     \
  X(cufftSetWorkArea)        \
  X(cufftSetStream) X(cufftExecC2C) X(cufftExecZ2Z) X(cufftExecR2C) X(cufftExecD2Z) X(cufftExecC2R) X(cufftExecZ2D)

struct Library {
#define X(name) decltype(&::name) name = nullptr;
  NEURA_CUFFT_CALLS(X)
#undef X
  bool loaded = false;

  Library() {
    void* const library = open_library(Setting::cufft_library, "libcufft.so." NEURA_TEXT(CUFFT_VER_MAJOR));
    loaded = library;
#define X(name) \
  if (loaded) name = reinterpret_cast<decltype(name)>(dlsym(library, #name)), loaded = name;
    NEURA_CUFFT_CALLS(X)
#undef X
  }
};
const Library& cufft() {
  static const Library library;
  return library;
}

Failed failed(cufftResult r, const char* what) {
  if (r == CUFFT_SUCCESS) return nullptr;
  return fail(r == CUFFT_ALLOC_FAILED ? DeviceFailure::memory : DeviceFailure::device, "cuFFT: error %d (%s)", int(r),
              what);
}

struct Plan {
  FftBatch key;
  cufftHandle handle = 0;
  std::size_t workspace = 0;
};

cufftType type_of(const FftBatch& b) {
  constexpr cufftType narrow[] = {CUFFT_C2C, CUFFT_R2C, CUFFT_C2R}, wide[] = {CUFFT_Z2Z, CUFFT_D2Z, CUFFT_Z2D};
  return (b.wide ? wide : narrow)[int(b.kind)];
}

Failed configure(Plan& p) {
  const FftBatch& b = p.key;
  long long n[3], in[3], out[3];
  for (int d = 0; d < b.rank; ++d) n[d] = in[d] = out[d] = b.n[d];
  if (b.kind == FftKind::real) out[b.rank - 1] = n[b.rank - 1] / 2 + 1;
  if (b.kind == FftKind::real_inverse) in[b.rank - 1] = n[b.rank - 1] / 2 + 1;
  if (Failed f = failed(cufft().cufftSetAutoAllocation(p.handle, 0), "a plan")) return f;
  return failed(cufft().cufftMakePlanMany64(p.handle, b.rank, n, in, b.stride_in, b.distance_in, out, b.stride_out,
                                            b.distance_out, type_of(b), b.batch, &p.workspace),
                "a plan");
}

Failed make(const FftBatch& b, Plan* p) {
  const RelaxedCapture relaxed;
  p->key = b;
  if (Failed f = failed(cufft().cufftCreate(&p->handle), "a plan")) return f;
  Failed f = configure(*p);
  if (f) (void)cufft().cufftDestroy(p->handle);  // f says what is wrong
  return f;
}

// Plans of a device, the last used one first. One that is in use is not among them: two threads never share one.
struct PlanCache {
  std::mutex mutex;
  std::list<Plan> plans;
};
PlanCache& plan_cache(int index) {
  static PlanCache* const all = new PlanCache[kDevices];  // never destroyed: the driver may be gone by then
  return all[index];
}

Failed take(int index, const FftBatch& b, std::list<Plan>* one) {
  PlanCache& cache = plan_cache(index);
  {
    const std::lock_guard lock(cache.mutex);
    for (auto p = cache.plans.begin(); p != cache.plans.end(); ++p)
      if (p->key == b) return one->splice(one->begin(), cache.plans, p), nullptr;
  }
  Plan p;
  Failed f = make(b, &p);
  if (f && f->kind == DeviceFailure::memory && !memory::empty_cache()) f = make(b, &p);
  if (!f) one->push_front(p);
  return f;
}
void give(int index, std::list<Plan>& one) {
  PlanCache& cache = plan_cache(index);
  std::list<Plan> old;
  {
    const std::lock_guard lock(cache.mutex);
    cache.plans.splice(cache.plans.begin(), one);
    if (cache.plans.size() > kPlans && !captures(index))  // a plan's end waits for the device
      old.splice(old.begin(), cache.plans, std::prev(cache.plans.end()));
  }
  for (const Plan& p : old)
    (void)cufft().cufftDestroy(p.handle);  // the result of the plan in use does not depend on it
}

template <class T> T* numbers(const char* p) { return reinterpret_cast<T*>(const_cast<char*>(p)); }

cufftResult execute(const Plan& p, bool inverse, const char* x, char* y) {
  using C = cufftComplex;
  using Z = cufftDoubleComplex;
  const Library& l = cufft();
  const int direction = inverse ? CUFFT_INVERSE : CUFFT_FORWARD;
  switch (type_of(p.key)) {
    case CUFFT_C2C:
      return l.cufftExecC2C(p.handle, numbers<C>(x), numbers<C>(y), direction);
    case CUFFT_Z2Z:
      return l.cufftExecZ2Z(p.handle, numbers<Z>(x), numbers<Z>(y), direction);
    case CUFFT_R2C:
      return l.cufftExecR2C(p.handle, numbers<float>(x), numbers<C>(y));
    case CUFFT_D2Z:
      return l.cufftExecD2Z(p.handle, numbers<double>(x), numbers<Z>(y));
    case CUFFT_C2R:
      return l.cufftExecC2R(p.handle, numbers<C>(x), numbers<float>(y));
    case CUFFT_Z2D:
      return l.cufftExecZ2D(p.handle, numbers<Z>(x), numbers<double>(y));
  }
  return CUFFT_INVALID_TYPE;
}

Failed run(int index, const Plan& p, bool inverse, const char* x, char* y) {
  cudaStream_t const stream = current_stream(index);
  Scratch scratch(index, stream);
  char* work = nullptr;
  if (p.workspace)
    if (Failed f = scratch.take(p.workspace, &work)) return f;
  const RelaxedCapture relaxed;  // a first launch may load code
  if (Failed f = failed(cufft().cufftSetStream(p.handle, stream), "the stream")) return f;
  if (work)
    if (Failed f = failed(cufft().cufftSetWorkArea(p.handle, work), "its workspace")) return f;
  return failed(execute(p, inverse, x, y), "a transform");
}

}  // namespace

Failed transform(int index, const FftBatch& b, bool inverse, const char* x, char* y) {
  if (!cufft().loaded)
    return fail(DeviceFailure::absent,
                "expected %s for Fourier transforms on cuda, got no such library; install cuFFT "
                "of the CUDA toolkit, or let NEURA_CUFFT_LIBRARY name it",
                "libcufft.so." NEURA_TEXT(CUFFT_VER_MAJOR));
  std::list<Plan> one;
  if (Failed f = take(index, b, &one)) return f;
  const Failed f = run(index, one.front(), inverse, x, y);
  give(index, one);
  return f;
}

}  // namespace neura::cuda

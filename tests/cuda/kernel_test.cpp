// Kernels given as text on a real device: compiled for it, cached, launched on streams and in graphs.
#include "neura/cuda/kernel.h"

#include "neura/cuda/compile.h"
#include "neura/cuda/graph.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "tests/cuda/device.h"

namespace neura::test {
namespace {

const std::string kSource = R"(
extern "C" __global__ void scale(float* x, float by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
template <class T> __global__ void add(T* out, const T* a, const T* b, long long n) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x)
    out[i] = a[i] + b[i];
}
extern "C" __global__ void turn(float* out, const float* in, int n) {  // around, through shared memory
  extern __shared__ float kept[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) kept[i] = in[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = kept[n - 1 - i];
}
extern "C" __global__ void show(double* out, bool a, signed char b, unsigned char c, short d, unsigned e, long long f,
                                float g, double h) {
  out[0] = a, out[1] = b, out[2] = c, out[3] = d, out[4] = e, out[5] = f, out[6] = g, out[7] = h;
}
)";

class CudaKernels : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (!IsSkipped() && cuda::nvrtc_version().empty()) GTEST_SKIP() << "no NVRTC";
  }
};

TEST_F(CudaKernels, ComputeAndAreFoundAgain) {
  const cuda::CompileCounts before = cuda::compile_counts();
  const cuda::Kernel scale(kSource, "scale"), again(kSource, "scale");
  const cuda::CompileCounts after = cuda::compile_counts();
  EXPECT_EQ(after.compiled + after.read - before.compiled - before.read, 1);
  EXPECT_EQ(after.remembered - before.remembered, 1);
  const Tensor h = randn({100003}), x = there(h);
  const cuda::LaunchSize size{.grid = {(h.numel() + 255) / 256}, .block = {256}};
  scale(size, x, 2.5, h.numel());
  again(size, x, 2, h.numel());
  expect_same(back(x), h * 2.5 * 2);
  for (const DType d : {float32, float64, int32, int64, uint8}) {
    const char* const names[] = {"add<float>", "add<double>", "add<int>", "add<long long>", "add<unsigned char>"};
    const cuda::Kernel add(kSource, names[d == float32 ? 0 : d == float64 ? 1 : d == int32 ? 2 : d == int64 ? 3 : 4]);
    const Tensor a = (rand({5000}) * 50).to(d), b = (rand({5000}) * 50).to(d), out = there(zeros({5000}, {.dtype = d}));
    add({.grid = {4}, .block = {128}}, out, there(a), there(b), 5000);
    expect_same(back(out), a + b);
  }
}

TEST_F(CudaKernels, NumbersBecomeWhatTheParametersAre) {
  const cuda::Kernel show(kSource, "show");
  const Tensor out = zeros({8}, {.dtype = float64, .device = kCuda});
  show({.block = {1}}, out, true, -128, 255, std::int64_t{-32768}, 4294967295u, std::int64_t{-1} << 40, 0.5, 1e300);
  expect_same(back(out),
              tensor({1., -128., 255., -32768., 4294967295., -1099511627776., 0.5, 1e300}, {.dtype = float64}));
}

TEST_F(CudaKernels, UseSharedMemoryUpToWhatTheDeviceHas) {
  const cuda::Kernel turn(kSource, "turn");
  for (const std::int64_t n : {1000, 24000}) {  // 96 kB: more than the usual 48
    const Tensor h = randn({n}), x = there(h), y = there(zeros({n}));
    turn({.block = {1024}, .shared = n * 4}, y, x, n);
    expect_same(back(y), flip(h, Dims(0)));
  }
  const Tensor x = there(zeros({4}));
  EXPECT_THROW(turn({.block = {32}, .shared = 1 << 24}, x, x, 4), CudaError);
  EXPECT_EQ(back(x + 1).sum().item<float>(), 4) << "the device works on";
}

TEST_F(CudaKernels, RunOnTheCurrentStreamAndInGraphs) {
  const cuda::Kernel scale(kSource, "scale");
  const Tensor x = there(ones({1000}));
  cuda::synchronize();
  const cuda::Stream side(kCuda);
  {
    const cuda::StreamGuard on(side);
    for (int i = 0; i < 3; ++i) scale({.grid = {4}, .block = {256}}, x, 2, 1000);
    expect_same(back(x), full({1000}, 8.0));
  }
  const cuda::Kernel first(kSource + "// of its own: loaded by its first launch\n", "scale");
  Tensor y;
  cuda::Graph graph;
  graph.capture([&] {
    y = x * 1;
    first({.grid = {4}, .block = {256}}, y, 3, 1000);
  });
  for (int i = 0; i < 2; ++i) graph.replay();
  expect_same(back(y), full({1000}, 24.0));
}

TEST_F(CudaKernels, MistakesAreSentences) {
  const std::string said = error_of<CudaError>([] { cuda::Kernel("__global__ void f() { int a = oops; }", "f"); });
  EXPECT_NE(said.find("f.cu(1): error: identifier \"oops\" is undefined"), said.npos) << said;
  const cuda::Kernel narrow("__global__ void __launch_bounds__(128) narrow(float* x) { x[threadIdx.x] += 1; }",
                            "narrow");
  const Tensor x = there(zeros({1024}));
  const std::string large = error_of<CudaError>([&] { narrow({.block = {1024}}, x); });
  EXPECT_EQ(large.find("narrow: expected blocks of at most 128 threads"), 0u) << large;
  narrow({.block = {128}}, x);
  EXPECT_EQ(back(x).sum().item<float>(), 128);
}

}  // namespace
}  // namespace neura::test

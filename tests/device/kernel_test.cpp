// Kernels given as text: what compiles and what is said where it does not, the cache, and which arguments are taken.
// The device for tests does what it knows under a kernel's name; the compiler is the real one, where there is one.
#include "neura/cuda/kernel.h"

#include <cstdlib>
#include <filesystem>

#include "neura/autograd/grad_mode.h"
#include "neura/core/file.h"
#include "neura/cuda/compile.h"
#include "neura/cuda/kernel_file.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/shape/view.h"
#include "tests/device/device.h"

namespace neura::test {
namespace {

const std::string kSource = R"(
extern "C" __global__ void scale(float* x, float by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
template <class T> __global__ void fill(T* __restrict__ x, const T value, long long n) {
  for (long long i = threadIdx.x; i < n; i += blockDim.x) x[i] = value;
}
extern "C" __global__ void show(double* out, bool a, signed char b, unsigned char c, short d, unsigned e, long long f,
                                float g, double h) {
  out[0] = a, out[1] = b, out[2] = c, out[3] = d, out[4] = e, out[5] = f, out[6] = g, out[7] = h;
}
struct Pair { int a, b; };
__global__ void takes_a_struct(Pair p) {}
)";
const std::vector<std::string> kHopper = {"--gpu-architecture=sm_90"};  // the device for tests has no architecture

class DeviceKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda::nvrtc_version().empty()) GTEST_SKIP() << "no NVRTC";
  }
};

TEST_F(DeviceKernels, RunWithTensorsAndNumbers) {
  const cuda::Kernel scale(kSource, "scale", kHopper);
  EXPECT_EQ(scale.name(), "scale");
  const Tensor x = arange(5, {.dtype = float32}).to(kDevice);
  const std::int64_t before = host_device().kernels;
  scale({.grid = {1}, .block = {256}}, x, 2.5, x.numel());
  EXPECT_EQ(host_device().kernels - before, 1);
  expect_there(x, arange(5, {.dtype = float32}) * 2.5);
  scale({.grid = {0}, .block = {256}}, x, 2, 0);  // no blocks: nothing to do
  EXPECT_EQ(host_device().kernels - before, 1);
  const cuda::Kernel same = scale;
  same({.block = {1}}, x.impl()->data(), 2, 1);  // an address, as the program has it
  EXPECT_EQ(x.slice(0, 0, 1).item<float>(), 0);

  const cuda::Kernel fill(kSource, "fill<double>", kHopper), integers(kSource, "fill<int>", kHopper);
  const Tensor y = zeros({3}, {.dtype = float64, .device = kOther}),
               z = zeros({3}, {.dtype = int32, .device = kDevice});
  fill({.block = {32}}, y, 7, 3);  // a whole number for a double; on its tensors' device
  integers({.block = {32}}, z, -7, 3u);
  expect_same(y.to("cpu"), full({3}, 7.0, {.dtype = float64}));
  expect_same(z.to("cpu"), full({3}, -7, {.dtype = int32}));
}

TEST_F(DeviceKernels, NumbersBecomeWhatTheParametersAre) {
  const cuda::Kernel show(kSource, "show", kHopper);
  const Tensor out = zeros({8}, {.dtype = float64, .device = kDevice});
  show({.block = {1}}, out, true, -128, 255, std::int64_t{-32768}, 4294967295u, std::int64_t{-1} << 40, 0.5, 1e300);
  expect_same(out.to("cpu"),
              tensor({1., -128., 255., -32768., 4294967295., -1099511627776., 0.5, 1e300}, {.dtype = float64}));
  const auto refused = [&](const std::string& said, const auto&... arguments) {
    const std::int64_t before = host_device().kernels;
    EXPECT_EQ(error_of<ValueError>([&] { show({.block = {1}}, arguments...); }), said);
    EXPECT_EQ(host_device().kernels, before);
  };
  refused("show: expected bool as argument 2 of 9, got 2, which is out of its range", out, 2, 0, 0, 0, 0, 0, 0, 0);
  refused("show: expected int8 as argument 3 of 9, got 128, which is out of its range", out, true, 128, 0, 0, 0, 0, 0,
          0);
  refused("show: expected uint8 as argument 4 of 9, got -1, which is out of its range", out, true, 0, -1, 0, 0, 0, 0,
          0);
  refused("show: expected int64 as argument 7 of 9, got 18446744073709551615, which is out of its range", out, true, 0,
          0, 0, 0, ~std::uint64_t{0}, 0, 0);
  refused("show: expected int16 as argument 5 of 9, got 1.5; pass a whole number", out, true, 0, 0, 1.5, 0, 0, 0, 0);
  refused("show: expected float as argument 8 of 9, got float64 [8] on cuda:0; pass a number", out, true, 0, 0, 0, 0, 0,
          out, 0);
  refused("show: expected a pointer to double as argument 1 of 9, got 1; pass a tensor", 1, true, 0, 0, 0, 0, 0, 0, 0);
  refused("show: expected 9 arguments, as the kernel has, got 1", out);
}

TEST_F(DeviceKernels, WhatDoesNotFitIsRefused) {
  const cuda::Kernel scale(kSource, "scale", kHopper);
  const Tensor x = ones({4}, {.device = kDevice}), h = ones({4});
  const cuda::LaunchSize one{.block = {1}};
  EXPECT_EQ(error_of<DeviceError>([&] { scale(one, h, 2, 4); }),
            "scale: expected tensors on a device of CUDA, got float32 [4] on the cpu; move it with .cuda()");
  EXPECT_EQ(
      error_of<DeviceError>([&] { scale(one, x, x.to(kOther), 4); }),
      "scale: expected all tensors on the same device, got float32 [4] on cuda:0 and float32 [4] on cuda:1; move one "
      "with .to()");
  EXPECT_EQ(error_of<DTypeError>([&] { scale(one, x.to(float64), 2, 4); }),
            "scale: expected a pointer to float as argument 1 of 3, got float64 [4] on cuda:0; convert it with .to()");
  EXPECT_EQ(error_of<ValueError>([&] { scale(one, Tensor(), 2, 4); }),
            "scale: expected a pointer to float as argument 1 of 3, got an undefined tensor; pass a tensor");
  Tensor leaf = ones({4}, {.device = kDevice}).requires_grad_();
  EXPECT_EQ(error_of<AutogradError>([&] { scale(one, leaf, 2, 4); }),
            "scale: expected tensors that need no gradient, got float32 [4] on cuda:0 that requires one; pass its "
            "detach(), or call within no_grad: the kernel has no derivative");
  scale(one, leaf.detach(), 2, 4);
  {
    const NoGrad off;
    scale(one, leaf, 2, 4);
  }
  expect_there(leaf.detach(), full({4}, 4.0));
  EXPECT_EQ(error_of<ValueError>([&] { scale({.block = {2048}}, x, 2, 4); }),
            "scale: expected threads along x from 0 to 1024, got 2048");
  EXPECT_EQ(error_of<ValueError>([&] {
              scale({.block = {32, 64}}, x, 2, 4);
            }),
            "scale: expected blocks of 1 to 1024 threads, got 2048");
  EXPECT_EQ(error_of<ValueError>([&] { scale({.grid = {-1}}, x, 2, 4); }),
            "scale: expected blocks along x from 0 to 2147483647, got -1");
  const cuda::Kernel takes_a_struct(kSource, "takes_a_struct", kHopper);
  EXPECT_EQ(error_of<NotImplementedError>([&] { takes_a_struct(one, x); }),
            "takes_a_struct: expected parameters that are numbers and pointers, got another one, 1 of 1; pass a "
            "pointer to it");
}

TEST_F(DeviceKernels, ALazyCloneKeepsItsNumbers) {
  const cuda::Kernel scale(kSource, "scale", kHopper);
  const Tensor x = ones({4}, {.device = kDevice}), y = x.clone();
  scale({.block = {4}}, x, 3, 4);
  expect_there(y, ones({4}));
  expect_there(x, full({4}, 3.0));
}

TEST_F(DeviceKernels, MistakesComeWithTheCompilersWords) {
  const std::string said =
      error_of<CudaError>([] { cuda::Kernel("__global__ void f() { int a = oops; }", "f", kHopper); });
  EXPECT_EQ(said.find("f: expected source that NVRTC compiles, got (NVRTC_ERROR_COMPILATION)"), 0u) << said;
  EXPECT_NE(said.find("f.cu(1): error: identifier \"oops\" is undefined"), said.npos) << said;
  for (const char* name : {"scales", "fill", "scale("})
    EXPECT_EQ(
        error_of<CudaError>([&] { cuda::Kernel(kSource, name, kHopper); }),
        std::string(name) +
            ": expected the name of one kernel of the source, such as scale or add<float>, got one that it does not "
            "have, or has twice; check the name");
  EXPECT_NE(error_of<CudaError>([] { cuda::Kernel(kSource, "scale", {"--no-such-option"}); }).find("no-such-option"),
            std::string::npos);
}

TEST_F(DeviceKernels, ASecondOneIsFoundInMemory) {
  setenv("NEURA_CACHE_DIR", "", 1);  // and in no file
  const std::string source = kSource + "// of this test\n";
  const auto counts = [&](const std::string& text, const std::string& name, const std::vector<std::string>& options) {
    const cuda::CompileCounts before = cuda::compile_counts();
    const cuda::Kernel k(text, name, options);
    const cuda::CompileCounts after = cuda::compile_counts();
    return std::pair(after.compiled - before.compiled, after.remembered - before.remembered);
  };
  using Pair = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(counts(source, "scale", kHopper), Pair(1, 0));
  EXPECT_EQ(counts(source, "scale", kHopper), Pair(0, 1));
  EXPECT_EQ(counts(source + "\n", "scale", kHopper), Pair(1, 0));
  EXPECT_EQ(counts(source, "show", kHopper), Pair(1, 0));
  EXPECT_EQ(counts(source, "scale", {"--gpu-architecture=sm_90", "--use_fast_math"}), Pair(1, 0));
  unsetenv("NEURA_CACHE_DIR");
}

// What another process finds; that it looks there is seen in tests/device/python/kernel_test.py.
TEST(KernelFile, GivesBackWhatWasWrittenAndNothingElse) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "neura_kernels_of_a_test";
  std::filesystem::remove_all(folder);
  setenv("NEURA_CACHE_DIR", folder.c_str(), 1);
  const cuda::KernelFile file("a key"), other("another key");
  const cuda::CompiledKernel kernel{"name", {1100, 36}, std::string("co\0de", 5)};
  EXPECT_FALSE(file.read());
  file.write(kernel);
  EXPECT_FALSE(other.read());
  cuda::KernelFile("").write(kernel);
  std::vector<std::string> files;
  for (const auto& f : std::filesystem::directory_iterator(folder / "kernels")) files.push_back(f.path());
  ASSERT_EQ(files.size(), 1u);
  const auto got = file.read();
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->name == kernel.name && got->parameters == kernel.parameters && got->code == kernel.code);
  const std::string bytes = io::read_file(files[0]);
  for (std::size_t i = 0; i < bytes.size(); ++i) {  // shortened and changed everywhere
    io::write_file(files[0], bytes.substr(0, i));
    EXPECT_FALSE(file.read()) << i;
    std::string changed = bytes;
    changed[i] = char(changed[i] ^ 1);
    io::write_file(files[0], changed);
    EXPECT_FALSE(file.read()) << i;
  }
  std::filesystem::remove_all(folder);
  io::write_file(folder, "a file in the folder's place");
  file.write(kernel);
  EXPECT_FALSE(file.read());
  unsetenv("NEURA_CACHE_DIR");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace neura::test

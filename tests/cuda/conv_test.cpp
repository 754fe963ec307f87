// Convolutions on CUDA against the CPU, over a grid of options: results and all three gradients.
#include "neura/ops/spatial/conv.h"

#include <cmath>
#include <functional>
#include <thread>

#include "neura/autograd/autograd.h"
#include "neura/core/precision.h"
#include "neura/cuda/memory.h"
#include "neura/cuda/stream.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/shape/view.h"
#include "tests/cuda/library.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

std::int64_t cudnn_convolutions() { return of_library<std::int64_t()>("neura_cudnn_convolutions")(); }

class CudaConv : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    tf32_ = get_cudnn_allow_tf32(), set_cudnn_allow_tf32(false);
  }
  void TearDown() override {
    set_cudnn_allow_tf32(tf32_), use_deterministic_algorithms(false);
    if (!IsSkipped()) use_cudnn(true);
  }
  bool tf32_ = true;
};

using Convolution = std::function<Tensor(const std::vector<Tensor>&)>;

// The result, every gradient, and the gradients of the first gradient.
std::vector<Tensor> all_of(const Convolution& f, const std::vector<Tensor>& operands, Device device) {
  std::vector<Tensor> in;
  for (const Tensor& t : operands) in.push_back(t.to(device).detach());
  const bool smooth = differentiable(operands[0].dtype());
  if (smooth)
    for (Tensor& t : in) t.requires_grad_();
  std::vector<Tensor> out = {f(in)};
  if (smooth) {
    const Tensor g = sample(out[0].shape(), out[0].dtype(), {.low = -1, .high = 1, .seed = 11}).to(device);
    const std::vector<Tensor> first = grad({&out[0], 1}, in, {&g, 1}, {.create_graph = true});
    out.insert(out.end(), first.begin(), first.end());
    const Tensor v = sample(in[0].shape(), in[0].dtype(), {.low = -1, .high = 1, .seed = 12}).to(device);
    out.push_back(grad(first[0], in[1], v));
  }
  for (Tensor& t : out) t = t.detach().to(Device());
  return out;
}
// What rounding leaves grows with how much was added, not with what remains: with the root of the number of products
// in a result's longest sum.
void expect_the_cpus(const Convolution& f, const std::vector<Tensor>& operands) {
  const std::vector<Tensor> want = all_of(f, operands, Device()), got = all_of(f, operands, kCuda);
  const auto per = [](const Tensor& t, int dim) { return t.numel() ? double(t.numel()) / double(t.size(dim)) : 0.0; };
  const double longest = std::max({64.0, per(operands[1], 0), per(operands[1], 1), per(want[0], 1)});
  for (std::size_t i = 0; i < want.size(); ++i) {
    SCOPED_TRACE("result " + std::to_string(i));
    expect_close(got[i], want[i], tolerance(want[i].dtype()).times(std::sqrt(longest)));
  }
}

struct Case {
  const char* name;
  Shape input, weight;
  ConvOptions o;
};
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"plain", {2, 3, 9, 10}, {4, 3, 3, 3}, {}},
      {"one pixel", {2, 5, 7, 7}, {6, 5, 1, 1}, {}},
      {"stride", {2, 3, 11, 12}, {4, 3, 3, 2}, {.stride = {2, 3}, .padding = {1, 0}}},
      {"unused rows", {1, 2, 10, 10}, {3, 2, 3, 3}, {.stride = 2}},
      {"dilation", {2, 2, 13, 12}, {3, 2, 3, 2}, {.padding = {2, 1}, .dilation = {2, 3}}},
      {"same, even kernel", {2, 3, 8, 9}, {4, 3, 4, 2}, {.padding = "same"}},
      {"groups", {2, 6, 8, 8}, {9, 2, 3, 3}, {.padding = 1, .groups = 3}},
      {"depthwise", {3, 8, 9, 9}, {16, 1, 3, 3}, {.stride = 2, .padding = 1, .groups = 8}},
      {"wide", {4, 33, 17, 15}, {65, 33, 3, 3}, {.padding = 1}},
      {"whole image", {3, 4, 6, 5}, {7, 4, 6, 5}, {}},
      {"large kernel", {1, 2, 30, 31}, {3, 2, 11, 9}, {.stride = 3, .padding = 5}},
      {"line", {2, 3, 40}, {5, 3, 7}, {.stride = 2, .padding = 3}},
      {"line, groups, dilation", {2, 4, 33}, {6, 2, 3}, {.padding = 2, .dilation = 2, .groups = 2}},
      {"room", {2, 3, 5, 6, 7}, {4, 3, 2, 3, 3}, {.stride = {1, 2, 1}, .padding = {0, 1, 2}}},
      {"flat room", {2, 2, 1, 9, 8}, {3, 2, 1, 3, 3}, {.padding = {0, 1, 1}}},
  };
  return all;
}
// What has kernels of its own: filters that see one channel.
const std::vector<Case>& depthwise_cases() {
  static const std::vector<Case> all = {
      {"grey", {5, 1, 28, 28}, {32, 1, 5, 5}, {.padding = 2}},
      {"grey, many", {300, 1, 9, 10}, {8, 1, 3, 3}, {.padding = 1}},
      {"grey, one image", {1, 1, 20, 31}, {132, 1, 3, 3}, {.padding = {0, 1}}},
      {"depthwise", {40, 8, 12, 16}, {8, 1, 3, 3}, {.padding = 1, .groups = 8}},
      {"depthwise, odd", {3, 6, 11, 13}, {18, 1, 5, 5}, {.padding = {1, 4}, .groups = 6}},
      {"one row", {300, 2, 3, 5}, {2, 1, 3, 3}, {.groups = 2}},
      {"wide planes", {2, 70, 40, 150}, {70, 1, 3, 3}, {.padding = 1, .groups = 70}},
  };
  return all;
}
Convolution call_of(const Case& c) {
  return [c](const std::vector<Tensor>& t) {
    const Tensor bias = t.size() > 2 ? t[2] : Tensor();
    return c.input.size() == 3   ? conv1d(t[0], t[1], bias, c.o)
           : c.input.size() == 4 ? conv2d(t[0], t[1], bias, c.o)
                                 : conv3d(t[0], t[1], bias, c.o);
  };
}
void expect_all_cases(DType d) {
  std::vector<Case> all = cases();
  all.insert(all.end(), depthwise_cases().begin(), depthwise_cases().end());
  for (const Case& c : all) {
    SCOPED_TRACE(std::string(c.name) + ", " + name(d));
    const std::vector<Tensor> in = {sample(c.input, d, {.low = -1, .high = 1, .seed = 1}),
                                    sample(c.weight, d, {.low = -1, .high = 1, .seed = 2}),
                                    sample({c.weight[0]}, d, {.low = -1, .high = 1, .seed = 3})};
    expect_the_cpus(call_of(c), in);
    expect_the_cpus(call_of(c), {in[0], in[1]});
  }
}

TEST_F(CudaConv, EveryOptionInFloatingNumbers) {
  for (const DType d : {float32, float64, float16, bfloat16}) expect_all_cases(d);
}
TEST_F(CudaConv, CudnnComputesThem) {
  if (!has_cudnn()) GTEST_SKIP() << "libcudnn.so.9 is not here; NEURA_CUDNN_LIBRARY may name it";
  for (const DType d : {float32, float64, float16, bfloat16})
    for (const Case& c : cases()) {
      SCOPED_TRACE(std::string(c.name) + ", " + name(d));
      const std::int64_t before = cudnn_convolutions();
      all_of(call_of(c), {sample(c.input, d), sample(c.weight, d)}, kCuda);
      EXPECT_EQ(cudnn_convolutions() - before, 4);  // forward, two gradients, and the first one's with respect to w
    }
}
TEST_F(CudaConv, WithoutCudnnTheyAreTheSame) {
  use_cudnn(false);
  const std::int64_t before = cudnn_convolutions();
  for (const DType d : {float32, float64, float16, bfloat16}) expect_all_cases(d);
  EXPECT_EQ(cudnn_convolutions(), before);
}
TEST_F(CudaConv, ComplexNumbersAndIntegers) {
  for (const DType d : {complex64, complex128, uint8, int8, int16, int32, int64}) expect_all_cases(d);
}
TEST_F(CudaConv, ConjugatesAreTakenOnTheFly) {
  const Tensor x = sample({2, 4, 7, 6}, complex64, {.low = -1, .high = 1}), w = sample({6, 2, 3, 2}, complex64);
  for (const bool first : {false, true})
    for (const bool second : {false, true})
      expect_the_cpus(
          [&](const std::vector<Tensor>& t) {
            return conv2d(first ? conj(t[0]) : t[0], second ? conj(t[1]) : t[1], {}, {.padding = 1, .groups = 2});
          },
          {x, w});
}
// The patches of so many images are more than are kept at a time.
TEST_F(CudaConv, LargeBatchesAreCut) {
  use_cudnn(false);
  const Tensor x = sample({130, 8, 128, 130}, float16, {.low = -1, .high = 1}), w = sample({2, 8, 3, 3}, float16);
  const auto f = [&](Device device) {
    Tensor a = x.to(device).requires_grad_(), b = w.to(device).requires_grad_();
    const Tensor y = conv2d(a, b, {}, {.stride = 1, .padding = 1}), ins[] = {a, b};
    const Tensor g = full(y.shape(), 1.0 / 1024, {.dtype = float16, .device = device});
    std::vector<Tensor> out = grad({&y, 1}, ins, {&g, 1});
    out.push_back(y.detach());
    for (Tensor& t : out) t = t.to(Device());
    return out;
  };
  const std::vector<Tensor> want = f(Device()), got = f(kCuda);
  for (std::size_t i = 0; i < want.size(); ++i) expect_close(got[i], want[i], tolerance(float16).times(16));
}
TEST_F(CudaConv, PatchesOfEveryDtypeAndTheirSum) {
  const UnfoldOptions o[] = {
      {}, {.padding = 1, .stride = 2}, {.dilation = {2, 1}, .padding = {2, 0}, .stride = {1, 3}}};
  for (int d = 0; d < kDTypes; ++d)
    for (const UnfoldOptions& options : o) {
      if (!(bit(DType(d)) & dtypes::all)) continue;
      SCOPED_TRACE(name(DType(d)));
      const Tensor x = sample({2, 3, 9, 11}, DType(d), {.seed = 5});
      const Tensor columns = unfold(x, {3, 2}, options), got = unfold(there(x), {3, 2}, options);
      expect_same(back(got), columns);
      if (!differentiable(DType(d))) continue;
      expect_same(back(fold(got, {9, 11}, {3, 2}, options)), fold(columns, {9, 11}, {3, 2}, options));
    }
}
TEST_F(CudaConv, TransposedConvolutions) {
  for (const DType d : {float32, float16}) {
    const auto make = [&](const Shape& s, std::uint64_t seed) {
      return sample(s, d, {.low = -1, .high = 1, .seed = seed});
    };
    expect_the_cpus(
        [](const std::vector<Tensor>& t) {
          return conv_transpose2d(t[0], t[1], t[2], {.stride = 2, .padding = 1, .output_padding = 1});
        },
        {make({2, 4, 5, 6}, 1), make({4, 3, 3, 3}, 2), make({3}, 3)});
    expect_the_cpus(
        [](const std::vector<Tensor>& t) {
          return conv_transpose1d(t[0], t[1], {}, {.stride = 3, .groups = 2, .dilation = 2});
        },
        {make({2, 4, 7}, 1), make({4, 3, 3}, 2)});
  }
}
TEST_F(CudaConv, DeterministicOnesAreTheSameTwice) {
  use_deterministic_algorithms(true);
  const Tensor x = there(sample({16, 16, 24, 24})), w = there(sample({32, 16, 3, 3}));
  const auto once = [&] {
    Tensor a = x.detach().requires_grad_(), b = w.detach().requires_grad_();
    const Tensor y = conv2d(a, b, {}, {.padding = 1});
    const Tensor ins[] = {a, b}, g = ones_like(y);
    std::vector<Tensor> out = grad({&y, 1}, ins, {&g, 1});
    out.push_back(y.detach());
    return out;
  };
  const auto first = once();
  for (int i = 0; i < 3; ++i) {
    const auto again = once();
    for (std::size_t k = 0; k < first.size(); ++k) expect_same(back(again[k]), back(first[k]));
  }
}
TEST_F(CudaConv, ThreadsConvolveAtTheSameTime) {
  const Tensor w = sample({8, 4, 3, 3}, float32, {.low = -1, .high = 1});
  std::vector<Tensor> in, got(4);
  for (std::int64_t n = 0; n < 4; ++n)
    in.push_back(sample({2 + n % 2, 4, 20, 21}, float32, {.seed = std::uint64_t(n)}));
  std::vector<std::thread> threads;
  for (std::size_t n = 0; n < got.size(); ++n)
    threads.emplace_back([&, n] {
      const cuda::Stream own;
      const cuda::StreamGuard guard(own);
      const Tensor x = there(in[n]), filters = there(w);
      for (int i = 0; i < 30; ++i) got[n] = conv2d(x, filters, {}, {.padding = 1});
      got[n] = got[n].to(Device());
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t n = 0; n < got.size(); ++n)
    expect_close(got[n], conv2d(in[n], w, {}, {.padding = 1}), tolerance(float32).times(8));
}
TEST_F(CudaConv, WithoutMemoryForAWorkspaceTheyAreTheSame) {
  const Tensor x = sample({32, 64, 28, 28}, bfloat16, {.low = -1, .high = 1}), w = sample({64, 64, 3, 3}, bfloat16);
  const Tensor a = there(x), b = there(w);
  cuda::empty_cache(kCuda);
  empty({32, 64, 28, 28}, {.dtype = bfloat16, .device = kCuda});  // stays in the cache, for the result
  const cuda::MemoryStats m = cuda::memory_stats(kCuda);
  cuda::set_per_process_memory_fraction(double(m.reserved) / double(m.total), kCuda);
  Tensor y;
  const std::string said = error_of<Error>([&] { y = conv2d(a, b, {}, {.padding = 1}); });
  cuda::set_per_process_memory_fraction(1, kCuda);
  EXPECT_EQ(said, "no error");
  expect_close(back(y), conv2d(x, w, {}, {.padding = 1}), tolerance(bfloat16).times(24));
}
TEST_F(CudaConv, NothingToConvolve) {
  const Tensor w = sample({4, 3, 3, 3}), b = sample({4});
  expect_the_cpus([](const std::vector<Tensor>& t) { return conv2d(t[0], t[1], t[2]); }, {zeros({0, 3, 5, 5}), w, b});
}
TEST_F(CudaConv, OperandsThatBeginAnywhere) {
  for (const DType d : {float32, float16, bfloat16}) {
    const Tensor x = sample({3 * 8 * 9 * 9 + 1}, d), w = sample({5 * 8 * 3 * 3 + 1}, d);
    const auto at = [](const Tensor& t, const Shape& s) { return t.slice(0, 1, s.numel() + 1).view(s); };
    const Shape in = {3, 8, 9, 9}, kernel = {5, 8, 3, 3};
    const Tensor want = conv2d(at(x, in), at(w, kernel), {}, {.padding = 1});
    const Tensor got = conv2d(at(there(x), in), at(there(w), kernel), {}, {.padding = 1});
    expect_close(back(got), want, tolerance(d).times(8));
  }
}
// TF32 keeps 10 bits after the point: less exact, not wrong.
TEST_F(CudaConv, Tf32IsAllowedUntilItIsNot) {
  const Tensor x = sample({8, 64, 14, 14}, float32, {.low = -1, .high = 1});
  const Tensor w = sample({64, 64, 3, 3}, float32, {.low = -1, .high = 1});
  const Tensor want = conv2d(x, w, {}, {.padding = 1});
  set_cudnn_allow_tf32(true);
  expect_close(back(conv2d(there(x), there(w), {}, {.padding = 1})), want, {.absolute = 0.1, .relative = 0.01});
  set_cudnn_allow_tf32(false);
  expect_close(back(conv2d(there(x), there(w), {}, {.padding = 1})), want, tolerance(float32).times(8));
}

}  // namespace
}  // namespace neura::test

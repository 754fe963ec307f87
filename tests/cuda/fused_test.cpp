// Fused groups on a real device: the bits of the separate kernels, whatever is fused, and faster.
#include "neura/cuda/compile.h"
#include "neura/cuda/event.h"
#include "neura/cuda/memory.h"
#include "neura/graph/fused_cuda.h"
#include "neura/graph/passes.h"
#include "neura/graph/trace.h"
#include "neura/neura.h"
#include "tests/cuda/device.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using Tensors = std::vector<Tensor>;
using graph::Program;

class CudaFused : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (!IsSkipped() && cuda::nvrtc_version().empty()) GTEST_SKIP() << "no NVRTC";
  }
};
class CudaFusedGroup : public CudaFused, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Seeds, CudaFusedGroup, testing::Range(0, 64));

constexpr DType kDtypes[] = {float32, float32, float16, bfloat16, float64, int64, int32, uint8, int8, boolean};

// As an operand that broadcasts to `sizes`: whole, with dimensions of one, as a view, or a single element.
Tensor operand(Dice& dice, const Shape& sizes) {
  const DType d = kDtypes[dice.below(10)];
  Shape s = sizes;
  const std::int64_t kind = dice.below(6);
  if (kind == 0) s[0] = 1;
  if (kind == 1) s[1] = 1;
  if (kind == 2) return there(sample(Shape{sizes[1], sizes[0]}, d, {.seed = dice.bits()})).t();
  if (kind == 3) return there(sample(Shape{sizes[0], sizes[1] * 2 + 1}, d, {.seed = dice.bits()})).slice(1, 1, -1, 2);
  if (kind == 4 && dice.below(2)) s = Shape{};
  return there(sample(s, d, {.seed = dice.bits()}));
}
// Each call reads the result of the one before. The last one, and some of the others.
Tensors chain(std::uint64_t seed, const Tensors& in, bool more, bool smooth) {
  Dice dice{seed};
  Tensor y = in[0];
  Tensors all;
  const auto rows = all_rows();
  for (int i = 0; i < 12; ++i) {
    const Row& r = *rows[std::size_t(dice.below(std::int64_t(rows.size())))];
    if (r.types.divides || (smooth && !r.differentiable)) continue;  // by integers: reads values
    const int at = int(dice.below(r.inputs));
    Operand operands[3];
    for (int k = 0; k < r.inputs; ++k) {
      const std::int64_t kind = dice.below(4);
      operands[k] = k == at     ? Operand(y)
                    : kind == 0 ? Operand(dice.uniform() * 4 - 2)
                    : kind == 1 ? Operand(dice.below(3))
                                : Operand(in[std::size_t(dice.below(std::int64_t(in.size())))]);
    }
    try {
      Tensor out;
      Call call{&r, r.attributes.fallback, operands, r.inputs, &out};
      apply(call), y = out;
      if (more && dice.below(3) == 0) all.push_back(y);
    } catch (const Error&) {  // not of these dtypes
    }
  }
  all.insert(all.begin(), y);
  return all;
}

TEST_P(CudaFusedGroup, HasTheBitsOfItsCalls) {
  const auto seed = std::uint64_t(GetParam());
  Dice dice{seed};
  constexpr std::int64_t rows[] = {1, 3, 8, 33, 64, 129, 1023, 2048}, columns[] = {2, 4, 16, 33, 64, 130, 1024, 2048};
  const Shape shape{rows[dice.below(8)], columns[dice.below(8)]};
  Tensors in{there(sample(shape, kDtypes[dice.below(10)], {.seed = seed}))};
  for (int i = 0; i < 5; ++i) in.push_back(operand(dice, shape));
  const Program p = graph::trace([&](auto x) { return chain(seed, {x.begin(), x.end()}, seed % 2, false); }, in);
  const Program q = fused(p);
  const graph::FusedCounts before = graph::fused_counts();
  const Tensors want = run(p, in), got = run(q, in);
  const graph::FusedCounts after = graph::fused_counts();
  EXPECT_EQ(after.apart, before.apart) << "every group has a kernel";
  RecordProperty("kernels", int(after.compiled - before.compiled));
  for (std::size_t i = 0; i < want.size(); ++i) expect_same(back(got[i]), back(want[i]));
  if (HasFailure()) ADD_FAILURE() << str(q);
}

TEST_P(CudaFusedGroup, HasTheBitsOfItsSlopes) {
  const auto seed = std::uint64_t(GetParam()) + 1000;
  Dice dice{seed};
  const Shape shape{1 + dice.below(70), 2 + dice.below(70)};
  constexpr DType floats[] = {float32, float16, bfloat16, float64};
  Tensors in{there(sample(shape, floats[dice.below(4)], {.seed = seed}))};
  for (int i = 0; i < 3; ++i) in.push_back(operand(dice, shape));
  const auto f = [&](auto given) {
    Tensors x(given.begin(), given.end());
    x[0] = x[0].detach().requires_grad_();
    const Tensor y = chain(seed, x, false, true)[0];
    if (!y.requires_grad()) return Tensors{y};
    y.backward(ones_like(y));
    return x[0].grad() ? Tensors{y.detach(), x[0].grad()} : Tensors{y.detach()};
  };
  const Program p = graph::trace(f, in), q = fused(p);
  const Tensors want = run(p, in), got = run(q, in);
  for (std::size_t i = 0; i < want.size(); ++i) expect_same(back(got[i]), back(want[i]));
  if (HasFailure()) ADD_FAILURE() << str(q);
}

Tensors chain_of_six(std::span<const Tensor> in) { return {gelu(in[0] * in[1] + in[2]) * sigmoid(in[2]) - in[0]}; }

TEST_F(CudaFused, AChainInEveryFloatAndSize) {
  for (const DType d : {float32, float64, float16, bfloat16})
    for (const std::int64_t n : {2, 7, 64, 1023, 4096, 100003, (1 << 22) + 5}) {
      SCOPED_TRACE(std::string(name(d)) + " " + std::to_string(n));
      Tensors in;
      for (std::uint64_t i = 0; i < 3; ++i) in.push_back(there(sample({n}, d, {.seed = i})));
      const Program q = fused(graph::trace(chain_of_six, in));
      ASSERT_EQ(q.nodes.size(), 1u);
      expect_same(back(run(q, in)[0]), back(chain_of_six(in)[0]));
      for (Tensor& t : in) t = t.slice(0, 1, n);  // no longer at a multiple of 16 bytes
      if (n < 3) continue;
      const Program r = fused(graph::trace(chain_of_six, in));
      expect_same(back(run(r, in)[0]), back(chain_of_six(in)[0]));
    }
}

double milliseconds(const std::function<void()>& f) {
  f();
  double best = 1e9;
  for (int i = 0; i < 10; ++i) {
    cuda::Event from({.enable_timing = true}), to({.enable_timing = true});
    from.record(), f(), to.record(), to.synchronize();
    best = std::min(best, from.elapsed_time(to));
  }
  return best;
}

TEST_F(CudaFused, AChainOverLargeTensorsIsOnePassOverMemory) {
  const std::int64_t n = 1 << 28;
  if (cuda::memory_stats().free < std::size_t(n) * 32) GTEST_SKIP() << "needs 8 GiB of the device's memory";
  for (const DType d : {float32, bfloat16}) {
    Tensors in;
    for (int i = 0; i < 3; ++i) in.push_back(randn({n}, {.device = kCuda}).to(d));
    const Program q = optimized(graph::trace(chain_of_six, in));
    const double eager = milliseconds([&] { chain_of_six(in); }), fused = milliseconds([&] { run(q, in); });
    const double sum = milliseconds([&] { in[0] + in[1]; });
    std::printf("chain of six over 2^28 %s: %.3f ms eager, %.3f fused; one sum of two %.3f\n", name(d), eager, fused,
                sum);
    EXPECT_LT(fused, 0.5 * eager);
    if (d == float32) {  // 16 bytes an element against 12
      EXPECT_LT(fused, 1.6 * sum);
    }
  }
}

}  // namespace
}  // namespace neura::test

// Fused calls on a device that cannot compile kernels: they run one by one, with the same bits.
#include <algorithm>

#include "neura/graph/fused_cuda.h"
#include "neura/graph/passes.h"
#include "neura/graph/trace.h"
#include "neura/neura.h"
#include "tests/device/device.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

TEST(DeviceFused, RunsCallByCallWithoutACompiler) {
  const auto f = [](std::span<const Tensor> in) {
    const Tensor &x = in[0], &row = in[1], &mask = in[2], &column = in[3];
    const Tensor y = where(mask & (x > 0.25), x * column + row, neg(x) / 3);
    return std::vector{leaky_relu(y, 0.125) * 2 + exp(x) * row};
  };
  const std::vector<Tensor> in =
      moved({sample({33, 7}), sample({7}, bfloat16), sample({33, 7}, boolean), sample({33, 1}, float16)});
  const graph::Program p = graph::trace(f, in), q = fused(p);
  ASSERT_EQ(q.nodes.size(), 1u) << str(q);
  EXPECT_EQ(str(graph::parse(str(q))), str(q));
  const graph::FusedCounts before = graph::fused_counts();
  for (int i = 0; i < 2; ++i) expect_same(run(q, in)[0].to(Device()), f(in)[0].to(Device()));
  const graph::FusedCounts after = graph::fused_counts();
  EXPECT_EQ(after.apart - before.apart, 2);
  EXPECT_EQ(after.compiled, before.compiled);
}

TEST(DeviceFused, ValuesThatOthersReadAreResults) {
  const auto f = [](std::span<const Tensor> in) {
    const Tensor a = in[0] * in[1], b = gelu(a), c = b - in[1], d = tanh(c), early = sum(c), e = (d + a) > 0.5;
    return std::vector{e, b, early, to(a, float64)};
  };
  const std::vector<Tensor> in = moved({sample({33, 7}), sample({7}, bfloat16)});
  const graph::Program p = graph::trace(f, in), q = fused(p);
  const auto count = [&](std::string_view name) {
    return std::count_if(q.nodes.begin(), q.nodes.end(), [&](auto& n) { return n.row->name == name; });
  };
  EXPECT_EQ(count("fused_3"), 1) << str(q);  // up to c; sum reads it before the rest
  EXPECT_EQ(count("fused"), 1) << str(q);
  EXPECT_EQ(str(graph::parse(str(q))), str(q));
  const auto want = f(in), got = run(q, in);
  for (std::size_t i = 0; i < want.size(); ++i) expect_same(got[i].to(Device()), want[i].to(Device()));
}

TEST(DeviceFused, SlopesMayReadNumbers) {
  const auto f = [](std::span<const Tensor> in) {
    const Tensor x = in[0].detach().requires_grad_();
    const Tensor y = tanh(pow(sigmoid(x), 1.5)) * 2.5;
    y.backward(in[1]);
    return std::vector{x.grad()};
  };
  const std::vector<Tensor> in = moved({sample({33, 7}), sample({33, 7}, float32, {.seed = 1})});
  const graph::Program p = graph::trace(f, in), q = fused(p);
  EXPECT_LT(q.nodes.size(), p.nodes.size());
  expect_same(run(q, in)[0].to(Device()), f(in)[0].to(Device()));
}

TEST(DeviceFused, ComplexNumbersAreNotFused) {
  const std::vector<Tensor> in = moved({sample({33}, complex64)});
  const auto f = [](std::span<const Tensor> x) { return std::vector{exp(x[0] * 2) + 1}; };
  EXPECT_EQ(fused(graph::trace(f, in)).nodes.size(), 3u);
}

}  // namespace
}  // namespace neura::test

#include "neura/graph/integer_weights.h"

#include <cmath>

#include "neura/graph/foreign.h"
#include "neura/graph/trace.h"
#include "neura/neura.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using graph::External;
using graph::IntegerWeights;
using graph::Program;

Program traced(const graph::Function& f, const Tensor& x, const Tensor& w) {
  const std::vector<graph::Named> names{{"w", w}};
  return graph::trace(f, std::vector{x}, names);
}
const External* named(const Program& p, const std::string& name) {
  for (const External& e : p.externals)
    if (e.name == name) return &e;
  return nullptr;
}

TEST(IntegerWeights, AWeightMovesByHalfAStepAtMost) {
  const Tensor w = sample({20, 30}), x = eye(30);
  const Program p = traced([&](auto in) { return std::vector{linear(in[0], w)}; }, x, w);
  const IntegerWeights made = with_integer_weights(p);
  EXPECT_EQ(made.weights, 1u);
  EXPECT_EQ(made.before, 2400u);
  EXPECT_EQ(made.after, 680u);
  ASSERT_TRUE(named(made.program, "w") && named(made.program, "w.scale"));
  EXPECT_EQ(named(made.program, "w")->tensor.dtype(), DType::int8);
  const Tensor steps = named(made.program, "w.scale")->tensor;
  EXPECT_EQ(steps.shape(), (Shape{20, 1}));
  const Tensor moved = abs(sub(graph::run(made.program, std::vector{x})[0].t(), w));
  EXPECT_TRUE(all(le(moved, mul(steps, 0.5001))).item<bool>());
  EXPECT_GT(amax(moved).item<float>(), 0);
  expect_close(steps, div(amax(abs(w), 1, true), 127.0));
}

TEST(IntegerWeights, EveryCallOfWeightsReadsThem) {
  const Tensor w = sample({16, 16}), filters = sample({8, 4, 3, 3}), x = sample({2, 4, 6, 6}), rows = sample({3, 16});
  const auto check = [](const graph::Function& f, const Tensor& in, const Tensor& weight, const Shape& steps) {
    const Program p = traced(f, in, weight);
    const IntegerWeights made = with_integer_weights(p);
    ASSERT_EQ(made.weights, 1u) << graph::str(p);
    EXPECT_EQ(named(made.program, "w.scale")->tensor.shape(), steps);
    const Tensor y = graph::run(p, std::vector{in})[0], z = graph::run(made.program, std::vector{in})[0];
    EXPECT_LT(amax(abs(sub(y, z))).item<float>(), 0.02 * amax(abs(y)).item<float>());
    EXPECT_NO_THROW(graph::check_foreign(made.program));
    EXPECT_EQ(graph::str(graph::parse(graph::str(made.program))), graph::str(made.program));
  };
  check([&](auto in) { return std::vector{matmul(in[0], w)}; }, rows, w, {1, 16});
  check([&](auto in) { return std::vector{matmul(w, in[0].t())}; }, rows, w, {16, 1});
  check([&](auto in) { return std::vector{matmul(in[0], w.t())}; }, rows, w, {16, 1});
  const auto both = [&](auto in) {
    const Tensor first = matmul(in[0], w);  // the first call says which numbers share a step
    return std::vector{relu(first + matmul(in[0], w.t()))};
  };
  check(both, rows, w, {1, 16});
  check([&](auto in) { return std::vector{conv2d(in[0], filters)}; }, x, filters, {8, 1, 1, 1});
}

TEST(IntegerWeights, WhatIsNoWeightOfAProductStays) {
  const Tensor x = sample({3, 16});
  const auto count = [&](const graph::Function& f, const Tensor& w) {
    const Program p = traced(f, x, w);
    const IntegerWeights made = with_integer_weights(p);
    if (!made.weights) EXPECT_EQ(graph::str(made.program), graph::str(p));
    return made.weights;
  };
  const Tensor w = sample({16, 16}), small = sample({15, 16}), wide = sample({16, 16}, DType::float64);
  EXPECT_EQ(count([&](auto in) { return std::vector{linear(in[0], small)}; }, small), 0u);
  EXPECT_EQ(count([&](auto in) { return std::vector{linear(in[0].to(DType::float64), wide)}; }, wide), 0u);
  EXPECT_EQ(count([&](auto in) { return std::vector{linear(in[0], w), mul(w, 2.0)}; }, w), 0u);
  EXPECT_EQ(count([&](auto in) { return std::vector{linear(in[0], w)}; }, w), 1u);
  Tensor broken = w.clone();
  broken.data<float>()[5] = std::nanf("");
  EXPECT_EQ(count([&](auto in) { return std::vector{linear(in[0], broken)}; }, broken), 0u);
  Tensor written = w.clone();
  const Program p = traced(
      [&](auto in) {
        const NoGrad off;
        const Tensor y = linear(in[0], written);
        add_(written, ones({16, 16}));
        return std::vector{y};
      },
      x, written);
  EXPECT_EQ(with_integer_weights(p).weights, 0u);
}

TEST(IntegerWeights, RowsOfZerosStayZeros) {
  Tensor w = sample({16, 16});
  std::fill_n(w.data<float>(), 16, 0.0f);
  const Program p = traced([&](auto in) { return std::vector{linear(in[0], w)}; }, eye(16), w);
  const Tensor y = graph::run(with_integer_weights(p).program, std::vector{eye(16)})[0];
  expect_same(y.t().contiguous().select(0, 0), zeros({16}));
}

}  // namespace
}  // namespace neura::test

// The operation of a recurrence against the same steps composed of other operations.
#include "neura/ops/nn/recurrent_layer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "neura/autograd/autograd.h"
#include "neura/core/memory.h"
#include "neura/core/parallel.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/create/to.h"
#include "neura/ops/nn/recurrent.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"
#include "tests/support/gradients.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

constexpr RecurrentCell kCells[] = {RecurrentCell::tanh, RecurrentCell::relu, RecurrentCell::gru, RecurrentCell::lstm};
using Steps = StepResults (*)(const Direction&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                              const Tensor&);

struct Case {
  RecurrentCell cell;
  bool reverse;
  std::vector<std::int64_t> sizes;  // of each time
  std::int64_t hidden;
  bool packed() const { return sizes.front() != sizes.back(); }
  Direction way() const {
    return {cell, reverse, std::int64_t(sizes.size()), packed() ? sizes : std::vector<std::int64_t>()};
  }
  std::string str() const {
    return "cell " + std::to_string(int(cell)) + " reverse " + std::to_string(reverse) + " batch " +
           std::to_string(sizes[0]) + " times " + std::to_string(sizes.size()) + " hidden " + std::to_string(hidden);
  }
};
std::vector<Tensor> operands(const Case& k, DType d) {
  std::int64_t rows = 0;
  for (const std::int64_t n : k.sizes) rows += n;
  const std::int64_t gates = gates_of(k.cell) * k.hidden;
  const auto any = [&](const Shape& s, std::uint64_t seed) {
    return sample(s, d, {.low = -1, .high = 1, .seed = seed});
  };
  std::vector<Tensor> x{any({rows, gates}, 1), any({k.sizes[0], k.hidden}, 2), {}, any({gates, k.hidden}, 4), {}};
  if (k.cell == RecurrentCell::lstm) x[2] = any({k.sizes[0], k.hidden}, 3);
  if (k.cell == RecurrentCell::gru) x[4] = any({gates}, 5);
  return x;
}
std::vector<Tensor> results(const Case& k, Steps steps, const std::vector<Tensor>& x) {
  const StepResults r = steps(k.way(), x[0], x[1], x[2], x[3], x[4]);
  std::vector<Tensor> all{r.y, r.h};
  if (r.c) all.push_back(r.c);
  return all;
}
// Results, and the gradients of all operands.
std::vector<Tensor> with_gradients(const Case& k, Steps steps, std::vector<Tensor> x) {
  std::vector<Tensor> wanted, incoming;
  for (Tensor& t : x)
    if (t) wanted.push_back(t = t.detach().requires_grad_());
  std::vector<Tensor> all = results(k, steps, x);
  for (std::size_t i = 0; i < all.size(); ++i)
    incoming.push_back(sample(all[i].shape(), DType::float32, {.low = -1, .high = 1, .seed = 90 + i}).to(x[0].dtype()));
  const std::vector<Tensor> grads = grad(all, wanted, incoming);
  all.insert(all.end(), grads.begin(), grads.end());
  for (Tensor& t : all) t = t.detach();
  return all;
}
void compare(const Case& k, DType d) {
  SCOPED_TRACE(k.str() + " " + name(d));
  std::vector<Tensor> x = operands(k, d), exact = x;
  for (Tensor& t : exact)
    if (t) t = t.to(DType::float64);
  const std::vector<Tensor> got = with_gradients(k, recurrence, x), want = with_gradients(k, compose_steps, exact);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE("result " + std::to_string(i));
    EXPECT_EQ(got[i].dtype(), d);
    // Halves are rounded in every step; gradients of weights are sums over all of them.
    const double size = std::max(1.0, max(abs(want[i])).item<double>());
    const Tolerance t = tolerance(d).times(d == DType::float16 || d == DType::bfloat16 ? 8 : 4);
    expect_close(got[i].to(DType::float64), want[i], {t.absolute * size, t.relative});
  }
}

TEST(Recurrence, IsItsStepsComposed) {
  for (const RecurrentCell cell : kCells)
    for (const bool reverse : {false, true})
      for (const DType d : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
        compare({cell, reverse, {3, 3, 3, 3}, 20}, d);
        compare({cell, reverse, {1}, 7}, d);
        compare({cell, reverse, {35, 31, 31, 2, 1}, 33}, d);
      }
}
TEST(Recurrence, SecondDerivatives) {
  for (const RecurrentCell cell : {RecurrentCell::tanh, RecurrentCell::gru, RecurrentCell::lstm})
    for (const bool reverse : {false, true}) {
      const Case k{cell, reverse, {3, 2}, 2};
      std::vector<Tensor> all, given;
      for (const Tensor& t : operands(k, DType::float64))
        if (t) given.push_back(t);
      expect_gradients(
          [&](const std::vector<Tensor>& v) {
            const bool lstm = cell == RecurrentCell::lstm, gru = cell == RecurrentCell::gru;
            return results(k, recurrence, {v[0], v[1], lstm ? v[2] : Tensor(), v[lstm ? 3 : 2], gru ? v[3] : Tensor()});
          },
          given);
    }
}
TEST(Recurrence, OnlySomeOperandsNeedAGradient) {
  const Case k{RecurrentCell::lstm, false, {4, 4, 4}, 9};
  const std::vector<Tensor> x = operands(k, DType::float64), all = with_gradients(k, recurrence, x);
  std::size_t at = 3;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!x[i]) continue;
    std::vector<Tensor> one = x;
    one[i] = x[i].detach().requires_grad_();
    std::vector<Tensor> outputs = results(k, recurrence, one), incoming;
    for (std::size_t j = 0; j < outputs.size(); ++j)
      incoming.push_back(
          sample(outputs[j].shape(), DType::float32, {.low = -1, .high = 1, .seed = 90 + j}).to(DType::float64));
    expect_same(grad(outputs, {&one[i], 1}, incoming)[0], all[at++]);
  }
}
TEST(Recurrence, KeepsNothingWhereNoGradientFollows) {
  const Case k{RecurrentCell::lstm, false, {64, 64, 64, 64}, 128};
  std::vector<Tensor> x = operands(k, DType::float32);
  x[3].requires_grad_();
  const auto taken = [&](std::vector<Tensor>& r) {
    const std::size_t before = memory_allocated();
    r = results(k, recurrence, x);
    return memory_allocated() - before;
  };
  std::vector<Tensor> training, plain;
  const std::size_t with = taken(training);
  const NoGrad off;
  const std::size_t without = taken(plain), y_bytes = std::size_t(256 * 128 * 4);
  EXPECT_GE(with, 6 * y_bytes);  // y, and of each of its elements four gates and a cell
  EXPECT_LT(with, 7 * y_bytes);
  EXPECT_LT(without, 2 * y_bytes);
  for (std::size_t i = 0; i < plain.size(); ++i) expect_same(plain[i], training[i].detach());
}
TEST(Recurrence, ResultsMayBeWrittenOver) {
  for (const RecurrentCell cell : kCells) {
    const Case k{cell, false, {4, 4}, 9};
    std::vector<Tensor> x = operands(k, DType::float64);
    x[3].requires_grad_();
    const auto gradient = [&](Steps steps) {
      std::vector<Tensor> r = results(k, steps, x);
      Tensor part = r[0].narrow(0, 2, 4);
      part *= 3;
      return grad(sum(r[0] * r[0]) + sum(r[1] * r[1]), x[3]);
    };
    expect_close(gradient(recurrence), gradient(compose_steps));
  }
}
TEST(Recurrence, WhatNoKernelTakesIsComposed) {
  const Case k{RecurrentCell::gru, false, {2, 2}, 3};
  std::vector<Tensor> x = operands(k, DType::float32), none = x;
  x[1] = x[1].to(DType::float64);
  const auto error = [&](Steps steps) { return error_of<DTypeError>([&] { results(k, steps, x); }); };
  EXPECT_EQ(error(recurrence), error(compose_steps));
  none[0] = none[0].narrow(1, 0, 0), none[3] = none[3].narrow(0, 0, 0).narrow(1, 0, 0),
  none[4] = none[4].narrow(0, 0, 0);
  none[1] = none[1].narrow(1, 0, 0);  // nothing hidden
  EXPECT_EQ(results(k, recurrence, none)[0].shape(), (Shape{4, 0}));
}
TEST(Recurrence, GradientsAreTheSameOnAnyNumberOfThreads) {
  const int before = get_num_threads();
  for (const RecurrentCell cell : kCells)
    for (const Case& k : {Case{cell, false, {40, 40, 37}, 65}, Case{cell, true, {2, 2}, 1030}}) {
      const std::vector<Tensor> x = operands(k, DType::float32);
      set_num_threads(1);
      const std::vector<Tensor> alone = with_gradients(k, recurrence, x);
      for (const int threads : {2, 5}) {
        set_num_threads(threads);
        const std::vector<Tensor> shared = with_gradients(k, recurrence, x);
        for (std::size_t i = 0; i < alone.size(); ++i) expect_same(shared[i], alone[i]);
      }
    }
  set_num_threads(before);
}

}  // namespace
}  // namespace neura::test

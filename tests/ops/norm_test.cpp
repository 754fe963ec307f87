#include "neura/ops/nn/norm.h"

#include <cmath>

#include "neura/core/parallel.h"
#include "tests/ops/arguments.h"
#include "tests/support/engine.h"
#include "tests/support/gradients.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

// Every element normalised over those for which `together` holds: the definition.
template <class F> Tensor plain_norm(const Tensor& x, double eps, const F& together) {
  return from_loop(x.shape(), x.dtype(), [&](const Shape& i) {
    double n = 0, sum = 0, squares = 0;
    for_each_index(x.shape(), [&](const Shape& j) {
      if (together(i, j)) sum += at(x, j), ++n;
    });
    for_each_index(x.shape(), [&](const Shape& j) {
      if (together(i, j)) squares += (at(x, j) - sum / n) * (at(x, j) - sum / n);
    });
    return (at(x, i) - sum / n) / std::sqrt(squares / n + eps);
  });
}

TEST(LayerNorm, EqualsThePlainLoopInEveryLayout) {
  on_every_target([] {
    for (DType d : {float32, float64, bfloat16})
      for (std::int64_t n : {2, 7, 8, 9, 31, 33})
        for (const Tensor& x : layouts(sample({2, 3, n}, d))) {
          const auto last = [](const Shape& i, const Shape& j) { return i[0] == j[0] && i[1] == j[1]; };
          const auto two = [](const Shape& i, const Shape& j) { return i[0] == j[0]; };
          expect_close(layer_norm(x, {n}), plain_norm(x, 1e-5, last));
          expect_close(layer_norm(x, {3, n}, {}, {}, {.eps = 0.5}), plain_norm(x, 0.5, two));
          const Tensor w = sample({n}, d, {.seed = 1}), b = sample({n}, d, {.seed = 2});
          if (d != bfloat16) expect_close(layer_norm(x, {n}, w, b), plain_norm(x, 1e-5, last) * w + b);
        }
  });
}
TEST(LayerNorm, LargeMeansDoNotEatTheDeviation) {
  const Tensor x = sample({4, 1000}, float32) + 1000, exact = to(x, float64);
  expect_close(to(layer_norm(x, {1000}), float64), layer_norm(exact, {1000}), {2e-4, 2e-4});
  expect_close(layer_norm(full({2, 9}, 3.0f), {9}), std::vector<double>(18, 0.0));
}
TEST(LayerNorm, Gradients) {
  on_every_target([] {
    const std::vector<Tensor> operands = {sample({4, 3, 5}, float64), sample({3, 5}, float64, {.seed = 1}),
                                          sample({3, 5}, float64, {.seed = 2})};
    expect_gradients(
        [](const std::vector<Tensor>& v) {
          return std::vector{layer_norm(v[0], {3, 5}, v[1], v[2])};
        },
        operands);
    expect_gradients([](const Tensor& x) { return layer_norm(x, {5}); }, operands[0]);
    expect_gradients(
        [](const Tensor& x, const Tensor& w) {
          return rms_norm(x, {3, 5}, w, {.eps = 1e-3});
        },
        operands[0], operands[1]);
  });
}
TEST(LayerNorm, GradientOfManyRowsIsThatOfFloat64) {  // several blocks of rows
  Tensor x = sample({999, 37}, float32).requires_grad_(), w = sample({37}, float32).requires_grad_();
  Tensor b = sample({37}, float32).requires_grad_();
  Tensor x2 = to(x.detach(), float64).requires_grad_(), w2 = to(w.detach(), float64).requires_grad_();
  Tensor b2 = to(b.detach(), float64).requires_grad_();
  const Tensor g = sample({999, 37}, float32, {.seed = 3});
  layer_norm(x, {37}, w, b).backward(g);
  layer_norm(x2, {37}, w2, b2).backward(to(g, float64));
  expect_close(to(x.grad(), float64), x2.grad(), {1e-5, 1e-5});
  expect_close(to(w.grad(), float64), w2.grad(), {1e-4, 1e-4});
  expect_close(to(b.grad(), float64), b2.grad(), {1e-4, 1e-4});
  const int before = get_num_threads();
  for (int threads : {1, 3}) {
    set_num_threads(threads);
    const Tensor again = w.grad().clone();
    w.set_grad({});
    layer_norm(x, {37}, w, b).backward(g);
    expect_same(w.grad(), again);
  }
  set_num_threads(before);
}
TEST(GroupNorm, OfNoSamplesHasGradientsOfAnyOrder) {
  const Tensor x = zeros({0, 4, 3}).requires_grad_(), w = ones({4}).requires_grad_();
  const Tensor first = grad(sum(group_norm(x, 2, w)), x, {}, {.create_graph = true});
  EXPECT_EQ(first.shape(), (Shape{0, 4, 3}));
  EXPECT_EQ(grad(sum(first), w).to_vector<float>(), std::vector<float>(4, 0));
}
TEST(GroupNorm, EqualsThePlainLoopAndItsGradients) {
  on_every_target([] {
    const Tensor x = sample({2, 6, 3, 5}, float32), w = sample({6}, float32, {.seed = 1}),
                 b = sample({6}, float32, {.seed = 2});
    const auto group = [](const Shape& i, const Shape& j) { return i[0] == j[0] && i[1] / 2 == j[1] / 2; };
    const Tensor plain = plain_norm(x, 1e-5, group);
    expect_close(group_norm(x, 3), plain);
    expect_close(group_norm(x, 3, w, b), plain * reshape(w, {6, 1, 1}) + reshape(b, {6, 1, 1}));
    for (const Tensor& y : layouts(x)) expect_close(group_norm(y, 3), plain);
    expect_gradients(
        [](const std::vector<Tensor>& v) { return std::vector{group_norm(v[0], 2, v[1], v[2])}; },
        {sample({3, 4, 5}, float64), sample({4}, float64, {.seed = 1}), sample({4}, float64, {.seed = 2})});
  });
}
TEST(BatchNorm, EqualsThePlainLoopAndItsGradients) {
  on_every_target([] {
    const auto channel = [](const Shape& i, const Shape& j) { return i[1] == j[1]; };
    for (const Shape& sizes : {Shape{9, 5}, Shape{3, 5, 7}, Shape{3, 5, 2, 9}, Shape{2, 3, 2, 3, 2}}) {
      const Tensor x = sample(sizes, float32);
      for (const Tensor& y : layouts(x))
        expect_close(batch_norm(y, {}, {}, {}, {}, {.training = true}), plain_norm(x, 1e-5, channel));
      const std::int64_t c = sizes[1];
      const std::vector<Tensor> operands = {sample(sizes, float64), sample({c}, float64, {.seed = 1}),
                                            sample({c}, float64, {.seed = 2})};
      expect_gradients(
          [](const std::vector<Tensor>& v) {
            return std::vector{batch_norm(v[0], {}, {}, v[1], v[2], {.training = true})};
          },
          operands);
      const Tensor m = sample({c}, float64, {.seed = 4}), s = sample({c}, float64, {.low = 0.5, .seed = 5});
      expect_gradients([&](const std::vector<Tensor>& v) { return std::vector{batch_norm(v[0], m, s, v[1], v[2])}; },
                       operands);
    }
  });
}
TEST(BatchNorm, MovesRunningStatisticsWithTheUnbiasedVariance) {
  Tensor mean = full({2}, 1.0), var = full({2}, 1.0);
  const Tensor x = from({1, 10, 2, 20, 3, 30}, {3, 2});
  batch_norm(x, mean, var, {}, {}, {.training = true, .momentum = 0.1});
  EXPECT_TRUE(is_near(mean, {0.9 + 0.1 * 2, 0.9 + 0.1 * 20}) && is_near(var, {0.9 + 0.1 * 1, 0.9 + 0.1 * 100}));
  const Tensor y = batch_norm(x, mean, var);
  EXPECT_TRUE(std::abs(at(y, 0) - (1 - 1.1) / std::sqrt(1 + 1e-5)) < 1e-5);
  EXPECT_TRUE(is_near(mean, {1.1, 2.9}));  // evaluation does not
}
TEST(BatchNorm, MovesRunningStatisticsOfEveryDtypeAndLayout) {
  const Tensor x = sample({50, 3, 4}, float32, {.seed = 3}), m = mean(x, {0, 2}), v = var(x, {0, 2});
  for (const DType d : {float32, float64, bfloat16, float16})
    for (const std::int64_t step : {1, 2}) {
      SCOPED_TRACE(std::string(name(d)) + " " + std::to_string(step));
      const Tensor wide = full({2, 3 * step}, 2.0, {.dtype = d}), copy = wide.clone();
      const Tensor means = wide[0].slice(0, 0, 3 * step, step), vars = wide[1].slice(0, 0, 3 * step, step);
      const auto version = wide.version();
      const Tolerance t = tolerance(d == float64 ? float32 : d).times(2);  // x is float32
      batch_norm(x, means, vars, {}, {}, {.training = true, .momentum = 0.25});
      EXPECT_GT(wide.version(), version);
      expect_close(means, (m * 0.25 + 1.5).to(d), t);
      expect_close(vars, (v * 0.25 + 1.5).to(d), t);
      expect_same(copy, full({2, 3 * step}, 2.0, {.dtype = d}));
      if (step == 2) expect_same(wide.slice(1, 1, 6, 2), copy.slice(1, 1, 6, 2));
      const Tensor alone = ones({3}, {.dtype = d});
      batch_norm(x, {}, alone, {}, {}, {.training = true, .momentum = 1});
      expect_close(alone, v.to(d), t);
    }
  const Tensor untouched = ones({3});
  batch_norm(zeros({0, 3, 4}), untouched, untouched, {}, {}, {.training = true});
  expect_same(untouched, ones({3}));
}
TEST(BatchNorm, AnotherForwardBeforeTheBackwardIsNoHarm) {
  const Tensor means = zeros({3}), vars = ones({3}), x = sample({6, 3}).requires_grad_(), g = sample({6, 3});
  const Tensor first = batch_norm(x, means, vars, {}, {}, {.training = true});
  batch_norm(x, means, vars, {}, {}, {.training = true});  // moves them a second time
  const Tensor alone = batch_norm(x, {}, {}, {}, {}, {.training = true});
  const Tensor want = grad({&alone, 1}, {&x, 1}, {&g, 1})[0];
  expect_same(grad({&first, 1}, {&x, 1}, {&g, 1})[0], want);
  const Tensor fixed = batch_norm(x, means, vars);
  batch_norm(x, means, vars, {}, {}, {.training = true});
  EXPECT_THROW(grad({&fixed, 1}, {&x, 1}, {&g, 1}), InplaceError);  // its statistics are others now
}
TEST(BatchNorm, Errors) {
  EXPECT_EQ(error_of<ValueError>([] {
              batch_norm(full({1, 3}, 1.0), {}, {}, {}, {}, {.training = true});
            }),
            "batch_norm: expected more than 1 value per channel when training, got input size [1, 3]");
  EXPECT_ERROR(ValueError, "expected running_mean and running_var", batch_norm(full({2, 3}, 1.0), {}, {}));
  EXPECT_ERROR(ShapeError, "one value per channel [3], got [2]",
               batch_norm(full({2, 3}, 1.0), full({2}, 1.0), full({3}, 1.0)));
  EXPECT_ERROR(ShapeError, "num_groups to divide", group_norm(full({2, 3}, 1.0), 2));
  EXPECT_ERROR(ShapeError, "whose last sizes are normalized_shape [4]", layer_norm(full({2, 3}, 1.0), {4}));
  EXPECT_ERROR(DTypeError, "floating input", layer_norm(full({2, 3}, 1), {3}));
  EXPECT_EQ(layer_norm(full({0, 3}, 1.0), {3}).shape(), (Shape{0, 3}));
  EXPECT_EQ(group_norm(full({0, 4, 3}, 1.0), 2).shape(), (Shape{0, 4, 3}));
}
TEST(InstanceNorm, EqualsThePlainLoop) {
  const Tensor x = sample({2, 3, 4, 5}, float32);
  expect_close(instance_norm(x),
               plain_norm(x, 1e-5, [](const Shape& i, const Shape& j) { return i[0] == j[0] && i[1] == j[1]; }));
}

Tensor layer_case(const Tensor& x, const Arguments& a) {
  return layer_norm(x, a.shape(0, "normalized_shape"), a.tensor(1, "weight"), a.tensor(2, "bias"),
                    {a.number(3, "eps", 1e-5)});
}
Tensor rms_case(const Tensor& x, const Arguments& a) {
  return rms_norm(x, a.shape(0, "normalized_shape"), a.tensor(1, "weight"), {a.maybe(2, "eps")});
}
Tensor group_case(const Tensor& x, const Arguments& a) {
  return group_norm(x, a.integer(0, "num_groups", 1), a.tensor(1, "weight"), a.tensor(2, "bias"),
                    {a.number(3, "eps", 1e-5)});
}
Tensor batch_case(const Tensor& x, const Arguments& a) {
  return batch_norm(x, a.tensor(0, "running_mean"), a.tensor(1, "running_var"), a.tensor(2, "weight"),
                    a.tensor(3, "bias"),
                    {a.flag(4, "training", false), a.number(5, "momentum", 0.1), a.number(6, "eps", 1e-5)});
}
Tensor instance_case(const Tensor& x, const Arguments& a) {
  return instance_norm(x, a.tensor(0, "running_mean"), a.tensor(1, "running_var"), a.tensor(2, "weight"),
                       a.tensor(3, "bias"),
                       {a.flag(4, "use_input_stats", true), a.number(5, "momentum", 0.1), a.number(6, "eps", 1e-5)});
}
Tensor local_case(const Tensor& x, const Arguments& a) {
  return local_response_norm(x, a.integer(0, "size", 1),
                             {a.number(1, "alpha", 1e-4), a.number(2, "beta", 0.75), a.number(3, "k", 1)});
}
std::vector<Tensor> native_layer(const ConformanceCase& c) {
  const Arguments a{c};
  auto r = native_layer_norm(c.input.data, a.shape(0, "normalized_shape"), a.tensor(1, "weight"), a.tensor(2, "bias"),
                             a.number(3, "eps", 1e-5));
  return {r[0], r[1], r[2]};
}
std::vector<Tensor> native_batch(const ConformanceCase& c) {
  const Arguments a{c};
  auto r = native_batch_norm(c.input.data, a.tensor(0, "weight"), a.tensor(1, "bias"), a.tensor(2, "running_mean"),
                             a.tensor(3, "running_var"), a.flag(4, "training", false), a.number(5, "momentum", 0.1),
                             a.number(6, "eps", 1e-5));
  return {r[0], r[1], r[2]};
}

TEST(Norm, StoredAnswers) {
  expect_conformance("norm", {{"nn.functional.layer_norm", one(layer_case)},
                              {"nn.functional.rms_norm", one(rms_case)},
                              {"nn.functional.group_norm", one(group_case)},
                              {"nn.functional.batch_norm", one(batch_case)},
                              {"nn.functional.instance_norm", one(instance_case)},
                              {"nn.functional.local_response_norm", one(local_case)},
                              {"native_layer_norm", native_layer},
                              {"native_batch_norm", native_batch},
                              {"_native_batch_norm_legit", native_batch}});
}

}  // namespace
}  // namespace neura::test

#include <cmath>
#include <thread>

#include "neura/op/record.h"
#include "tests/support/engine.h"

namespace neura {
namespace {

// Every row against finite differences, first to third order, with broadcasting.
TEST(Engine, GradientsOfRowsToThirdOrder) {
  using F = Tensor (*)(const Tensor&, const Tensor&);
  const std::pair<const char*, F> functions[] = {
      {"neg", [](const Tensor& x, const Tensor&) { return -x * x; }},
      {"exp", [](const Tensor& x, const Tensor&) { return exp(x); }},
      {"log", [](const Tensor& x, const Tensor&) { return log(x); }},
      {"sin", [](const Tensor& x, const Tensor&) { return sin(x); }},
      {"cos", [](const Tensor& x, const Tensor&) { return cos(x); }},
      {"tanh", [](const Tensor& x, const Tensor&) { return tanh(x); }},
      {"sqrt", [](const Tensor& x, const Tensor&) { return sqrt(x); }},
      {"abs", [](const Tensor& x, const Tensor&) { return abs(x) * x; }},
      {"div", [](const Tensor& x, const Tensor& y) { return x / y; }},
      {"rdiv", [](const Tensor& x, const Tensor& y) { return y / x; }},
      {"mul", [](const Tensor& x, const Tensor& y) { return x * y * x; }},
      {"sub", [](const Tensor& x, const Tensor& y) { return (y - x) * (x - 2.0) * x; }},
      {"matmul",
       [](const Tensor& x, const Tensor&) { return matmul(matmul(transpose(x, 0, 1), x), transpose(x, 0, 1)); }},
      {"select", [](const Tensor& x, const Tensor&) { return select(x, 0, 1) * select(x, 1, 2) * select(x, 0, 0); }},
      {"write", [](const Tensor& x, const Tensor& y) {
         Tensor b = x * 1, v = select(b, 0, 1);
         mul_(v, y * v), tanh_(v);
         return b * b;
       }}};
  for (auto& [name, f] : functions) {
    const Tensor y = range({3}) + 1, x0 = range({3, 3}) + 0.1;
    const auto nth = [&, f = f](const Tensor& x, int order) {  // the sum of the order-th directional derivative
      Tensor r = sum(f(x, y));
      for (int k = 0; k < order && r.requires_grad(); ++k) r = sum(derivative(r, x, true) * (k + 1.0));
      return r;
    };
    for (int order = 0; order < 3; ++order) {
      Tensor x = clone(x0).requires_grad_();
      const Tensor r = nth(x, order), exact = r.requires_grad() ? derivative(r, x) : Tensor();
      for (int i : {0, 4, 8}) {
        const double eps = 1e-5;
        Tensor up = clone(x0), down = clone(x0);
        up.data<double>()[i] += eps, down.data<double>()[i] -= eps;
        up.requires_grad_(), down.requires_grad_();
        const double numeric = (nth(up, order).item<double>() - nth(down, order).item<double>()) / (2 * eps);
        const double got = exact ? at(exact, i) : 0;
        EXPECT_NEAR(got, numeric, 1e-4 * (1 + std::abs(numeric))) << name << " order " << order + 1;
      }
    }
  }
}
TEST(Engine, GradientsComeHome) {  // broadcasting and promotion are undone in one place
  Tensor a = leaf({1, 2}, {2, 1}), b = leaf({1, 2, 3}, {3}, DType::float64), n = full({3}, 2, {.dtype = int64});
  sum(a * b * n).backward();
  EXPECT_TRUE(is_near(a.grad(), {12, 12}) && a.grad().dtype() == DType::float32 && is_near(b.grad(), {6, 6, 6}) &&
              b.grad().dtype() == DType::float64);
  Tensor s = leaf({3}, {});
  sum(from({1, 2}, {2}, DType::float64) * s).backward();
  EXPECT_TRUE(is_near(s.grad(), {3}) && s.grad().dtype() == DType::float32);
}
TEST(Engine, AccumulationStealsWhatNobodySees) {
  Tensor a = leaf({1, 2}, {2}), b = leaf({3, 4}, {2});
  counters() = {};
  sum(a * b).backward();
  EXPECT_TRUE(counters().stolen == 2 && counters().copied == 0);
  counters() = {};
  Tensor g = full({2}, 1.0);
  a.set_grad({}), b.set_grad({}), (a + b).backward(g);
  EXPECT_TRUE(counters().copied == 2 && a.grad().data<float>() != g.data<float>());  // the caller still holds g
  Tensor p = leaf({1}, {1}), q = leaf({2}, {1});
  counters() = {};
  (p + q).backward();  // both get the engine's own g: the first a copy, the last g itself
  EXPECT_TRUE(counters().copied == 1 && counters().stolen == 1 && p.grad().data<float>() != q.grad().data<float>());
  a.set_grad({}), counters() = {};
  Tensor c = a * 2;
  sum(c * c + c).backward();
  EXPECT_TRUE(is_near(a.grad(), {10, 18}) && counters().added_in_place == 2 && counters().stolen == 1 &&
              counters().added == 0);
}
TEST(Engine, GradientsOfWindowsAreWrittenWhereTheyBelong) {
  Tensor w = leaf({1, 2, 3, 4}, {4}), y = w * 1;
  Tensor s = select(w, 0, 1) * 5 + select(y, 0, 2) * 7 + select(y, 0, 2) + select(w, 0, 1);
  counters() = {};
  s.backward();
  EXPECT_TRUE(is_near(w.grad(), {0, 6, 8, 0}) && counters().added == 0);
  const Tensor seen = w.grad();  // .grad stays the same tensor
  select(w, 0, 3).backward();
  EXPECT_TRUE(is_near(seen, {0, 6, 8, 1}) && seen.impl() == w.grad().impl());
}
TEST(Engine, GradVisitsOnlyWhatLeadsToTheInputs) {
  Tensor x = leaf({2}, {1}), w = leaf({3}, {1}), h = x * 1;
  for (int i = 0; i < 50; ++i) h = h + w * 1;  // 100 nodes, 50 of them only for w
  counters() = {};
  const Tensor y = h * h;
  EXPECT_TRUE(is_near(grad({&y, 1}, {&h, 1}, {}, {.retain_graph = true})[0], {304}));
  counters() = {};
  EXPECT_TRUE(is_near(derivative(y, x), {304}) && counters().nodes == 52 && !w.grad());
  EXPECT_ERROR(AutogradError, "expected a tensor that requires a gradient", x.detach().backward());
}
TEST(Engine, Hooks) {
  Tensor x = leaf({1, 2}, {2}), w = leaf({1, 1}, {2}), y = x * w, z = y * y + y;
  std::string order;
  register_hook(y, [&](const Tensor& g) {
    order += "y";
    return g * 2;
  });
  register_hook(x, [&](const Tensor& g) {
    order += "x";
    return g * 3;
  });
  register_record_hook(y, [&](Tensor* r, int n) {
    order += "r";
    EXPECT_TRUE(n == 2 && r[0] && r[1]);
  });
  register_post_accumulate_grad_hook(x, [&](Tensor& g) {
    order += "p";
    EXPECT_TRUE(g.numel() == 2);
  });
  Tensor late = w + 1;  // backward reaches this after x is complete
  sum(z + late).backward();
  EXPECT_TRUE(order == "yrxp" && is_near(x.grad(), {18, 30}));
  register_hook(late, [&](const Tensor&) {
    order += "l";
    return Tensor();
  });
  order.clear(), x.set_grad({});
  Tensor again = x * w;
  register_hook(again, [&](const Tensor&) {
    order += "a";
    return Tensor();
  });
  sum(late * 1 + again).backward();
  EXPECT_TRUE(order == "axpl");  // the leaf does not wait for older parts of the graph
}
TEST(Engine, HooksMayCallBackwardAndMayThrow) {
  const auto before = memory::live_blocks();
  {
    Tensor x = leaf({1, 2}, {2}), w = leaf({3}, {1}), y = x * x;
    register_hook(y, [&](const Tensor& g) {
      NoGrad on(false);
      sum(w * w).backward();
      return g;
    });
    sum(y).backward({}, true);
    EXPECT_TRUE(is_near(x.grad(), {2, 4}) && is_near(w.grad(), {6}));
    register_hook(y, [](const Tensor&) -> Tensor { throw AutogradError("from the hook"); });
    EXPECT_ERROR(AutogradError, "from the hook", sum(y).backward());
    EXPECT_TRUE(is_grad_enabled() && is_near(x.grad(), {2, 4}));
    sum(x * 1).backward();
    EXPECT_TRUE(is_near(x.grad(), {3, 5}));
  }
  EXPECT_TRUE(memory::live_blocks() == before);
}
struct NoDerivative {
  static constexpr Operation op = operation("round");
  NEURA_FIELDS()
  void infer(const Spec& x, Spec& y) const { y = x; }
  void run(Context&, View x, View y) const {
    for (std::int64_t i = 0; i < x.numel(); ++i) y.as<float>()[i] = std::round(x.as<float>()[i]);
  }
};
TEST(Engine, OperationWithoutDerivativeIsAnErrorNotSilence) {
  Tensor x = leaf({1.4, 2}, {2}), y = sum(apply(NoDerivative{}, x) * x);
  EXPECT_ERROR(AutogradError, "round: has no derivative", y.backward());
  EXPECT_TRUE(!lt(x, 2).requires_grad());
}
TEST(Engine, CycleIsAnError) {
  Tensor x = leaf({1}, {1}), y = x * 1, z = y * 1;
  Node* lower = edge_of(y.impl()).node.get();
  Edge kept = std::exchange(lower->edges[0], edge_of(z.impl()));
  EXPECT_ERROR(AutogradError, "cycle", z.backward({}, true));
  lower->edges[0] = kept;
}

TEST(Engine, MillionNodesWithoutRecursion) {
  Tensor x = leaf({1}, {1}), y = x * 1;
  for (int i = 0; i < 1000000; ++i) y = y + 1;
  y.backward();
  EXPECT_TRUE(is_near(x.grad(), {1}));
  y = {};
  Tensor b = x * 1, v = slice(b, 0, 0, 1);
  for (int i = 0; i < 100000; ++i) v += 1;  // copy_slices upon copy_slices, each with a record inside
  sum(b).backward();
  EXPECT_TRUE(is_near(x.grad(), {2}));
}
TEST(Engine, MemoryOfAChainThatSavesNothingStaysFlat) {
  Tensor x = full({1 << 20}, 1.0).requires_grad_(), y = x * 1;
  const auto before = memory::pages().live;
  memory::reset_peak();
  for (int i = 0; i < 1000; ++i) y = y + 1;
  EXPECT_TRUE(memory::pages().peak - before <= 3u << 22);
  memory::reset_peak();
  y = sum(y);
  y.backward();
  EXPECT_TRUE(memory::pages().peak - before <= 4u << 22 && at(x.grad(), 5) == 1);
  Tensor z = x * 1;
  for (int i = 0; i < 100; ++i) z = tanh(z);  // saves each result: released while backward runs
  const auto full_graph = memory::pages().live;
  Tensor s = sum(z);
  z = {};
  bool fell = false;
  Tensor w = x * 1;
  register_hook(x, [&](const Tensor&) {
    fell = memory::pages().live < full_graph - 90 * (4u << 20);
    return Tensor();
  });
  s.backward();
  EXPECT_TRUE(fell);
}

TEST(Engine, TwoThreadsAccumulate) {
  Tensor w = leaf({1, 2, 3, 4}, {4}), h = tanh(w) * w;  // one shared part, two private ones
  const auto work = [&](double factor) {
    for (int i = 0; i < 500; ++i) sum(h * factor).backward({}, true), sum(w * factor).backward();
  };
  std::thread other(work, 2.0);
  work(1.0);
  other.join();
  for (int i = 0; i < 4; ++i) {
    const double x = at(w, i), t = std::tanh(x);
    EXPECT_TRUE(std::abs(at(w.grad(), i) - 1500 * (t + x * (1 - t * t) + 1)) < 0.5);
  }
  Tensor b = w * 1, v = slice(b, 0, 0, 2);
  b *= 2;
  std::thread reader([&] {
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(v.requires_grad());
  });  // both regenerate one view
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(std::string(v.grad_fn()) == "as_strided");
  reader.join();
  Tensor once = sum(w * w * w);
  std::atomic<int> passed{0}, failed{0};
  const auto race = [&] {
    try {
      once.backward(), ++passed;
    } catch (const AutogradError&) {
      ++failed;
    }
  };
  std::thread rival(race);
  race(), rival.join();
  EXPECT_TRUE(passed + failed == 2 && passed <= 1);  // one graph without retain_graph: never both, never a crash
}
TEST(Engine, AComplexResultAsksForItsGradient) {
  const Tensor x = leaf({2}, {1}, complex64), y = x * x;
  EXPECT_ERROR(
      AutogradError,
      "backward: expected a real result or a gradient for it, got complex64 [1]; pass gradient or call abs() first",
      y.backward());
  EXPECT_ERROR(AutogradError, "expected a real result", grad(y, x));
  y.backward(ones({1}, {.dtype = complex64}));
  EXPECT_TRUE(x.grad().item<std::complex<double>>() == 4.0);
}
// As in torch: a real gradient takes the dtype of its result; whatever else does not fit is refused.
TEST(Backward, TakesAGradientOfAnotherRealDtypeAndNothingElse) {
  for (const DType d : {float64, float16, int64, boolean}) {
    Tensor w = leaf({1, 2}, {2});
    (w * 2.0).backward(from({1, 0}, {2}, d));
    EXPECT_TRUE(is_near(w.grad(), {2, 0}) && w.grad().dtype() == float32) << name(d);
  }
  Tensor w = leaf({1, 2}, {2});
  const Tensor y = w * 2.0;
  EXPECT_ERROR(DTypeError, "backward: expected a gradient of real numbers like float32 [2], got complex64 [2]",
               y.backward(ones({2}, {.dtype = complex64})));
  EXPECT_ERROR(ShapeError, "backward: expected a gradient like float32 [2], got float32 [3]", y.backward(ones({3})));
  EXPECT_ERROR(AutogradError, "backward", y.backward());
  EXPECT_FALSE(w.grad().defined());
  y.backward(ones({2}));
  EXPECT_ERROR(AutogradError, "retain_graph", y.backward(ones({2})));
  EXPECT_ERROR(AutogradError, "without history", y.detach().backward(ones({2})));
}

TEST(Engine, BlocksCrossThreads) {
  const auto before = memory::live_blocks();
  for (int round = 0; round < 20; ++round) {
    std::vector<Tensor> made;
    std::thread producer([&] {
      for (int i = 0; i < 3000; ++i) made.push_back(full({i % 50}, i));
    });
    producer.join();
    std::thread consumer([m = std::move(made)]() mutable {
      for (auto& t : m) t = t + 1;
    });
    consumer.join();
  }
  EXPECT_TRUE(memory::live_blocks() == before);
}
}  // namespace
}  // namespace neura

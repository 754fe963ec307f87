// Graphs of every shape with gradients computed by hand: shared parts, several roots, frozen and detached parts.
#include <thread>

#include "neura/autograd/grad_mode.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/sort/sort.h"
#include "tests/support/engine.h"

namespace neura {
namespace {

using List = std::vector<Tensor>;

TEST(Graph, SharedPartsCountOncePerUse) {
  Tensor x = leaf({2, 3}, {2}), y = x * x, z = y * y + y * x;  // x⁴ + x³
  sum(z).backward();
  EXPECT_TRUE(is_near(x.grad(), {4 * 8 + 3 * 4, 4 * 27 + 3 * 9}));
  Tensor w = leaf({5}, {1}), d = w * 3.0;
  (d + d + d).backward();  // a diamond of three equal paths
  EXPECT_TRUE(is_near(w.grad(), {9}));
}
TEST(Graph, SeveralRootsAreOneBackward) {
  Tensor x = leaf({1, 2}, {2}), shared = x * x, a = sum(shared), b = shared * 2.0;
  counters() = {};
  backward(List{a, b}, List{Tensor(), from({1, 10}, {2})});
  EXPECT_TRUE(is_near(x.grad(), {2 + 4, 4 + 80}));
  EXPECT_EQ(counters().nodes, 3);  // the shared node ran once
  const std::vector<Tensor> g = grad(List{sum(x * 3.0), sum(x * x)}, List{x});
  EXPECT_TRUE(is_near(g[0], {5, 7}));
}
TEST(Graph, UnusedResultsGetNothing) {
  Tensor x = leaf({3, 1, 2}, {3});
  const auto [values, indices] = sort(x, 0);
  const std::vector<Tensor> parts = unbind(values * 1.0);
  parts[1].backward();
  EXPECT_TRUE(is_near(x.grad(), {0, 0, 1}) && !indices.requires_grad());
}
TEST(Graph, FrozenLayersAreNeverVisited) {
  Tensor x = from({1, 2}, {2}), w1 = from({3, 4}, {2}), w2 = leaf({5, 6}, {2});
  const Tensor y = sum(tanh(exp(x * w1) * 0.01) * w2);
  counters() = {};
  y.backward();
  EXPECT_EQ(counters().nodes, 2);  // sum and the product with w2
  EXPECT_TRUE(!w1.grad() && w2.grad());
  w2.set_grad({}), w1.requires_grad_(), w2.requires_grad_(false);
  const Tensor again = sum(tanh(exp(x * w1) * 0.01) * w2);
  again.backward();
  EXPECT_TRUE(w1.grad() && !w2.grad());
}
TEST(Graph, RepeatedBackwardAddsUpAndNeedsRetainGraph) {
  Tensor x = leaf({2}, {1}), y = x * x;
  y.backward({}, true);
  y.backward({}, true);
  EXPECT_TRUE(is_near(x.grad(), {8}));
  y.backward();
  EXPECT_TRUE(is_near(x.grad(), {12}));
  EXPECT_ERROR(AutogradError, "retain_graph", y.backward());
}
TEST(Graph, DetachedPartsAreConstants) {
  Tensor x = leaf({2, 3}, {2}), y = x * x, cut = y.detach();
  EXPECT_TRUE(cut.raw_data() == y.raw_data() && !cut.requires_grad() && !cut.grad_fn());
  sum(cut * x).backward();
  EXPECT_TRUE(is_near(x.grad(), {4, 9}));
  EXPECT_ERROR(AutogradError, "requires a gradient", sum(cut).backward());
}
TEST(Graph, IntermediatesKeepTheirGradientOnRequestAlone) {
  Tensor x = leaf({2}, {1}), kept = x * 2.0, plain = kept * 3.0;
  kept.retain_grad();
  plain.backward();
  EXPECT_TRUE(is_near(kept.grad(), {3}) && !plain.grad());
}
TEST(Graph, TheGradientThatIsKeptIsWhatTheHooksMadeOfIt) {
  Tensor x = leaf({2}, {1}), kept = x * 2.0;
  kept.retain_grad();
  HookHandle half = register_hook(kept, [](const Tensor& g) { return g * 0.5; });
  (kept * 3.0).backward({}, true);
  EXPECT_TRUE(is_near(kept.grad(), {1.5}) && is_near(x.grad(), {3}));
  half.remove();
  (kept * 3.0).backward();
  EXPECT_TRUE(is_near(kept.grad(), {4.5}) && is_near(x.grad(), {9}));
}
TEST(Graph, WritesInPlaceAreParts) {
  Tensor x = leaf({1, 2}, {2}), y = x * 2.0, seen = y * y;
  y = y * 1.0;
  mul_(y, x);
  sum(y + seen).backward();
  EXPECT_TRUE(is_near(x.grad(), {4 + 8, 8 + 16}));
}

TEST(Leaves, GradientsMustFit) {
  Tensor x = leaf({1, 2}, {2});
  EXPECT_TRUE(!x.grad() && x.is_leaf() && !x.grad_fn());
  EXPECT_ERROR(ShapeError, "set_grad: expected a gradient like float32 [2], got float32 [3]", x.set_grad(ones({3})));
  EXPECT_ERROR(DTypeError, "set_grad: expected a gradient like float32 [2], got float64 [2]",
               x.set_grad(ones({2}, {.dtype = float64})));
  EXPECT_ERROR(ValueError, "set_grad: expected a gradient, got the tensor itself", x.set_grad(x));
  x.set_grad(ones({2}));
  sum(x).backward();
  EXPECT_TRUE(is_near(x.grad(), {2, 2}));
  x.set_grad({});
  EXPECT_FALSE(x.grad());
}
TEST(Leaves, IntegersAndBoolHaveNone) {
  for (const DType d : {DType::int64, DType::int8, DType::uint8, DType::boolean}) {
    Tensor t = ones({2}, {.dtype = d});
    EXPECT_ERROR(AutogradError, "expected a floating or complex dtype", t.requires_grad_());
  }
  Tensor x = leaf({1, 2}, {2});
  EXPECT_FALSE(argmax(x).requires_grad() || (x > 1.0).requires_grad() || x.to(DType::int64).requires_grad());
  EXPECT_ERROR(AutogradError, "expected a leaf", (x * 2.0).requires_grad_(false));
}
TEST(Leaves, KeepGradientAndHooksWhileFrozen) {
  Tensor x = leaf({1, 2}, {2});
  int calls = 0;
  const HookHandle hook = register_hook(x, [&](const Tensor&) { return ++calls, Tensor(); });
  const Tensor before = sum(x * 3.0);
  sum(x * 2.0).backward();
  x.requires_grad_(false);
  EXPECT_TRUE(is_near(x.grad(), {2, 2}) && x.is_leaf() && !x.grad_fn() && !(x * 2.0).requires_grad());
  mul_(x, 2.0);  // a constant like another, also where the gradient stays
  EXPECT_TRUE(is_near(x, {2, 4}) && is_near(x.grad(), {2, 2}));
  before.backward();  // of a graph from before: nothing is added
  EXPECT_TRUE(is_near(x.grad(), {2, 2}));
  const int until = calls;
  sum(x.requires_grad_() * 5.0).backward();
  EXPECT_TRUE(is_near(x.grad(), {7, 7}));
  EXPECT_EQ(calls, until + 1);
  x.requires_grad_(false).set_grad({});
  EXPECT_FALSE(x.grad());
}
TEST(Leaves, FrozenOnesTakePartInWhatIsWrittenToThem) {
  Tensor x = leaf({1, 2}, {2}), y = leaf({3, 4}, {2});
  sum(x * 2.0).backward();
  mul_(x.requires_grad_(false), y);
  EXPECT_TRUE(x.requires_grad() && !x.is_leaf() && !x.grad());
  sum(x).backward();
  EXPECT_TRUE(is_near(y.grad(), {1, 2}));
}
TEST(Leaves, ConstantsMayBeGivenAGradient) {
  for (const DType d : {DType::float32, DType::int64}) {
    Tensor x = ones({2}, {.dtype = d});
    EXPECT_ERROR(ShapeError, "set_grad: expected a gradient like", x.set_grad(ones({3}, {.dtype = d})));
    EXPECT_FALSE(x.grad());
    x.set_grad(full({2}, 4.0, {.dtype = d}));
    EXPECT_TRUE(is_near(x.grad(), {4, 4}) && !x.requires_grad() && !(x + x).requires_grad());
    x.set_grad({});
    EXPECT_FALSE(x.grad());
  }
}
TEST(Leaves, ViewsOfConstantsMayBeGivenAGradient) {
  Tensor base = ones({4}), view = base.slice(0, 0, 2), twin = base.slice(0, 0, 2);
  EXPECT_ERROR(ShapeError, "set_grad: expected a gradient like", view.set_grad(ones({4})));
  view.set_grad(full({2}, 4.0));
  EXPECT_TRUE(is_near(view.grad(), {4, 4}) && !base.grad() && !twin.grad());
  EXPECT_TRUE(view.is_leaf() && !view.requires_grad() && !(view * 2.0).requires_grad() && !view.detach().grad());
  mul_(view, 2.0), mul_(base, 2.0), add_out(view, view, zeros({2}));
  EXPECT_TRUE(is_near(base, {4, 4, 2, 2}) && is_near(view.grad(), {4, 4}));
  sum(view.requires_grad_() * 3.0).backward();
  EXPECT_TRUE(is_near(view.grad(), {7, 7}) && !base.grad());
  view.requires_grad_(false);
  EXPECT_TRUE(is_near(view.grad(), {7, 7}) && !view.requires_grad());
  view.set_grad({});
  EXPECT_FALSE(view.grad());
}
TEST(Leaves, ViewsOfWhatIsWrittenWithAGradientForgetTheirOwn) {
  Tensor base = ones({4}), view = base.slice(0, 0, 2), y = leaf({3, 4, 5, 6}, {4});
  view.set_grad(ones({2}));
  mul_(base, y);
  EXPECT_TRUE(view.requires_grad() && !view.is_leaf() && !view.grad());
  sum(view).backward();
  EXPECT_TRUE(is_near(y.grad(), {1, 1, 0, 0}));
}
TEST(Leaves, GradientsHaveTheDtypeOfTheSource) {
  Tensor x = leaf({1, 2}, {2}), h = from({1, 2}, {2}, DType::float16).requires_grad_();
  sum(x.to(DType::float64) * h.to(DType::float64)).backward();
  EXPECT_TRUE(x.grad().dtype() == float32 && h.grad().dtype() == DType::float16);
  EXPECT_TRUE(is_near(x.grad(), {1, 2}) && is_near(h.grad(), {1, 2}));
}

TEST(Broadcasting, GradientsAreSummedHome) {
  const std::vector<std::pair<Shape, Shape>> table = {{{}, {2, 3}},           {{1}, {4}},          {{3}, {2, 3}},
                                                      {{2, 1}, {2, 3}},       {{1, 3}, {2, 3}},    {{1, 1}, {5, 2, 3}},
                                                      {{2, 1, 3}, {2, 4, 3}}, {{4, 1}, {2, 4, 3}}, {{2, 3}, {2, 3}}};
  for (const auto& [small, big] : table) {
    Tensor x = range(small).requires_grad_();
    const Tensor factor = range(big);
    sum(x * factor).backward();
    EXPECT_TRUE(x.grad().spec().same_shape(x.spec()));
    const double copies = double(factor.numel()) / double(x.numel());
    const double total = sum(factor).item<double>();
    EXPECT_NEAR(sum(x.grad()).item<double>(), total, 1e-9) << small.str() << " in " << big.str();
    Tensor y = range(small).requires_grad_();
    sum(expand(y, big)).backward();  // the same by counting: each element is there as often as it was copied
    EXPECT_TRUE(all(y.grad() == copies).item<bool>());
  }
}

TEST(Modes, BelongToTheirThread) {
  NoGrad off;
  bool elsewhere = false;
  std::thread([&] { elsewhere = is_grad_enabled() && (leaf({1}, {1}) * 2.0).requires_grad(); }).join();
  EXPECT_TRUE(elsewhere && !is_grad_enabled());
}
TEST(Engine, IndependentBackwardsInManyThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        Tensor x = leaf({1, 2, 3}, {3});
        sum(exp(x) * x + tanh(x * x)).backward();
        right += x.grad().numel() == 3;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 400);
}

}  // namespace
}  // namespace neura

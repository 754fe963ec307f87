// Custom functions, checkpoints, modes, hooks that go away, anomaly mode, and gradcheck as a user's tool.
#include "neura/autograd/function.h"

#include <cmath>
#include <limits>

#include "neura/autograd/anomaly.h"
#include "neura/autograd/gradcheck.h"
#include "neura/core/random.h"
#include "neura/ops/random/dropout.h"
#include "tests/support/engine.h"

namespace neura {
namespace {

struct Cube final : Function {
  const char* name() const override { return "cube"; }
  std::vector<Tensor> forward(FunctionContext& c, const std::vector<Tensor>& x) override {
    c.save_for_backward({x[0]});
    return {x[0] * x[0] * x[0]};
  }
  std::vector<Tensor> backward(FunctionContext& c, const std::vector<Tensor>& g) override {
    const Tensor x = c.saved_tensors()[0];
    return {g[0] * x * x * 3.0};
  }
};
Tensor cube(const Tensor& x) { return apply_function(std::make_shared<Cube>(), {x})[0]; }

struct Wrong final : Function {  // its derivative is not its value's, and there is one too many
  std::size_t gradients = 1;
  explicit Wrong(std::size_t n) : gradients(n) {}
  std::vector<Tensor> forward(FunctionContext&, const std::vector<Tensor>& x) override { return {x[0] * 2.0}; }
  std::vector<Tensor> backward(FunctionContext&, const std::vector<Tensor>& g) override {
    return std::vector<Tensor>(gradients, g[0] * 3.0);
  }
};

TEST(Function, IsDifferentiatedTwiceAndReleased) {
  const auto before = memory::live_blocks();
  {
    Tensor x = leaf({1, 2}, {2}, float64), y = cube(x);
    EXPECT_STREQ(y.grad_fn(), "cube");
    const Tensor d = derivative(sum(y), x, true), dd = derivative(sum(d), x);
    EXPECT_TRUE(is_near(d, {3, 12}) && is_near(dd, {6, 12}));
    EXPECT_TRUE(gradgradcheck([](const std::vector<Tensor>& in) { return std::vector<Tensor>{cube(in[0])}; },
                              {leaf({0.5, -1.5}, {2}, float64)}));
  }
  EXPECT_EQ(memory::live_blocks(), before);
}
TEST(Function, SavedTensorsAreChecked) {
  Tensor x = leaf({1, 2}, {2}), y = x * 1.0, z = cube(y);
  add_(y, 1);
  EXPECT_ERROR(InplaceError, "saved tensor 0 (float32 [2]) at version 0, got version 1", sum(z).backward());
  Tensor w = sum(cube(x));
  w.backward();
  EXPECT_ERROR(AutogradError, "cube: expected its saved values", w.backward());
}
TEST(Function, MistakesOfItsAuthorAreNamed) {
  const Tensor x = leaf({1}, {1}, float64);
  EXPECT_ERROR(ValueError, "expected backward to give 1 gradients, one per input, got 2",
               apply_function(std::make_shared<Wrong>(2), {x})[0].backward());
  const auto wrong = [](const std::vector<Tensor>& in) { return apply_function(std::make_shared<Wrong>(1), in); };
  EXPECT_ERROR(GradcheckError, "output 0 element 0 with respect to input 0 element 0 to be 2.000000",
               gradcheck(wrong, {x}));
  EXPECT_FALSE(gradcheck(wrong, {x}, {.raise_exception = false}));
  EXPECT_ERROR(ValueError, "gradcheck: expected an input that requires a gradient", gradcheck(wrong, {x.detach()}));
}
TEST(Gradcheck, TakesInputsThatShareMemory) {
  const Tensor x = leaf({0.5, -1.5, 2}, {3}, float64);
  const auto product = [](const std::vector<Tensor>& in) { return std::vector<Tensor>{in[0] * in[1] * in[1]}; };
  EXPECT_TRUE(gradcheck(product, {x, x}));
  EXPECT_TRUE(gradcheck(product, {x, x.detach().slice(0, 0, 3).requires_grad_()}));
  EXPECT_TRUE(gradgradcheck(product, {x, x}));
}
TEST(Function, UnrecordedCallsLeaveNothing) {
  NoGrad off;
  EXPECT_FALSE(cube(leaf({1}, {1})).requires_grad());
}

TEST(Checkpoint, GivesTheSameGradientsAndKeepsLess) {  // values above 1 MiB: the nodes of the graph stay
  Tensor w = full({1, 1}, 0.5).requires_grad_(), x = (range({270000, 1}, float32) / 1e5).requires_grad_();
  const auto f = [&](const std::vector<Tensor>& in) {
    Tensor y = in[0];
    for (int i = 0; i < 8; ++i) y = tanh(matmul(y, w) * 0.01);
    return std::vector<Tensor>{y};
  };
  sum(f({x})[0]).backward();
  const Tensor gw = w.grad(), gx = x.grad();
  w.set_grad({}), x.set_grad({});
  const auto held = [&](const auto& call) {
    const std::size_t before = memory::pages().live;
    const Tensor y = call();
    const std::size_t now = memory::pages().live - before;
    sum(y).backward();
    return now;
  };
  const auto plain = held([&] { return f({x})[0]; });
  w.set_grad({}), x.set_grad({});
  const auto kept = held([&] { return checkpoint(f, {x})[0]; });
  EXPECT_LT(kept * 3, plain);
  EXPECT_TRUE(all(w.grad() == gw).item<bool>() && all(x.grad() == gx).item<bool>());
}
TEST(Checkpoint, DrawsTheSameNumbersAgain) {
  manual_seed(7);
  Tensor x = leaf({1, 1, 1, 1, 1, 1, 1, 1}, {8});
  const Tensor y =
      checkpoint([](const std::vector<Tensor>& in) { return std::vector<Tensor>{dropout(in[0], 0.5)}; }, {x})[0];
  sum(y).backward();
  EXPECT_TRUE(all(x.grad() == y).item<bool>());  // 2 where kept, 0 where dropped
}

TEST(Modes, NestAndComeBack) {
  Tensor x = leaf({1}, {1});
  {
    NoGrad off;
    EXPECT_FALSE((x * 2.0).requires_grad() || is_grad_enabled());
    {
      EnableGrad on;
      EXPECT_TRUE((x * 2.0).requires_grad());
    }
    EXPECT_FALSE(is_grad_enabled());
  }
  Tensor made;
  {
    InferenceMode on;
    made = x * 2.0;
    EXPECT_TRUE(is_inference_mode_enabled() && !made.requires_grad());
    add_(made, 1);  // within the mode one may
  }
  EXPECT_TRUE(is_grad_enabled());
  EXPECT_ERROR(InplaceError, "inference mode", made.requires_grad_());
  EXPECT_TRUE((made.clone() * x).requires_grad());
}
TEST(Hooks, GoAwayAndResultsKeepTheirGradients) {
  Tensor x = leaf({1, 2}, {2}), y = x * x;
  y.retain_grad();
  int calls = 0;
  HookHandle handle = register_hook(y, [&](const Tensor& g) { return ++calls, g * 2.0; });
  sum(y).backward({}, true);
  EXPECT_TRUE(calls == 1 && is_near(x.grad(), {4, 8}) && is_near(y.grad(), {2, 2}));
  handle.remove();
  handle.remove();  // twice is no mistake
  x.set_grad({});
  sum(y).backward();
  EXPECT_TRUE(calls == 1 && is_near(x.grad(), {2, 4}));
}
TEST(Anomaly, NamesTheForwardCall) {
  Tensor x = leaf({0, 1}, {2});
  DetectAnomaly on;
  const Tensor y = sqrt(x) * 0.0;
  EXPECT_ERROR(AutogradError,
               "sqrt: expected a derivative without NaN, got one for operand 0; the forward call was sqrt(float32 [2])",
               sum(y).backward());
}
TEST(Engine, AChainOfAHundredThousandNodes) {
  Tensor x = leaf({1}, {1}), y = x;
  for (int i = 0; i < 100000; ++i) y = y * 1.0;
  y.backward();
  EXPECT_TRUE(is_near(x.grad(), {1}));
}

}  // namespace
}  // namespace neura

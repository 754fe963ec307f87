// What is kept for backward: by functions with many results, packed by hooks, recomputed by nested checkpoints.
#include "neura/autograd/function.h"
#include "neura/autograd/function_node.h"
#include "neura/autograd/gradcheck.h"
#include "neura/autograd/run.h"
#include "tests/support/engine.h"

namespace neura {
namespace {

using List = std::vector<Tensor>;

struct Multiples final : Function {  // x, 2 x, … n x; saves its results too
  std::size_t n;
  explicit Multiples(std::size_t count) : n(count) {}
  std::vector<Tensor> forward(FunctionContext& c, const std::vector<Tensor>& x) override {
    std::vector<Tensor> out;
    for (std::size_t i = 0; i < n; ++i) out.push_back(x[0] * double(i + 1));
    c.save_for_backward({out[n - 1], x[0]});
    return out;
  }
  std::vector<Tensor> backward(FunctionContext& c, const std::vector<Tensor>& g) override {
    EXPECT_TRUE(c.saved_tensors()[0].requires_grad());
    Tensor sum;
    for (std::size_t i = 0; i < n; ++i)
      if (g[i]) sum = sum ? sum + g[i] * double(i + 1) : g[i] * double(i + 1);
    return {sum};
  }
};

TEST(Function, HasAnyNumberOfResultsAndKeepsNone) {
  const auto before = memory::live_blocks();
  for (const std::size_t n : {1, 3, 4, 100}) {
    Tensor x = leaf({1, 2}, {2});
    const std::vector<Tensor> y = apply_function(std::make_shared<Multiples>(n), {x});
    sum(y[0] + y[n - 1] * 10.0).backward();
    EXPECT_TRUE(is_near(x.grad(), {1 + 10.0 * double(n), 1 + 10.0 * double(n)})) << n;
    apply_function(std::make_shared<Multiples>(n), {x});  // never differentiated
  }
  EXPECT_EQ(memory::live_blocks(), before);
}

struct WrongShape final : Function {
  std::vector<Tensor> forward(FunctionContext&, const std::vector<Tensor>& x) override { return {x[0] * 1.0}; }
  std::vector<Tensor> backward(FunctionContext&, const std::vector<Tensor>&) override { return {ones({4})}; }
};
TEST(Function, AGradientOfAnotherShapeIsNoGradient) {
  EXPECT_ERROR(ShapeError, "expected backward to give a gradient of shape [2, 2] for input 0, got [4]",
               sum(apply_function(std::make_shared<WrongShape>(), {leaf({1, 2, 3, 4}, {2, 2})})[0]).backward());
}

TEST(Function, RefusesADerivativeLoudly) {
  Tensor x = leaf({1}, {1});
  const Tensor y = refuse_derivative({x * 2.0}, {edge_of(x.impl())}, "not twice")[0];
  EXPECT_TRUE(y.requires_grad());
  EXPECT_ERROR(AutogradError, "not twice", derivative(y, x));
}

struct Doubling final : SavedHooks {  // packs twice the value, unpacks half of that
  int packed = 0, unpacked = 0;
  bool wrong = false;
  struct Twice final : Packed {
    Doubling& hooks;
    Tensor t;
    Twice(Doubling& h, Tensor v) : hooks(h), t(std::move(v)) {}
    Tensor unpack() override { return ++hooks.unpacked, hooks.wrong ? zeros({7}) : t / 2.0; }
  };
  std::unique_ptr<Packed> pack(const Tensor& t) override {
    EXPECT_FALSE(t.requires_grad());
    return ++packed, std::make_unique<Twice>(*this, t * 2.0);
  }
};

TEST(SavedHooks, PackWhatRecordsAndFunctionsKeep) {
  const auto before = memory::live_blocks();
  {
    Tensor x = leaf({1, 2}, {2}, float64);
    Doubling hooks;
    hooks.push();
    const Tensor y = exp(x) * x, z = apply_function(std::make_shared<Multiples>(2), {x})[1];
    SavedHooks::pop();
    EXPECT_EQ(hooks.packed, 5);  // exp's result, both operands of the product, two of the function
    sum(y + z).backward({}, true);
    EXPECT_TRUE(is_near(x.grad(), {2 * std::exp(1.0) + 2, 3 * std::exp(2.0) + 2}));
    EXPECT_EQ(hooks.unpacked, 5);
    hooks.wrong = true;
    EXPECT_ERROR(AutogradError, "expected the unpack hook to give a saved tensor back as float64 [2]",
                 sum(y).backward());
    const Tensor kept = exp(x);  // outside, nothing is packed
    EXPECT_EQ(hooks.packed, 5);
  }
  EXPECT_EQ(memory::live_blocks(), before);
}

TEST(SavedHooks, LeaveSecondDerivativesRight) {
  Tensor x = leaf({0.5}, {1}, float64);
  Doubling hooks;
  hooks.push();
  const Tensor y = sin(x) * x;
  const Tensor d = derivative(y, x, true);
  SavedHooks::pop();
  EXPECT_TRUE(is_near(derivative(d, x), {2 * std::cos(0.5) - 0.5 * std::sin(0.5)}));
}

TEST(Checkpoint, NestsAndStopsEarly) {
  int outer = 0, inner = 0, ends = 0;
  const auto small = [&](const std::vector<Tensor>& in) { return ++inner, std::vector<Tensor>{sin(exp(in[0]))}; };
  const auto big = [&](const std::vector<Tensor>& in) {
    ++outer;
    const Tensor y = checkpoint(small, {in[0] * 2.0})[0], z = exp(y);
    ++ends;
    return std::vector<Tensor>{z + 1.0};
  };
  Tensor x = leaf({0.3, -0.2}, {2}, float64);
  sum(checkpoint(big, {x}, {.early_stop = false})[0]).backward();
  Tensor again = x.detach().clone().requires_grad_();
  sum(exp(sin(exp(again * 2.0)))).backward();
  EXPECT_TRUE(all(x.grad() == again.grad()).item<bool>());
  EXPECT_TRUE(outer == 2 && inner >= 3 && ends == 2);
  ends = 0;
  const auto stops = [&](const std::vector<Tensor>& in) {
    const Tensor y = exp(in[0]);
    ++ends;
    return std::vector<Tensor>{y + 1.0};
  };
  sum(checkpoint(stops, {x}, {.early_stop = true})[0]).backward();
  EXPECT_EQ(ends, 1);
  sum(checkpoint(stops, {x}, {.early_stop = false})[0]).backward();
  EXPECT_EQ(ends, 3);
}

TEST(Checkpoint, NoticesAFunctionThatChanges) {
  int n = 1;
  Tensor x = leaf({1, 2}, {2});
  const Tensor y = checkpoint(
      [&](const std::vector<Tensor>& in) {
        return std::vector<Tensor>{exp(expand(in[0], {n++, 2}))};
      },
      {x})[0];
  EXPECT_ERROR(AutogradError, "value 0 was float32 [1, 2] and is now float32 [2, 2]", sum(y).backward());
  Tensor h = x * 1.0;
  const Tensor z = checkpoint([](const std::vector<Tensor>& in) { return std::vector<Tensor>{exp(in[0])}; }, {h})[0];
  add_(h, 1);
  EXPECT_ERROR(InplaceError, "checkpoint: expected saved tensor 0", sum(z).backward());
}

TEST(Backward, ToSomeInputsAlone) {
  Tensor x = leaf({1, 2}, {2}), w = leaf({3, 4}, {2}), h = x * w;
  const Tensor y = sum(h * h);
  backward_to(List{x}, List{y}, {}, {.retain_graph = true});
  EXPECT_TRUE(is_near(x.grad(), {18, 64}) && !w.grad());
  backward_to(List{h, w}, List{y});
  EXPECT_TRUE(is_near(h.grad(), {6, 16}) && is_near(w.grad(), {6, 32}) && is_near(x.grad(), {18, 64}));
  EXPECT_ERROR(AutogradError, "expected inputs that require a gradient", backward_to(List{ones({1})}, List{sum(x)}));
}

TEST(Hooks, OfNodesSeeAndReplaceAllGradients) {
  Tensor x = leaf({1, 2}, {2}), h = x * 2.0;
  Node& node = *edge_of(h.impl()).node;
  std::string order;
  HookHandle before = register_node_prehook(node, [&](Tensor* g, int n) {
    order += "b" + std::to_string(n);
    g[0] = g[0] * 3.0;
  });
  register_node_hook(node, [&](Tensor* r, int, const Tensor* g, int n) {
    order += "a" + std::to_string(n);
    EXPECT_TRUE(is_near(g[0], {3, 3}) && is_near(r[0], {6, 6}));
    r[0] = r[0] * 10.0;
  });
  sum(h).backward();
  EXPECT_TRUE(order == "b1a1" && is_near(x.grad(), {60, 60}));
  h.retain_grad();
  before.remove();
  x.set_grad({});
}

}  // namespace
}  // namespace neura

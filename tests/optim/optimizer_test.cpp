#include <gtest/gtest.h>

#include <cmath>

#include "neura/core/parallel.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "neura/optim/optimizers.h"
#include "tests/optim/kinds.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::optim {
namespace {

using test::error_of;
using test::sample;

Tensor leaf(const Shape& shape, DType dtype = DType::float64, std::uint64_t seed = 1) {
  return sample(shape, dtype, {.seed = seed}).requires_grad_();
}

class EveryOptimizer : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Table, EveryOptimizer, testing::ValuesIn(kKinds), [](const auto& i) { return i.param.name; });

Tensor gradient_at(int step, const Tensor& p) {
  return sample(p.shape(), p.dtype(), {.seed = std::uint64_t(100 + step)});
}

TEST_P(EveryOptimizer, ResumesBitForBit) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    Tensor a = leaf({3, 7}, dtype), b = a.detach().clone().requires_grad_();
    auto whole = GetParam().make(one_group({a})), first = GetParam().make(one_group({b}));
    for (int i = 0; i < 5; ++i) {
      a.set_grad(gradient_at(i, a)), whole->step();
      b.set_grad(gradient_at(i, b));
      if (i == 3) {
        const StateDict saved = first->state_dict();
        first = GetParam().make(one_group({b}));
        first->load_state_dict(saved);
      }
      first->step();
    }
    test::expect_same(a.detach(), b.detach());
  }
}

TEST_P(EveryOptimizer, WritesInPlaceUnrecordedAndRaisesTheVersion) {
  Tensor p = leaf({5}), missing = leaf({2});
  const Tensor before = missing.detach().clone();
  auto o = GetParam().make(one_group({p, missing}));
  p.set_grad(gradient_at(0, p));
  const void* bytes = p.raw_data();
  const auto version = p.version();
  o->step();
  EXPECT_EQ(p.raw_data(), bytes);
  EXPECT_GT(p.version(), version);
  EXPECT_TRUE(p.is_leaf());
  EXPECT_TRUE(p.requires_grad());
  test::expect_same(missing.detach(), before);
}

TEST_P(EveryOptimizer, LazyClonesOfParametersAndStateKeepTheirValues) {
  Tensor p = full({5000}, 0.5, {.dtype = DType::float64}).requires_grad_();
  auto o = GetParam().make(one_group({p}));
  std::vector<Tensor> lazy, kept;
  const auto snapshot = [&](const Tensor& t) {
    lazy.push_back(lazy_clone(t.detach())), kept.push_back(t.detach().clone());
    if (t.numel() == 5000) EXPECT_EQ(lazy.back().const_raw_data(), t.const_raw_data());
  };
  for (int i = 0; i < 3; ++i) {
    p.set_grad(gradient_at(i, p));
    o->step();
    snapshot(p);
    const StateDict state = o->state_dict();
    for (const auto& [number, values] : state.state)
      for (const auto& [name, v] : values.items)
        if (const Tensor* t = v.get<Tensor>()) snapshot(*t);
  }
  for (std::size_t i = 0; i < lazy.size(); ++i) test::expect_same(lazy[i], kept[i]);
}

TEST_P(EveryOptimizer, LayoutAndThreadsDoNotChangeTheResult) {
  const int threads = get_num_threads();
  Tensor a = leaf({37, 501}, DType::float32);  // enough for several threads, and no multiple of a vector
  Tensor b = a.detach().t().clone().t().requires_grad_(), c = a.detach().clone().requires_grad_();
  auto oa = GetParam().make(one_group({a})), ob = GetParam().make(one_group({b})), oc = GetParam().make(one_group({c}));
  for (int i = 0; i < 3; ++i) {
    const Tensor g = gradient_at(i, a);
    a.set_grad(g), oa->step();
    b.set_grad(g), ob->step();
    set_num_threads(1);
    c.set_grad(g), oc->step();
    set_num_threads(threads);
  }
  test::expect_same(a.detach(), c.detach());
  test::expect_same(b.detach(), a.detach());
}

TEST_P(EveryOptimizer, TakesAComplexParameterForTwo) {
  Tensor z = leaf({5}, DType::complex128), pairs = view_as_real(z.detach()).clone().requires_grad_();
  std::vector<ParamGroup> groups[] = {one_group({z}), one_group({pairs})};
  for (auto& g : groups)
    if (std::string(GetParam().name) == "Adagrad") g[0].options["initial_accumulator_value"] = 0.5;
  auto oz = GetParam().make(groups[0]), op = GetParam().make(groups[1]);
  for (int i = 0; i < 3; ++i) {
    const Tensor g = gradient_at(i, z);
    z.set_grad(g), oz->step();
    pairs.set_grad(view_as_real(g)), op->step();
  }
  test::expect_same(view_as_real(z.detach()), pairs.detach());
}

TEST_P(EveryOptimizer, HalvesFollowFloat) {
  Tensor wide = leaf({40}, DType::float32), half = wide.detach().to(DType::bfloat16).requires_grad_();
  auto ow = GetParam().make(one_group({wide})), oh = GetParam().make(one_group({half}));
  const Tensor g = gradient_at(0, wide);
  wide.set_grad(g), ow->step();
  half.set_grad(g.to(DType::bfloat16)), oh->step();
  test::expect_close(half.detach().to(DType::float32), wide.detach(), {2e-2, 2e-2});
}

TEST_P(EveryOptimizer, SolvesASmallRegression) {
  const Tensor x = sample({32, 3}), truth = sample({3, 1}, DType::float32, {.seed = 5});
  Tensor w = leaf({3, 1}, DType::float32, 9);
  std::vector<ParamGroup> groups = one_group({w});
  const bool slow = std::string(GetParam().name) == "Adadelta";
  groups[0].options["lr"] = slow ? 5.0 : std::string(GetParam().name) == "Adagrad" ? 0.5 : 0.05;
  auto o = GetParam().make(groups);
  double first = 0, last = 0;
  for (int i = 0; i < 300; ++i) {
    o->zero_grad();
    const Tensor difference = x.matmul(w) - x.matmul(truth);
    const Tensor loss = mean(difference * difference);
    loss.backward();
    o->step();
    (i ? last : first) = loss.item<double>();
  }
  EXPECT_LT(last, first / 20);
}

TEST(ParamGroups, HaveTheirOwnOptions) {
  Tensor a = leaf({2}), b = leaf({2});
  SGD o({{{a}, {{"lr", 0.5}}}, {{b}}}, {.lr = 0.1});
  const Tensor a0 = a.detach().clone(), b0 = b.detach().clone(), g = gradient_at(0, a);
  a.set_grad(g), b.set_grad(g);
  o.step();
  test::expect_close(a.detach(), a0 - g * 0.5);
  test::expect_close(b.detach(), b0 - g * 0.1);
  Tensor c = leaf({1});
  o.add_param_group({{c}, {{"lr", 1.0}, {"weight_decay", 0.5}}});
  EXPECT_EQ(o.param_groups().size(), 3u);
  EXPECT_EQ(error_of<ValueError>([&] { o.add_param_group({{c}}); }),
            "optimizer: expected every parameter once, got one that is in a group already");
}

TEST(ParamGroups, RefuseWhatIsOutOfRange) {
  Tensor p = leaf({1});
  EXPECT_EQ(error_of<ValueError>([&] { SGD({p}, {.lr = -1}); }), "SGD: expected lr >= 0, got -1");
  EXPECT_EQ(error_of<ValueError>([&] { Adam({p}, {.betas = {0.9, 1.0}}); }), "Adam: expected betas in [0, 1), got 1");
  EXPECT_EQ(error_of<ValueError>([&] { SGD({p}, {.nesterov = true}); }),
            "SGD: expected a momentum and no dampening with nesterov, got momentum 0 and dampening 0");
  EXPECT_EQ(error_of<ValueError>([&] { SGD(std::vector<Tensor>{}); }),
            "optimizer: expected parameters, got an empty list");
}

TEST(ZeroGrad, ClearsOrZeroes) {
  Tensor p = leaf({2});
  SGD o({p}, {.lr = 0.1});
  p.set_grad(gradient_at(0, p));
  o.zero_grad(false);
  test::expect_close(p.grad(), std::vector<double>{0, 0});
  o.zero_grad();
  EXPECT_FALSE(p.grad().defined());
}

TEST(Precision, HyperparametersAreDoubles) {  // single precision would be off by 1e-8
  Tensor p = leaf({4});
  const Tensor p0 = p.detach().clone(), g = gradient_at(0, p);
  SGD o({p}, {.lr = 0.1});
  p.set_grad(g), o.step();
  test::expect_close(p.detach(), p0 - g * 0.1, {1e-15, 1e-15});
}

TEST(Rmsprop, PutsEpsInsideTheRootIfWanted) {
  Tensor p = leaf({3});
  const Tensor p0 = p.detach().clone(), g = gradient_at(0, p);
  RMSprop o({p}, {.lr = 0.1, .alpha = 0.5, .eps = 0.25, .eps_inside_sqrt = true});
  p.set_grad(g), o.step();
  test::expect_close(p.detach(), p0 - g / sqrt(g * g * 0.5 + 0.25) * 0.1);
}

TEST(Rmsprop, PutsEpsInsideTheRootWithEveryOption) {
  for (const bool centered : {false, true})
    for (const double momentum : {0.0, 0.9})
      for (const double decay : {0.0, 0.1}) {
        Tensor p = leaf({3});
        Tensor x = p.detach().clone(), square = zeros({3}, {.dtype = float64}), average = square, buffer = square;
        RMSprop o({p}, {.lr = 0.1,
                        .alpha = 0.9,
                        .eps = 0.01,
                        .weight_decay = decay,
                        .momentum = momentum,
                        .centered = centered,
                        .eps_inside_sqrt = true});
        for (int i = 0; i < 20; ++i) {
          p.set_grad(gradient_at(i, p)), o.step();
          const Tensor g = gradient_at(i, p) + x * decay;
          square = square * 0.9 + g * g * 0.1, average = average * 0.9 + g * 0.1;
          buffer = buffer * momentum + g / sqrt((centered ? square - average * average : square) + 0.01);
          x = x - buffer * 0.1;
        }
        test::expect_close(p.detach(), x, {1e-13, 1e-13});
      }
}

TEST(Adam, StateHasTorchsNames) {
  Tensor p = leaf({3});
  Adam o({p}, {.amsgrad = true});
  EXPECT_TRUE(o.state_dict().state.empty());
  p.set_grad(gradient_at(0, p)), o.step();
  const StateDict d = o.state_dict();
  ASSERT_EQ(d.state.size(), 1u);
  std::vector<std::string> names;
  for (const auto& [name, v] : d.state[0].second.items) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"}));
  EXPECT_EQ(d.state[0].second.find("step")->get<Tensor>()->item<double>(), 1);
  EXPECT_EQ(d.param_groups[0].params, std::vector<std::int64_t>{0});
  EXPECT_EQ(d.param_groups[0].options.find("lr")->number(), 1e-3);
}

TEST(Closure, IsCalledWithRecordingOn) {
  Tensor p = leaf({3});
  SGD o({p}, {.lr = 0.1});
  const Tensor loss = o.step([&] {
    o.zero_grad();
    Tensor l = sum(p * p);
    l.backward();
    return l;
  });
  EXPECT_TRUE(p.grad().defined());
  EXPECT_GT(loss.item<double>(), 0);
}

class Sign : public Optimizer {  // a user's own
 public:
  explicit Sign(std::vector<Tensor> params) : Optimizer(one_group(std::move(params)), Dict{{{"lr", 0.01}}}) {}
  std::string type_name() const override { return "Sign"; }

 protected:
  void update(ParamGroup& g) override {
    for (Tensor& p : g.params)
      if (const Tensor grad = p.grad()) {
        sub_(p, sign(grad) * g.lr());
        ++state(p).number("step");
      }
  }
};
TEST(Optimizer, CanBeWrittenByAUser) {
  Tensor p = leaf({3});
  Sign o({p});
  double last = 0;
  for (int i = 0; i < 500; ++i) {
    o.zero_grad();
    const Tensor loss = sum(p * p);
    loss.backward(), o.step();
    last = loss.item<double>();
  }
  EXPECT_LT(last, 1e-3);
  EXPECT_EQ(o.state(p).number("step"), 500);
}

}  // namespace
}  // namespace neura::optim

#include <gtest/gtest.h>

#include <cmath>

#include "neura/optim/lr_scheduler.h"
#include "neura/optim/optimizers.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::optim::lr_scheduler {
namespace {

using test::error_of;

struct Two {  // groups with rates 0.1 and 0.01
  Tensor a = test::sample({3}, DType::float64).requires_grad_(), b = test::sample({3}, DType::float64).requires_grad_();
  SGD optimizer{std::vector<ParamGroup>{{{a}, {{"lr", 0.1}}}, {{b}, {{"lr", 0.01}}}}, SGDOptions{.momentum = 0.9}};
  double lr(int group = 0) const { return optimizer.param_groups()[std::size_t(group)].lr(); }
};

class Halve : public LRScheduler {  // a user's own
 public:
  explicit Halve(Optimizer& o) : LRScheduler(o) { Halve::begin(); }

 protected:
  std::vector<double> get_lr() override {
    return each([&](double lr, double) { return last_epoch() == 0 ? lr : lr / 2; });
  }
};

TEST(LRScheduler, CanBeWrittenByAUser) {
  Two t;
  Halve s(t.optimizer);
  s.step(), s.step();
  EXPECT_EQ(s.get_last_lr(), (std::vector<double>{0.025, 0.0025}));
  EXPECT_EQ(&s.optimizer(), &t.optimizer);
  EXPECT_EQ(s.last_epoch(), 2);
}

TEST(LRScheduler, KeepsTheRatioOfGroups) {
  Two t;
  StepLR s(t.optimizer, 1, 0.3);
  for (int i = 0; i < 20; ++i) {
    EXPECT_NEAR(t.lr(0) / t.lr(1), 10, 1e-9);
    s.step();
  }
}

TEST(LRScheduler, ChangesTheUpdateOfARealOptimizer) {
  Tensor p = test::sample({3}, DType::float64).requires_grad_();
  SGD optimizer({p}, {.lr = 0.5});
  MultiStepLR s(optimizer, {1}, 0.1);
  p.set_grad(Tensor::empty(p.spec()).fill_(1));
  const double start = p[0].item<double>();
  optimizer.step(), s.step();
  const double middle = p[0].item<double>();
  optimizer.step();
  EXPECT_NEAR(start - middle, 0.5, 1e-12);
  EXPECT_NEAR(middle - p[0].item<double>(), 0.05, 1e-12);
}

TEST(LRScheduler, JumpsToAnEpoch) {
  Two t;
  StepLR s(t.optimizer, 10, 0.1);
  s.step({.epoch = 25});
  EXPECT_NEAR(t.lr(), 0.001, 1e-12);
  CosineAnnealingWarmRestarts c(t.optimizer, 3, 2);
  c.step({.epoch = 9});
  EXPECT_NEAR(t.lr(), 0.1, 1e-12);
}

TEST(CosineAnnealingWarmRestarts, TakesPartsOfAnEpoch) {
  Two t;
  CosineAnnealingWarmRestarts s(t.optimizer, 4, 2);
  s.step({.epoch = 5.5});
  EXPECT_NEAR(t.lr(), 0.1 * (1 + std::cos(std::acos(-1.0) * 1.5 / 8)) / 2, 1e-15);
  EXPECT_EQ(s.last_epoch(), 5);
  EXPECT_EQ(error_of<ValueError>([&] { s.step({.epoch = -1}); }),
            "CosineAnnealingWarmRestarts: expected an epoch from 0 up, got -1");
}

TEST(CyclicLR, RisesInStepsAndMayFallAtOnce) {
  Two t;
  EXPECT_EQ(error_of<ValueError>([&] { CyclicLR(t.optimizer, 0.1, 1.0, CyclicOptions{.step_size_up = 0}); }),
            "CyclicLR: expected a positive step_size_up, and step_size_down of at least 0, got 0 and 0");
  CyclicLR s(t.optimizer, 0.1, 1.0, CyclicOptions{.step_size_up = 4, .step_size_down = 0, .cycle_momentum = false});
  EXPECT_EQ(t.lr(), 0.1);
}
TEST(CyclicLR, TakesValuesPerGroupAndAnOwnScale) {
  Two t;
  CyclicLR s(t.optimizer, Values{0, 1}, Values{1, 3},
             {.step_size_up = 2, .scale_fn = [](double cycle) { return 1 / cycle; }, .base_momentum = {0.5, 0.6}});
  std::vector<double> first, second, momentum;
  for (int i = 0; i < 6; ++i) {
    s.step();
    first.push_back(t.lr(0)), second.push_back(t.lr(1));
    momentum.push_back(t.optimizer.param_groups()[1].number("momentum"));
  }
  EXPECT_EQ(first, (std::vector<double>{0.5, 1, 0.5, 0, 0.25, 0.5}));
  EXPECT_EQ(second, (std::vector<double>{2, 3, 2, 1, 1.5, 2}));
  EXPECT_NEAR(momentum[1], 0.6, 1e-15);
  EXPECT_NEAR(momentum[4], 0.825, 1e-15);
  EXPECT_EQ(error_of<ValueError>([&] {
              CyclicLR(t.optimizer, Values{1, 2, 3}, Values{1});
            }),
            "CyclicLR: base_lr: expected one value or 2, one per group, got 3");
}

TEST(LRScheduler, ResumesAtAnEpoch) {
  Two t;
  {
    StepLR s(t.optimizer, 2, 0.5);
    for (int i = 0; i < 3; ++i) s.step();
  }
  StepLR again(t.optimizer, 2, 0.5, 2);  // its first step is to epoch 3
  EXPECT_EQ(again.last_epoch(), 3);
  EXPECT_EQ(t.lr(), 0.05);
  again.step();
  EXPECT_EQ(t.lr(), 0.025);
  Two fresh;
  EXPECT_EQ(error_of<ValueError>([&] { StepLR(fresh.optimizer, 2, 0.5, 2); }),
            "scheduler: expected \"initial_lr\" in every group to resume at epoch 2, got none; load the optimizer's "
            "state first");
}

TEST(LRScheduler, SavesWhatTorchSaves) {
  Two t;
  const auto keys = [](const LRScheduler& s) {
    std::string all;
    const Dict d = s.state_dict();
    for (const auto& [name, value] : d.items) all += name + ' ';
    return all;
  };
  const std::string common = "base_lrs last_epoch _step_count _is_initial _last_lr ";
  EXPECT_EQ(keys(StepLR(t.optimizer, 2)), "step_size gamma " + common);
  EXPECT_EQ(keys(CosineAnnealingWarmRestarts(t.optimizer, 2)), "T_0 T_i T_mult eta_min T_cur " + common);
  EXPECT_EQ(keys(CyclicLR(t.optimizer, 0.1, 1, {.cycle_momentum = false})),
            "total_size step_ratio mode gamma scale_mode max_lrs cycle_momentum " + common);
  EXPECT_EQ(keys(OneCycleLR(t.optimizer, 1.0, {.total_steps = 4})),
            "total_steps _schedule_phases _anneal_func_type cycle_momentum " + common);
}

TEST(SWALR, GoesToItsRateAndStays) {
  Two t;
  SWALR s(t.optimizer, Values{0.5, 0.05}, {.anneal_epochs = 4, .anneal_strategy = "linear"});
  for (const double want : {0.2, 0.3, 0.4, 0.5, 0.5}) {
    s.step();
    EXPECT_NEAR(t.lr(0), want, 1e-12);
    EXPECT_NEAR(t.lr(1), want / 10, 1e-12);
  }
  EXPECT_EQ(error_of<ValueError>([&] { SWALR(t.optimizer, 1, {.anneal_strategy = "exp"}); }),
            "SWALR: expected one of cos, linear, got exp");
}

TEST(ConstantLR, ComesBackFromNothing) {
  Two t;
  ConstantLR s(t.optimizer, 0, 2);
  EXPECT_EQ(t.lr(), 0);
  s.step(), s.step();
  EXPECT_EQ(t.lr(), 0.1);
}

TEST(LambdaLR, MultipliesTheFirstRate) {
  Two t;
  LambdaLR s(t.optimizer, {[](std::int64_t e) { return 1.0 / double(1 + e); }, [](std::int64_t) { return 1.0; }});
  s.step(), s.step();
  EXPECT_NEAR(t.lr(0), 0.1 / 3, 1e-15);
  EXPECT_NEAR(t.lr(1), 0.01, 1e-15);
  Two u;
  MultiplicativeLR m(u.optimizer, [](std::int64_t) { return 0.5; });
  m.step(), m.step();
  EXPECT_NEAR(u.lr(), 0.025, 1e-15);
}

TEST(SequentialLR, HandsOverAtTheMilestone) {
  Two t;
  auto warm = std::make_shared<ConstantLR>(t.optimizer, 0.1, 20);
  auto decay = std::make_shared<ExponentialLR>(t.optimizer, 0.9);
  SequentialLR s(t.optimizer, {warm, decay}, {2});
  std::vector<double> got = {t.lr()};
  for (int i = 0; i < 4; ++i) s.step(), got.push_back(t.lr());
  const std::vector<double> want = {0.01, 0.01, 0.1, 0.09, 0.081};
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-12) << i;
  const Dict saved = s.state_dict();
  s.step();
  const double next = t.lr();
  for (ParamGroup& g : t.optimizer.param_groups()) g.set_lr(g.lr() / 0.9);
  s.load_state_dict(saved);
  s.step();
  EXPECT_NEAR(t.lr(), next, 1e-12);
  auto outer = std::make_shared<ConstantLR>(t.optimizer, 0.5, 1);
  SequentialLR nested(t.optimizer,
                      {outer, std::make_shared<ChainedScheduler>(std::vector<std::shared_ptr<LRScheduler>>{
                                  std::make_shared<StepLR>(t.optimizer, 1, 0.1)})},
                      {2});
  got.clear();
  for (int i = 0; i < 3; ++i) nested.step(), got.push_back(t.lr());
  EXPECT_NEAR(got[0], 0.1, 1e-12);
  EXPECT_NEAR(got[1], 0.1, 1e-12);  // from the rate that the first left
  EXPECT_NEAR(got[2], 0.01, 1e-12);
  EXPECT_EQ(error_of<ValueError>([&] {
              SequentialLR(t.optimizer, {warm, decay}, {});
            }),
            "SequentialLR: expected one milestone between every two schedulers, got 0");
}

TEST(ChainedScheduler, StepsAllOfThem) {
  Two t;
  auto a = std::make_shared<ConstantLR>(t.optimizer, 0.5, 2);
  auto b = std::make_shared<ExponentialLR>(t.optimizer, 0.9);
  ChainedScheduler s({a, b});
  EXPECT_NEAR(s.get_last_lr()[0], 0.05, 1e-15);
  s.step();
  EXPECT_NEAR(t.lr(), 0.045, 1e-15);
  s.step();
  EXPECT_NEAR(t.lr(), 0.081, 1e-15);
}

TEST(OneCycleLR, CyclesMomentumAgainstTheRate) {
  Two t;
  OneCycleLR s(t.optimizer, 1.0, {.total_steps = 10});
  EXPECT_EQ(t.optimizer.param_groups()[0].number("momentum"), 0.95);
  double least = 1;
  for (int i = 0; i < 9; ++i)
    t.optimizer.step(), s.step(), least = std::min(least, t.optimizer.param_groups()[0].number("momentum"));
  EXPECT_NEAR(least, 0.85, 1e-12);
  s.step();
  EXPECT_EQ(error_of<ValueError>([&] { s.step(); }), "OneCycleLR: expected at most 10 steps, got one more");
  Tensor p = test::sample({1}).requires_grad_();
  Adam adam({p});
  OneCycleLR with_betas(adam, 1.0, {.total_steps = 4});
  EXPECT_EQ(adam.param_groups()[0].pair("betas")[0], 0.95);
  Adagrad none({p});
  EXPECT_EQ(error_of<ValueError>([&] { OneCycleLR(none, 1.0, {.total_steps = 4}); }),
            "OneCycleLR: expected an optimizer with momentum or betas, got Adagrad; set cycle_momentum = false");
}

TEST(ReduceLROnPlateau, WantsAMetric) {
  Two t;
  ReduceLROnPlateau s(t.optimizer, {.factor = 0.5, .patience = 0, .min_lr = {0.04, 0.001}});
  EXPECT_EQ(error_of<ValueError>([&] { s.step(StepOptions{}); }),
            "ReduceLROnPlateau: expected metrics, got none; call step(loss)");
  for (int i = 0; i < 4; ++i) s.step(1.0);
  EXPECT_EQ(s.get_last_lr()[0], 0.04);
  EXPECT_NEAR(s.get_last_lr()[1], 0.00125, 1e-15);
}

TEST(LRScheduler, TakesGroupsThatAreAddedLater) {
  Two t;
  Tensor c = test::sample({3}, DType::float64).requires_grad_();
  LambdaLR lambda(t.optimizer, [](std::int64_t e) { return e > 0 ? 0.5 : 1.0; });
  t.optimizer.add_param_group({{c}, {{"lr", 0.8}}});
  lambda.step();
  EXPECT_EQ(lambda.get_last_lr(), (std::vector<double>{0.05, 0.005, 0.4}));

  Two u;
  ReduceLROnPlateau plateau(u.optimizer, {.patience = 0, .min_lr = {0.02}});
  u.optimizer.add_param_group({{c}, {{"lr", 0.8}}});
  for (int i = 0; i < 2; ++i) plateau.step(1.0);
  EXPECT_DOUBLE_EQ(u.lr(2), 0.08);

  Two v;
  OneCycleLR cycle(v.optimizer, 1.0, {.total_steps = 4});
  v.optimizer.add_param_group({{c}, {}});
  cycle.step();
  EXPECT_EQ(v.lr(2), v.lr(0));
}

TEST(LRScheduler, DoesNotGuessForAddedGroupsWhatWasAList) {
  Two t;
  Tensor c = test::sample({3}, DType::float64).requires_grad_();
  ReduceLROnPlateau plateau(t.optimizer, {.min_lr = {0.0, 0.0}});
  t.optimizer.add_param_group({{c}, {}});
  EXPECT_EQ(error_of<ValueError>([&] { plateau.step(1.0); }),
            "ReduceLROnPlateau: expected one min_lr for all groups where a group is added later, got 2; make the "
            "scheduler after the last group");
}

}  // namespace
}  // namespace neura::optim::lr_scheduler

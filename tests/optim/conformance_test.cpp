// Every optimizer and scheduler against PyTorch's stored numbers.
#include "tests/optim/stored.h"

#include <gtest/gtest.h>

#include "neura/autograd/grad_mode.h"
#include "neura/op/pointwise/rows.h"
#include "neura/optim/optim.h"

namespace neura::optim {
namespace {

using test::Value;

class StoredOptimizer : public testing::TestWithParam<const char*> {};

TEST_P(StoredOptimizer, FollowsTorchStepByStep) { expect_stored_steps(GetParam(), Device()); }
INSTANTIATE_TEST_SUITE_P(Table, StoredOptimizer, testing::ValuesIn(kStored),
                         [](const auto& info) { return info.param; });

// ---- Schedulers

struct Arguments {
  const Value& given;
  double number(const char* name, double fallback) const { return given[name] ? given[name].scalar.real() : fallback; }
  std::int64_t integer(const char* name, std::int64_t fallback) const {
    return given[name] ? given[name].scalar.integer() : fallback;
  }
  std::string word(const char* name, const char* fallback) const { return given[name] ? given[name].word : fallback; }
  bool flag(const char* name, bool fallback) const {
    return given[name] ? given[name].scalar.integer() != 0 : fallback;
  }
  std::optional<std::int64_t> maybe(const char* name) const {
    return given[name] ? std::optional(given[name].scalar.integer()) : std::nullopt;
  }
};

std::unique_ptr<lr_scheduler::LRScheduler> make_scheduler(const std::string& name, Optimizer& o, const Arguments& a) {
  using namespace lr_scheduler;
  if (name == "StepLR") return std::make_unique<StepLR>(o, a.integer("step_size", 1), a.number("gamma", 0.1));
  if (name == "MultiStepLR") {
    std::vector<std::int64_t> milestones;
    for (const Value& m : a.given["milestones"].items) milestones.push_back(m.scalar.integer());
    return std::make_unique<MultiStepLR>(o, milestones, a.number("gamma", 0.1));
  }
  if (name == "ConstantLR") return std::make_unique<ConstantLR>(o, a.number("factor", 0), a.integer("total_iters", 0));
  if (name == "LinearLR")
    return std::make_unique<LinearLR>(o, a.number("start_factor", 0), a.number("end_factor", 0),
                                      a.integer("total_iters", 0));
  if (name == "ExponentialLR") return std::make_unique<ExponentialLR>(o, a.number("gamma", 0));
  if (name == "PolynomialLR")
    return std::make_unique<PolynomialLR>(o, a.integer("total_iters", 0), a.number("power", 1));
  if (name == "CosineAnnealingLR")
    return std::make_unique<CosineAnnealingLR>(o, a.integer("T_max", 0), a.number("eta_min", 0));
  if (name == "CosineAnnealingWarmRestarts")
    return std::make_unique<CosineAnnealingWarmRestarts>(o, a.integer("T_0", 0), a.integer("T_mult", 1),
                                                         a.number("eta_min", 0));
  if (name == "CyclicLR")
    return std::make_unique<CyclicLR>(o, a.number("base_lr", 0), a.number("max_lr", 0),
                                      CyclicOptions{.step_size_up = a.integer("step_size_up", 2000),
                                                    .step_size_down = a.maybe("step_size_down"),
                                                    .mode = a.word("mode", "triangular"),
                                                    .gamma = a.number("gamma", 1),
                                                    .cycle_momentum = a.flag("cycle_momentum", true)});
  if (name == "OneCycleLR")
    return std::make_unique<OneCycleLR>(o, a.number("max_lr", 0),
                                        OneCycleOptions{.total_steps = a.maybe("total_steps"),
                                                        .epochs = a.maybe("epochs"),
                                                        .steps_per_epoch = a.maybe("steps_per_epoch"),
                                                        .pct_start = a.number("pct_start", 0.3),
                                                        .anneal_strategy = a.word("anneal_strategy", "cos"),
                                                        .three_phase = a.flag("three_phase", false)});
  if (name == "ReduceLROnPlateau")
    return std::make_unique<ReduceLROnPlateau>(o, PlateauOptions{.mode = a.word("mode", "min"),
                                                                 .factor = a.number("factor", 0.1),
                                                                 .patience = a.integer("patience", 10),
                                                                 .threshold = a.number("threshold", 1e-4),
                                                                 .threshold_mode = a.word("threshold_mode", "rel"),
                                                                 .cooldown = a.integer("cooldown", 0),
                                                                 .min_lr = {a.number("min_lr", 0)}});
  return nullptr;
}

Tensor parameter(std::int64_t n) {
  Tensor t = Tensor::empty(Spec::dense(DType::float32, Shape{n}));
  t.zero_();
  return t.requires_grad_();
}

std::vector<double> rates(const Optimizer& o) {
  std::vector<double> r;
  for (const ParamGroup& g : o.param_groups()) r.push_back(g.lr());
  return r;
}

// Stops after 7 steps, saves, and continues with a fresh scheduler: the rates stay those of an unbroken run.
void follow(const Value& c, bool resume) {
  const std::string name = c["scheduler"].word;
  SCOPED_TRACE(name);
  std::vector<ParamGroup> groups;
  for (const Value& lr : c["group_lrs"].items) groups.push_back(ParamGroup({parameter(2)}, {{"lr", lr.scalar.real()}}));
  SGD optimizer(groups, {.lr = 0.1, .momentum = 0.9});
  auto scheduler = make_scheduler(name, optimizer, {c["kwargs"]});
  ASSERT_TRUE(scheduler);
  const auto& expected = c["lrs"].items;
  for (std::size_t i = 0;; ++i) {
    const auto got = rates(optimizer);
    for (std::size_t k = 0; k < got.size(); ++k) {
      const double want = expected[i].items[k].scalar.real();
      EXPECT_NEAR(got[k], want, 1e-12 + 1e-9 * std::abs(want)) << "after step " << i;
    }
    if (i + 1 == expected.size()) break;
    if (resume && i == 7) {
      const auto saved = optimizer.state_dict();
      const auto state = scheduler->state_dict();
      scheduler = make_scheduler(name, optimizer, {c["kwargs"]});
      optimizer.load_state_dict(saved);
      scheduler->load_state_dict(state);
    }
    optimizer.step();
    if (c["metrics"]) scheduler->step({.metrics = c["metrics"].items[i].scalar.real()});
    else scheduler->step();
    if (!resume) EXPECT_EQ(scheduler->get_last_lr(), rates(optimizer));
  }
}

TEST(StoredScheduler, GivesTorchsRates) {
  const auto cases = test::read_cases("schedulers.json", "");
  ASSERT_GE(cases.size(), 14u);
  for (const Value& c : cases) follow(c, false);
}
TEST(StoredScheduler, ResumesWithTheSameRates) {
  for (const Value& c : test::read_cases("schedulers.json", "")) follow(c, true);
}

}  // namespace
}  // namespace neura::optim

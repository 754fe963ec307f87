// Steps, clipping and initialisation write where the numbers are: no temporary of a parameter's size, and nothing that
// grows from step to step.
#include "neura/core/memory.h"

#include <gtest/gtest.h>

#include <memory>

#include "neura/nn/clip.h"
#include "neura/nn/init.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/optim/optimizers.h"
#include "tests/optim/kinds.h"
#include "tests/support/sample.h"

namespace neura::optim {
namespace {

constexpr std::int64_t kLarge = 300000;  // floats: more than 1 MiB, so that each allocation counts as pages

// The most that f takes in pages, beyond what it finds.
template <class F> std::size_t peak_of(F f) {
  const std::size_t before = memory::pages().live;
  memory::reset_peak();
  f();
  return memory::pages().peak - before;
}

class StepMemory : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Table, StepMemory, testing::ValuesIn(kKinds), [](const auto& i) { return i.param.name; });

TEST_P(StepMemory, StaysWhatTheFirstStepTook) {
  std::vector<Tensor> params;
  for (const std::int64_t n : {kLarge, std::int64_t{7}}) {
    params.push_back(test::sample({n}).requires_grad_());
    params.back().set_grad(test::sample({n}, float32, {.seed = 2}));
  }
  const std::unique_ptr<Optimizer> optimizer = GetParam().make({ParamGroup(params)});
  optimizer->step();  // makes the state
  const std::size_t after_first = memory_allocated();
  const void* place = params[0].const_raw_data();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(peak_of([&] { optimizer->step(); }), 0u) << "a temporary of the parameter's size";
    EXPECT_EQ(memory_allocated(), after_first) << "step " << i;
  }
  EXPECT_EQ(params[0].const_raw_data(), place);
  EXPECT_TRUE(params[0].is_leaf() && params[0].requires_grad());
}

TEST(ClipMemory, TakesNoTemporaryOfTheGradientsSize) {
  std::vector<Tensor> params;
  for (int i = 0; i < 3; ++i) {
    params.push_back(test::sample({kLarge}).requires_grad_());
    params.back().set_grad(test::sample({kLarge}, float32, {.seed = std::uint64_t(i)}));
  }
  const std::size_t before = memory_allocated();
  EXPECT_GT(peak_of([&] { clone(params[0].detach()); }), 0u);  // what a temporary looks like
  EXPECT_EQ(peak_of([&] { nn::utils::clip_grad_norm_(params, 1e-3); }), 0u);
  EXPECT_EQ(peak_of([&] { nn::utils::clip_grad_value_(params, 1e-6); }), 0u);
  EXPECT_EQ(memory_allocated(), before);
}

TEST(InitMemory, FillsInPlace) {
  Tensor w = zeros({600, 500}).requires_grad_();
  const void* place = w.const_raw_data();
  const std::size_t before = memory_allocated();
  const std::pair<const char*, void (*)(Tensor&)> fills[] = {
      {"uniform", [](Tensor& t) { nn::init::uniform_(t, -1, 1); }},
      {"normal", [](Tensor& t) { nn::init::normal_(t); }},
      {"constant", [](Tensor& t) { nn::init::constant_(t, 0.5); }},
      {"zeros", [](Tensor& t) { nn::init::zeros_(t); }},
      {"xavier_uniform", [](Tensor& t) { nn::init::xavier_uniform_(t); }},
      {"kaiming_normal", [](Tensor& t) { nn::init::kaiming_normal_(t); }},
  };
  for (const auto& [name, fill] : fills) {
    EXPECT_EQ(peak_of([&, f = fill] { f(w); }), 0u) << name;
    EXPECT_EQ(memory_allocated(), before) << name;
  }
  EXPECT_EQ(w.const_raw_data(), place);
  EXPECT_TRUE(w.is_leaf() && w.requires_grad());
}

}  // namespace
}  // namespace neura::optim

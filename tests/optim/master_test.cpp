// Master weights: a half parameter whose steps are taken on a float32 copy of it.
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "tests/optim/kinds.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::optim {
namespace {

using test::expect_same;
using test::sample;

std::vector<ParamGroup> with_master(const Tensor& p) { return {ParamGroup({p}, {{"master", true}})}; }
Tensor gradient_at(int step, const Tensor& p) {
  return sample(p.shape(), DType::float32, {.seed = std::uint64_t(100 + step)}).to(p.dtype());
}

class EveryMaster : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Table, EveryMaster, testing::ValuesIn(kKinds), [](const auto& i) { return i.param.name; });

TEST_P(EveryMaster, StepsAsFloat32AndRoundsToTheParameter) {
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    Tensor half = sample({4, 9}, DType::float32).to(dtype).requires_grad_();
    Tensor wide = half.detach().to(DType::float32).requires_grad_();
    auto low = GetParam().make(with_master(half)), high = GetParam().make(one_group({wide}));
    for (int i = 0; i < 6; ++i) {
      const Tensor g = gradient_at(i, half);
      half.set_grad(g), wide.set_grad(g.to(DType::float32));
      low->step(), high->step();
    }
    expect_same(half.detach(), wide.detach().to(dtype));
    expect_same(*low->state(half).values.find("master_param")->get<Tensor>(), wide.detach());
  }
}

TEST_P(EveryMaster, ResumesBitForBit) {
  Tensor a = sample({7}, DType::float32).to(DType::bfloat16).requires_grad_();
  Tensor b = a.detach().clone().requires_grad_();
  auto whole = GetParam().make(with_master(a)), first = GetParam().make(with_master(b));
  for (int i = 0; i < 6; ++i) {
    a.set_grad(gradient_at(i, a)), b.set_grad(gradient_at(i, b));
    if (i == 3) {
      const StateDict saved = first->state_dict();
      first = GetParam().make(with_master(b));
      first->load_state_dict(saved);
    }
    whole->step(), first->step();
  }
  expect_same(*first->state(b).values.find("master_param")->get<Tensor>(),
              *whole->state(a).values.find("master_param")->get<Tensor>());
  expect_same(a.detach(), b.detach());
}

TEST(Master, UpdatesTooSmallForTheParameterAreNotLost) {
  Tensor with = full({3}, 1.0, {.dtype = DType::bfloat16}).requires_grad_();
  Tensor without = with.detach().clone().requires_grad_();
  SGD kept(with_master(with), {.lr = 1e-3}), lost({without}, {.lr = 1e-3});
  for (int i = 0; i < 100; ++i) {
    with.set_grad(full({3}, 1.0, {.dtype = DType::bfloat16}));
    without.set_grad(full({3}, 1.0, {.dtype = DType::bfloat16}));
    kept.step(), lost.step();
  }
  test::expect_close(with.detach().to(DType::float32), full({3}, 0.9), {0.004, 0});
  expect_same(without.detach(), full({3}, 1.0, {.dtype = DType::bfloat16}));  // 1 - 0.001 rounds to 1
}

TEST(Master, OfAFloat32ParameterThereIsNone) {
  Tensor p = full({3}, 1.0).requires_grad_();
  SGD sgd(with_master(p), {.lr = 0.5});
  p.set_grad(full({3}, 1.0));
  sgd.step();
  expect_same(p.detach(), full({3}, 0.5));
  EXPECT_FALSE(sgd.state(p).has("master_param"));
}

}  // namespace
}  // namespace neura::optim

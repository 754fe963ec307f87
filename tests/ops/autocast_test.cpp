// Autocast: what it casts, what it keeps, and that gradients come through. Its lists: tests/python/autocast_test.py.
#include <thread>

#include "neura/autograd/function.h"
#include "neura/core/memory_api.h"
#include "neura/op/apply.h"
#include "neura/op/autocast.h"
#include "neura/ops/loss/loss.h"
#include "neura/ops/nn/norm.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"
#include "tests/support/engine.h"
#include "tests/support/sample.h"

namespace neura {
namespace {

using amp::Autocast;
using test::expect_same;

struct Seen : Interceptor {
  std::string rows;
  void call(Call& c) override {
    rows += std::string(rows.empty() ? "" : " ") + c.row->name;
    apply(c);
  }
  std::string take() { return std::exchange(rows, {}); }
};

struct Small {  // y = x w^T + b
  Tensor x = test::sample({3, 4}, float32), w = test::sample({2, 4}, float32).requires_grad_();
  Tensor b = test::sample({2}, float32).requires_grad_();
  Tensor y() const { return linear(x, w, b); }
};

TEST(Autocast, CastsOperandsAndKeepsThoseOfParameters) {
  const Small s;
  Seen seen;
  {
    const Autocast on("cpu");
    EXPECT_EQ(s.y().dtype(), bfloat16);
    EXPECT_EQ(seen.take(), "to to to linear");
    s.y();
    EXPECT_EQ(seen.take(), "to linear");  // of x alone
    {
      const Autocast inner("cpu");
      s.y();
    }
    EXPECT_EQ(seen.take(), "to linear");
    const Autocast other("cpu", float16);
    EXPECT_EQ(s.y().dtype(), float16);
    EXPECT_EQ(seen.take(), "to to to linear");
  }
  EXPECT_EQ(s.y().dtype(), float32);
  EXPECT_EQ(seen.take(), "linear");
  const Autocast again("cpu");
  s.y();
  EXPECT_EQ(seen.take(), "to to to linear");  // what was kept went with the outermost region
}

TEST(Autocast, WithoutACacheCastsEveryTime) {
  const Small s;
  Seen seen;
  const Autocast on("cpu", {}, true, false);
  s.y(), s.y();
  EXPECT_EQ(seen.take(), "to to to linear to to to linear");
}

TEST(Autocast, AWrittenParameterIsCastAnew) {
  Small s;
  const Autocast on("cpu");
  const Tensor before = s.y();
  {
    const NoGrad off;
    s.w.fill_(1.0), s.b.fill_(0.0);
  }
  const Tensor after = s.y();
  expect_same(after, linear(s.x, full({2, 4}, 1.0), full({2}, 0.0)));
  EXPECT_FALSE(test::close(after, before));
}

TEST(Autocast, AParameterThatLiesInAnotherWayIsCastAnew) {
  Tensor w = test::sample({3, 3}, float32).requires_grad_();
  const Tensor x = test::sample({2, 3}, float32), t = transpose(w.detach(), 0, 1);
  const Autocast on("cpu");
  const Tensor once = matmul(x, w);
  TensorImpl* p = w.impl();
  p->spec = t.spec();  // as transpose_ does it
  expect_same(matmul(x, w), matmul(x, t));
  EXPECT_FALSE(test::close(matmul(x, w), once));
}

TEST(Autocast, WhatWasCastWithoutRecordingStillGetsItsGradient) {
  const Small s;
  const Autocast on("cpu");
  {
    const NoGrad off;
    EXPECT_FALSE(s.y().requires_grad());
  }
  sum(s.y()).backward();
  ASSERT_TRUE(s.w.grad() && s.b.grad());
  EXPECT_EQ(s.w.grad().dtype(), float32);
  sum(s.y()).backward();  // each use has a history of its own
  expect_same(s.b.grad(), full({2}, 6.0));
}

TEST(Autocast, GradientsAreThoseOfCastsByHand) {
  const Small s, t{s.x, s.w.clone().detach().requires_grad_(), s.b.clone().detach().requires_grad_()};
  {
    const Autocast on("cpu");
    mse_loss(s.y(), full({3, 2}, 0.5)).backward();  // inside, too
  }
  mse_loss(linear(to(t.x, bfloat16), to(t.w, bfloat16), to(t.b, bfloat16)).to(float32), full({3, 2}, 0.5)).backward();
  expect_same(s.w.grad(), t.w.grad());
  expect_same(s.b.grad(), t.b.grad());
}

TEST(Autocast, BackwardIsNeverCast) {
  const Small s;
  const Tensor loss = sum(s.y() * s.y());  // float32
  Seen seen;
  const Autocast on("cpu");
  loss.backward();
  EXPECT_EQ(seen.rows.find("to"), std::string::npos) << seen.rows;
  EXPECT_TRUE(amp::is_autocast_enabled(DeviceType::cpu));
}

TEST(Autocast, DerivativesOfDerivativesAreFloat32) {
  Tensor x = Tensor(test::sample({3, 3}, float32)).requires_grad_();
  const Autocast on("cpu");
  const Tensor y = mse_loss(tanh(matmul(x, x)), full({3, 3}, 0.5));
  const Tensor g = grad(y, x, {}, {.create_graph = true});
  const Tensor gg = grad(sum(g * g), x);
  EXPECT_EQ(g.dtype(), float32);
  EXPECT_EQ(gg.dtype(), float32);
  const Autocast off("cpu", {}, false);
  const Tensor exact = grad(mse_loss(tanh(matmul(x, x)), full({3, 3}, 0.5)), x, {}, {.create_graph = true});
  EXPECT_TRUE(test::close(gg, grad(sum(exact * exact), x), {0.05, 0.05}));
}

TEST(Autocast, ACheckpointComputesAgainAsItDidFirst) {
  const Small s;
  const auto f = [&](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{mse_loss(tanh(linear(in[0], s.w, s.b)), full({3, 2}, 0.5))};
  };
  Tensor loss, plain;
  {
    const Autocast on("cpu");
    loss = checkpoint(f, {s.x})[0], plain = f({s.x})[0];
  }
  const Tensor g = grad(plain, s.w);
  loss.backward();  // outside: the second run is told how the first was
  expect_same(s.w.grad(), g);
}

TEST(Autocast, LeavesOtherDtypesAndDestinationsAlone) {
  const Autocast on("cpu");
  const Tensor d = full({2, 2}, 1.0, {.dtype = float64});
  EXPECT_EQ(matmul(d, d).dtype(), float64);
  EXPECT_EQ(matmul(full({2, 2}, 1.0, {.dtype = complex64}), full({2, 2}, 1.0, {.dtype = complex64})).dtype(),
            complex64);
  Tensor out = full({2, 2}, 0.0);
  matmul_out(out, full({2, 2}, 1.0), full({2, 2}, 1.0));
  EXPECT_EQ(out.dtype(), float32);
}

TEST(Autocast, WideAndPromotedAndKept) {
  const Autocast on("cpu");
  const Tensor h = full({2, 3}, 0.5, {.dtype = bfloat16}), f = full({2, 3}, 0.5);
  EXPECT_EQ(mse_loss(h, h).dtype(), float32);
  EXPECT_EQ(cat({h, f}).dtype(), float32);
  EXPECT_EQ(softmax(h, 1).dtype(), bfloat16);
  EXPECT_EQ(amp::policy_of(rows::exp, DeviceType::cpu), amp::Policy::keep);
  EXPECT_EQ(amp::policy_of(rows::exp, DeviceType::cuda), amp::Policy::wide);
  EXPECT_EQ(amp::policy_of(rows::atan2, DeviceType::cuda), amp::Policy::promote);
}

// The loss reads halves and computes in float32, so that no cast of all scores is made.
TEST(Autocast, ALossOfHalvesIsThatOfTheirCast) {
  const Tensor scores = test::sample({5, 7}, bfloat16), target = test::sample({5}, int64, {.low = 0, .high = 7});
  const Tensor weight = test::sample({7}, float32, {.low = 0.5});
  for (const Reduction r : {Reduction::mean, Reduction::none}) {
    const CrossEntropyOptions plain{.reduction = r}, all{.weight = weight, .reduction = r, .label_smoothing = 0.1};
    for (const CrossEntropyOptions& o : {plain, all}) {
      Tensor x = scores.clone().requires_grad_(), y = scores.clone().requires_grad_();
      const Tensor want = cross_entropy(to(x, float32), target, o);
      want.sum().backward();
      Seen seen;
      Tensor got;
      {
        const Autocast on("cpu");
        got = cross_entropy(y, target, o);
        EXPECT_EQ(seen.take(), "cross_entropy");
      }
      got.sum().backward();
      expect_same(got.detach(), want.detach());
      expect_same(y.grad(), x.grad());
    }
  }
}

struct Doubled {  // a program's own operation says of itself that it is one of the low ones
  static constexpr Operation op = operation("doubled").precision(Precision::low);
  NEURA_FIELDS()
  void infer(const Spec& x, Spec& y) const { y = Spec::dense(x.dtype, x.sizes()); }
  void run(Context&, View, View) const {}
};
TEST(Autocast, AProgramsOwnOperationMayBeLow) {
  const Autocast on("cpu");
  EXPECT_EQ(apply(Doubled{}, full({2}, 1.0)).dtype(), bfloat16);
}

TEST(Autocast, ModesAreThoseOfEachThread) {
  const Autocast on("cpu", float16);
  EXPECT_TRUE(amp::is_autocast_enabled(DeviceType::cpu) && !amp::is_autocast_enabled(DeviceType::cuda));
  DType elsewhere = float64;
  bool enabled = true;
  std::thread([&] {
    enabled = amp::is_autocast_enabled(DeviceType::cpu), elsewhere = amp::get_autocast_dtype(DeviceType::cpu);
  }).join();
  EXPECT_FALSE(enabled);
  EXPECT_EQ(elsewhere, bfloat16);
  EXPECT_EQ(amp::get_autocast_dtype(DeviceType::cpu), float16);
  EXPECT_EQ(test::error_of<DTypeError>([] { amp::set_autocast_dtype(DeviceType::cpu, float32); }),
            "autocast: expected float16 or bfloat16, got float32; turn it off for float32");
}

TEST(Autocast, LeavesNothingBehind) {
  const auto before = memory::live_blocks();
  {
    const Small s;
    const Autocast on("cpu");
    sum(s.y()).backward();
  }
  EXPECT_EQ(memory::live_blocks(), before);
  EXPECT_FALSE(amp::is_autocast_enabled(DeviceType::cpu));
}

}  // namespace
}  // namespace neura

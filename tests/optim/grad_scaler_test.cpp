#include "neura/optim/grad_scaler.h"

#include <cmath>

#include "neura/nn/clip.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/optim/optimizers.h"
#include "neura/sparse/sparse.h"
#include "tests/support/close.h"

namespace neura::amp {
namespace {

using test::error_of;
using test::expect_close;

struct One {  // a parameter, its optimizer and a scaler
  Tensor w = full({3}, 1.0).requires_grad_();
  optim::SGD sgd{{w}, {.lr = 0.125}};
  GradScaler scaler{{.init_scale = 64, .backoff_factor = 0.25, .growth_interval = 3}};
  bool step(double factor = 1) {
    sgd.zero_grad();
    scaler.scale(sum(w * w) * factor).backward();
    const bool taken = scaler.step(sgd);
    return scaler.update(), taken;
  }
};

TEST(GradScaler, SkipsAndGrowsAsTorch) {
  One o;
  // (torch 2.11) tests/python/grad_scaler_test.py has the whole of it
  const double scales[] = {64, 64, 128, 128, 32, 32, 32, 64};
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(o.step(i == 4 ? INFINITY : 1), i != 4);
    EXPECT_EQ(o.scaler.get_scale(), scales[i]) << i;
  }
  expect_close(o.w.detach(), full({3}, std::pow(0.75, 7)));
}

TEST(GradScaler, ClipsUnscaledGradients) {
  One o;
  o.scaler.scale(sum(o.w * 3)).backward();
  o.scaler.unscale_(o.sgd);
  expect_close(o.w.grad(), full({3}, 3.0));
  nn::utils::clip_grad_norm_({o.w}, 1);
  EXPECT_TRUE(o.scaler.step(o.sgd));
  expect_close(o.w.detach(), full({3}, 1 - 0.125 / std::sqrt(3.0)));
}

TEST(GradScaler, TakesTheScaleOffSparseGradients) {
  One o;
  const Tensor at = tensor<std::int64_t>({{2, 0, 2}});
  o.scaler.scale(sum(o.w));
  Tensor(o.w).set_grad(sparse::coo_tensor(at, tensor({64.f, 32.f, 64.f}), Shape{3}));
  o.scaler.unscale_(o.sgd);
  expect_close(sparse::to_dense(o.w.grad()), tensor({0.5f, 0.f, 2.f}));
  EXPECT_TRUE(o.scaler.step(o.sgd));
}

TEST(GradScaler, TheScaleNeverGrowsToInfinity) {
  GradScaler scaler({.init_scale = 3e38, .growth_interval = 1});
  Tensor w = full({1}, 1.0).requires_grad_();
  optim::SGD sgd({w}, {.lr = 1});
  scaler.scale(sum(w) * 0).backward();
  scaler.step(sgd), scaler.update();
  EXPECT_FLOAT_EQ(float(scaler.get_scale()), 3e38f);
}

TEST(GradScaler, RefusesCallsOutOfOrder) {
  EXPECT_EQ(
      error_of<ValueError>([] { GradScaler({.growth_factor = 1}); }),
      "GradScaler: expected growth_factor above 1, backoff_factor below 1 and a positive init_scale, got 1.000000, "
      "0.500000 and 65536.000000");
  One o;
  EXPECT_EQ(error_of<ValueError>([&] { o.scaler.step(o.sgd); }),
            "unscale_: expected a loss that scale() has scaled, got none; call scale(loss).backward() first");
  o.scaler.scale(sum(o.w)).backward();
  EXPECT_EQ(error_of<ValueError>([&] { o.scaler.update(); }),
            "update: expected a step since the last update(), got none; call step(optimizer) first");
  o.scaler.unscale_(o.sgd);
  EXPECT_EQ(error_of<ValueError>([&] { o.scaler.unscale_(o.sgd); }),
            "unscale_: expected one call for each optimizer since the last update(), got a second one");
  o.scaler.step(o.sgd);
  EXPECT_EQ(error_of<ValueError>([&] { o.scaler.step(o.sgd); }),
            "step: expected one call for each optimizer since the last update(), got a second one");
  Tensor half = full({2}, 1.0, {.dtype = DType::float16}).requires_grad_();
  optim::SGD low({half}, {.lr = 1});
  GradScaler scaler;
  scaler.scale(sum(half.to(DType::float32)) * 0.5).backward();
  EXPECT_NE(error_of<ValueError>([&] { scaler.unscale_(low); }).find("got float16"), std::string::npos);
}

TEST(GradScaler, SavesItsState) {
  One a;
  for (int i = 0; i < 4; ++i) a.step();
  One b;
  b.scaler.load_state_dict(a.scaler.state_dict());
  EXPECT_EQ(b.scaler.get_scale(), 128);
  b.step(), b.step();
  EXPECT_EQ(b.scaler.get_scale(), 256);  // the third in a row
  GradScaler off({.enabled = false});
  EXPECT_TRUE(off.state_dict().items.empty());
  EXPECT_EQ(off.get_scale(), 1);
  EXPECT_EQ(error_of<ValueError>([&] { a.scaler.load_state_dict(off.state_dict()); }),
            "load_state_dict: expected the state of an enabled GradScaler, got one without \"scale\"");
}

TEST(GradScaler, UnscalingRefusesWhatItCannotTake) {
  const Tensor one = full({}, 1.0), gap = full({4, 4}, 1.0).slice(1, 0, 2);
  EXPECT_EQ(error_of<ShapeError>([&] {
              unscale_gradients({&gap, 1}, one, one);
            }).find("expected dense gradients") == std::string::npos,
            false);
  const Tensor number = full({2}, 1, {.dtype = DType::int64});
  EXPECT_NE(error_of<DTypeError>([&] {
              unscale_gradients({&number, 1}, one, one);
            }).find("expected floating"),
            std::string::npos);
  EXPECT_NE(error_of<ValueError>([&] {
              unscale_gradients({&one, 1}, gap, one);
            }).find("as float32 numbers"),
            std::string::npos);
}

}  // namespace
}  // namespace neura::amp

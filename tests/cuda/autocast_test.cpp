// Mixed precision on CUDA: near float32, trained with scaled losses, captured in a graph.
#include <functional>

#include "neura/autograd/grad_mode.h"
#include "neura/cuda/graph.h"
#include "neura/op/autocast.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/loss/loss.h"
#include "neura/ops/nn/attention.h"
#include "neura/ops/nn/norm.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/spatial/conv.h"
#include "neura/optim/grad_scaler.h"
#include "neura/optim/optimizers.h"
#include "tests/cuda/device.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using CudaAutocast = CudaTest;
Tensor random(const Shape& shape, std::uint64_t seed) { return there(sample(shape, float32, {.seed = seed})); }

TEST_F(CudaAutocast, StaysNearFloat32) {
  const Tensor x = random({8, 16, 12, 12}, 1), w = random({24, 16, 3, 3}, 2), m = random({64, 96}, 3),
               n = random({32, 96}, 4), q = random({2, 4, 32, 16}, 5), labels = there(full({64}, 5, {.dtype = int64}));
  const std::vector<std::function<Tensor()>> low = {[&] { return conv2d(x, w); }, [&] { return linear(m, n); },
                                                    [&] { return scaled_dot_product_attention(q, q, q); }};
  const std::vector<std::function<Tensor()>> wide = {
      [&] { return layer_norm(linear(m, n), {32}); }, [&] { return softmax(linear(m, n) * 0.1, 1); },
      [&] { return cross_entropy(linear(m, n) * 0.1, labels); }, [&] { return sum(linear(m, n), 1); }};
  for (const DType half : {float16, bfloat16})
    for (const bool is_low : {true, false})
      for (const auto& f : is_low ? low : wide) {
        const Tensor exact = back(f());
        const amp::Autocast on(kCuda, half);
        const Tensor y = back(f());
        EXPECT_EQ(y.dtype(), is_low ? half : float32);
        const double most = max(abs(exact)).item<double>();
        expect_close(y.to(float32), exact, {0.02 * most, 0.02});
      }
}

TEST_F(CudaAutocast, AReplayCastsTheParametersAgain) {
  const Tensor x = random({4, 8}, 1);
  Tensor w = random({3, 8}, 2).requires_grad_(), y;
  const amp::Autocast on(kCuda);
  linear(x, w);  // now its cast is kept
  cuda::Graph graph;
  graph.capture([&] { y = linear(x, w); });
  {
    const NoGrad off;
    w.fill_(0.5);
  }
  graph.replay();
  expect_same(back(y.detach()), back(linear(x, w).detach()));
}

TEST_F(CudaAutocast, TrainingWithScaledLossesFollowsFloat32) {
  const Tensor x = random({128, 16}, 1), target = there(full({128, 1}, 0.25));
  const auto train = [&](bool mixed) {
    Tensor a = (random({64, 16}, 2) * 0.1).detach().requires_grad_(), b = (random({1, 64}, 3) * 0.1).detach();
    b.requires_grad_();
    optim::AdamW optimizer({a, b}, {.lr = 3e-3});
    amp::GradScaler scaler({.init_scale = 16777216, .growth_interval = 20, .enabled = mixed});
    double loss_is = 0;
    for (int i = 0; i < 150; ++i) {
      optimizer.zero_grad();
      Tensor loss;
      {
        const amp::Autocast on(kCuda, float16, mixed);
        loss = mse_loss(linear(tanh(linear(x, a)), b), target);
      }
      EXPECT_EQ(loss.dtype(), float32);
      scaler.scale(loss).backward();
      scaler.step(optimizer), scaler.update();
      EXPECT_EQ(a.grad().dtype(), float32);
      loss_is = loss.item<double>();
    }
    return loss_is;
  };
  const double exact = train(false), mixed = train(true);
  EXPECT_LT(exact, 0.02);
  EXPECT_LT(mixed, 0.02);
}

}  // namespace
}  // namespace neura::test

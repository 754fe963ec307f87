// An optimizer with a fused kernel: two steps against the formula, element by element.
#include <gtest/gtest.h>

#include <cmath>

#include "neura/autograd/grad_mode.h"
#include "neura/op/registry.h"
#include "neura/ops/create/create.h"
#include "neura/optim/optim.h"
#include "tests/support/sample.h"

namespace neura {
namespace {

TEST(SampleOptimizer, StepsBySigns) {
  Tensor p = test::sample({2, 21}, DType::float64).requires_grad_();
  std::vector<double> x = p.detach().to_vector<double>(), m(x.size());
  optim::Lion optimizer({p}, {.lr = 0.1, .weight_decay = 0.5});
  for (std::uint64_t step = 1; step <= 3; ++step) {
    const Tensor g = test::sample({2, 21}, DType::float64, {.seed = step});
    p.set_grad(g);
    optimizer.step();
    const std::vector<double> gs = g.to_vector<double>(), got = p.detach().to_vector<double>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double way = 0.9 * m[i] + 0.1 * gs[i];
      x[i] = x[i] * (1 - 0.1 * 0.5) - 0.1 * double((way > 0) - (way < 0));
      m[i] = 0.99 * m[i] + 0.01 * gs[i];
      EXPECT_NEAR(got[i], x[i], 1e-12);
    }
  }
  EXPECT_NE(find_operation("lion_step"), nullptr);
}

}  // namespace
}  // namespace neura

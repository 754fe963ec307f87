// The levels of vmap and forward mode from C++: which rows have rules, and that a level costs nothing once it is gone.
#include <set>

#include "neura/autograd/autograd.h"
#include "neura/autograd/forward_ad.h"
#include "neura/autograd/vmap.h"
#include "neura/neura.h"
#include "neura/op/registry.h"
#include "tests/support/close.h"
#include "tests/support/engine.h"

namespace neura::test {
namespace {

// A new operation gets a rule in vmap_rules.cpp, a definition, or a place here.
TEST(Batch, EveryRowHasARuleADefinitionOrLoops) {
  const std::set<std::string> loops = {"scaled_dot_product_attention_backward",
                                       "ctc_loss",
                                       "ctc_loss_backward",
                                       "embedding_renorm",
                                       "expect",
                                       "view_dtype",
                                       "fused",
                                       "fused_2",
                                       "fused_3",
                                       "fused_4",
                                       "unscale_",
                                       "get_total_norm",
                                       "clip_grad_norm_",
                                       "grid_sample_backward",
                                       "cross_entropy_backward",
                                       "nll_loss_backward",
                                       "recurrent_layer",
                                       "recurrent_layer_backward",
                                       "median_of_all",
                                       "unique",
                                       "randperm",
                                       "multinomial"};
  for (const Row* row : all_operations()) {
    const std::string name = row->name;
    const bool step = name.ends_with("_step"), free = row->inputs == 0 && !row->group;
    if (batch_rule(*row) || row->define || row->is_dynamic || step || free || row->draws_numbers) continue;
    EXPECT_TRUE(loops.count(name)) << name << " has no rule under vmap";
  }
}

TEST(Batch, SamplesAreComputedApart) {
  const Tensor x = tensor({1., 2., 3., 4., 5., 6.}).reshape({3, 2}), w = tensor({1., 10.});
  Tensor y, g;
  {
    BatchLevel level(3, Randomness::error);
    const Tensor sample = level.in(x, 0);
    EXPECT_EQ(sample.shape(), Shape{2});
    Tensor copy = w;
    const Tensor own = own_leaf(w);
    const Tensor value = sum(sample * own * own);
    y = level.out(value, 0), g = level.out(grad(value, own), 0);
    EXPECT_THROW(value.item(), AutogradError);
    EXPECT_ERROR(InplaceError, "add_: expected the tensor that is written", add_(copy, sample));
    EXPECT_ERROR(InplaceError, "fill_: expected the tensor that is written", fill_(copy, sum(sample)));
  }
  expect_close(y, tensor({201., 403., 605.}));
  expect_close(g, tensor({2., 40., 6., 80., 10., 120.}).reshape({3, 2}));
  expect_close(x + 1., x + tensor({1.}));
}

TEST(Forward, TangentsFollow) {
  const Tensor x = tensor({1., 2., 3.}), t = tensor({1., 0., 2.});
  DualLevel level;
  const Tensor dual = level.make(x, t);
  const Tensor y = exp(dual) * sum(dual);
  expect_close(level.primal(y), exp(x) * 6.);
  expect_close(level.tangent(y), exp(x) * t * 6. + exp(x) * 3.);
  EXPECT_FALSE(level.tangent(dual > 1.));
  EXPECT_THROW(level.make(x, tensor({1.})), ShapeError);
}

}  // namespace
}  // namespace neura::test

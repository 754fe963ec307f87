// Members that come, go and come back, and modules that contain themselves.
#include <gtest/gtest.h>

#include "neura/nn/activation.h"
#include "neura/nn/container.h"
#include "neura/nn/conv.h"
#include "neura/nn/embedding.h"
#include "neura/nn/linear.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/reduce.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura {
namespace {

using test::sample;

std::vector<std::string> keys(const nn::Module& m) { return m.state_dict().keys(); }

TEST(Members, AListedMemberThatWasRemovedComesBackEmpty) {
  nn::Linear layer(2, 2);
  const std::uint32_t before = layer.structure();
  EXPECT_TRUE(layer.remove_member("weight"));
  EXPECT_TRUE(layer.has_removed());
  EXPECT_NE(layer.structure(), before);
  EXPECT_EQ(keys(layer), std::vector<std::string>{"bias"});
  EXPECT_FALSE(layer.restore_member("weight", nn::Member::buffer));
  EXPECT_FALSE(layer.restore_member("bias", nn::Member::parameter));
  EXPECT_TRUE(layer.restore_member("weight", nn::Member::parameter));
  EXPECT_FALSE(layer.has_removed());
  EXPECT_FALSE(layer.weight.defined());
}

TEST(Members, WhatIsPutBackStandsLast) {
  nn::Linear layer(2, 2);
  layer.register_parameter("scale", nn::Parameter(sample({2})));
  ASSERT_TRUE(layer.remove_member("weight"));
  ASSERT_TRUE(layer.restore_member("weight", nn::Member::parameter));
  layer.weight = nn::Parameter(sample({2, 2}));
  layer.register_parameter("shift", nn::Parameter(sample({2})));
  const std::vector<std::string> order{"bias", "scale", "weight", "shift"};
  EXPECT_EQ(keys(layer), order);
  EXPECT_EQ(keys(*layer.clone()), order);
  EXPECT_EQ(layer.get_parameter("weight").impl(), layer.weight.impl());
  EXPECT_TRUE(layer.remove_member("weight"));
  EXPECT_FALSE(layer.weight.defined());
  EXPECT_EQ(keys(layer), (std::vector<std::string>{"bias", "scale", "shift"}));
  ASSERT_TRUE(layer.restore_member("weight", nn::Member::parameter));
  layer.weight = nn::Parameter(sample({2, 2}));
  EXPECT_EQ(keys(layer), (std::vector<std::string>{"bias", "scale", "shift", "weight"}));
  layer.clear_members();
  EXPECT_TRUE(keys(layer).empty());
}

TEST(Members, WhatALayerHasLostIsNamed) {
  const auto lost = [](nn::Module&& m, const char* member, const Tensor& x) {
    EXPECT_TRUE(m.remove_member(member));
    return test::error_of<ValueError>([&] { m.call({{x}, {}}); });
  };
  EXPECT_EQ(lost(nn::Linear(2, 2), "weight", sample({1, 2})), "linear: expected a tensor as weight, got none");
  EXPECT_EQ(lost(nn::Conv2d(1, 1, 2), "weight", sample({1, 1, 3, 3})), "conv2d: expected a tensor as weight, got none");
  EXPECT_EQ(lost(nn::PReLU(), "weight", sample({2})), "prelu: expected a tensor as weight, got none");
  EXPECT_EQ(lost(nn::Embedding(3, 2), "weight", tensor({1})), "embedding: expected a tensor as weight, got none");
}

TEST(Members, TheVeryTensorIsAdded) {
  nn::Module m;
  const Tensor t = sample({2});
  m.add_tensor(nn::Member::parameter, "t", t);
  m.add_tensor(nn::Member::parameter, "none", Tensor());
  EXPECT_EQ(m.parameters().size(), 1u);
  EXPECT_EQ(m.parameters()[0].impl(), t.impl());
}

TEST(Members, ABufferStopsBeingSaved) {
  nn::Module m;
  m.register_buffer("added", sample({1}));
  EXPECT_TRUE(m.set_persistent("added", false));
  EXPECT_FALSE(m.set_persistent("other", false));
  EXPECT_TRUE(keys(m).empty());
}

TEST(Members, ClearedMembersAreAllEmpty) {
  nn::Linear layer(2, 2);
  layer.register_module("child", nn::make<nn::Identity>());
  layer.clear_members();
  EXPECT_TRUE(layer.parameters().empty());
  EXPECT_TRUE(layer.children().empty());
}

struct Scaled : nn::Sequential {
  Scaled() : nn::Sequential(nn::Identity(), nn::Identity()) { add_tensor(nn::Member::parameter, "scale", sample({1})); }
};

TEST(Members, ASequentialMayHoldTensorsToo) {
  Scaled s;
  s.append(nn::make<nn::Identity>());
  EXPECT_EQ(s.size(), 3u);
  const Tensor x = sample({2});
  test::expect_close(s(x), x);
  s.insert(0, nn::make<nn::Linear>(2, 2));
  s.erase(1);
  EXPECT_EQ(keys(s), (std::vector<std::string>{"scale", "0.weight", "0.bias"}));
  EXPECT_TRUE(s[0]->as<nn::Linear>());
  EXPECT_THROW(s[3], IndexError);
}

TEST(Members, AModuleWithinItselfIsAnError) {
  auto s = nn::make<nn::Sequential>();
  s->append(s);
  EXPECT_THROW((*s)(sample({1})), ValueError);
  EXPECT_THROW(s->train(), ValueError);
  EXPECT_THROW(s->str(), ValueError);
  EXPECT_THROW(s->state_dict(), ValueError);
  EXPECT_EQ(s->modules().size(), 1u);
  s->clear_members();
}

TEST(Members, BackwardPreHooksReplaceWhatArrives) {
  nn::Linear layer(2, 2);
  Tensor x = sample({1, 2}).requires_grad_();
  sum(layer(x)).backward();
  const Tensor plain = x.grad();
  x.set_grad({});
  const auto id = layer.register_full_backward_pre_hook([](nn::Module&, std::vector<Tensor>& g) { g[0] = g[0] * 2; });
  std::vector<Tensor> seen;
  layer.register_full_backward_hook(
      [&](nn::Module&, std::vector<Tensor>&, const std::vector<Tensor>& out) { seen = out; });
  sum(layer(x)).backward();
  test::expect_close(x.grad(), plain * 2);
  test::expect_close(seen.at(0), full({1, 2}, 2.0));
  EXPECT_TRUE(layer.remove_hook(id));
}

}  // namespace
}  // namespace neura

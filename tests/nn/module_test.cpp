#include "neura/nn/module.h"

#include <gtest/gtest.h>

#include <sstream>

#include "neura/nn/activation.h"
#include "neura/nn/container.h"
#include "neura/nn/dropout.h"
#include "neura/nn/init.h"
#include "neura/nn/linear.h"
#include "neura/nn/pool_composed.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/optim/optimizers.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura {
namespace {

using test::error_of;
using test::sample;

struct Net : nn::Module {
  nn::Linear hidden{4, 3}, output{3, 2};
  NEURA_MODULE(Net, hidden, output)
  Tensor forward(const Tensor& x) { return output(relu(hidden(x))); }
};

struct Deep : nn::Module {
  nn::Parameter scale{sample({1})};
  nn::Buffer steps{Tensor::empty(Spec::dense(DType::int64, {})).fill_(0)};
  nn::Buffer scratch{sample({2}), false};
  Net net;
  nn::Sequential tail{nn::Linear(2, 2), nn::ReLU()};
  int width = 7;
  NEURA_MODULE(Deep, scale, steps, scratch, net, tail, width)
  Tensor forward(const Tensor& x) { return tail(net(x)) * scale; }
};

struct Tied : nn::Module {
  nn::Linear a{2, 2}, b{2, 2};
  NEURA_MODULE(Tied, a, b)
  Tensor forward(const Tensor& x) { return b(a(x)); }
};

struct Odd : nn::Module {
  explicit Odd(int) {}
  NEURA_MODULE(Odd)
};

struct Block : nn::Module {
  nn::Child<nn::Linear> fc{nn::make<nn::Linear>(2, 2)};
  NEURA_MODULE(Block, fc)
  Tensor forward(const Tensor& x) { return fc(x); }
};

std::vector<std::string> names(const nn::NamedTensors& named) {
  std::vector<std::string> out;
  for (const auto& [name, t] : named) out.push_back(name);
  return out;
}
using Names = std::vector<std::string>;

TEST(Module, ListsItsMembersInTorchsOrder) {
  Deep m;
  EXPECT_EQ(names(m.named_parameters()), (Names{"scale", "net.hidden.weight", "net.hidden.bias", "net.output.weight",
                                                "net.output.bias", "tail.0.weight", "tail.0.bias"}));
  EXPECT_EQ(names(m.named_buffers()), (Names{"steps", "scratch"}));
  EXPECT_EQ(names(m.named_parameters("model", false)), Names{"model.scale"});
  Names modules, children;
  for (const auto& [name, c] : m.named_modules()) modules.push_back(name);
  for (const auto& [name, c] : m.named_children()) children.push_back(name);
  EXPECT_EQ(modules, (Names{"", "net", "net.hidden", "net.output", "tail", "tail.0", "tail.1"}));
  EXPECT_EQ(children, (Names{"net", "tail"}));
  EXPECT_EQ(m.modules()[0].get(), &m);
  EXPECT_TRUE(m.net.hidden.children().empty());
  EXPECT_EQ(m.get_submodule("net.output").get(), &m.net.output);
  EXPECT_EQ(error_of<IndexError>([&] { m.get_submodule("net.other"); }),
            "get_submodule: expected a module \"net.other\", got none of that name in Deep");
  EXPECT_TRUE(m.get_parameter("tail.0.bias").is_same(m.parameters()[6]));
}

TEST(Module, IsNotCopyable) {
  static_assert(!std::is_copy_constructible_v<Net> && !std::is_copy_assignable_v<Net>);
  static_assert(std::is_move_constructible_v<Net>);
}

TEST(Module, CountsATieOnce) {
  Tied m;
  m.b.weight = m.a.weight;
  static_cast<Tensor&>(m.b.weight) = m.a.weight;
  EXPECT_EQ(names(m.named_parameters()), (Names{"a.weight", "a.bias", "b.bias"}));
  EXPECT_EQ(m.state_dict().size(), 4u);
  const auto copy = m.clone();
  EXPECT_TRUE(copy->a.weight.is_same(copy->b.weight));
  EXPECT_FALSE(copy->a.weight.is_same(m.a.weight));
  auto shared = nn::make<nn::Linear>(2, 2);
  nn::ModuleList list(shared, shared);
  EXPECT_EQ(list.size(), 2u);
  EXPECT_EQ(list.parameters().size(), 2u);
  EXPECT_EQ(list.modules().size(), 2u);
}

TEST(Module, TrainsWithAnOptimizer) {
  Net net;
  const Tensor x = sample({8, 4}), y = sample({8, 2}, DType::float32, {.seed = 3});
  optim::Adam optimizer(net.parameters(), {.lr = 0.05});
  double first = 0, last = 0;
  for (int i = 0; i < 100; ++i) {
    const Tensor d = net(x) - y, loss = mean(d * d);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    (i ? last : first) = loss.item<double>();
  }
  EXPECT_LT(last, first / 2);
  net.zero_grad();
  for (const Tensor& p : net.parameters()) EXPECT_FALSE(p.grad().defined());
}

TEST(Module, AddsMembersAtRunTime) {
  nn::Module m;
  m.register_parameter("w", nn::Parameter(sample({2})));
  m.register_buffer("b", sample({2}), false);
  const Ref<nn::Linear> linear = m.register_module("linear", nn::make<nn::Linear>(2, 3));
  EXPECT_EQ(names(m.named_parameters()), (Names{"w", "linear.weight", "linear.bias"}));
  EXPECT_EQ(m.state_dict().keys(), (Names{"w", "linear.weight", "linear.bias"}));
  EXPECT_EQ(error_of<ValueError>([&] { m.register_buffer("w", sample({1})); }),
            "register_buffer: expected a new name, got \"w\", which Module has already");
  EXPECT_EQ(error_of<ValueError>([&] { m.register_buffer("a.b", sample({1})); }),
            "register_buffer: expected a name without dots, got \"a.b\"");
  EXPECT_TRUE(m.remove_member("linear"));
  EXPECT_FALSE(m.remove_member("linear"));
  EXPECT_EQ(linear->weight.size(0), 3);
  EXPECT_EQ(m.parameters().size(), 1u);
}

TEST(Module, SharesLifeWithItsOwner) {
  Ref<nn::Module> inner;
  {
    auto net = nn::make<Net>();
    const auto early = Ref<nn::Module>::share(&net->hidden);  // before the owner is known to the child
    inner = net->children()[0];
  }
  EXPECT_EQ(inner->type_name(), "Linear");  // the owner is still there
  EXPECT_EQ(inner->parameters().size(), 2u);
}

TEST(Module, MovesWhatIsFresh) {
  nn::Sequential net(nn::Linear(2, 3), nn::Sequential(nn::ReLU(), nn::Linear(3, 1)));
  EXPECT_EQ(net(sample({5, 2})).shape(), (Shape{5, 1}));
  nn::Linear shared(1, 1);
  const auto ref = Ref<nn::Module>::share(&shared);
  EXPECT_THROW(nn::Sequential(std::move(shared)), ValueError);
}

TEST(Module, SetsTrainingEverywhere) {
  Deep m;
  m.eval();
  for (const auto& c : m.modules()) EXPECT_FALSE(c->is_training());
  m.train();
  for (const auto& c : m.modules()) EXPECT_TRUE(c->is_training());
}

TEST(Module, ChangesDtypeInPlace) {
  Deep m;
  const std::vector<Tensor> before = m.parameters();
  m.net.hidden.weight.set_grad(sample({3, 4}));
  optim::SGD optimizer(m.parameters(), {.lr = 0.1, .momentum = 0.9});
  optimizer.step();
  m.float64();
  for (const Tensor& p : before) EXPECT_EQ(p.dtype(), DType::float64);
  EXPECT_EQ(m.net.hidden.weight.grad().dtype(), DType::float64);
  EXPECT_EQ(m.steps.dtype(), DType::int64);
  EXPECT_EQ(m.scratch.dtype(), DType::float64);
  EXPECT_TRUE(before[0].requires_grad() && before[0].is_leaf());
  optimizer.step();  // its buffers follow
  sum(m(sample({2, 4}, DType::float64))).backward();
  optimizer.step();
  EXPECT_EQ(m.scale.dtype(), DType::float64);
}

TEST(Module, AppliesToChildrenFirst) {
  Deep m;
  Names order;
  m.apply([&](nn::Module& c) {
    order.push_back(c.type_name());
    if (auto* linear = c.as<nn::Linear>()) nn::init::ones_(linear->weight);
  });
  EXPECT_EQ(order, (Names{"Linear", "Linear", "Net", "Linear", "ReLU", "Sequential", "Deep"}));
  EXPECT_EQ(sum(m.net.hidden.weight).item<double>(), 12);
}

TEST(Parameter, IsANamedLeaf) {
  const Tensor data = sample({2, 2});
  nn::Parameter p(data, "weight");
  EXPECT_EQ(p.name(), "weight");
  EXPECT_TRUE(p.requires_grad() && p.is_leaf());
  EXPECT_EQ(p.raw_data(), data.raw_data());
  const Tensor other = p;
  p.set_data(sample({3}));
  EXPECT_EQ(other.shape(), Shape{3});
  EXPECT_EQ(error_of<DTypeError>([] { nn::Parameter(sample({2}, DType::int64)); }),
            "parameter: expected a floating or complex dtype, got int64; pass requires_grad = false");
}

// ---- State

TEST(StateDict, HasTorchsKeysAndSharesBytes) {
  Deep m;
  const nn::StateDict d = m.state_dict();
  EXPECT_EQ(d.keys(), (Names{"scale", "steps", "net.hidden.weight", "net.hidden.bias", "net.output.weight",
                             "net.output.bias", "tail.0.weight", "tail.0.bias"}));
  EXPECT_EQ(d.at("scale").raw_data(), m.scale.raw_data());
  EXPECT_FALSE(d.at("scale").requires_grad());
}

TEST(StateDict, LoadsAllOrNothing) {
  Net a, b;
  const Tensor x = sample({3, 4});
  EXPECT_TRUE(b.load_state_dict(a.state_dict()).missing_keys.empty());
  test::expect_same(a(x).detach(), b(x).detach());

  nn::StateDict bad = Net().state_dict();
  bad.erase("hidden.bias");
  bad.set("extra", sample({1}));
  bad.set("output.weight", sample({9, 9}));
  EXPECT_EQ(
      error_of<ShapeError>([&] { b.load_state_dict(bad); }),
      "load_state_dict: expected the keys and shapes of Net, got\n\tMissing key(s) in state_dict: \"hidden.bias\""
      "\n\tUnexpected key(s) in state_dict: \"extra\"\n\tsize mismatch for output.weight: expected [2, 3], got [9, 9]");
  EXPECT_THROW(b.load_state_dict(bad, false), ShapeError);
  test::expect_same(a(x).detach(), b(x).detach());
  bad.erase("output.weight");
  EXPECT_THROW(b.load_state_dict(bad), ValueError);
  const nn::LoadResult r = b.load_state_dict(bad, false);
  EXPECT_EQ(r.missing_keys, (Names{"hidden.bias", "output.weight"}));
  EXPECT_EQ(r.unexpected_keys, Names{"extra"});
  test::expect_same(b.hidden.weight.detach(), bad.at("hidden.weight"));
}

TEST(StateDict, PassesOverBuffersThatAreNotSaved) {
  Deep a, b;
  nn::init::constant_(b.scratch, 5);
  nn::StateDict d = a.state_dict();
  EXPECT_TRUE(b.load_state_dict(d).missing_keys.empty());
  EXPECT_EQ(sum(b.scratch).item<double>(), 10);
  d.set("scratch", sample({2}));
  EXPECT_EQ(
      error_of<ValueError>([&] { b.load_state_dict(d); }),
      "load_state_dict: expected the keys and shapes of Deep, got\n\tUnexpected key(s) in state_dict: \"scratch\"");
  EXPECT_EQ(b.load_state_dict(d, false).unexpected_keys, Names{"scratch"});
  EXPECT_EQ(sum(b.scratch).item<double>(), 10);
  b.float64();
  EXPECT_EQ(b.scratch.dtype(), DType::float64);
}

TEST(Clone, IsDeepAndDrawsNoNumbers) {
  Deep m;
  m.net.output.requires_grad_(false);
  m.tail.append(nn::make<nn::Linear>(2, 2));
  m.width = 9;
  m.eval();
  const auto random = default_generator().state();
  const Ref<Deep> copy = m.clone();
  EXPECT_EQ(default_generator().state().offset, random.offset);
  EXPECT_EQ(copy->state_dict().keys(), m.state_dict().keys());
  EXPECT_EQ(copy->width, 9);
  EXPECT_FALSE(copy->tail.is_training());
  EXPECT_FALSE(copy->net.output.weight.requires_grad());
  const Tensor x = sample({2, 4});
  test::expect_same((*copy)(x).detach(), m(x).detach());
  nn::init::zeros_(m.scale);
  EXPECT_NE(copy->scale.item<double>(), 0);
}

TEST(Clone, AsksForABlankConstructor) {
  Odd m(1);
  EXPECT_EQ(error_of<NotImplementedError>([&] { (void)m.clone(); }),
            "clone: expected a default constructor, got none; give Odd the constructor `explicit Odd(nn::Blank)`");
}

// ---- Calls

TEST(Hooks, SeeAndChangeWhatPasses) {
  Net net;
  const Tensor x = sample({2, 4}), y = net(x);
  int seen = 0;
  const auto before = net.hidden.register_forward_pre_hook([&](nn::Module& m, nn::Args& a) {
    ++seen;
    EXPECT_EQ(m.type_name(), "Linear");
    a.positional[0] = *a.positional[0].get<Tensor>() * 0;
  });
  const auto after = net.register_forward_hook([&](nn::Module&, const nn::Args& a, nn::Value& result) {
    ++seen;
    EXPECT_TRUE(a.positional[0].get<Tensor>()->is_same(x));
    result = *result.get<Tensor>() + 1;
  });
  test::expect_close(net(x).detach(), (net.output.forward(relu(net.hidden.bias)) + 1).expand({2, 2}).detach());
  EXPECT_EQ(seen, 2);
  EXPECT_TRUE(net.hidden.remove_hook(before));
  EXPECT_TRUE(net.remove_hook(after));
  EXPECT_FALSE(net.remove_hook(after));
  test::expect_same(net(x).detach(), y.detach());
}

TEST(Hooks, SeeAndReplaceGradients) {
  Net net;
  const Tensor plain = sample({2, 4}), x = plain.clone().requires_grad_();
  sum(net(x)).backward();
  const Tensor expected = x.grad();
  int calls = 0;
  const auto id =
      net.register_full_backward_hook([&](nn::Module& m, std::vector<Tensor>& in, const std::vector<Tensor>& out) {
        ++calls;
        EXPECT_EQ(m.type_name(), "Net");
        ASSERT_EQ(out.size(), 1u);
        test::expect_close(out[0], std::vector<double>(4, 1));
        ASSERT_EQ(in.size(), 1u);
        if (in[0]) test::expect_close(in[0], expected), in[0] = in[0] * 2;
      });
  Tensor again = plain.clone().requires_grad_();
  sum(net(again)).backward();
  test::expect_close(again.grad(), expected * 2);
  EXPECT_EQ(calls, 1);
  sum(net(plain)).backward();  // the input needs no gradient: the hook still sees the result's
  EXPECT_EQ(calls, 2);
  net.remove_hook(id);
  sum(net(again)).backward();
  EXPECT_EQ(calls, 2);
}

struct Several : nn::Module {
  NEURA_MODULE(Several)
  NEURA_FORWARD("x", arg{"y"} = none, arg{"scale"} = 2.0)
  std::tuple<Tensor, Tensor> forward(const Tensor& x, const std::optional<Tensor>& y, double scale) {
    return {x * scale, y ? *y : x};
  }
};

TEST(BoxedCall, TakesNamesAndDefaults) {
  Several m;
  const Tensor x = sample({2}), y = sample({2}, DType::float32, {.seed = 4});
  const nn::Value v = m.call({{x}, {{"scale", 3}}});
  ASSERT_EQ(v.get<nn::List>()->items.size(), 2u);
  test::expect_close(*v.get<nn::List>()->items[0].get<Tensor>(), x * 3);
  const auto [a, b] = m(x, std::optional<Tensor>(y), 2.0);
  test::expect_same(b, y);
  EXPECT_EQ(error_of<ValueError>([&] { m.call({}); }), "Several.forward: expected argument \"x\", got none");
  EXPECT_EQ(error_of<ValueError>([&] {
              m.call({{x}, {{"z", 1}}});
            }),
            "Several.forward: expected its own argument names once each, got \"z\"");
  EXPECT_EQ(error_of<ValueError>([&] {
              m.call({{x, x, 1.0, 1}, {}});
            }),
            "Several.forward: expected at most 3 arguments, got 4");
  EXPECT_EQ(error_of<ValueError>([&] { m.call({{"text"}, {}}); }), "forward: expected Tensor, got str");
  EXPECT_EQ(error_of<NotImplementedError>([] { nn::Module().call({}); }),
            "Module: expected a module with forward, got one without; define it");
}

TEST(Child, IsReplaceable) {
  Block m;
  EXPECT_EQ(names(m.named_parameters()), (Names{"fc.weight", "fc.bias"}));
  m.fc.set(nn::make<nn::Sequential>(nn::Linear(2, 3), nn::ReLU()));
  EXPECT_EQ(names(m.named_parameters()), (Names{"fc.0.weight", "fc.0.bias"}));
  EXPECT_EQ(m(sample({1, 2})).shape(), (Shape{1, 3}));
}

TEST(Printing, LooksLikeTorchs) {
  Deep m;
  std::ostringstream text;
  text << m;
  EXPECT_EQ(text.str(),
            "Deep(\n  (net): Net(\n    (hidden): Linear(in_features=4, out_features=3, bias=True)\n"
            "    (output): Linear(in_features=3, out_features=2, bias=True)\n  )\n  (tail): Sequential(\n"
            "    (0): Linear(in_features=2, out_features=2, bias=True)\n    (1): ReLU()\n  )\n)");
  nn::ModuleList list(nn::ReLU(), nn::ReLU(), nn::LeakyReLU({.negative_slope = 0.2, .inplace = true}));
  EXPECT_EQ(list.str(), "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): LeakyReLU(negative_slope=0.2, inplace=True)\n)");
  EXPECT_EQ(nn::ModuleList().str(), "ModuleList()");
  EXPECT_EQ(nn::Softplus().str(), "Softplus(beta=1.0, threshold=20.0)");
  EXPECT_EQ(nn::Softplus(2).str(), "Softplus(beta=2, threshold=20.0)");
  EXPECT_EQ(nn::Dropout(0).str(), "Dropout(p=0, inplace=False)");
  EXPECT_EQ(nn::LPPool2d(2, 3).str(), "LPPool2d(norm_type=2, kernel_size=3, stride=None, ceil_mode=False)");
  EXPECT_EQ(nn::Softmax(1).str(), "Softmax(dim=1)");
  EXPECT_EQ(nn::GELU().str(), "GELU(approximate='none')");
}

}  // namespace
}  // namespace neura

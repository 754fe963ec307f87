#include "neura/nn/container.h"

#include <gtest/gtest.h>

#include "neura/nn/activation.h"
#include "neura/nn/linear.h"
#include "neura/op/pointwise/rows.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura {
namespace {

using test::error_of;
using test::sample;
using Names = std::vector<std::string>;

Names names(const nn::NamedTensors& named) {
  Names out;
  for (const auto& [name, t] : named) out.push_back(name);
  return out;
}

struct Pair : nn::Module {
  NEURA_MODULE(Pair)
  std::tuple<Tensor, Tensor> forward(const Tensor& x) { return {x * 2.0, x}; }
};
struct First : nn::Module {
  NEURA_MODULE(First)
  Tensor forward(const std::tuple<Tensor, Tensor>& pair) { return std::get<0>(pair); }
};

TEST(Sequential, CarriesWhatIsNoTensor) {
  nn::Sequential net{nn::make<Pair>(), nn::make<First>(), nn::make<nn::ReLU>()};
  const Tensor x = sample({3});
  test::expect_close(net(x), relu(x * 2));
}

TEST(Sequential, HasNames) {
  nn::Sequential net({{"fc", nn::make<nn::Linear>(2, 2)}, {"act", nn::make<nn::Tanh>()}});
  EXPECT_EQ(names(net.named_parameters()), (Names{"fc.weight", "fc.bias"}));
  EXPECT_EQ(net[-1]->type_name(), "Tanh");
  EXPECT_EQ(net.at<nn::Linear>(0).in_features, 2);
  EXPECT_THROW(net.at<nn::ReLU>(0), ValueError);
  EXPECT_EQ(error_of<IndexError>([&] { net[2]; }), "Sequential: expected an index within 2 modules, got 2");
}

TEST(ModuleList, InsertsAndErases) {
  nn::ModuleList list(nn::Linear(1, 1), nn::Linear(2, 2));
  list.insert(1, nn::make<nn::Linear>(3, 3));
  list.append(nn::Linear(4, 4));
  Names widths;
  for (const auto& m : list) widths.push_back(std::to_string(m->as<nn::Linear>()->in_features));
  EXPECT_EQ(widths, (Names{"1", "3", "2", "4"}));
  list.erase(0);
  list.set(-1, nn::make<nn::Linear>(9, 9));
  EXPECT_EQ(list.state_dict().keys(), (Names{"0.weight", "0.bias", "1.weight", "1.bias", "2.weight", "2.bias"}));
  EXPECT_EQ(list.state_dict().at("0.weight").shape(), (Shape{3, 3}));
  EXPECT_EQ(list.at<nn::Linear>(2).in_features, 9);
}

TEST(ModuleDict, KeepsTheOrderOfInsertion) {
  nn::ModuleDict dict({{"b", nn::make<nn::Linear>(1, 1)}, {"a", nn::make<nn::ReLU>()}});
  EXPECT_EQ(dict.keys(), (Names{"b", "a"}));
  EXPECT_THROW(dict.insert("a", nn::make<nn::ReLU>()), ValueError);
  EXPECT_EQ(dict.pop("b")->type_name(), "Linear");
  EXPECT_FALSE(dict.contains("b"));
  EXPECT_EQ(error_of<IndexError>([&] { dict["b"]; }), "ModuleDict: expected a key it has, got \"b\"");
  nn::ParameterList list({nn::Parameter(sample({1})), nn::Parameter(sample({2}))});
  EXPECT_EQ(list[-1].shape(), Shape{2});
  EXPECT_EQ(names(list.named_parameters()), (Names{"0", "1"}));
}

}  // namespace
}  // namespace neura

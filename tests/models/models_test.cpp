// Names, shapes and answers are those of torchvision and transformers, stored in golden/models.json, which
// tests/python/make_models.py wrote; Python's models are compared with the same numbers. Weights and inputs follow from
// names, by the formulas of tests/python/model_values.py.
#include "neura/models/models.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "neura/autograd/grad_mode.h"
#include "neura/core/device_scope.h"
#include "neura/core/error.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/optim/optimizers.h"

namespace neura {
namespace {

using Json = nlohmann::ordered_json;
using Make = std::function<Ref<nn::Module>()>;
using models::FashionOptions;

const std::map<std::string, Make>& makers() {
  static const std::map<std::string, Make> all = {
      {"resnet18", [] { return models::resnet18({.num_classes = 8}); }},
      {"resnet50", [] { return models::resnet50({.num_classes = 8}); }},
      {"resnext50_32x4d", [] { return models::resnext50_32x4d({.num_classes = 8}); }},
      {"wide_resnet50_2", [] { return models::wide_resnet50_2({.num_classes = 8}); }},
      {"vgg11", [] { return models::vgg11({.num_classes = 8}); }},
      {"vgg16_bn", [] { return models::vgg16_bn({.num_classes = 8}); }},
      {"alexnet", [] { return models::alexnet({.num_classes = 8}); }},
      {"mobilenet_v2", [] { return models::mobilenet_v2({.num_classes = 8}); }},
      {"vit_b_32", [] { return models::vit_b_32({.image_size = 64, .num_classes = 8}); }},
      {"cifar_resnet8", [] { return models::cifar_resnet8({.num_classes = 4}); }},
      {"vit_tiny", [] { return models::vit_tiny({.image_size = 16, .patch_size = 4, .num_classes = 4}); }},
      {"gpt2",
       [] { return models::gpt2({.vocab_size = 40, .n_positions = 12, .n_embd = 16, .n_layer = 2, .n_head = 4}); }},
      {"lenet", [] { return models::lenet({.num_classes = 8, .in_channels = 1, .image_size = 28}); }},
      {"unet", [] { return models::unet({.in_channels = 2, .out_channels = 3, .init_features = 4}); }},
      {"mlp", [] { return models::mlp({.inputs = 12, .outputs = 3, .hidden = 8, .layers = 2}); }},
      {"fashion_cnn", [] { return models::fashion_cnn(); }},
      {"fashion_mlp", [] { return models::fashion_mlp(); }},
      {"lstm_language",
       [] {
         return nn::make<models::LSTMLanguageModel>(
             models::LstmLanguageOptions{.vocab_size = 40, .width = 8, .num_layers = 2});
       }},
  };
  return all;
}

Json golden() {
  const char* source = std::getenv("NEURA_SOURCE");
  if (!source) return {};
  std::ifstream in(std::string(source) + "/tests/golden/models.json");
  return Json::parse(in);
}

std::vector<double> uniform(const std::string& name, std::int64_t count) {
  std::uint32_t salt = 2166136261U;
  for (const char c : name) salt = (salt ^ std::uint8_t(c)) * 16777619U;
  std::vector<double> out;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t x = std::uint32_t(i) * 2654435761U + salt;
    x ^= x >> 15, x *= 2246822519U, x ^= x >> 13;
    out.push_back(double(x >> 8) / double(1 << 24));
  }
  return out;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

void fill(nn::Module& net, bool features) {
  const NoGrad off;
  for (const auto& [name, t] : net.state_dict()) {
    if (ends_with(name, "num_batches_tracked") || (features && name.rfind("features.", 0) != 0)) continue;
    if (name == "lm_head.weight") continue;  // the embedding's
    const Shape shape = t.shape();
    const std::vector<double> u = uniform(name, t.numel());
    const bool scale = ends_with(name, "running_var") || (shape.size() == 1 && ends_with(name, "weight"));
    const double fan = shape.size() > 1 ? double(t.numel()) / double(shape[0]) : 1;
    auto* p = t.data<float>();
    for (std::size_t i = 0; i < u.size(); ++i)
      p[i] = float(scale ? 0.5 + u[i] : shape.size() < 2 ? 0.2 * (u[i] - 0.5) : (u[i] - 0.5) * std::sqrt(12 / fan));
  }
}

Tensor input_of(const std::string& name, const Json& entry) {
  const Shape shape(entry.at("input").get<std::vector<std::int64_t>>());
  std::int64_t count = 1;
  for (const std::int64_t s : shape) count *= s;
  const std::vector<double> u = uniform("input", count);
  const bool tokens = name == "gpt2" || name == "lstm_language", bytes = name.rfind("fashion", 0) == 0;
  Tensor x = zeros(shape, {.dtype = tokens ? int64 : bytes ? uint8 : float32});
  for (std::int64_t i = 0; i < count; ++i) {
    const double v = u[std::size_t(i)];
    if (tokens) x.data<std::int64_t>()[i] = std::int64_t(v * 40);
    else if (bytes) x.data<std::uint8_t>()[i] = std::uint8_t(v * 256);
    else x.data<float>()[i] = float(2 * v - 1);
  }
  return x;
}

Tensor answer(nn::Module& net, bool features, const Tensor& x) {
  Tensor y;
  nn::Module& part = features ? *net.get_submodule("features") : net;
  EXPECT_TRUE(part.forward_tensor(x, y));
  return y;
}

class Models : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    all_ = golden();
    if (all_.empty()) GTEST_SKIP() << "NEURA_SOURCE is not set: run it by ctest";
  }
  const Json& entry() const { return all_.at(GetParam()); }
  Json all_;
};

TEST_P(Models, HaveTheStoredNamesAndShapes) {
  const DeviceScope meta(Device("meta"));
  const nn::StateDict state = makers().at(GetParam())()->state_dict();
  Json got = Json::object();
  for (const auto& [name, t] : state) {
    const Shape shape = t.shape();
    got[name] = std::vector<std::int64_t>(shape.begin(), shape.end());
  }
  EXPECT_EQ(got, entry().at("state")) << Json::diff(got, entry().at("state")).dump(1).substr(0, 2000);
}

TEST_P(Models, GiveTheStoredAnswers) {
  if (GetParam() == "vgg16_bn") GTEST_SKIP() << "vgg11 is the same with fewer layers, resnet18 has batch norm";
  const bool features = entry().at("features");
  const Ref<nn::Module> net =
      GetParam() == "vgg11" ? Ref<nn::Module>(models::vgg11({.init_weights = false})) : makers().at(GetParam())();
  fill(*net, features);
  net->eval();
  const NoGrad off;
  const Tensor y = answer(*net, features, input_of(GetParam(), entry()));
  EXPECT_EQ(y.shape(), Shape(entry().at("shape").get<std::vector<std::int64_t>>()));
  const auto want = entry().at("output").get<std::vector<double>>();
  const std::int64_t step = (y.numel() + 15) / 16;
  const Tensor flat = y.contiguous();
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(flat.const_data<float>()[std::int64_t(i) * step], want[i],
                1e-4 * std::max(1.0, entry().at("largest").get<double>()))
        << i;
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& [name, make] : makers()) out.push_back(name);
  return out;
}
INSTANTIATE_TEST_SUITE_P(All, Models, testing::ValuesIn(names()), [](const auto& info) { return info.param; });

TEST(ModelsTrain, AStepLowersTheLoss) {
  const auto net = models::unet({.in_channels = 1, .out_channels = 1, .init_features = 2});
  optim::SGD sgd(net->parameters(), {.lr = 0.1});
  const Tensor x = ones({2, 1, 16, 16});
  std::vector<double> losses;
  for (int i = 0; i < 3; ++i) {
    const Tensor d = (*net)(x)-1;
    const Tensor loss = (d * d).mean();
    losses.push_back(loss.item<double>());
    sgd.zero_grad();
    loss.backward();
    sgd.step();
  }
  EXPECT_LT(losses[2], losses[0]);
}

TEST(ModelsClone, IsACopyOfItsOwn) {
  const auto net = models::resnet18({.num_classes = 3, .small_images = true});
  net->eval();
  const auto copy = net->clone();
  const NoGrad off;
  const Tensor x = ones({1, 3, 16, 16});
  EXPECT_EQ((*copy)(x).to_vector<float>(), (*net)(x).to_vector<float>());
  net->fc = nn::make<nn::Linear>(512, 2);
  EXPECT_EQ((*net)(x).shape(), (Shape{1, 2}));
  EXPECT_EQ((*copy)(x).shape(), (Shape{1, 3}));
}

TEST(ModelsSmall, VggOfSmallPicturesHasSmallLayers) {
  const auto net = models::vgg11_bn({.num_classes = 3, .small_images = true});
  std::int64_t n = 0;
  for (const Tensor& p : net->parameters()) n += p.numel();
  EXPECT_EQ(n, 9752835);  // 119 million fewer than for pictures of ImageNet
  net->eval();
  const NoGrad off;
  EXPECT_EQ((*net)(ones({2, 3, 32, 32})).shape(), (Shape{2, 3}));
  EXPECT_EQ((*net->clone())(ones({1, 3, 32, 32})).to_vector<float>(), (*net)(ones({1, 3, 32, 32})).to_vector<float>());
}

TEST(ModelsNames, OfPublishedFilesAreThoseHere) {
  const models::Gpt2Options o{.vocab_size = 5, .n_positions = 4, .n_embd = 4, .n_layer = 1, .n_head = 2};
  const auto net = models::gpt2(o), other = models::gpt2(o);
  nn::StateDict bare;
  for (const auto& [name, t] : net->state_dict())
    if (name != "lm_head.weight") bare.set(name.substr(std::string("transformer.").size()), t);
  bare.set("h.0.attn.bias", ones({1, 1, 4, 4}));
  other->load_state_dict(models::published_names(bare));
  net->eval(), other->eval();
  const NoGrad off;
  const Tensor x = zeros({1, 3}, {.dtype = int64});
  EXPECT_EQ((*other)(x).to_vector<float>(), (*net)(x).to_vector<float>());
  const nn::StateDict vit = models::published_names({{"encoder.layers.encoder_layer_0.mlp.linear_2.bias", ones({1})}});
  EXPECT_TRUE(vit.contains("encoder.layers.encoder_layer_0.mlp.3.bias"));
}

template <class E, class F> std::string message(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(ModelsRefuse, WhatTheyCannotBe) {
  EXPECT_EQ(message<ValueError>([] { models::lenet({.image_size = 11}); }),
            "LeNet: expected pictures of 12 pixels a side or more, got 11");
  EXPECT_EQ(message<ValueError>([] { models::gpt2({.n_embd = 16, .n_head = 3}); }),
            "GPT2Model: expected n_head to divide n_embd, got 3 and 16");
  EXPECT_EQ(message<ValueError>([] { models::gpt2({.n_embd = 4, .n_head = 2, .activation_function = "relu"}); }),
            "GPT2Model: expected activation_function \"gelu_new\", \"gelu_pytorch_tanh\" or \"gelu\", got \"relu\"");
  EXPECT_NO_THROW(models::gpt2({.n_embd = 4, .n_layer = 1, .n_head = 2, .activation_function = "gelu_pytorch_tanh"}));
  EXPECT_EQ(message<ValueError>([] {
              const auto net =
                  models::gpt2({.vocab_size = 3, .n_positions = 2, .n_embd = 4, .n_layer = 1, .n_head = 2});
              (*net)(zeros({1, 3}, {.dtype = int64}));
            }),
            "GPT2Model: expected at most 2 tokens, got 3");
  EXPECT_EQ(message<ValueError>([] { models::vit_b_16({.image_size = 20}); }),
            "VisionTransformer: expected patch_size to divide image_size, got 16 and 20");
  EXPECT_EQ(message<ShapeError>([] {
              (*models::vit_b_32({.image_size = 32}))(zeros({1, 3, 8, 8}));
            }),
            "VisionTransformer: expected pictures [N, 3, 32, 32], got [1, 3, 8, 8]");
  EXPECT_EQ(message<ShapeError>([] {
              (*models::unet({.init_features = 2}))(zeros({1, 3, 30, 32}));
            }),
            "UNet: expected pictures [N, C, H, W] of sides in sixteens, got [1, 3, 30, 32]");
  EXPECT_EQ(message<ValueError>([] { models::InvertedResidual(4, 4, 3, 2); }),
            "InvertedResidual: expected stride 1 or 2, got 3");
  EXPECT_EQ(message<ValueError>([] { models::BasicBlock(4, 4, {.groups = 2}); }),
            "BasicBlock: expected groups 1, base_width 64 and dilation 1, got 2, 64 and 1");
}

}  // namespace
}  // namespace neura

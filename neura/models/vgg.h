// Networks of convolutions and three linear layers, by torchvision's names: VGG (Simonyan and Zisserman, 2014), AlexNet
// as of one GPU (Krizhevsky, 2014).
#pragma once
#include <string_view>

#include "neura/nn/container.h"

namespace neura::models {

struct VggOptions {
  std::int64_t num_classes = 1000;
  bool init_weights = true;  // by He; else each layer starts by itself
  double dropout = 0.5;
  bool small_images = false;  // the mean of what is seen and layers of 512, for pictures of 32 to 64 pixels a side
};
// Pictures [N, 3, H, W], of 32 pixels a side or more, to scores [N, num_classes].
struct VGG final : nn::Module {
  // features: [N, 3, H, W] -> [N, 512, h, w].
  explicit VGG(Ref<nn::Sequential> features, const VggOptions& = {});
  explicit VGG(nn::Blank) {}
  Tensor forward(const Tensor& x);

  bool small_images = false;
  nn::Child<nn::Sequential> features, classifier;
  NEURA_LAYER(VGG, small_images, features, classifier)
  NEURA_FORWARD("x")
};
// The name says how many layers there are; _bn: with batch norm.
Ref<VGG> vgg11(const VggOptions& = {});
Ref<VGG> vgg11_bn(const VggOptions& = {});
Ref<VGG> vgg13(const VggOptions& = {});
Ref<VGG> vgg13_bn(const VggOptions& = {});
Ref<VGG> vgg16(const VggOptions& = {});
Ref<VGG> vgg16_bn(const VggOptions& = {});
Ref<VGG> vgg19(const VggOptions& = {});
Ref<VGG> vgg19_bn(const VggOptions& = {});

struct AlexNetOptions {
  std::int64_t num_classes = 1000;
  double dropout = 0.5;
};
// Pictures [N, 3, H, W], of 63 pixels a side or more, to scores [N, num_classes].
struct AlexNet final : nn::Module {
  explicit AlexNet(const AlexNetOptions& = {});
  Tensor forward(const Tensor& x);

  nn::Child<nn::Sequential> features, classifier;
  NEURA_LAYER(AlexNet, features, classifier)
  NEURA_FORWARD("x")
};
Ref<AlexNet> alexnet(const AlexNetOptions& = {});  // an AlexNet on the heap

}  // namespace neura::models

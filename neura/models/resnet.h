// Residual networks (He et al., 2015), by torchvision's names, so that its weights load by name.
//
//   auto net = models::resnet18({.num_classes = 10});
//   net->load_state_dict(neura::load("resnet18.safetensors"));
#pragma once
#include <array>

#include "neura/nn/container.h"
#include "neura/nn/conv.h"
#include "neura/nn/linear.h"
#include "neura/nn/norm.h"

namespace neura::models {

struct BlockOptions {
  std::int64_t stride = 1;
  Ref<nn::Sequential> downsample = {};  // of the way around, where sizes change
  std::int64_t groups = 1, base_width = 64, dilation = 1;
};
// Two convolutions of 3 x 3: [N, inplanes, H, W] -> [N, planes, H / stride, W / stride]. ValueError for other groups,
// base_width and dilation than the defaults.
struct BasicBlock final : nn::Module {
  static constexpr std::int64_t kExpansion = 1;
  BasicBlock(std::int64_t inplanes, std::int64_t planes, const BlockOptions& = {});
  explicit BasicBlock(nn::Blank) {}
  Tensor forward(const Tensor& x);

  nn::Child<nn::Conv2d> conv1;
  nn::Child<nn::BatchNorm2d> bn1;
  nn::Child<nn::Conv2d> conv2;
  nn::Child<nn::BatchNorm2d> bn2;
  nn::Child<nn::Sequential> downsample;
  NEURA_LAYER(BasicBlock, conv1, bn1, conv2, bn2, downsample)
  NEURA_FORWARD("x")
};
// 1 x 1, 3 x 3, which has the stride, and 1 x 1: [N, inplanes, H, W] -> [N, 4 planes, H / stride, W / stride].
struct Bottleneck final : nn::Module {
  static constexpr std::int64_t kExpansion = 4;
  Bottleneck(std::int64_t inplanes, std::int64_t planes, const BlockOptions& = {});
  explicit Bottleneck(nn::Blank) {}
  Tensor forward(const Tensor& x);

  nn::Child<nn::Conv2d> conv1;
  nn::Child<nn::BatchNorm2d> bn1;
  nn::Child<nn::Conv2d> conv2;
  nn::Child<nn::BatchNorm2d> bn2;
  nn::Child<nn::Conv2d> conv3;
  nn::Child<nn::BatchNorm2d> bn3;
  nn::Child<nn::Sequential> downsample;
  NEURA_LAYER(Bottleneck, conv1, bn1, conv2, bn2, conv3, bn3, downsample)
  NEURA_FORWARD("x")
};

struct ResNetOptions {
  std::int64_t num_classes = 1000;
  bool zero_init_residual = false;  // blocks begin as what goes around them
  std::int64_t groups = 1, width_per_group = 64;
  std::array<bool, 3> replace_stride_with_dilation = {};
  bool small_images = false;  // a first convolution of 3 x 3 and no pooling, for pictures of 32 pixels a side
};
// Pictures [N, 3, H, W] to scores [N, num_classes].
struct ResNet final : nn::Module {
  enum class Block { basic, bottleneck };
  ResNet(Block, const std::array<std::int64_t, 4>& layers, const ResNetOptions& = {});
  explicit ResNet(nn::Blank) {}
  Tensor forward(const Tensor& x);

  bool small_images = false;
  nn::Child<nn::Conv2d> conv1;
  nn::Child<nn::BatchNorm2d> bn1;
  nn::Child<nn::Sequential> layer1, layer2, layer3, layer4;
  nn::Child<nn::Linear> fc;
  NEURA_LAYER(ResNet, small_images, conv1, bn1, layer1, layer2, layer3, layer4, fc)
  NEURA_FORWARD("x")
};

struct CifarResNetOptions {
  std::int64_t num_classes = 10;
};
// The residual networks for small pictures of the paper's section 4.2: three sizes of 16, 32 and 64 channels, the mean
// of what is seen, one linear layer. Pictures [N, 3, H, W], of any size, to scores [N, num_classes].
struct CifarResNet final : nn::Module {
  explicit CifarResNet(std::int64_t blocks, const CifarResNetOptions& = {});  // so many at each size
  explicit CifarResNet(nn::Blank) {}
  Tensor forward(const Tensor& x);

  nn::Child<nn::Conv2d> conv1;
  nn::Child<nn::BatchNorm2d> bn1;
  nn::Child<nn::Sequential> layer1, layer2, layer3;
  nn::Child<nn::Linear> fc;
  NEURA_LAYER(CifarResNet, conv1, bn1, layer1, layer2, layer3, fc)
  NEURA_FORWARD("x")
};

// The name says how many layers there are.
Ref<CifarResNet> cifar_resnet8(const CifarResNetOptions& = {});
Ref<CifarResNet> cifar_resnet20(const CifarResNetOptions& = {});
Ref<ResNet> resnet18(const ResNetOptions& = {});
Ref<ResNet> resnet34(const ResNetOptions& = {});
Ref<ResNet> resnet50(const ResNetOptions& = {});
Ref<ResNet> resnet101(const ResNetOptions& = {});
Ref<ResNet> resnet152(const ResNetOptions& = {});
// With groups (Xie et al., 2016), and wider (Zagoruyko and Komodakis, 2016); groups and width are the name's.
Ref<ResNet> resnext50_32x4d(ResNetOptions = {});
Ref<ResNet> resnext101_32x8d(ResNetOptions = {});
Ref<ResNet> resnext101_64x4d(ResNetOptions = {});
Ref<ResNet> wide_resnet50_2(ResNetOptions = {});
Ref<ResNet> wide_resnet101_2(ResNetOptions = {});

}  // namespace neura::models

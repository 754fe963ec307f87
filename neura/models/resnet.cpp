#include "neura/models/resnet.h"

#include "neura/core/error.h"
#include "neura/nn/init.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/spatial/pool.h"

namespace neura::models {
namespace {

using nn::BatchNorm2d, nn::Conv2d, nn::make, nn::Sequential;

Ref<Conv2d> conv3x3(std::int64_t in, std::int64_t out, std::int64_t stride = 1, std::int64_t groups = 1,
                    std::int64_t dilation = 1) {
  return make<Conv2d>(
      in, out, 3,
      nn::ConvOptions{.stride = stride, .padding = dilation, .dilation = dilation, .groups = groups, .bias = false});
}
Ref<Conv2d> conv1x1(std::int64_t in, std::int64_t out, std::int64_t stride = 1) {
  return make<Conv2d>(in, out, 1, nn::ConvOptions{.stride = stride, .bias = false});
}

struct Stages {  // the four sizes of a network
  ResNet::Block block;
  ResNetOptions options;
  std::int64_t inplanes = 64, dilation = 1;

  std::int64_t expansion() const {
    return block == ResNet::Block::basic ? BasicBlock::kExpansion : Bottleneck::kExpansion;
  }
  void add(Sequential& to, std::int64_t planes, BlockOptions o) {
    o.groups = options.groups, o.base_width = options.width_per_group;
    if (block == ResNet::Block::basic) to.append(make<BasicBlock>(inplanes, planes, o));
    else to.append(make<Bottleneck>(inplanes, planes, o));
    inplanes = planes * expansion();
  }
  Ref<Sequential> next(std::int64_t planes, std::int64_t count, std::int64_t stride, bool dilate) {
    const std::int64_t before = dilation, out = planes * expansion();
    if (dilate) dilation *= stride, stride = 1;
    BlockOptions first{.stride = stride, .dilation = before};
    if (stride != 1 || inplanes != out)
      first.downsample = make<Sequential>(conv1x1(inplanes, out, stride), make<BatchNorm2d>(out));
    auto all = make<Sequential>();
    add(*all, planes, first);
    for (std::int64_t i = 1; i < count; ++i) add(*all, planes, {.dilation = dilation});
    return all;
  }
};

void start(nn::Module& net, bool zero_init_residual) {
  for (const Ref<nn::Module>& m : net.modules())
    if (const auto* conv = m->as<Conv2d>())
      nn::init::kaiming_normal_(conv->weight, {.mode = "fan_out", .nonlinearity = "relu"});
  if (!zero_init_residual) return;
  for (const Ref<nn::Module>& m : net.modules()) {
    if (const auto* basic = m->as<BasicBlock>()) nn::init::zeros_(basic->bn2->weight);
    if (const auto* bottleneck = m->as<Bottleneck>()) nn::init::zeros_(bottleneck->bn3->weight);
  }
}

Tensor around(nn::Child<Sequential>& downsample, const Tensor& x) { return downsample.module ? downsample(x) : x; }

}  // namespace

NEURA_LAYER_BODY(BasicBlock)
NEURA_LAYER_BODY(Bottleneck)
NEURA_LAYER_BODY(ResNet)
NEURA_LAYER_BODY(CifarResNet)

BasicBlock::BasicBlock(std::int64_t inplanes, std::int64_t planes, const BlockOptions& o) {
  check<ValueError>(o.groups == 1 && o.base_width == 64 && o.dilation == 1, [&] {
    return "BasicBlock: expected groups 1, base_width 64 and dilation 1, got " + std::to_string(o.groups) + ", " +
           std::to_string(o.base_width) + " and " + std::to_string(o.dilation);
  });
  conv1 = conv3x3(inplanes, planes, o.stride);
  bn1 = make<BatchNorm2d>(planes);
  conv2 = conv3x3(planes, planes);
  bn2 = make<BatchNorm2d>(planes);
  if (o.downsample) downsample = o.downsample;
}

Tensor BasicBlock::forward(const Tensor& x) {
  const Tensor y = bn2(conv2(relu(bn1(conv1(x)))));
  return relu(y + around(downsample, x));
}

Bottleneck::Bottleneck(std::int64_t inplanes, std::int64_t planes, const BlockOptions& o) {
  const std::int64_t width = std::int64_t(double(planes) * (double(o.base_width) / 64)) * o.groups;
  conv1 = conv1x1(inplanes, width);
  bn1 = make<BatchNorm2d>(width);
  conv2 = conv3x3(width, width, o.stride, o.groups, o.dilation);
  bn2 = make<BatchNorm2d>(width);
  conv3 = conv1x1(width, planes * kExpansion);
  bn3 = make<BatchNorm2d>(planes * kExpansion);
  if (o.downsample) downsample = o.downsample;
}

Tensor Bottleneck::forward(const Tensor& x) {
  const Tensor y = relu(bn2(conv2(relu(bn1(conv1(x))))));
  return relu(bn3(conv3(y)) + around(downsample, x));
}

ResNet::ResNet(Block block, const std::array<std::int64_t, 4>& layers, const ResNetOptions& o)
    : small_images(o.small_images) {
  conv1 =
      small_images ? conv3x3(3, 64) : make<Conv2d>(3, 64, 7, nn::ConvOptions{.stride = 2, .padding = 3, .bias = false});
  bn1 = make<BatchNorm2d>(64);
  Stages stages{block, o};
  layer1 = stages.next(64, layers[0], 1, false);
  layer2 = stages.next(128, layers[1], 2, o.replace_stride_with_dilation[0]);
  layer3 = stages.next(256, layers[2], 2, o.replace_stride_with_dilation[1]);
  layer4 = stages.next(512, layers[3], 2, o.replace_stride_with_dilation[2]);
  fc = make<nn::Linear>(512 * stages.expansion(), o.num_classes);
  start(*this, o.zero_init_residual);
}

Tensor ResNet::forward(const Tensor& x) {
  Tensor y = relu(bn1(conv1(x)));
  if (!small_images) y = max_pool2d(y, 3, {.stride = 2, .padding = 1});
  y = layer4(layer3(layer2(layer1(y))));
  return fc(flatten(adaptive_avg_pool2d(y, 1), 1));
}

CifarResNet::CifarResNet(std::int64_t blocks, const CifarResNetOptions& o) {
  conv1 = conv3x3(3, 16);
  bn1 = make<BatchNorm2d>(16);
  Stages stages{ResNet::Block::basic, {}, 16};
  layer1 = stages.next(16, blocks, 1, false);
  layer2 = stages.next(32, blocks, 2, false);
  layer3 = stages.next(64, blocks, 2, false);
  fc = make<nn::Linear>(64, o.num_classes);
  start(*this, false);
}

Tensor CifarResNet::forward(const Tensor& x) {
  const Tensor y = layer3(layer2(layer1(relu(bn1(conv1(x))))));
  return fc(flatten(adaptive_avg_pool2d(y, 1), 1));
}

namespace {
Ref<ResNet> grouped(const std::array<std::int64_t, 4>& layers, ResNetOptions o, std::int64_t groups,
                    std::int64_t width) {
  o.groups = groups, o.width_per_group = width;
  return make<ResNet>(ResNet::Block::bottleneck, layers, o);
}
using Layers = std::array<std::int64_t, 4>;
}  // namespace

Ref<CifarResNet> cifar_resnet8(const CifarResNetOptions& o) { return make<CifarResNet>(1, o); }
Ref<CifarResNet> cifar_resnet20(const CifarResNetOptions& o) { return make<CifarResNet>(3, o); }
Ref<ResNet> resnet18(const ResNetOptions& o) { return make<ResNet>(ResNet::Block::basic, Layers{2, 2, 2, 2}, o); }
Ref<ResNet> resnet34(const ResNetOptions& o) { return make<ResNet>(ResNet::Block::basic, Layers{3, 4, 6, 3}, o); }
Ref<ResNet> resnet50(const ResNetOptions& o) { return make<ResNet>(ResNet::Block::bottleneck, Layers{3, 4, 6, 3}, o); }
Ref<ResNet> resnet101(const ResNetOptions& o) {
  return make<ResNet>(ResNet::Block::bottleneck, Layers{3, 4, 23, 3}, o);
}
Ref<ResNet> resnet152(const ResNetOptions& o) {
  return make<ResNet>(ResNet::Block::bottleneck, Layers{3, 8, 36, 3}, o);
}
Ref<ResNet> resnext50_32x4d(ResNetOptions o) { return grouped({3, 4, 6, 3}, o, 32, 4); }
Ref<ResNet> resnext101_32x8d(ResNetOptions o) { return grouped({3, 4, 23, 3}, o, 32, 8); }
Ref<ResNet> resnext101_64x4d(ResNetOptions o) { return grouped({3, 4, 23, 3}, o, 64, 4); }
Ref<ResNet> wide_resnet50_2(ResNetOptions o) { return grouped({3, 4, 6, 3}, o, 1, 128); }
Ref<ResNet> wide_resnet101_2(ResNetOptions o) { return grouped({3, 4, 23, 3}, o, 1, 128); }

}  // namespace neura::models

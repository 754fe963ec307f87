// Small networks, which `neura train` trains.
#pragma once
#include "neura/nn/container.h"
#include "neura/nn/conv.h"
#include "neura/nn/linear.h"

namespace neura::models {

struct MlpOptions {
  std::int64_t inputs, outputs, hidden = 256, layers = 2;
  double dropout = 0.1;
};
// [N, ..] of `inputs` numbers to [N, outputs]; without layers, one linear map.
Ref<nn::Sequential> mlp(const MlpOptions&);

struct LeNetOptions {
  std::int64_t num_classes = 10, in_channels = 3, image_size = 32;
};
// Pictures [N, in_channels, image_size, image_size] to scores [N, num_classes] (LeCun et al., 1998, with ReLU and
// maxima). ValueError for an image_size below 12.
struct LeNet final : nn::Module {
  explicit LeNet(const LeNetOptions& = {});
  Tensor forward(const Tensor& x);

  nn::Child<nn::Conv2d> conv1, conv2;
  nn::Child<nn::Linear> fc1, fc2, fc3;
  NEURA_LAYER(LeNet, conv1, conv2, fc1, fc2, fc3)
  NEURA_FORWARD("x")
};
Ref<LeNet> lenet(const LeNetOptions& = {});  // a LeNet on the heap

// uint8 pictures as float32, the training set's mean 0 and deviation 1; mean and std are parts of 255.
struct Standardize final : nn::Module {
  Standardize(double mean, double std) : mean(mean), std(std) {}
  explicit Standardize(nn::Blank) {}
  Tensor forward(const Tensor& input) const;

  double mean = 0, std = 1;
  NEURA_LAYER(Standardize, mean, std)
  NEURA_FORWARD("input")
};

// From uint8 pictures [N, 1, height, width], as files of Fashion-MNIST hold them, to scores [N, num_classes].
// fashion_cnn has two convolutions and two linear layers, fashion_mlp three linear layers.
struct FashionOptions {
  std::int64_t num_classes = 10, height = 28, width = 28;
};
Ref<nn::Sequential> fashion_cnn(const FashionOptions& = {});
Ref<nn::Sequential> fashion_mlp(const FashionOptions& = {});

}  // namespace neura::models

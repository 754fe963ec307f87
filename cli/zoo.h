// The networks that `neura train images`, `table` and `text` offer by --model.
#pragma once
#include "neura/nn/container.h"

namespace neura::cli {

struct MlpOptions {
  std::int64_t inputs, outputs, hidden = 256, layers = 2;
  double dropout = 0.1;
};
Ref<nn::Sequential> make_mlp(const MlpOptions&);  // without layers: one linear map

// Of colour pictures of size x size pixels.
Ref<nn::Sequential> make_lenet(std::int64_t size, std::int64_t classes);  // LeCun et al., 1998, with ReLU and maxima
// He et al., 2015, as for CIFAR: a first convolution of 3 x 3, no pooling before the blocks.
Ref<nn::Sequential> make_resnet18(std::int64_t classes);

// Of numbers of tokens [N, T] to scores of the next ones, [N, T, vocabulary].
struct LanguageOptions {
  std::int64_t vocabulary, context, width, layers, heads;
  double dropout;
};
Ref<nn::Sequential> make_lstm(const LanguageOptions&);
Ref<nn::Sequential> make_gpt(const LanguageOptions&);  // Radford et al., 2019: norms before attention and MLP

}  // namespace neura::cli

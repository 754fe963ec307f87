#include "neura/models/small.h"

#include "neura/core/error.h"
#include "neura/nn/activation.h"
#include "neura/nn/dropout.h"
#include "neura/nn/norm.h"
#include "neura/nn/pool.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/spatial/pool.h"

namespace neura::models {
namespace {

using nn::make, nn::Sequential;

constexpr double kMean = 0.2860, kDeviation = 0.3530;  // of Fashion-MNIST's training pictures, as parts of 255

}  // namespace

NEURA_LAYER_BODY(LeNet)
NEURA_LAYER_BODY(Standardize)

Ref<Sequential> mlp(const MlpOptions& o) {
  auto net = make<Sequential>(nn::Flatten());
  std::int64_t width = o.inputs;
  for (std::int64_t i = 0; i < o.layers; ++i, width = o.hidden) {
    net->append(nn::Linear(width, o.hidden));
    net->append(nn::ReLU());
    net->append(nn::Dropout(o.dropout));
  }
  net->append(nn::Linear(width, o.outputs));
  return net;
}

LeNet::LeNet(const LeNetOptions& o) {
  check<ValueError>(o.image_size >= 12, [&] {
    return "LeNet: expected pictures of 12 pixels a side or more, got " + std::to_string(o.image_size);
  });
  const std::int64_t side = (o.image_size / 2 - 4) / 2;
  conv1 = make<nn::Conv2d>(o.in_channels, 6, 5, nn::ConvOptions{.padding = 2});
  conv2 = make<nn::Conv2d>(6, 16, 5);
  fc1 = make<nn::Linear>(16 * side * side, 120);
  fc2 = make<nn::Linear>(120, 84);
  fc3 = make<nn::Linear>(84, o.num_classes);
}

Tensor LeNet::forward(const Tensor& x) {
  Tensor y = max_pool2d(relu(conv1(x)), 2);
  y = flatten(max_pool2d(relu(conv2(y)), 2), 1);
  return fc3(relu(fc2(relu(fc1(y)))));
}

Ref<LeNet> lenet(const LeNetOptions& o) { return make<LeNet>(o); }

Tensor Standardize::forward(const Tensor& input) const {
  return sub(mul(input.to(DType::float32), 1 / (255 * std)), mean / std);
}

Ref<Sequential> fashion_cnn(const FashionOptions& o) {
  const std::int64_t features = 64 * (o.height / 4) * (o.width / 4);
  // Pooling comes first: what follows has a quarter of the work.
  return make<Sequential>(Standardize(kMean, kDeviation), nn::Conv2d(1, 32, 3, {.padding = 1}), nn::MaxPool2d(2),
                          nn::BatchNorm2d(32), nn::ReLU(), nn::Conv2d(32, 64, 3, {.padding = 1}), nn::MaxPool2d(2),
                          nn::BatchNorm2d(64), nn::ReLU(), nn::Flatten(), nn::Linear(features, 128), nn::ReLU(),
                          nn::Dropout(0.25), nn::Linear(128, o.num_classes));
}

Ref<Sequential> fashion_mlp(const FashionOptions& o) {
  return make<Sequential>(Standardize(kMean, kDeviation), nn::Flatten(), nn::Linear(o.height * o.width, 512),
                          nn::ReLU(), nn::Dropout(0.2), nn::Linear(512, 256), nn::ReLU(), nn::Dropout(0.2),
                          nn::Linear(256, o.num_classes));
}

}  // namespace neura::models

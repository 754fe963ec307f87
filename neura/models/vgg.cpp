#include "neura/models/vgg.h"

#include <utility>
#include <vector>

#include "neura/nn/activation.h"
#include "neura/nn/conv.h"
#include "neura/nn/dropout.h"
#include "neura/nn/init.h"
#include "neura/nn/linear.h"
#include "neura/nn/norm.h"
#include "neura/nn/pool.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/spatial/pool.h"

namespace neura::models {
namespace {

using nn::make, nn::Sequential;

constexpr std::int64_t kPool = 0;  // among the channels of a plan
const std::vector<std::int64_t> kPlan11 = {64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0};
const std::vector<std::int64_t> kPlan13 = {64, 64, 0, 128, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0};
const std::vector<std::int64_t> kPlan16 = {64, 64,  0,   128, 128, 0,   256, 256, 256,
                                           0,  512, 512, 512, 0,   512, 512, 512, 0};
const std::vector<std::int64_t> kPlan19 = {64,  64,  0,   128, 128, 0,   256, 256, 256, 256, 0,
                                           512, 512, 512, 512, 0,   512, 512, 512, 512, 0};

Ref<VGG> vgg(const std::vector<std::int64_t>& plan, bool batch_norm, const VggOptions& o) {
  auto features = make<Sequential>();
  std::int64_t in = 3;
  for (const std::int64_t out : plan) {
    if (out == kPool) {
      features->append(nn::MaxPool2d(2));
      continue;
    }
    features->append(nn::Conv2d(in, out, 3, {.padding = 1}));
    if (batch_norm) features->append(nn::BatchNorm2d(out));
    features->append(nn::ReLU());
    in = out;
  }
  return make<VGG>(features, o);
}

void start(nn::Module& net) {
  for (const Ref<nn::Module>& m : net.modules()) {
    if (const auto* conv = m->as<nn::Conv2d>()) {
      nn::init::kaiming_normal_(conv->weight, {.mode = "fan_out", .nonlinearity = "relu"});
      nn::init::zeros_(conv->bias);
    } else if (const auto* linear = m->as<nn::Linear>()) {
      nn::init::normal_(linear->weight, 0, 0.01);
      nn::init::zeros_(linear->bias);
    }
  }
}

}  // namespace

NEURA_LAYER_BODY(VGG)
NEURA_LAYER_BODY(AlexNet)

VGG::VGG(Ref<nn::Sequential> convolutions, const VggOptions& o) : small_images(o.small_images) {
  features = std::move(convolutions);
  const std::int64_t seen = small_images ? 512 : 512 * 7 * 7, width = small_images ? 512 : 4096;
  classifier = make<Sequential>(nn::Linear(seen, width), nn::ReLU(), nn::Dropout(o.dropout), nn::Linear(width, width),
                                nn::ReLU(), nn::Dropout(o.dropout), nn::Linear(width, o.num_classes));
  if (o.init_weights) start(*this);
}

Tensor VGG::forward(const Tensor& x) {
  return classifier(flatten(adaptive_avg_pool2d(features(x), small_images ? 1 : 7), 1));
}

Ref<VGG> vgg11(const VggOptions& o) { return vgg(kPlan11, false, o); }
Ref<VGG> vgg11_bn(const VggOptions& o) { return vgg(kPlan11, true, o); }
Ref<VGG> vgg13(const VggOptions& o) { return vgg(kPlan13, false, o); }
Ref<VGG> vgg13_bn(const VggOptions& o) { return vgg(kPlan13, true, o); }
Ref<VGG> vgg16(const VggOptions& o) { return vgg(kPlan16, false, o); }
Ref<VGG> vgg16_bn(const VggOptions& o) { return vgg(kPlan16, true, o); }
Ref<VGG> vgg19(const VggOptions& o) { return vgg(kPlan19, false, o); }
Ref<VGG> vgg19_bn(const VggOptions& o) { return vgg(kPlan19, true, o); }

AlexNet::AlexNet(const AlexNetOptions& o) {
  const nn::MaxPoolOptions two{.stride = 2};
  features =
      make<Sequential>(nn::Conv2d(3, 64, 11, {.stride = 4, .padding = 2}), nn::ReLU(), nn::MaxPool2d(3, two),
                       nn::Conv2d(64, 192, 5, {.padding = 2}), nn::ReLU(), nn::MaxPool2d(3, two),
                       nn::Conv2d(192, 384, 3, {.padding = 1}), nn::ReLU(), nn::Conv2d(384, 256, 3, {.padding = 1}),
                       nn::ReLU(), nn::Conv2d(256, 256, 3, {.padding = 1}), nn::ReLU(), nn::MaxPool2d(3, two));
  classifier =
      make<Sequential>(nn::Dropout(o.dropout), nn::Linear(256 * 6 * 6, 4096), nn::ReLU(), nn::Dropout(o.dropout),
                       nn::Linear(4096, 4096), nn::ReLU(), nn::Linear(4096, o.num_classes));
}

Tensor AlexNet::forward(const Tensor& x) { return classifier(flatten(adaptive_avg_pool2d(features(x), 6), 1)); }

Ref<AlexNet> alexnet(const AlexNetOptions& o) { return make<AlexNet>(o); }

}  // namespace neura::models

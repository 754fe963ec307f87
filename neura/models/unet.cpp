#include "neura/models/unet.h"

#include "neura/core/error.h"
#include "neura/nn/activation.h"
#include "neura/nn/norm.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/spatial/pool.h"

namespace neura::models {
namespace {

using nn::make, nn::Sequential;

Ref<Sequential> block(std::int64_t in, std::int64_t out, const std::string& name) {
  std::vector<std::pair<std::string, Ref<nn::Module>>> parts;
  for (const char* number : {"1", "2"}) {
    parts.emplace_back(name + "conv" + number,
                       make<nn::Conv2d>(in, out, 3, nn::ConvOptions{.padding = 1, .bias = false}));
    parts.emplace_back(name + "norm" + number, make<nn::BatchNorm2d>(out));
    parts.emplace_back(name + "relu" + number, make<nn::ReLU>());
    in = out;
  }
  return make<Sequential>(parts);
}
Ref<nn::ConvTranspose2d> twice(std::int64_t in) {  // as large, half the channels
  return make<nn::ConvTranspose2d>(in, in / 2, 2, nn::ConvTransposeOptions{.stride = 2});
}

}  // namespace

NEURA_LAYER_BODY(UNet)

UNet::UNet(const UNetOptions& o) {
  const std::int64_t f = o.init_features;
  encoder1 = block(o.in_channels, f, "enc1");
  encoder2 = block(f, 2 * f, "enc2");
  encoder3 = block(2 * f, 4 * f, "enc3");
  encoder4 = block(4 * f, 8 * f, "enc4");
  bottleneck = block(8 * f, 16 * f, "bottleneck");
  upconv4 = twice(16 * f), decoder4 = block(16 * f, 8 * f, "dec4");
  upconv3 = twice(8 * f), decoder3 = block(8 * f, 4 * f, "dec3");
  upconv2 = twice(4 * f), decoder2 = block(4 * f, 2 * f, "dec2");
  upconv1 = twice(2 * f), decoder1 = block(2 * f, f, "dec1");
  conv = make<nn::Conv2d>(f, o.out_channels, 1);
}

Tensor UNet::forward(const Tensor& x) {
  check<ShapeError>(x.dim() == 4 && x.size(2) % 16 == 0 && x.size(3) % 16 == 0, [&] {
    return "UNet: expected pictures [N, C, H, W] of sides in sixteens, got " + x.shape().str();
  });
  const Tensor e1 = encoder1(x);
  const Tensor e2 = encoder2(max_pool2d(e1, 2));
  const Tensor e3 = encoder3(max_pool2d(e2, 2));
  const Tensor e4 = encoder4(max_pool2d(e3, 2));
  Tensor y = bottleneck(max_pool2d(e4, 2));
  y = decoder4(cat({upconv4(y), e4}, 1));
  y = decoder3(cat({upconv3(y), e3}, 1));
  y = decoder2(cat({upconv2(y), e2}, 1));
  y = decoder1(cat({upconv1(y), e1}, 1));
  return conv(y);
}

Ref<UNet> unet(const UNetOptions& o) { return make<UNet>(o); }

}  // namespace neura::models

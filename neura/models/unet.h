// U-Net (Ronneberger et al., 2015), with batch norm, by the names of mateuszbuda/brain-segmentation-pytorch.
#pragma once
#include "neura/nn/container.h"
#include "neura/nn/conv.h"

namespace neura::models {

struct UNetOptions {
  std::int64_t in_channels = 3, out_channels = 1;
  std::int64_t init_features = 32;  // channels at the full size, twice as many at each half
};
// Pictures [N, in_channels, H, W], of sides in sixteens (ShapeError), to scores of each pixel, [N, out_channels, H, W].
struct UNet final : nn::Module {
  explicit UNet(const UNetOptions& = {});
  Tensor forward(const Tensor& x);

  nn::Child<nn::Sequential> encoder1, encoder2, encoder3, encoder4, bottleneck;
  nn::Child<nn::ConvTranspose2d> upconv4;
  nn::Child<nn::Sequential> decoder4;
  nn::Child<nn::ConvTranspose2d> upconv3;
  nn::Child<nn::Sequential> decoder3;
  nn::Child<nn::ConvTranspose2d> upconv2;
  nn::Child<nn::Sequential> decoder2;
  nn::Child<nn::ConvTranspose2d> upconv1;
  nn::Child<nn::Sequential> decoder1;
  nn::Child<nn::Conv2d> conv;
  NEURA_LAYER(UNet, encoder1, encoder2, encoder3, encoder4, bottleneck, upconv4, decoder4, upconv3, decoder3, upconv2,
              decoder2, upconv1, decoder1, conv)
  NEURA_FORWARD("x")
};
Ref<UNet> unet(const UNetOptions& = {});  // a UNet on the heap

}  // namespace neura::models

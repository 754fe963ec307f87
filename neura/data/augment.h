// Random changes of colour and place. Each draws its parameters first, on the host, and then applies the functions of
// image_ops.h: with the same generator a picture comes out the same on every device.
#pragma once
#include <utility>

#include "neura/data/image_ops.h"
#include "neura/data/transforms.h"

namespace neura::data {

using Range = std::array<double, 2>;

// Brightness, contrast, saturation and hue in a random order, each by a factor of its range. ValueError.
struct ColorJitter {
  Range brightness = {1, 1}, contrast = {1, 1}, saturation = {1, 1}, hue = {0, 0};
  Generator* generator = nullptr;
  struct Drawn {
    std::array<int, 4> order;
    std::array<double, 4> factors;  // brightness, contrast, saturation, hue
  };
  Drawn draw(Draws&) const;
  Tensor apply(const Tensor& image, const Drawn&) const;
  Tensor operator()(const Tensor& image) const;
};

// By a random angle, counter-clockwise.
struct RandomRotation {
  Range degrees;
  bool expand = false;
  AffineOptions options = {};
  Generator* generator = nullptr;
  Tensor operator()(const Tensor& image) const;
};

// `translate`: at most these fractions of width and height, either way; `shear`: degrees along x from shear[0] to
// shear[1], along y from shear[2] to shear[3].
struct RandomAffine {
  Range degrees;
  std::optional<std::array<double, 2>> translate = {};
  std::optional<Range> scale = {};
  std::optional<std::array<double, 4>> shear = {};
  AffineOptions options = {};
  Generator* generator = nullptr;
  Tensor operator()(const Tensor& image) const;
};

// With probability p, fills a window of random area and aspect ratio with `value`, one number or one per channel; by
// default with normal noise. (Zhong et al., Random erasing data augmentation, 2017.)
struct RandomErasing {
  double p = 0.5;
  Range scale = {0.02, 0.33}, ratio = {0.3, 3.3};
  std::vector<double> value = {0};
  Generator* generator = nullptr;
  Tensor operator()(const Tensor& image) const;
};

// Gaussian blur of a random standard deviation.
struct GaussianBlur {
  std::array<std::int64_t, 2> kernel_size;
  Range sigma = {0.1, 2};
  Generator* generator = nullptr;
  Tensor operator()(const Tensor& image) const;
};

// num_ops random changes of one magnitude. (Cubuk et al., RandAugment, 2019.)
struct RandAugment {
  int num_ops = 2, magnitude = 9, num_magnitude_bins = 31;
  AffineOptions options = {};
  Generator* generator = nullptr;
  Tensor operator()(const Tensor& image) const;
};

// One random change of a random magnitude. (Müller and Hutter, TrivialAugment, 2021.)
struct TrivialAugmentWide {
  int num_magnitude_bins = 31;
  AffineOptions options = {};
  Generator* generator = nullptr;
  Tensor operator()(const Tensor& image) const;
};

// One of the 25 pairs of changes of a policy: "imagenet", "cifar10" or "svhn". (Cubuk et al., AutoAugment, 2018.)
struct AutoAugment {
  std::string_view policy = "imagenet";
  AffineOptions options = {};
  Generator* generator = nullptr;
  Tensor operator()(const Tensor& image) const;
};

// Batches: each picture and its label mixed with those before it in the batch. Labels are classes [n], which become
// floats [n, num_classes], or such floats already. (Zhang et al., mixup, 2017; Yun et al., CutMix, 2019.)
struct MixUp {
  double alpha = 1;  // the share is drawn from Beta(alpha, alpha)
  std::int64_t num_classes = 0;
  Generator* generator = nullptr;
  std::pair<Tensor, Tensor> operator()(const Tensor& images, const Tensor& labels) const;
};
struct CutMix {
  double alpha = 1;
  std::int64_t num_classes = 0;
  Generator* generator = nullptr;
  std::pair<Tensor, Tensor> operator()(const Tensor& images, const Tensor& labels) const;
};

}  // namespace neura::data

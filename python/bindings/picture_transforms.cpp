// Changes to pictures, for neura.data and neura.data.functional.
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "common.h"
#include "neura/data/augment.h"

namespace neura::python {
namespace {

using namespace data;
using Unlocked = nb::call_guard<nb::gil_scoped_release>;
using Numbers = std::vector<double>;
using Two = std::array<double, 2>;
using Text = const std::string&;

void bind_places(nb::module_& m) {
  m.def(
      "resize",
      [](const Tensor& x, std::int64_t height, std::int64_t width, Text mode, bool antialias) {
        return resize(x, height, width, mode, antialias);
      },
      Unlocked());
  m.def(
      "resize_shorter",
      [](const Tensor& x, std::int64_t size, Text mode, std::int64_t max_size, bool antialias) {
        return resize_shorter(x, size, mode, max_size, antialias);
      },
      Unlocked());
  m.def("crop", &crop, Unlocked());
  m.def("center_crop", &center_crop, Unlocked());
  m.def(
      "pad_image",
      [](const Tensor& x, std::array<std::int64_t, 4> p, double fill, Text mode) {
        return pad_image(x, {p[0], p[1], p[2], p[3]}, fill, mode);
      },
      Unlocked());
  m.def(
      "affine",
      [](const Tensor& x, double angle, Two translate, double scale, Two shear, Text mode, const Numbers& fill,
         std::optional<Two> center) {
        return affine(x, angle, translate, scale, shear, {mode, fill, center});
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), Unlocked());
  m.def(
      "rotate",
      [](const Tensor& x, double angle, bool expand, Text mode, const Numbers& fill, std::optional<Two> center) {
        return rotate(x, angle, expand, {mode, fill, center});
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), Unlocked());
  m.def("erase", &erase, Unlocked());
  m.def("gaussian_blur", &gaussian_blur, Unlocked());
}

void bind_colours(nb::module_& m) {
  m.def("rgb_to_grayscale", &rgb_to_grayscale, Unlocked());
  m.def("adjust_brightness", &adjust_brightness, Unlocked());
  m.def("adjust_contrast", &adjust_contrast, Unlocked());
  m.def("adjust_saturation", &adjust_saturation, Unlocked());
  m.def("adjust_hue", &adjust_hue, Unlocked());
  m.def("adjust_gamma", &adjust_gamma, Unlocked());
  m.def("adjust_sharpness", &adjust_sharpness, Unlocked());
  m.def("invert", &invert, Unlocked());
  m.def("posterize", &posterize, Unlocked());
  m.def("solarize", &solarize, Unlocked());
  m.def("autocontrast", &autocontrast, Unlocked());
  m.def("equalize", &equalize, Unlocked());
  m.def("to_dtype", &data::to_dtype, Unlocked());
}

void bind_random(nb::module_& m) {
  m.def(
      "random_vertical_flip", [](const Tensor& x, double p) { return RandomVerticalFlip{p}(x); }, Unlocked());
  m.def(
      "random_grayscale", [](const Tensor& x, double p) { return RandomGrayscale{p}(x); }, Unlocked());
  m.def(
      "random_resized_crop",
      [](const Tensor& x, std::int64_t height, std::int64_t width, Two scale, Two ratio, Text mode) {
        return RandomResizedCrop{height, width, scale, ratio, mode}(x);
      },
      Unlocked());
  m.def(
      "color_jitter",
      [](const Tensor& x, Two brightness, Two contrast, Two saturation, Two hue) {
        return ColorJitter{brightness, contrast, saturation, hue}(x);
      },
      Unlocked());
  m.def(
      "random_rotation",
      [](const Tensor& x, Two degrees, bool expand, Text mode, const Numbers& fill, std::optional<Two> center) {
        return RandomRotation{degrees, expand, {mode, fill, center}}(x);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), Unlocked());
  m.def(
      "random_affine",
      [](const Tensor& x, Two degrees, std::optional<Two> translate, std::optional<Two> scale,
         std::optional<std::array<double, 4>> shear, Text mode, const Numbers& fill, std::optional<Two> center) {
        return RandomAffine{degrees, translate, scale, shear, {mode, fill, center}}(x);
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg(),
      nb::arg().none(), Unlocked());
  m.def(
      "random_erasing",
      [](const Tensor& x, double p, Two scale, Two ratio, const Numbers& value) {
        return RandomErasing{p, scale, ratio, value}(x);
      },
      Unlocked());
  m.def(
      "random_blur",
      [](const Tensor& x, std::array<std::int64_t, 2> kernel, Two sigma) {
        return GaussianBlur{kernel, sigma}(x);
      },
      Unlocked());
}

void bind_augmentations(nb::module_& m) {
  m.def(
      "rand_augment",
      [](const Tensor& x, int ops, int magnitude, int bins, Text mode, const Numbers& fill) {
        return RandAugment{ops, magnitude, bins, {mode, fill, {}}}(x);
      },
      Unlocked());
  m.def(
      "trivial_augment",
      [](const Tensor& x, int bins, Text mode, const Numbers& fill) {
        return TrivialAugmentWide{bins, {mode, fill, {}}}(x);
      },
      Unlocked());
  m.def(
      "auto_augment",
      [](const Tensor& x, Text policy, Text mode, const Numbers& fill) {
        return AutoAugment{policy, {mode, fill, {}}}(x);
      },
      Unlocked());
  m.def(
      "mix_up",
      [](const Tensor& x, const Tensor& y, double alpha, std::int64_t classes) {
        return MixUp{alpha, classes}(x, y);
      },
      Unlocked());
  m.def(
      "cut_mix",
      [](const Tensor& x, const Tensor& y, double alpha, std::int64_t classes) {
        return CutMix{alpha, classes}(x, y);
      },
      Unlocked());
}

}  // namespace

void bind_picture_transforms(nb::module_& m) {
  bind_places(m);
  bind_colours(m);
  bind_random(m);
  bind_augmentations(m);
}

}  // namespace neura::python

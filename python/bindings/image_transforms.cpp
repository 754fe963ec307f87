// Changes to pictures, for neura.data and neura.data.functional.
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "common.h"
#include "neura/data/augment.h"

namespace neura::python {
namespace {

using namespace data;
using GilRelease = nb::call_guard<nb::gil_scoped_release>;
using Numbers = std::vector<double>;
using Two = std::array<double, 2>;
using Text = const std::string&;

void bind_places(nb::module_& m) {
  m.def(
      "resize",
      [](const Tensor& x, std::int64_t height, std::int64_t width, Text mode, bool antialias) {
        return resize(x, height, width, mode, antialias);
      },
      GilRelease());
  m.def(
      "resize_shorter",
      [](const Tensor& x, std::int64_t size, Text mode, std::int64_t max_size, bool antialias) {
        return resize_shorter(x, size, mode, max_size, antialias);
      },
      GilRelease());
  m.def("crop", &crop, GilRelease());
  m.def("center_crop", &center_crop, GilRelease());
  m.def(
      "pad_image",
      [](const Tensor& x, std::array<std::int64_t, 4> p, double fill, Text mode) {
        return pad_image(x, {p[0], p[1], p[2], p[3]}, fill, mode);
      },
      GilRelease());
  m.def(
      "affine",
      [](const Tensor& x, double angle, Two translate, double scale, Two shear, Text mode, const Numbers& fill,
         std::optional<Two> center) {
        return affine(x, angle, translate, scale, shear, {mode, fill, center});
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), GilRelease());
  m.def(
      "rotate",
      [](const Tensor& x, double angle, bool expand, Text mode, const Numbers& fill, std::optional<Two> center) {
        return rotate(x, angle, expand, {mode, fill, center});
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), GilRelease());
  m.def("erase", &erase, GilRelease());
  m.def("gaussian_blur", &gaussian_blur, GilRelease());
}

void bind_colours(nb::module_& m) {
  m.def("rgb_to_grayscale", &rgb_to_grayscale, GilRelease());
  m.def("adjust_brightness", &adjust_brightness, GilRelease());
  m.def("adjust_contrast", &adjust_contrast, GilRelease());
  m.def("adjust_saturation", &adjust_saturation, GilRelease());
  m.def("adjust_hue", &adjust_hue, GilRelease());
  m.def("adjust_gamma", &adjust_gamma, GilRelease());
  m.def("adjust_sharpness", &adjust_sharpness, GilRelease());
  m.def("invert", &invert, GilRelease());
  m.def("posterize", &posterize, GilRelease());
  m.def("solarize", &solarize, GilRelease());
  m.def("autocontrast", &autocontrast, GilRelease());
  m.def("equalize", &equalize, GilRelease());
  m.def("to_dtype", &data::to_dtype, GilRelease());
}

void bind_random(nb::module_& m) {
  m.def(
      "random_vertical_flip", [](const Tensor& x, double p) { return RandomVerticalFlip{p}(x); }, GilRelease());
  m.def(
      "random_grayscale", [](const Tensor& x, double p) { return RandomGrayscale{p}(x); }, GilRelease());
  m.def(
      "random_resized_crop",
      [](const Tensor& x, std::int64_t height, std::int64_t width, Two scale, Two ratio, Text mode) {
        return RandomResizedCrop{height, width, scale, ratio, mode}(x);
      },
      GilRelease());
  m.def(
      "color_jitter",
      [](const Tensor& x, Two brightness, Two contrast, Two saturation, Two hue) {
        return ColorJitter{brightness, contrast, saturation, hue}(x);
      },
      GilRelease());
  m.def(
      "random_rotation",
      [](const Tensor& x, Two degrees, bool expand, Text mode, const Numbers& fill, std::optional<Two> center) {
        return RandomRotation{degrees, expand, {mode, fill, center}}(x);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), GilRelease());
  m.def(
      "random_affine",
      [](const Tensor& x, Two degrees, std::optional<Two> translate, std::optional<Two> scale,
         std::optional<std::array<double, 4>> shear, Text mode, const Numbers& fill, std::optional<Two> center) {
        return RandomAffine{degrees, translate, scale, shear, {mode, fill, center}}(x);
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg(),
      nb::arg().none(), GilRelease());
  m.def(
      "random_erasing",
      [](const Tensor& x, double p, Two scale, Two ratio, const Numbers& value) {
        return RandomErasing{p, scale, ratio, value}(x);
      },
      GilRelease());
  m.def(
      "random_blur",
      [](const Tensor& x, std::array<std::int64_t, 2> kernel, Two sigma) {
        return GaussianBlur{kernel, sigma}(x);
      },
      GilRelease());
}

void bind_augmentations(nb::module_& m) {
  m.def(
      "rand_augment",
      [](const Tensor& x, int ops, int magnitude, int bins, Text mode, const Numbers& fill) {
        return RandAugment{ops, magnitude, bins, {mode, fill, {}}}(x);
      },
      GilRelease());
  m.def(
      "trivial_augment",
      [](const Tensor& x, int bins, Text mode, const Numbers& fill) {
        return TrivialAugmentWide{bins, {mode, fill, {}}}(x);
      },
      GilRelease());
  m.def(
      "auto_augment",
      [](const Tensor& x, Text policy, Text mode, const Numbers& fill) {
        return AutoAugment{policy, {mode, fill, {}}}(x);
      },
      GilRelease());
  m.def(
      "mix_up",
      [](const Tensor& x, const Tensor& y, double alpha, std::int64_t classes) {
        return MixUp{alpha, classes}(x, y);
      },
      GilRelease());
  m.def(
      "cut_mix",
      [](const Tensor& x, const Tensor& y, double alpha, std::int64_t classes) {
        return CutMix{alpha, classes}(x, y);
      },
      GilRelease());
}

}  // namespace

void bind_image_transforms(nb::module_& m) {
  bind_places(m);
  bind_colours(m);
  bind_random(m);
  bind_augmentations(m);
}

}  // namespace neura::python

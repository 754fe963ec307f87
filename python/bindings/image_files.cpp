// Files of pictures, for neura.data.
#include <nanobind/stl/array.h>
#include <nanobind/stl/vector.h>

#include <cctype>

#include "common.h"
#include "neura/data/image.h"
#include "neura/data/image_pipeline.h"

namespace neura::python {
namespace {

using data::ImageMode;
using GilRelease = nb::call_guard<nb::gil_scoped_release>;

ImageMode mode_of(const std::string& name) {  // torchvision's are the same in capitals
  const std::pair<const char*, ImageMode> modes[] = {{"unchanged", ImageMode::unchanged},
                                                     {"gray", ImageMode::gray},
                                                     {"gray_alpha", ImageMode::gray_alpha},
                                                     {"rgb", ImageMode::rgb},
                                                     {"rgb_alpha", ImageMode::rgb_alpha}};
  std::string small = name;
  for (char& c : small) c = char(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [text, mode] : modes)
    if (small == text) return mode;
  throw ValueError("image: expected mode unchanged, gray, gray_alpha, rgb or rgb_alpha, got " + name);
}

std::span<const std::byte> bytes_of(const nb::bytes& b) { return {static_cast<const std::byte*>(b.data()), b.size()}; }
nb::bytes to_bytes(const std::string& s) { return nb::bytes(s.data(), s.size()); }

// decode(bytes, mode, upright) without the lock.
template <class F> auto decoding(F decode) {
  return [decode](const nb::bytes& b, const std::string& mode, bool upright) {
    const auto bytes = bytes_of(b);
    const ImageMode wanted = mode_of(mode);
    nb::gil_scoped_release unlocked;
    return decode(bytes, wanted, upright);
  };
}

void bind_pipeline(nb::module_& m) {
  using data::ImagePipeline;
  using Two = std::array<double, 2>;
  nb::class_<ImagePipeline>(m, "ImagePipeline")
      .def(
          "__init__",
          [](ImagePipeline* p, std::int64_t height, std::int64_t width, bool random_crop, Two scale, Two ratio,
             std::int64_t resize, double flip, DType dtype, std::vector<double> mean, std::vector<double> std,
             bool scaled_decoding) {
            ImagePipeline made{height, width, random_crop,     scale,          ratio,          resize,
                               flip,   dtype, std::move(mean), std::move(std), scaled_decoding};
            made.check_options();
            new (p) ImagePipeline(std::move(made));
          },
          "height"_a, "width"_a, "random_crop"_a, "scale"_a, "ratio"_a, "resize"_a, "flip"_a, "dtype"_a, "mean"_a,
          "std"_a, "scaled_decoding"_a)
      .def(
          "batch", [](const ImagePipeline& p, const std::vector<std::string>& paths) { return p.batch(paths); },
          "paths"_a, GilRelease());
}

}  // namespace

void bind_image_files(nb::module_& m) {
  m.def(
      "read_image",
      [](const std::string& path, const std::string& mode, bool upright) {
        return data::read_image(path, mode_of(mode), upright);
      },
      "path"_a, "mode"_a, "upright"_a, GilRelease());
  m.def(
      "read_png", [](const std::string& path, const std::string& mode) { return data::read_png(path, mode_of(mode)); },
      "path"_a, "mode"_a, GilRelease());
  m.def("write_png", &data::write_png, "path"_a, "image"_a, GilRelease());
  using Bytes = std::span<const std::byte>;
  m.def("decode_image",
        decoding([](Bytes b, ImageMode mode, bool upright) { return data::decode_image(b, mode, upright); }));
  m.def("decode_jpeg",
        decoding([](Bytes b, ImageMode mode, bool upright) { return data::decode_jpeg(b, mode, upright); }));
  m.def("decode_png", decoding([](Bytes b, ImageMode mode, bool) { return data::decode_png(b, mode); }));
  m.def("encode_png", [](const Tensor& image) { return to_bytes(data::encode_png(image)); });
  m.def("encode_jpeg", [](const Tensor& image, int quality) { return to_bytes(data::encode_jpeg(image, quality)); });
  m.def("encode_ppm", [](const Tensor& image) { return to_bytes(data::encode_ppm(image)); });
  m.def("has_jpeg", &data::has_jpeg);
  bind_pipeline(m);
}

}  // namespace neura::python

// Pictures.
#include "neura/data/image.h"
#include "neura/onnx/operators.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"

namespace neura::onnx {
namespace {

using data::ImageMode;

// Formats that ONNX names and Neura does not read, by their first bytes.
const char* unread_format(std::string_view bytes) {
  if (bytes.starts_with("RIFF") && bytes.substr(0, 12).ends_with("WEBP")) return "WebP";
  if (bytes.starts_with("II*") || bytes.starts_with("MM")) return "TIFF";
  if (bytes.starts_with(std::string_view("\0\0\0\x0cjP  ", 8)) || bytes.starts_with("\xff\x4f\xff\x51"))
    return "JPEG 2000";
  return nullptr;
}

// uint8 [height, width, channels]; of what is no picture or a damaged one, as ONNX says, [0, 0, channels].
BoundNode decoded(const Node& n) {
  const std::string format = n.text("pixel_format", "RGB");
  if (format != "RGB" && format != "BGR" && format != "Grayscale")
    refuse(n.op, "a pixel_format of RGB, BGR or Grayscale", format);
  return [=](const Operands& x) -> Results {
    const Tensor stream = x[0].to(Device()).contiguous();
    if (stream.dtype() != uint8 || stream.dim() != 1)
      throw ShapeError("ImageDecoder: expected uint8 [length], got " + x.value(0).str());
    const std::span bytes(static_cast<const std::byte*>(stream.const_raw_data()), std::size_t(stream.numel()));
    if (const char* name = unread_format({reinterpret_cast<const char*>(bytes.data()), bytes.size()}))
      throw NotImplementedError(std::string("ImageDecoder: pictures of ") + name +
                                " are not read; convert them to PNG, JPEG, BMP or PNM");
    const bool gray = format == "Grayscale";
    Tensor picture;
    try {
      // Gray is made of the colours, not read from the file, as ONNX's definition does.
      picture = data::in_mode(data::decode_image(bytes), gray ? ImageMode::gray : ImageMode::rgb);
    } catch (const FormatError&) {
      return Tensor::empty(Spec::dense(uint8, Shape{0, 0, gray ? 1 : 3}));
    }
    if (format == "BGR") picture = flip(picture, {0});
    return permute(picture, {1, 2, 0}).contiguous().to(x.device());
  };
}

}  // namespace

std::span<const Operator> image_operators() {
  static const Operator rows[] = {
      {"ImageDecoder", 20, kNewest, decoded, Types::plain, Folding::never},
  };
  return rows;
}

}  // namespace neura::onnx

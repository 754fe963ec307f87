#include "neura/data/png.h"

#include <png.h>

#include <vector>

#include "neura/core/file.h"

namespace neura::data {
namespace {

constexpr std::uint64_t kMaxPixels = std::uint64_t{1} << 28;
constexpr png_uint_32 kFormats[] = {PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB, PNG_FORMAT_RGBA};

// libpng's simplified interface: it longjmps only within itself and leaves its message here.
struct Image : png_image {
  Image() : png_image{} { version = PNG_IMAGE_VERSION; }
  Image(const Image&) = delete;
  ~Image() { png_image_free(this); }
};

int channels_of(ImageMode mode, png_uint_32 format) {
  if (mode != ImageMode::unchanged) return int(mode);
  return (format & PNG_FORMAT_FLAG_COLOR ? 3 : 1) + (format & PNG_FORMAT_FLAG_ALPHA ? 1 : 0);
}

}  // namespace

Tensor decode_png(std::span<const std::byte> bytes, ImageMode mode, const std::string& name) {
  Image image;
  check<FormatError>(png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()),
                     [&] { return name + ": expected a PNG picture (" + image.message + ")"; });
  // A row of one bit per pixel is what compresses best, 1032 to 1: more pixels than that are not in the file.
  const std::uint64_t pixels = std::uint64_t(image.width) * image.height;
  check<FormatError>(pixels <= kMaxPixels && pixels <= (std::uint64_t(bytes.size()) + 64) * 1032 * 8, [&] {
    return name + ": expected a picture that its " + std::to_string(bytes.size()) +
           " bytes can hold, of at most 2^28 pixels, got " + std::to_string(image.width) + " x " +
           std::to_string(image.height);
  });
  const int channels = channels_of(mode, image.format);
  if (image.format & PNG_FORMAT_FLAG_LINEAR)
    image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // as every other reader takes it
  image.format = kFormats[channels - 1];
  std::vector<unsigned char> packed(PNG_IMAGE_SIZE(image));
  check<FormatError>(png_image_finish_read(&image, nullptr, packed.data(), 0, nullptr),
                     [&] { return name + ": damaged PNG data (" + image.message + ")"; });

  const auto height = std::int64_t(image.height), width = std::int64_t(image.width);
  Tensor out = Tensor::empty(Spec::dense(uint8, Shape{channels, height, width}));
  auto* to = out.data<std::uint8_t>();
  for (int c = 0; c < channels; ++c)
    for (std::int64_t i = 0; i < height * width; ++i) *to++ = packed[std::size_t(i * channels + c)];
  return out;
}

Tensor read_png(const std::string& path, ImageMode mode) {
  const std::string bytes = io::read_file(path);
  return decode_png(std::as_bytes(std::span(bytes)), mode, path);
}

std::string encode_png(const Tensor& image) {
  check<DTypeError>(image.dtype() == uint8, [&] {
    return std::string("write_png: expected uint8, got ") + neura::name(image.dtype()) +
           "; scale to 0 … 255 and convert";
  });
  Shape shape = image.shape();
  if (shape.size() == 2) shape.insert(0, 1);
  check<ShapeError>(shape.size() == 3 && shape[0] >= 1 && shape[0] <= 4 && shape[1] > 0 && shape[2] > 0, [&] {
    return "write_png: expected [height, width] or [1 to 4 channels, height, width], got " + image.shape().str();
  });
  const std::int64_t channels = shape[0], pixels = shape[1] * shape[2];
  check<ShapeError>(shape[1] <= INT32_MAX && shape[2] <= INT32_MAX && std::uint64_t(pixels) <= kMaxPixels,
                    [&] { return "write_png: expected at most 2^28 pixels, got " + image.shape().str(); });
  const Tensor dense = image.detach().to(Device()).contiguous();
  const auto* from = static_cast<const unsigned char*>(dense.const_raw_data());
  std::vector<unsigned char> packed(std::size_t(channels * pixels));
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t i = 0; i < pixels; ++i) packed[std::size_t(i * channels + c)] = *from++;

  Image png;
  png.width = png_uint_32(shape[2]), png.height = png_uint_32(shape[1]), png.format = kFormats[channels - 1];
  png_alloc_size_t size = 0;
  bool ok = png_image_write_get_memory_size(png, size, 0, packed.data(), 0, nullptr);
  std::string out(size, '\0');
  ok = ok && png_image_write_to_memory(&png, out.data(), &size, 0, packed.data(), 0, nullptr);
  check<Error>(ok, [&] { return std::string("write_png: ") + png.message; });
  out.resize(size);
  return out;
}

void write_png(const std::string& path, const Tensor& image) { io::write_file(path, encode_png(image)); }

}  // namespace neura::data

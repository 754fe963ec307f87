#include "neura/data/webp.h"

#include <memory>

#ifdef NEURA_WEBP
#include <webp/decode.h>
#endif

#include "neura/data/image.h"

namespace neura::data {

#ifdef NEURA_WEBP
namespace {

constexpr std::uint64_t kPixelsPerByte = 1 << 18;  // more than a plain picture of 5,000 pixels a side has
constexpr std::int64_t kPacked = 4;                // channels that libwebp writes: red, green, blue, alpha

// Pixel after pixel; `on_black`: what is transparent is darkened by as much.
std::unique_ptr<std::uint8_t[]> packed_pixels(std::span<const std::byte> bytes, const WebPBitstreamFeatures& features,
                                              bool on_black, const std::string& name) {
  WebPDecoderConfig config;
  check<Error>(WebPInitDecoderConfig(&config), [&] { return name + ": expected another version of libwebp"; });
  const std::size_t stride = std::size_t(features.width) * kPacked;
  const std::size_t size = stride * std::size_t(features.height);
  auto packed =
      std::make_unique_for_overwrite<std::uint8_t[]>(size);  // what a short file does not reach is not touched
  config.output.colorspace = on_black ? MODE_rgbA : MODE_RGBA;
  config.output.u.RGBA = {packed.get(), int(stride), size};
  config.output.is_external_memory = 1;
  const VP8StatusCode status = WebPDecode(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), &config);
  WebPFreeDecBuffer(&config.output);
  check<FormatError>(status == VP8_STATUS_OK, [&] {
    return name + (status == VP8_STATUS_NOT_ENOUGH_DATA ? ": damaged WebP data (the file was cut off)"
                                                        : ": damaged WebP data");
  });
  return packed;
}

}  // namespace

bool has_webp() { return true; }

Tensor decode_webp(std::span<const std::byte> bytes, ImageMode mode, const std::string& name) {
  WebPBitstreamFeatures features;
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  check<FormatError>(WebPGetFeatures(data, bytes.size(), &features) == VP8_STATUS_OK,
                     [&] { return name + ": expected a WebP picture"; });
  check<FormatError>(!features.has_animation,
                     [&] { return name + ": expected a WebP picture, got an animation; take one of its frames"; });
  // A plain picture of any size takes some 40 bytes: one that promises a gigabyte has to bring a kilobyte.
  const std::uint64_t pixels = std::uint64_t(features.width) * std::uint64_t(features.height);
  check<FormatError>(pixels <= (std::uint64_t(bytes.size()) + 64) * kPixelsPerByte, [&] {
    return name + ": expected a picture that its " + std::to_string(bytes.size()) + " bytes can hold, got " +
           std::to_string(features.width) + " x " + std::to_string(features.height);
  });
  const bool gray = mode == ImageMode::gray || mode == ImageMode::gray_alpha;
  const bool alpha = mode == ImageMode::gray_alpha || mode == ImageMode::rgb_alpha ||
                     (mode == ImageMode::unchanged && features.has_alpha);
  const auto packed = packed_pixels(bytes, features, !alpha && features.has_alpha, name);

  const std::int64_t height = features.height, width = features.width, plane = height * width;
  Tensor out = Tensor::empty(Spec::dense(uint8, Shape{(gray ? 1 : 3) + (alpha ? 1 : 0), height, width}));
  auto* to = out.data<std::uint8_t>();
  for (std::int64_t i = 0; i < plane; ++i) {
    const std::uint8_t* p = packed.get() + i * kPacked;
    if (gray) to[i] = luma(p[0], p[1], p[2]);
    else to[i] = p[0], to[plane + i] = p[1], to[2 * plane + i] = p[2];
    if (alpha) to[(gray ? 1 : 3) * plane + i] = p[3];
  }
  return out;
}
#else
bool has_webp() { return false; }

Tensor decode_webp(std::span<const std::byte>, ImageMode, const std::string& name) {
  throw NotImplementedError(name +
                            ": expected a library built with libwebp to read WebP, got one without; install it "
                            "and build Neura again");
}
#endif

}  // namespace neura::data

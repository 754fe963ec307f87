#include "neura/data/jpeg.h"

#include "neura/ops/shape/shape.h"

#ifdef NEURA_JPEG
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it

#include <jerror.h>
#include <jpeglib.h>
#endif

namespace neura::data {

#ifdef NEURA_JPEG
namespace {

constexpr std::int64_t kMaxPixels = std::int64_t{1} << 28;
constexpr int kMaxScans = 500;  // a progressive file of thousands of empty scans takes minutes

// libjpeg reports errors by a function that must not return: it jumps back to the innermost `guarded`. What runs there
// holds nothing that has a destructor.
struct Errors : jpeg_error_mgr {
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX] = "";

  void install(j_common_ptr c) {
    c->err = jpeg_std_error(this);
    error_exit = [](j_common_ptr from) {
      auto* self = static_cast<Errors*>(from->err);
      self->format_message(from, self->message);
      std::longjmp(self->back, 1);
    };
    // A file that was cut off is an error, as with other readers; other warnings leave a picture.
    emit_message = [](j_common_ptr from, int level) {
      if (level < 0 && from->err->msg_code == JWRN_JPEG_EOF) from->err->error_exit(from);
    };
    output_message = [](j_common_ptr) {};
  }
};

template <class F> bool guarded(Errors& errors, const F& f) {
  if (setjmp(errors.back)) return false;
  f();
  return true;
}

// The orientation in an APP1 segment, or 0.
int exif_orientation(const unsigned char* p, std::size_t n) {
  if (n < 14 || std::string_view(reinterpret_cast<const char*>(p), 6) != std::string_view("Exif\0\0", 6)) return 0;
  p += 6, n -= 6;
  const bool little = p[0] == 'I';
  const auto number = [&](std::size_t at, int bytes) {
    std::uint32_t v = 0;
    for (int i = 0; i < bytes; ++i) v |= std::uint32_t(p[at + std::size_t(i)]) << 8 * (little ? i : bytes - 1 - i);
    return v;
  };
  const std::size_t list = number(4, 4);
  if (list > n - 2) return 0;
  const std::size_t entries = number(list, 2);
  for (std::size_t i = 0; i < entries && list + 2 + 12 * (i + 1) <= n; ++i)
    if (number(list + 2 + 12 * i, 2) == 0x112) {
      const std::uint32_t value = number(list + 10 + 12 * i, 2);
      return value >= 1 && value <= 8 ? int(value) : 0;
    }
  return 0;
}

void cmyk_to_rgb(std::uint8_t* row, std::int64_t width, bool inverted) {
  std::uint8_t* to = row;
  for (std::int64_t x = 0; x < width; ++x, row += 4)
    for (int c = 0; c < 3; ++c) {
      const int ink = inverted ? row[c] : 255 - row[c], black = inverted ? row[3] : 255 - row[3];
      *to++ = std::uint8_t((ink * black + 127) / 255);
    }
}

}  // namespace

bool has_jpeg() { return true; }

struct JpegReader::State {
  jpeg_decompress_struct c{};
  Errors errors{};
  std::string name;
  ~State() { jpeg_destroy_decompress(&c); }
  [[noreturn]] void fail(const char* what) const {
    throw FormatError(name + ": " + what + " (" + errors.message + ")");
  }
};

JpegReader::JpegReader(std::span<const std::byte> bytes, std::string name) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.name = std::move(name);
  s.errors.install(reinterpret_cast<j_common_ptr>(&s.c));
  const bool ok = !bytes.empty() && guarded(s.errors, [&] {
    jpeg_create_decompress(&s.c);
    jpeg_mem_src(&s.c, reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<unsigned long>(bytes.size()));
    jpeg_save_markers(&s.c, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&s.c, TRUE);
  });
  if (!ok) s.fail("expected a JPEG picture");
  // At the best, a bit encodes a block of the coarsest component, 32 x 32 pixels.
  const std::int64_t pixels = height() * width();
  if (pixels > kMaxPixels || pixels > (std::int64_t(bytes.size()) + 1024) * 8192)
    throw FormatError(s.name + ": expected a picture that its " + std::to_string(bytes.size()) +
                      " bytes can hold, of at most 2^28 pixels, got " + std::to_string(width()) + " x " +
                      std::to_string(height()));
}

std::int64_t JpegReader::height() const { return state_->c.image_height; }
std::int64_t JpegReader::width() const { return state_->c.image_width; }

int JpegReader::orientation() const {
  for (auto* m = state_->c.marker_list; m; m = m->next)
    if (const int found = exif_orientation(m->data, m->data_length)) return found;
  return 1;
}

void JpegReader::decode(const Window& window, int denominator, ImageMode mode, Pixels& to) {
  State& s = *state_;
  jpeg_decompress_struct& c = s.c;
  const bool gray = mode == ImageMode::gray || mode == ImageMode::gray_alpha ||
                    (mode == ImageMode::unchanged && c.num_components == 1);
  const bool cmyk = c.jpeg_color_space == JCS_CMYK || c.jpeg_color_space == JCS_YCCK;
  check<FormatError>(!cmyk || !gray, [&] { return s.name + ": expected gray or colour, got CMYK; ask for rgb"; });
  c.out_color_space = cmyk ? JCS_CMYK : gray ? JCS_GRAYSCALE : JCS_RGB;
  c.scale_num = 1, c.scale_denom = unsigned(denominator);
  jpeg_progress_mgr progress{};
  progress.progress_monitor = [](j_common_ptr from) {
    if (from->is_decompressor && reinterpret_cast<j_decompress_ptr>(from)->input_scan_number > kMaxScans)
      ERREXIT(from, JERR_BAD_PROGRESSION);
  };
  c.progress = &progress;
  if (!guarded(s.errors, [&] { jpeg_start_decompress(&c); })) s.fail("damaged JPEG data");
  check<ValueError>(window.top >= 0 && window.left >= 0 && window.height > 0 && window.width > 0 &&
                        window.top + window.height <= c.output_height && window.left + window.width <= c.output_width,
                    [&] { return s.name + ": expected a window within the picture"; });

  // Smooth upsampling reads neighbours: a few columns and rows more than the window, so that its edge is right.
  constexpr std::int64_t kMargin = 16;
  JDIMENSION x = 0;
  if (window.width + 2 * kMargin < c.output_width) {
    const std::int64_t from = std::max<std::int64_t>(window.left - kMargin, 0);
    x = JDIMENSION(from);
    JDIMENSION width = JDIMENSION(std::min<std::int64_t>(window.left + window.width + kMargin, c.output_width) - from);
    if (!guarded(s.errors, [&] { jpeg_crop_scanline(&c, &x, &width); })) s.fail("damaged JPEG data");
  }
  const std::int64_t skipped = std::max<std::int64_t>(window.top - kMargin, 0);
  const std::size_t samples = std::size_t(c.out_color_components);
  to.stride = std::size_t(c.output_width) * samples;
  to.bytes.resize(to.stride * std::size_t(window.top - skipped + window.height) + 64);  // vectors may read beyond
  const bool ok = guarded(s.errors, [&] {
    if (skipped) jpeg_skip_scanlines(&c, JDIMENSION(skipped));
    for (JSAMPROW row = to.bytes.data(); c.output_scanline < JDIMENSION(window.top + window.height);)
      row += to.stride * jpeg_read_scanlines(&c, &row, 1);
  });
  if (!ok) s.fail("damaged JPEG data");
  c.progress = nullptr;
  to.height = window.height, to.width = window.width, to.channels = cmyk ? 3 : std::int64_t(samples);
  to.first = to.stride * std::size_t(window.top - skipped);
  if (cmyk)
    for (std::int64_t y = 0; y < window.height; ++y)
      cmyk_to_rgb(to.bytes.data() + to.first + std::size_t(y) * to.stride, c.output_width, c.saw_Adobe_marker);
  to.first += (std::size_t(window.left) - x) * std::size_t(to.channels);
}

std::string encode_jpeg(const Tensor& image, int quality) {
  check<DTypeError>(image.dtype() == uint8, [&] {
    return std::string("encode_jpeg: expected uint8, got ") + neura::name(image.dtype()) +
           "; scale to 0 … 255 and convert";
  });
  const Tensor planes = image.dim() == 2 ? image.unsqueeze(0) : image;
  check<ShapeError>(planes.dim() == 3 && (planes.size(0) == 1 || planes.size(0) == 3) && planes.numel() > 0 &&
                        planes.size(1) <= JPEG_MAX_DIMENSION && planes.size(2) <= JPEG_MAX_DIMENSION,
                    [&] {
                      return "encode_jpeg: expected [height, width] or [1 or 3 channels, height, width], of at most "
                             "65500 each, got " +
                             image.shape().str();
                    });
  check<ValueError>(quality >= 1 && quality <= 100,
                    [&] { return "encode_jpeg: expected a quality from 1 to 100, got " + std::to_string(quality); });
  const Tensor pixels = planes.detach().to(Device()).permute({1, 2, 0}).contiguous();
  const auto* from = static_cast<const unsigned char*>(pixels.const_raw_data());

  jpeg_compress_struct c{};
  Errors errors{};
  errors.install(reinterpret_cast<j_common_ptr>(&c));
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const bool ok = guarded(errors, [&] {
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &bytes, &size);
    c.image_height = JDIMENSION(pixels.size(0)), c.image_width = JDIMENSION(pixels.size(1));
    c.input_components = int(pixels.size(2));
    c.in_color_space = c.input_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, quality, TRUE);
    jpeg_start_compress(&c, TRUE);
    const std::size_t stride = std::size_t(c.image_width) * std::size_t(c.input_components);
    while (c.next_scanline < c.image_height) {
      JSAMPROW row = const_cast<JSAMPROW>(from + c.next_scanline * stride);
      jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
  });
  jpeg_destroy_compress(&c);
  const std::unique_ptr<unsigned char, void (*)(void*)> owner(bytes, std::free);
  check<Error>(ok, [&] { return std::string("encode_jpeg: ") + errors.message; });
  return {reinterpret_cast<char*>(bytes), size};
}

#else
namespace {
[[noreturn]] void absent() {
  throw NotImplementedError(
      "jpeg: expected a library built with libjpeg-turbo, got one without; install it and build Neura again");
}
}  // namespace

bool has_jpeg() { return false; }
struct JpegReader::State {};
JpegReader::JpegReader(std::span<const std::byte>, std::string) { absent(); }
std::int64_t JpegReader::height() const { absent(); }
std::int64_t JpegReader::width() const { absent(); }
int JpegReader::orientation() const { absent(); }
void JpegReader::decode(const Window&, int, ImageMode, Pixels&) { absent(); }
std::string encode_jpeg(const Tensor&, int) { absent(); }
#endif

JpegReader::~JpegReader() = default;

namespace {

// Turned and mirrored so that the picture is upright (EXIF orientation).
Tensor upright(const Tensor& x, int orientation) {
  const Tensor turned = orientation >= 5 ? x.transpose(1, 2) : x;
  switch (orientation) {
    case 2:
    case 6:
      return flip(turned, {2});
    case 3:
    case 7:
      return flip(turned, {1, 2});
    case 4:
    case 8:
      return flip(turned, {1});
    default:
      return turned.contiguous();
  }
}

}  // namespace

Tensor decode_jpeg(std::span<const std::byte> bytes, ImageMode mode, bool apply_exif_orientation,
                   const std::string& name) {
  JpegReader reader(bytes, name);
  Pixels pixels;
  reader.decode({0, 0, reader.height(), reader.width()}, 1, mode, pixels);
  const bool alpha = mode == ImageMode::gray_alpha || mode == ImageMode::rgb_alpha;
  const std::int64_t plane = pixels.height * pixels.width;
  Tensor out = Tensor::empty(Spec::dense(uint8, Shape{pixels.channels + alpha, pixels.height, pixels.width}));
  auto* to = out.data<std::uint8_t>();
  for (std::int64_t c = 0; c < pixels.channels; ++c)
    for (std::int64_t y = 0; y < pixels.height; ++y) {
      const std::uint8_t* from = pixels.row(y) + c;
      for (std::int64_t x = 0; x < pixels.width; ++x) *to++ = from[x * pixels.channels];
    }
  if (alpha) std::fill_n(to, plane, std::uint8_t{255});
  return apply_exif_orientation ? upright(out, reader.orientation()) : out;
}

}  // namespace neura::data

#include "neura/data/wav.h"

#include <array>
#include <limits>
#include <string_view>
#include <vector>

#include "neura/core/file.h"
#include "neura/data/wav_code.h"

namespace neura::data {
namespace {

using std::int64_t;
using std::uint64_t;
using wav::little;

constexpr std::uint32_t kUnknown = 0xFFFFFFFF;  // a size that is elsewhere, or that the writer could not know
constexpr unsigned kInteger = 1, kFloat = 3, kAlaw = 6, kUlaw = 7, kExtensible = 0xFFFE;
constexpr std::string_view kSubformat("\x00\x00\x00\x00\x10\x00\x80\x00\x00\xAA\x00\x38\x9B\x71", 14);

struct Layout {
  WavInfo info;
  uint64_t data = 0;  // where the samples begin
};

[[noreturn]] void damaged(const io::Source& file, const std::string& expected) {
  throw FormatError(file.name() + ": expected " + expected);
}

template <std::size_t n> std::array<unsigned char, n> bytes_at(const io::Source& file, uint64_t at, const char* what) {
  std::array<unsigned char, n> bytes;
  if (at > file.size() || file.size() - at < n)
    damaged(file, std::string(what) + " at byte " + std::to_string(at) + ", got the end; the file was cut off");
  file.read(at, bytes.data(), n);
  return bytes;
}
std::string_view text_of(const unsigned char* p) { return {reinterpret_cast<const char*>(p), 4}; }

std::optional<WavEncoding> encoding_of(unsigned format, unsigned bits) {
  if (format == kInteger && bits == 8) return WavEncoding::pcm_u8;
  if (format == kInteger && bits == 16) return WavEncoding::pcm_s16;
  if (format == kInteger && bits == 24) return WavEncoding::pcm_s24;
  if (format == kInteger && bits == 32) return WavEncoding::pcm_s32;
  if (format == kFloat && bits == 32) return WavEncoding::float32;
  if (format == kFloat && bits == 64) return WavEncoding::float64;
  if (format == kAlaw && bits == 8) return WavEncoding::alaw;
  if (format == kUlaw && bits == 8) return WavEncoding::ulaw;
  return {};
}

// The chunk "fmt ".
void read_format(const io::Source& file, uint64_t at, uint64_t size, WavInfo& info) {
  if (size < 16) damaged(file, "a format of at least 16 bytes, got " + std::to_string(size));
  const auto f = bytes_at<16>(file, at, "a format");
  unsigned format = unsigned(little(&f[0], 2));
  const unsigned bits = unsigned(little(&f[14], 2)), block = unsigned(little(&f[12], 2));
  if (format == kExtensible) {
    if (size < 40) damaged(file, "an extensible format of at least 40 bytes, got " + std::to_string(size));
    const auto more = bytes_at<16>(file, at + 24, "a subformat");
    format = std::string_view(reinterpret_cast<const char*>(&more[2]), 14) == kSubformat ? unsigned(little(&more[0], 2))
                                                                                         : kExtensible;
  }
  const auto encoding = encoding_of(format, bits);
  if (!encoding)
    damaged(file, "samples of 8, 16, 24 or 32 bits, floats of 32 or 64, A-law or mu-law, got format " +
                      std::to_string(format) + " of " + std::to_string(bits) + " bits; convert the file");
  info.encoding = *encoding;
  info.num_channels = int64_t(little(&f[2], 2)), info.sample_rate = int64_t(little(&f[4], 4));
  if (info.num_channels == 0 || info.sample_rate == 0 || block != unsigned(info.num_channels) * bits / 8)
    damaged(file, "channels and a rate above 0, and whole frames, got " + std::to_string(info.num_channels) +
                      " channels, " + std::to_string(info.sample_rate) + " frames a second and " +
                      std::to_string(block) + " bytes a frame");
}

// Chunk by chunk to the samples; what is after them is not looked at.
Layout layout_of(const io::Source& file) {
  const auto head = bytes_at<12>(file, 0, "a header of 12 bytes");
  const std::string_view kind = text_of(&head[0]);
  const bool large = kind == "RF64" || kind == "BW64";
  if ((kind != "RIFF" && !large) || text_of(&head[8]) != "WAVE") damaged(file, "a WAV file: RIFF or RF64, and WAVE");
  Layout layout;
  uint64_t at = 12, large_size = kUnknown;
  for (;;) {
    const auto chunk = bytes_at<8>(file, at, "a chunk");
    const std::string_view name = text_of(&chunk[0]);
    uint64_t size = little(&chunk[4], 4);
    at += 8;
    if (name == "data") {
      if (layout.info.num_channels == 0) damaged(file, "a format before the samples");
      const uint64_t there = file.size() - at;
      if (size == kUnknown) size = large && large_size != kUnknown ? large_size : there;
      if (size > there)
        damaged(file,
                std::to_string(size) + " bytes of samples, got " + std::to_string(there) + "; the file was cut off");
      const auto frame = uint64_t(layout.info.num_channels) * unsigned(bits_per_sample(layout.info.encoding)) / 8;
      layout.info.num_frames = int64_t(size / frame);
      layout.data = at;
      return layout;
    }
    if (name == "ds64" && large) large_size = little(bytes_at<16>(file, at, "sizes of 64 bits").data() + 8, 8);
    if (name == "fmt ") read_format(file, at, size, layout.info);
    at += size + size % 2;
  }
}

template <class T, class F>
Tensor samples_of(const std::vector<unsigned char>& bytes, int64_t channels, int64_t frames, std::size_t width, F f) {
  Tensor out = Tensor::empty(Spec::dense(dtype_of<T>, Shape{channels, frames}));
  T* to = out.data<T>();
  for (int64_t t = 0; t < frames; ++t)
    for (int64_t c = 0; c < channels; ++c) to[c * frames + t] = f(bytes.data() + std::size_t(t * channels + c) * width);
  return out;
}
Tensor samples_of(const WavInfo& info, const std::vector<unsigned char>& bytes, int64_t frames, bool normalize) {
  const WavEncoding e = info.encoding;
  const std::size_t width = std::size_t(bits_per_sample(e)) / 8;
  const auto in = [&]<class T>(T, auto f) { return samples_of<T>(bytes, info.num_channels, frames, width, f); };
  if (normalize || e == WavEncoding::float32)
    return in(float{}, [e](const unsigned char* p) { return float(wav::decode_sample(e, p)); });
  switch (e) {
    case WavEncoding::pcm_u8:
      return in(std::uint8_t{}, [](const unsigned char* p) { return *p; });
    case WavEncoding::pcm_s24:
    case WavEncoding::pcm_s32:
      return in(std::int32_t{},
                [e](const unsigned char* p) { return std::int32_t(wav::decode_sample(e, p) * 2147483648.0); });
    case WavEncoding::float64:
      return in(double{}, [e](const unsigned char* p) { return wav::decode_sample(e, p); });
    default:
      return in(std::int16_t{}, [e](const unsigned char* p) { return std::int16_t(wav::decode_sample(e, p) * 32768); });
  }
}

Wav read(const io::Source& file, const WavOptions& o) {
  check<ValueError>(o.frame_offset >= 0 && o.num_frames >= -1, [&] {
    return "read_wav: expected a frame_offset that is not negative and num_frames from -1 on, got " +
           std::to_string(o.frame_offset) + " and " + std::to_string(o.num_frames);
  });
  const Layout layout = layout_of(file);
  const WavInfo& info = layout.info;
  const int64_t first = std::min(o.frame_offset, info.num_frames), rest = info.num_frames - first;
  const int64_t frames = o.num_frames < 0 ? rest : std::min(o.num_frames, rest);
  const uint64_t frame = uint64_t(info.num_channels) * unsigned(bits_per_sample(info.encoding)) / 8;
  check<FormatError>(uint64_t(frames) * frame <= std::numeric_limits<std::size_t>::max() / 16,
                     [&] { return file.name() + ": expected samples that fit into memory; read it in pieces"; });
  std::vector<unsigned char> bytes(std::size_t(uint64_t(frames) * frame));
  if (!bytes.empty()) file.read(layout.data + uint64_t(first) * frame, bytes.data(), bytes.size());
  return {samples_of(info, bytes, frames, o.normalize), info.sample_rate};
}

}  // namespace

int bits_per_sample(WavEncoding e) {
  constexpr int kBits[] = {8, 16, 24, 32, 32, 64, 8, 8};
  return kBits[int(e)];
}

WavInfo wav_info(const std::string& path) { return layout_of(io::Source(path)).info; }
WavInfo wav_info(std::span<const std::byte> bytes, const std::string& name) {
  return layout_of(io::Source(bytes, name)).info;
}
Wav read_wav(const std::string& path, const WavOptions& options) { return read(io::Source(path), options); }
Wav decode_wav(std::span<const std::byte> bytes, const WavOptions& options, const std::string& name) {
  return read(io::Source(bytes, name), options);
}

}  // namespace neura::data

// Writes WAV files.
#include <string_view>

#include "neura/core/file.h"
#include "neura/data/wav.h"
#include "neura/data/wav_code.h"

namespace neura::data {
namespace {

using std::int64_t;
using std::uint64_t;
using wav::put_little;

WavEncoding own_encoding(const Tensor& x) {
  switch (x.dtype()) {
    case DType::uint8:
      return WavEncoding::pcm_u8;
    case DType::int16:
      return WavEncoding::pcm_s16;
    case DType::int32:
      return WavEncoding::pcm_s32;
    case DType::float32:
      return WavEncoding::float32;
    case DType::float64:
      return WavEncoding::float64;
    default:
      throw DTypeError("encode_wav: expected uint8, int16, int32, float32 or float64 samples, got " + x.spec().str() +
                       "; convert them with .to()");
  }
}

// From a dtype's number to [-1, 1), exactly.
double unit(std::uint8_t x) { return (double(x) - 128) / 128; }
double unit(std::int16_t x) { return double(x) / 32768; }
double unit(std::int32_t x) { return double(x) / 2147483648.0; }
double unit(float x) { return double(x); }
double unit(double x) { return x; }

struct Writer {
  std::string& out;
  void text(std::string_view t) { out += t; }
  void number(uint64_t value, int bytes) {
    unsigned char b[8];
    put_little(b, value, bytes);
    out.append(reinterpret_cast<const char*>(b), std::size_t(bytes));
  }
};

void write_header(Writer w, WavEncoding e, uint64_t channels, uint64_t rate, uint64_t frames) {
  const unsigned bits = unsigned(bits_per_sample(e));
  const uint64_t frame = channels * bits / 8, size = frames * frame;
  const bool integers = e <= WavEncoding::pcm_s32, large = size + 128 >= 0xFFFFFFFF;
  const uint64_t riff = 4 + (large ? 36 : 0) + (integers ? 24 : 38) + 8 + size + size % 2;
  w.text(large ? "RF64" : "RIFF"), w.number(large ? 0xFFFFFFFF : riff, 4), w.text("WAVE");
  if (large) w.text("ds64"), w.number(28, 4), w.number(riff, 8), w.number(size, 8), w.number(frames, 8), w.number(0, 4);
  w.text("fmt "), w.number(integers ? 16 : 18, 4);
  w.number(integers ? 1 : e == WavEncoding::alaw ? 6 : e == WavEncoding::ulaw ? 7 : 3, 2);
  w.number(channels, 2), w.number(rate, 4), w.number(rate * frame, 4), w.number(frame, 2), w.number(bits, 2);
  if (!integers) w.number(0, 2), w.text("fact"), w.number(4, 4), w.number(large ? 0xFFFFFFFF : frames, 4);
  w.text("data"), w.number(large ? 0xFFFFFFFF : size, 4);
}

template <class T> void write_samples(std::string& out, const Tensor& x, WavEncoding e, int64_t channels) {
  const int64_t frames = x.numel() / channels;
  const T* from = x.const_data<T>();
  const std::size_t width = std::size_t(bits_per_sample(e)) / 8, start = out.size();
  out.resize(start + width * std::size_t(x.numel()));
  auto* to = reinterpret_cast<unsigned char*>(out.data()) + start;
  for (int64_t t = 0; t < frames; ++t)
    for (int64_t c = 0; c < channels; ++c, to += width) wav::encode_sample(e, unit(from[c * frames + t]), to);
  if ((out.size() - start) % 2 != 0) out += '\0';
}

}  // namespace

std::string encode_wav(const Tensor& samples, int64_t sample_rate, std::optional<WavEncoding> encoding) {
  check<ValueError>(samples.defined(), [] { return std::string("encode_wav: expected a tensor, got none"); });
  const WavEncoding own = own_encoding(samples), e = encoding.value_or(own);
  const int64_t channels = samples.dim() == 2 ? samples.size(0) : 1;
  check<ShapeError>(samples.dim() == 1 || (samples.dim() == 2 && channels > 0 && channels < 65536), [&] {
    return "encode_wav: expected [channels, frames] of 1 to 65535 channels or [frames], got " + samples.shape().str();
  });
  const int64_t frame = channels * bits_per_sample(e) / 8;
  check<ValueError>(sample_rate > 0 && sample_rate <= 0xFFFFFFFF, [&] {
    return "encode_wav: expected a sample_rate from 1 to 4294967295, got " + std::to_string(sample_rate);
  });
  check<ShapeError>(frame < 65536, [&] {
    return "encode_wav: expected frames of less than 65536 bytes, got " + std::to_string(frame) +
           "; write fewer channels";
  });
  std::string out;
  write_header({out}, e, uint64_t(channels), uint64_t(sample_rate), uint64_t(samples.numel() / channels));
  const Tensor x = samples.to(Device()).contiguous();
  if (own == WavEncoding::pcm_u8) write_samples<std::uint8_t>(out, x, e, channels);
  else if (own == WavEncoding::pcm_s16) write_samples<std::int16_t>(out, x, e, channels);
  else if (own == WavEncoding::pcm_s32) write_samples<std::int32_t>(out, x, e, channels);
  else if (own == WavEncoding::float32) write_samples<float>(out, x, e, channels);
  else write_samples<double>(out, x, e, channels);
  return out;
}

void write_wav(const std::string& path, const Tensor& samples, int64_t sample_rate,
               std::optional<WavEncoding> encoding) {
  io::write_file(path, encode_wav(samples, sample_rate, encoding));
}

}  // namespace neura::data

// One sample of a WAV file as a number in [-1, 1), and back. For the sources of wav.h alone.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "neura/data/wav.h"

namespace neura::data::wav {

inline std::uint64_t little(const unsigned char* p, int bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= std::uint64_t(p[i]) << (8 * i);
  return value;
}
inline void put_little(unsigned char* p, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) p[i] = static_cast<unsigned char>(value >> (8 * i));
}

// G.711: sign, exponent and four bits of mantissa, of 16-bit samples.
inline int of_ulaw(unsigned char code) {
  const int u = ~code & 0xFF, t = (((u & 15) << 3) + 132) << ((u & 0x70) >> 4);
  return (u & 0x80) != 0 ? 132 - t : t - 132;
}
inline unsigned char to_ulaw(int x) {
  const unsigned m = unsigned(std::min(x < 0 ? -x : x, 32635)) + 132;
  const int e = std::bit_width(m) - 8;
  return static_cast<unsigned char>(~((x < 0 ? 0x80 : 0) | (e << 4) | int((m >> (e + 3)) & 15)));
}
inline int of_alaw(unsigned char code) {
  const int a = code ^ 0x55, e = (a & 0x70) >> 4, t = ((a & 15) << 4) + (e == 0 ? 8 : 264);
  const int m = t << std::max(e - 1, 0);
  return (a & 0x80) != 0 ? m : -m;
}
inline unsigned char to_alaw(int x) {
  const unsigned m = unsigned(x < 0 ? ~x : x);
  const int e = m < 256 ? 0 : std::bit_width(m) - 8;
  const int code = (e << 4) | int((m >> (std::max(e, 1) + 3)) & 15);
  return static_cast<unsigned char>(((x < 0 ? 0 : 0x80) | code) ^ 0x55);
}

// round(x 2^(bits - 1)) within the range.
inline std::int64_t to_integer(double x, int bits) {
  const double scale = double(std::int64_t{1} << (bits - 1)), y = std::nearbyint(x * scale);
  return std::isnan(y) ? 0 : std::int64_t(std::clamp(y, -scale, scale - 1));
}

inline double decode_sample(WavEncoding e, const unsigned char* p) {
  switch (e) {
    case WavEncoding::pcm_u8:
      return (double(*p) - 128) / 128;
    case WavEncoding::pcm_s16:
      return double(std::int16_t(little(p, 2))) / 32768;
    case WavEncoding::pcm_s24:
      return double(std::int32_t(std::uint32_t(little(p, 3)) << 8)) / 2147483648.0;
    case WavEncoding::pcm_s32:
      return double(std::int32_t(std::uint32_t(little(p, 4)))) / 2147483648.0;
    case WavEncoding::float32:
      return double(__builtin_bit_cast(float, std::uint32_t(little(p, 4))));
    case WavEncoding::float64:
      return __builtin_bit_cast(double, little(p, 8));
    case WavEncoding::alaw:
      return double(of_alaw(*p)) / 32768;
    case WavEncoding::ulaw:
      return double(of_ulaw(*p)) / 32768;
  }
  return 0;
}
inline void encode_sample(WavEncoding e, double x, unsigned char* p) {
  switch (e) {
    case WavEncoding::pcm_u8:
      *p = static_cast<unsigned char>(to_integer(x, 8) + 128);
      return;
    case WavEncoding::pcm_s16:
      return put_little(p, std::uint64_t(to_integer(x, 16)), 2);
    case WavEncoding::pcm_s24:
      return put_little(p, std::uint64_t(to_integer(x, 24)), 3);
    case WavEncoding::pcm_s32:
      return put_little(p, std::uint64_t(to_integer(x, 32)), 4);
    case WavEncoding::float32:
      return put_little(p, __builtin_bit_cast(std::uint32_t, float(x)), 4);
    case WavEncoding::float64:
      return put_little(p, __builtin_bit_cast(std::uint64_t, x), 8);
    case WavEncoding::alaw:
      *p = to_alaw(int(to_integer(x, 16)));
      return;
    case WavEncoding::ulaw:
      *p = to_ulaw(int(to_integer(x, 16)));
      return;
  }
}

}  // namespace neura::data::wav

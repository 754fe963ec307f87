// WAV files, the sound of RIFF: samples as tensors [channels, frames].
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "neura/core/tensor.h"

namespace neura::data {

// How a sample is stored: integers of 8 to 32 bits, floating numbers, or 8 bits by G.711's logarithmic laws.
enum class WavEncoding { pcm_u8, pcm_s16, pcm_s24, pcm_s32, float32, float64, alaw, ulaw };
int bits_per_sample(WavEncoding);

struct WavInfo {
  std::int64_t sample_rate = 0, num_frames = 0, num_channels = 0;
  WavEncoding encoding = WavEncoding::pcm_s16;
};
// Of RIFF, RF64 and BW64, with plain or extensible formats. IoError; FormatError where the file is damaged or no WAV.
WavInfo wav_info(const std::string& path);
WavInfo wav_info(std::span<const std::byte> bytes, const std::string& name = "wav");

struct Wav {
  Tensor samples;  // [channels, frames]
  std::int64_t sample_rate = 0;
};
struct WavOptions {
  std::int64_t frame_offset = 0, num_frames = -1;  // the first frame, and how many at most; -1: all
  // float32, where the largest integer of the encoding is just below 1. false: the encoding's own numbers, which loses
  // nothing: uint8, int16 (also of the laws), int32 (24 bits in the upper three bytes), float32 or float64.
  bool normalize = true;
};
// IoError, FormatError as wav_info; ValueError for an offset below 0 and num_frames below -1.
Wav read_wav(const std::string& path, const WavOptions& options = {});
Wav decode_wav(std::span<const std::byte> bytes, const WavOptions& options = {}, const std::string& name = "wav");

// The samples are uint8, int16, int32, float32 or float64, [channels, frames] or [frames], as decode_wav gives them.
// Without an encoding it is the dtype's own. Numbers are rounded to the encoding's nearest, beyond its range to its
// ends; NaN becomes silence. RF64 from 4 GiB on. DTypeError, ShapeError, ValueError; IoError.
std::string encode_wav(const Tensor& samples, std::int64_t sample_rate, std::optional<WavEncoding> encoding = {});
void write_wav(const std::string& path, const Tensor& samples, std::int64_t sample_rate,
               std::optional<WavEncoding> encoding = {});

}  // namespace neura::data

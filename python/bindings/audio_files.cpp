// Files of sound, for neura.audio.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include "common.h"
#include "neura/data/wav.h"

namespace neura::python {
namespace {

using data::WavEncoding;
using Info = std::tuple<std::int64_t, std::int64_t, std::int64_t, int, const char*>;

struct Code {  // an encoding in torchaudio's words
  const char* name;
  int bits;
  WavEncoding encoding;
};
constexpr Code kCodes[] = {{"PCM_U", 8, WavEncoding::pcm_u8},   {"PCM_S", 16, WavEncoding::pcm_s16},
                           {"PCM_S", 24, WavEncoding::pcm_s24}, {"PCM_S", 32, WavEncoding::pcm_s32},
                           {"PCM_F", 32, WavEncoding::float32}, {"PCM_F", 64, WavEncoding::float64},
                           {"ALAW", 8, WavEncoding::alaw},      {"ULAW", 8, WavEncoding::ulaw}};

std::optional<WavEncoding> encoding_of(const std::optional<std::string>& name, std::optional<int> bits) {
  if (!name && !bits) return {};
  for (const Code& code : kCodes)
    if ((!name || *name == code.name) && (!bits || *bits == code.bits)) return code.encoding;
  throw ValueError(
      "save: expected PCM_U of 8 bits, PCM_S of 16, 24 or 32, PCM_F of 32 or 64, or ALAW or ULAW of 8, got " +
      name.value_or("no encoding") + (bits ? " of " + std::to_string(*bits) + " bits" : ""));
}
Info words_of(const data::WavInfo& info) {
  const char* name = "";
  for (const Code& code : kCodes)
    if (code.encoding == info.encoding) name = code.name;
  return {info.sample_rate, info.num_frames, info.num_channels, bits_per_sample(info.encoding), name};
}
std::span<const std::byte> bytes_of(const nb::bytes& b) { return {static_cast<const std::byte*>(b.data()), b.size()}; }
data::WavOptions options(std::int64_t offset, std::int64_t frames, bool normalize) {
  return {offset, frames, normalize};
}

}  // namespace

void bind_audio_files(nb::module_& m) {
  m.def("wav_info", [](const std::string& path) { return words_of(data::wav_info(path)); });
  m.def("wav_info", [](const nb::bytes& b) { return words_of(data::wav_info(bytes_of(b))); });
  m.def("read_wav", [](const std::string& path, std::int64_t offset, std::int64_t frames, bool normalize) {
    data::Wav wav;
    {
      nb::gil_scoped_release unlocked;
      wav = data::read_wav(path, options(offset, frames, normalize));
    }
    return std::tuple(wav.samples, wav.sample_rate);
  });
  m.def("read_wav", [](const nb::bytes& b, std::int64_t offset, std::int64_t frames, bool normalize) {
    const data::Wav wav = data::decode_wav(bytes_of(b), options(offset, frames, normalize));
    return std::tuple(wav.samples, wav.sample_rate);
  });
  m.def(
      "encode_wav",
      [](const Tensor& x, std::int64_t rate, const std::optional<std::string>& encoding, std::optional<int> bits) {
        const std::string file = data::encode_wav(x, rate, encoding_of(encoding, bits));
        return nb::bytes(file.data(), file.size());
      },
      "samples"_a, "rate"_a, "encoding"_a.none(), "bits"_a.none());
  m.def(
      "write_wav",
      [](const std::string& path, const Tensor& x, std::int64_t rate, const std::optional<std::string>& encoding,
         std::optional<int> bits) { data::write_wav(path, x, rate, encoding_of(encoding, bits)); },
      "path"_a, "samples"_a, "rate"_a, "encoding"_a.none(), "bits"_a.none());
}

}  // namespace neura::python

#include "neura/data/wav.h"

#include <gtest/gtest.h>

#include "neura/core/file.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "tests/io/folder.h"
#include "tests/io/mutate.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::data {
namespace {

std::span<const std::byte> bytes(const std::string& s) { return std::as_bytes(std::span(s)); }

template <class T> std::vector<T> values(const Tensor& x) {
  const Tensor y = x.contiguous();
  return {y.const_data<T>(), y.const_data<T>() + y.numel()};
}
std::string little(std::uint64_t value, int count) {
  std::string s;
  for (int i = 0; i < count; ++i) s += char((value >> (8 * i)) & 255);
  return s;
}
std::string chunk(const std::string& name, const std::string& body) {
  return name + little(body.size(), 4) + body + std::string(body.size() % 2, '\0');
}
std::string format(unsigned tag, unsigned channels, unsigned bits, const std::string& more = "") {
  return chunk("fmt ", little(tag, 2) + little(channels, 2) + little(8000, 4) + little(8000u * channels * bits / 8, 4) +
                           little(channels * bits / 8, 2) + little(bits, 2) + more);
}
std::string riff(const std::string& chunks, const std::string& kind = "RIFF") {
  return kind + little(4 + chunks.size(), 4) + "WAVE" + chunks;
}
const std::string kPlain = riff(
    format(1, 2, 16) + chunk("data", little(0x7FFF, 2) + little(0x8000, 2) + little(0x4000, 2) + little(0xFFFF, 2)));

TEST(Wav, ReadsFramesOfChannels) {
  const Wav wav = decode_wav(bytes(kPlain));
  EXPECT_EQ(wav.sample_rate, 8000);
  EXPECT_EQ(wav.samples.shape(), (Shape{2, 2}));
  EXPECT_EQ(values<float>(wav.samples), (std::vector<float>{32767.0F / 32768, 0.5F, -1, -1.0F / 32768}));
  const Wav own = decode_wav(bytes(kPlain), {.normalize = false});
  EXPECT_EQ(values<std::int16_t>(own.samples), (std::vector<std::int16_t>{32767, 16384, -32768, -1}));
}

TEST(Wav, ReadsAPart) {
  const std::string file = encode_wav(arange(10.0, {.dtype = float32}), 44100);
  const auto part = [&](std::int64_t offset, std::int64_t frames) {
    return values<float>(decode_wav(bytes(file), {offset, frames}).samples);
  };
  EXPECT_EQ(part(7, 2), (std::vector<float>{7, 8}));
  EXPECT_EQ(part(8, 100), (std::vector<float>{8, 9}));
  EXPECT_EQ(part(50, -1), std::vector<float>{});
  EXPECT_THROW(part(-1, 2), ValueError);
  EXPECT_THROW(part(0, -2), ValueError);
}

// Every number of 8 and 16 bits, and random ones of the others, come back bit for bit.
TEST(Wav, WhatWasWrittenIsReadExactly) {
  const test::Folder folder;
  const Tensor all = arange(-32768.0, 32768.0, 1.0, {.dtype = int32}).reshape({2, 32768});
  const Tensor noise = test::sample({3, 501}, float64);
  const Tensor tensors[] = {arange(256, {.dtype = uint8}), all.to(int16), all * 65537, noise.to(float32), noise};
  for (const Tensor& x : tensors) {
    write_wav(folder / "x.wav", x, 96000);
    const Wav wav = read_wav(folder / "x.wav", {.normalize = false});
    EXPECT_EQ(wav.sample_rate, 96000);
    EXPECT_EQ(wav.samples.dtype(), x.dtype());
    EXPECT_TRUE(equal(wav.samples.reshape(x.shape()), x)) << x.spec().str();
    EXPECT_EQ(wav_info(folder / "x.wav").num_frames, x.size(-1));
  }
  const Tensor coarse = (all.to(int32) * 256).reshape({2, 32768});
  const std::string of_24 = encode_wav(coarse, 8000, WavEncoding::pcm_s24);
  EXPECT_TRUE(equal(decode_wav(bytes(of_24), {.normalize = false}).samples, coarse));
  EXPECT_TRUE(equal(
      decode_wav(bytes(encode_wav(decode_wav(bytes(of_24)).samples, 8000, WavEncoding::pcm_s24)), {.normalize = false})
          .samples,
      coarse));
}

TEST(Wav, TheLawsAreThoseOfG711) {
  for (const WavEncoding law : {WavEncoding::alaw, WavEncoding::ulaw}) {
    std::string codes;
    for (int i = 0; i < 256; ++i) codes += char(i);
    const std::string file = riff(format(law == WavEncoding::alaw ? 6 : 7, 1, 8) + chunk("data", codes));
    const Tensor decoded = decode_wav(bytes(file), {.normalize = false}).samples;
    EXPECT_EQ(decoded.dtype(), int16);
    const std::string again = encode_wav(decoded, 8000, law);
    const Tensor twice = decode_wav(bytes(again), {.normalize = false}).samples;
    EXPECT_TRUE(equal(decoded, twice));
    const auto v = values<std::int16_t>(decoded);
    if (law == WavEncoding::alaw) {  // the ends and the middle of the tables
      EXPECT_EQ((std::vector<int>{v[0], v[0x55], v[0xD5], v[0xAA], v[0x2A]}),
                (std::vector<int>{-5504, -8, 8, 32256, -32256}));
    } else {
      EXPECT_EQ((std::vector<int>{v[0], v[0x7F], v[0xFF], v[0x80], v[0xF0]}),
                (std::vector<int>{-32124, 0, 0, 32124, 120}));
    }
  }
}

TEST(Wav, RoundsAndStaysInItsRange) {
  const Tensor x = tensor({2.0F, -2.0F, 0.6F / 128, std::numeric_limits<float>::quiet_NaN(), 0.25F});
  const auto of = [&](WavEncoding e) {
    return decode_wav(bytes(encode_wav(x, 8000, e)), {.normalize = false}).samples;
  };
  EXPECT_EQ(values<std::uint8_t>(of(WavEncoding::pcm_u8)), (std::vector<std::uint8_t>{255, 0, 129, 128, 160}));
  EXPECT_EQ(values<std::int16_t>(of(WavEncoding::pcm_s16)), (std::vector<std::int16_t>{32767, -32768, 154, 0, 8192}));
  EXPECT_EQ(values<std::int32_t>(of(WavEncoding::pcm_s32))[0], 2147483647);
}

TEST(Wav, ReadsExtensibleAndLargeFiles) {
  const std::string guid("\x01\x00\x00\x00\x00\x00\x10\x00\x80\x00\x00\xAA\x00\x38\x9B\x71", 16);
  const std::string extra = little(22, 2) + little(24, 2) + little(3, 4) + guid, three = little(0x400000, 3);
  const std::string file = riff(chunk("LIST", "odd") + format(0xFFFE, 1, 24, extra) + chunk("data", three));
  EXPECT_EQ(wav_info(bytes(file)).encoding, WavEncoding::pcm_s24);
  EXPECT_EQ(decode_wav(bytes(file)).samples.item<float>(), 0.5F);
  const std::string sizes = chunk("ds64", little(0, 8) + little(4, 8) + little(2, 8) + little(0, 4));
  const std::string large = sizes + format(1, 1, 16) + "data" + little(0xFFFFFFFF, 4) + little(0x40002000, 4) + "more";
  EXPECT_EQ(values<float>(decode_wav(bytes(riff(large, "RF64"))).samples), (std::vector<float>{0.25F, 0.5F}));
  EXPECT_EQ(wav_info(bytes(riff(large))).num_frames, 4);  // a writer that could not know: to the end
}

TEST(Wav, SaysWhatIsDamaged) {
  const auto error = [](const std::string& file) {
    return test::error_of<FormatError>([&] { decode_wav(bytes(file), {}, "f"); });
  };
  EXPECT_EQ(error("RIFF"), "f: expected a header of 12 bytes at byte 0, got the end; the file was cut off");
  EXPECT_EQ(error("OggS            "), "f: expected a WAV file: RIFF or RF64, and WAVE");
  EXPECT_EQ(error(kPlain.substr(0, kPlain.size() - 1)), "f: expected 8 bytes of samples, got 7; the file was cut off");
  EXPECT_EQ(error(riff(chunk("data", "ab"))), "f: expected a format before the samples");
  EXPECT_EQ(error(riff(format(1, 2, 16))), "f: expected a chunk at byte 36, got the end; the file was cut off");
  EXPECT_EQ(error(riff(format(2, 1, 4))),
            "f: expected samples of 8, 16, 24 or 32 bits, floats of 32 or 64, A-law or mu-law, got format 2 of 4 bits; "
            "convert the file");
  EXPECT_EQ(error(riff(format(1, 0, 16))),
            "f: expected channels and a rate above 0, and whole frames, got 0 channels, 8000 frames a second and 0 "
            "bytes a frame");
  EXPECT_EQ(error(riff(chunk("fmt ", "short"))), "f: expected a format of at least 16 bytes, got 5");
  EXPECT_EQ(error(riff(format(0xFFFE, 1, 16))), "f: expected an extensible format of at least 40 bytes, got 16");
  EXPECT_THROW(read_wav("no such file"), IoError);
}

TEST(Wav, SaysWhatCannotBeWritten) {
  EXPECT_THROW(encode_wav(zeros({2}, {.dtype = int64}), 8000), DTypeError);
  EXPECT_THROW(encode_wav(zeros({1, 1, 2}), 8000), ShapeError);
  EXPECT_THROW(encode_wav(zeros({0, 2}), 8000), ShapeError);
  EXPECT_THROW(encode_wav(zeros({20000, 1}), 8000), ShapeError);
  EXPECT_THROW(encode_wav(zeros({2}), 0), ValueError);
  EXPECT_THROW(encode_wav(Tensor(), 8000), ValueError);
}

TEST(Wav, DamagedFilesAreReadOrRefused) {
  std::vector<std::string> files{kPlain, riff(format(0xFFFE, 1, 24, std::string(24, '\1')) + chunk("data", "abcdef"))};
  for (const WavEncoding e : {WavEncoding::pcm_u8, WavEncoding::float64, WavEncoding::ulaw})
    files.push_back(encode_wav(test::sample({2, 9}, float32), 8000, e));
  test::Dice dice{7};
  int refused = 0;
  for (int i = 0; i < 10000; ++i) {
    const std::string file = test::mutate(files[std::size_t(i) % files.size()], dice);
    try {
      decode_wav(bytes(file));
    } catch (const FormatError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 2500);
}

}  // namespace
}  // namespace neura::data

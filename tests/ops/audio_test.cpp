// What the functions of sound must fulfil by their mathematics; torchaudio's and librosa's numbers are in
// tests/python/audio_test.py.
#include "neura/ops/signal/audio.h"

#include <gtest/gtest.h>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/signal/window.h"
#include "tests/support/close.h"
#include "tests/support/gradients.h"
#include "tests/support/sample.h"

namespace neura {
namespace {

using test::error_of;
using test::expect_close;
using test::expect_gradients;
using test::sample;

const TensorOptions kDouble{.dtype = float64};

audio::Frames framed(std::int64_t n = 16) {
  return {.window = windows::hann(n, {false, kDouble}), .n_fft = n, .hop_length = n / 4, .win_length = n};
}
Tensor vector(const std::vector<double>& v) { return tensor(v, kDouble); }

TEST(Audio, TheInverseOfASpectrogramIsTheSignal) {
  const Tensor x = sample({2, 3, 50}, float64);
  for (const char* normalized : {"", "window", "frame_length"}) {
    audio::Frames f = framed();
    f.normalized = normalized, f.pad = 5;
    const Tensor z = audio::spectrogram(x, f, {});
    EXPECT_EQ(z.shape(), (Shape{2, 3, 9, 16}));
    expect_close(audio::inverse_spectrogram(z, 50, f), x);
    expect_close(audio::spectrogram(x, f, 2), real(z) * real(z) + imag(z) * imag(z));
  }
}

TEST(Audio, GriffinLimFindsASignalOfThatSpectrogram) {
  const Tensor x = sin(arange(0.0, 40.0, 0.2, kDouble));
  const Tensor loud = audio::spectrogram(x, framed(), 1);
  const auto error = [&](std::int64_t rounds) {
    const Tensor y = audio::griffinlim(loud, framed(), 1, rounds, 0.9, 200, false);
    return sum(abs(audio::spectrogram(y, framed(), 1) - loud)).item<double>() / sum(loud).item<double>();
  };
  EXPECT_LT(error(60), 0.3 * error(0));
}

TEST(Audio, TheCosineTransformIsOrthonormal) {
  const Tensor d = audio::create_dct(12, 12, "ortho").to(float64);
  expect_close(matmul(d.transpose(0, 1), d), eye(12, kDouble), {1e-6, 0});
}

TEST(Audio, SlaneysFiltersHaveTheAreaOne) {
  const Tensor f = audio::melscale_fbanks(4001, 300, 3900, 8, 8000, "slaney", "slaney");
  expect_close(sum(f, 0), ones({8}), {1e-3, 0});  // bins are 1 Hz apart
}

TEST(Audio, ResamplingKeepsATone) {
  const auto tone = [](std::int64_t rate) {
    return sin(arange(rate, kDouble) * (2 * 3.14159265358979324 * 50 / double(rate)));
  };
  const Tensor y = audio::resample(tone(1000), 1000, 1600, {.lowpass_filter_width = 64});
  EXPECT_EQ(y.shape(), (Shape{1600}));
  expect_close(y.narrow(0, 200, 1200), tone(1600).narrow(0, 200, 1200), {2e-4, 0});
  EXPECT_EQ(audio::resample(zeros({2, 0, 7}), 3, 2).shape(), (Shape{2, 0, 5}));
}

TEST(Audio, AFilterIsItsRecurrence) {
  const Tensor x = sample({3, 40}, float64);
  const std::vector<double> a{2, -0.9, 0.3}, b{0.5, 0.25, -1};
  const Tensor y = audio::lfilter(x, vector(a), vector(b), false);
  Tensor want = zeros({3, 40}, kDouble);
  for (std::int64_t r = 0; r < 3; ++r) {
    const double* in = x.const_data<double>() + r * 40;
    double* out = want.data<double>() + r * 40;
    for (std::int64_t t = 0; t < 40; ++t) {
      for (std::int64_t k = 0; k < 3 && k <= t; ++k) out[t] += b[std::size_t(k)] * in[t - k];
      for (std::int64_t k = 1; k < 3 && k <= t; ++k) out[t] -= a[std::size_t(k)] * out[t - k];
      out[t] /= a[0];
    }
  }
  expect_close(y, want, {1e-12, 0});
  expect_close(audio::deemphasis(audio::preemphasis(x * 0.2)), x * 0.2, {1e-12, 0});
}

TEST(Audio, MasksAreStripes) {
  Generator g(3);
  const Tensor x = ones({4, 3, 20, 30});
  const Tensor same = audio::mask_along_axis(x, 10, 0, 2, 1, &g);
  const Tensor rows = same.narrow(3, 0, 1).expand({4, 3, 20, 30});
  EXPECT_TRUE(equal(same, rows) && equal(same, same.narrow(0, 0, 1).narrow(1, 0, 1).expand({4, 3, 20, 30})));
  const Tensor own = audio::mask_along_axis_iid(x, 25, 0, 3, 0.5, &g);
  const Tensor widths = 30 - sum(own.select(2, 0), -1);
  EXPECT_LT(amax(widths).item<double>(), 15);
  EXPECT_GT(amax(widths).item<double>(), amin(widths).item<double>());
}

TEST(Audio, Gradients) {
  const Tensor x = sample({2, 40}, float64);
  expect_gradients([](const Tensor& s) { return audio::spectrogram(s, framed(), 2); }, x);
  expect_gradients([](const Tensor& s) { return audio::spectrogram(s, framed(), 1); }, x);
  expect_gradients([](const Tensor& s) { return audio::resample(s, 3, 2); }, x);
  expect_gradients([](const Tensor& s) { return audio::lfilter(s, vector({1, 0.5}), vector({1, 2}), false); }, x);
  expect_gradients([](const Tensor& s) { return audio::compute_deltas(s); }, x);
  expect_gradients([](const Tensor& s) { return audio::amplitude_to_DB(s * s + 0.1, 10, 1e-10, 0, 80); }, x);
}

TEST(Audio, SaysWhatIsWrong) {
  const Tensor x = zeros({40});
  EXPECT_EQ(error_of<DTypeError>([&] { audio::resample(x.to(int16), 2, 1); }),
            "resample: expected a floating waveform, got int16 [40]; convert it with .to()");
  EXPECT_EQ(error_of<ShapeError>([&] { audio::preemphasis(zeros({})); }),
            "preemphasis: expected a waveform of at least 1 dimensions, got float32 []");
  EXPECT_EQ(error_of<ValueError>([&] { audio::resample(x, 0, 1); }),
            "resample: expected orig_freq from 1 to 2147483648, got 0");
  EXPECT_EQ(error_of<ValueError>([&] { audio::resample(x, 44101, 48001); }).substr(0, 61),
            "resample: expected a filter of at most 2^27 taps, got 48001 o");
  EXPECT_EQ(error_of<ValueError>([&] { audio::create_dct(2, 3, "other"); }),
            "create_dct: expected norm 'ortho' or None, got 'other'");
  EXPECT_EQ(error_of<ValueError>([&] { audio::melscale_fbanks(9, 5, 5, 3, 8000); }),
            "melscale_fbanks: expected 0 <= f_min < f_max, got 5 and 5");
  EXPECT_EQ(error_of<DTypeError>([&] {
              audio::phase_vocoder(zeros({3, 4}), 2, zeros({3, 1}));
            }),
            "phase_vocoder: expected a complex spectrogram, got float32 [3, 4]; spectrogram with power=None gives one");
  EXPECT_EQ(error_of<ShapeError>([&] { audio::lfilter(x, ones({2}), ones({3})); }),
            "lfilter: expected a_coeffs and b_coeffs of one shape, got [2] and [3]");
  EXPECT_EQ(error_of<ValueError>([&] {
              audio::lfilter(x, vector({1, -2}), vector({1, 0}));
            }),
            "lfilter: expected a stable filter with a first a_coeff that is not 0, got one whose response reaches "
            "1.04858e+06 after 20 samples");
  EXPECT_EQ(
      error_of<NotImplementedError>([&] { audio::lfilter(x, ones({1}).requires_grad_(), ones({1})); }).substr(0, 56),
      "lfilter: expected a_coeffs that need no gradient, got fl");
  EXPECT_EQ(error_of<ValueError>([&] {
              audio::mask_along_axis(zeros({3, 4}), 2, 0, -3);
            }),
            "mask_along_axis: expected the axis of frequency or time, 0 or 1, got -3");
}

}  // namespace
}  // namespace neura

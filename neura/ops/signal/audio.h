// Functions of sound, under the names of torchaudio.functional. Made of other operations: they run on any device and
// are differentiable. Signals are [..., time], spectrograms [..., bins, frames]. DTypeError for what is not floating,
// or not complex where a complex spectrogram is meant; ShapeError, ValueError.
#pragma once
#include <array>
#include <optional>
#include <string_view>

#include "neura/core/random.h"
#include "neura/core/tensor.h"

namespace neura::audio {

// The frames of a short-time Fourier transform (stft). All must be given but the last four.
struct Frames {
  std::int64_t pad = 0;  // zeros on both sides of the signal
  Tensor window;         // [win_length]
  std::int64_t n_fft = 400, hop_length = 200, win_length = 400;
  std::string_view normalized = "";  // "window": divided by the root of the window's energy; "frame_length": of n_fft
  bool center = true;
  std::string_view pad_mode = "reflect";
  bool onesided = true;
};
// |stft|^power, without a power the complex transform itself; and back, to a signal.
Tensor spectrogram(const Tensor& waveform, const Frames& frames, std::optional<double> power = 2);
Tensor inverse_spectrogram(const Tensor& spectrogram, std::optional<std::int64_t> length, const Frames& frames);
// The signal of a spectrogram without phases, which are found by n_iter rounds of the fast Griffin-Lim algorithm.
// (Perraudin, Balazs and Sondergaard, 2013.) momentum in [0, 1); rand_init: begins with random phases.
Tensor griffinlim(const Tensor& specgram, const Frames& frames, double power, std::int64_t n_iter, double momentum,
                  std::optional<std::int64_t> length, bool rand_init, Generator* generator = nullptr);
// The mean frequency of each frame, weighted by the magnitudes: [..., frames].
Tensor spectral_centroid(const Tensor& waveform, std::int64_t sample_rate, const Frames& frames);

// Triangular filters as a matrix [n_freqs, n_mels], of the default dtype, evenly apart on the mel scale "htk" or
// "slaney" from f_min to f_max. norm "slaney" gives each the area 1.
Tensor melscale_fbanks(std::int64_t n_freqs, double f_min, double f_max, std::int64_t n_mels, std::int64_t sample_rate,
                       std::optional<std::string_view> norm = {}, std::string_view mel_scale = "htk");
// The discrete cosine transform (DCT-II) as a matrix [n_mels, n_mfcc]; norm "ortho" makes it orthonormal.
Tensor create_dct(std::int64_t n_mfcc, std::int64_t n_mels, std::optional<std::string_view> norm);

struct ResampleOptions {
  std::int64_t lowpass_filter_width = 6;  // zeros of the sinc on each side: the more, the sharper
  double rolloff = 0.99;                  // where the filter begins, as a part of the lower Nyquist frequency
  std::string_view resampling_method = "sinc_interp_hann";  // or "sinc_interp_kaiser"
  std::optional<double> beta = {};                          // of Kaiser's window: 14.769656459379492
};
// By interpolation with windowed sincs: [..., ceil(time new_freq / orig_freq)]. (Smith, 1984.)
Tensor resample(const Tensor& waveform, std::int64_t orig_freq, std::int64_t new_freq, const ResampleOptions& = {});

#include "neura/tables/functions/declare.h"
#include "neura/tables/functions/audio.def"
#include "neura/tables/functions/end.h"

}  // namespace neura::audio

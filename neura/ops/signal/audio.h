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
// A complex spectrogram `rate` times as fast, of the same pitch. phase_advance [bins, 1]: of a bin from frame to frame.
Tensor phase_vocoder(const Tensor& complex_specgrams, double rate, const Tensor& phase_advance);
// The mean frequency of each frame, weighted by the magnitudes: [..., frames].
Tensor spectral_centroid(const Tensor& waveform, std::int64_t sample_rate, const Frames& frames);

// Triangular filters as a matrix [n_freqs, n_mels], of the default dtype, evenly apart on the mel scale "htk" or
// "slaney" from f_min to f_max. norm "slaney" gives each the area 1.
Tensor melscale_fbanks(std::int64_t n_freqs, double f_min, double f_max, std::int64_t n_mels, std::int64_t sample_rate,
                       std::optional<std::string_view> norm = {}, std::string_view mel_scale = "htk");
Tensor linear_fbanks(std::int64_t n_freqs, double f_min, double f_max, std::int64_t n_filter, std::int64_t sample_rate);
// The discrete cosine transform (DCT-II) as a matrix [n_mels, n_mfcc]; norm "ortho" makes it orthonormal.
Tensor create_dct(std::int64_t n_mfcc, std::int64_t n_mels, std::optional<std::string_view> norm);
// multiplier (log10(max(x, amin)) - db_multiplier); with top_db no less than so much below the largest of each
// [channel, bins, frames].
Tensor amplitude_to_DB(const Tensor& x, double multiplier, double amin, double db_multiplier,
                       std::optional<double> top_db = {});
Tensor DB_to_amplitude(const Tensor& x, double ref, double power);  // ref (10^(x / 10))^power
// Differences along time, by regression over win_length frames.
Tensor compute_deltas(const Tensor& specgram, std::int64_t win_length = 5, std::string_view mode = "replicate");

// Signals in [-1, 1] as int64 codes of the mu-law with quantization_channels values, and back.
Tensor mu_law_encoding(const Tensor& x, std::int64_t quantization_channels);
Tensor mu_law_decoding(const Tensor& x_mu, std::int64_t quantization_channels);

// Masks of random width below mask_param, and below the share p, along `axis`: one for all, or one for each example
// and channel of [..., bins, frames].
Tensor mask_along_axis(const Tensor& specgram, std::int64_t mask_param, double mask_value, int axis, double p = 1,
                       Generator* generator = nullptr);
Tensor mask_along_axis_iid(const Tensor& specgrams, std::int64_t mask_param, double mask_value, int axis, double p = 1,
                           Generator* generator = nullptr);

struct ResampleOptions {
  std::int64_t lowpass_filter_width = 6;  // zeros of the sinc on each side: the more, the sharper
  double rolloff = 0.99;                  // where the filter begins, as a part of the lower Nyquist frequency
  std::string_view resampling_method = "sinc_interp_hann";  // or "sinc_interp_kaiser"
  std::optional<double> beta = {};                          // of Kaiser's window: 14.769656459379492
};
// By interpolation with windowed sincs: [..., ceil(time new_freq / orig_freq)]. (Smith, 1984.)
Tensor resample(const Tensor& waveform, std::int64_t orig_freq, std::int64_t new_freq, const ResampleOptions& = {});

// sum of a_k y[t - k] = sum of b_k x[t - k]; coefficients [order + 1], or [filters, order + 1] for the signals of
// [..., filters, time]; batching = false: each filter for each signal, [..., filters, time] of [..., time]. clamp: to
// [-1, 1]. It reads the coefficients, which get no gradient (NotImplementedError). ValueError for a filter whose
// response grows without bound.
Tensor lfilter(const Tensor& waveform, const Tensor& a_coeffs, const Tensor& b_coeffs, bool clamp = true,
               bool batching = true);
Tensor filtfilt(const Tensor& waveform, const Tensor& a_coeffs, const Tensor& b_coeffs, bool clamp = true);
// Filters of order two, b0 to b2 over a0 to a2, and the usual ones. (Bristow-Johnson, Audio EQ Cookbook.)
Tensor biquad(const Tensor& waveform, double b0, double b1, double b2, double a0, double a1, double a2);
Tensor lowpass_biquad(const Tensor& waveform, std::int64_t sample_rate, double cutoff_freq, double Q = 0.707);
Tensor highpass_biquad(const Tensor& waveform, std::int64_t sample_rate, double cutoff_freq, double Q = 0.707);
Tensor bandpass_biquad(const Tensor& waveform, std::int64_t sample_rate, double central_freq, double Q = 0.707,
                       bool const_skirt_gain = false);
Tensor bandreject_biquad(const Tensor& waveform, std::int64_t sample_rate, double central_freq, double Q = 0.707);
Tensor allpass_biquad(const Tensor& waveform, std::int64_t sample_rate, double central_freq, double Q = 0.707);
Tensor equalizer_biquad(const Tensor& waveform, std::int64_t sample_rate, double center_freq, double gain,
                        double Q = 0.707);
Tensor bass_biquad(const Tensor& waveform, std::int64_t sample_rate, double gain, double central_freq = 100,
                   double Q = 0.707);
Tensor treble_biquad(const Tensor& waveform, std::int64_t sample_rate, double gain, double central_freq = 3000,
                     double Q = 0.707);
Tensor preemphasis(const Tensor& waveform, double coeff = 0.97);  // x[t] - coeff x[t - 1]
Tensor deemphasis(const Tensor& waveform, double coeff = 0.97);   // and back

Tensor gain(const Tensor& waveform, double gain_db = 1);
// The convolution along the last dimension, by Fourier transforms; mode "full", "valid" or "same".
Tensor fftconvolve(const Tensor& x, const Tensor& y, std::string_view mode = "full");
// waveform + noise [..., time] scaled to the ratio snr [...] in decibels, over the first lengths [...] samples.
Tensor add_noise(const Tensor& waveform, const Tensor& noise, const Tensor& snr, const Tensor& lengths = {});

}  // namespace neura::audio

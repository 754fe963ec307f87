// Functions of sound: neura.audio.functional.
#include "neura/ops/signal/audio.h"

#include "neura/surface/list.h"

namespace neura::surface {
namespace {

using T = const Tensor&;
using int64 = std::int64_t;
using Word = const std::string&;
using MaybeWord = const std::optional<std::string>&;
using Count = std::optional<int64>;
using Number = std::optional<double>;

std::optional<std::string_view> view(MaybeWord w) { return w ? std::optional<std::string_view>(*w) : std::nullopt; }
std::string_view norm_of(bool normalized) { return normalized ? "window" : ""; }
std::string_view norm_of(Word normalized) { return normalized; }

template <class Normalized> Tensor spectrogram(T x, int64 pad, T window, int64 n_fft, int64 hop, int64 width,
                                               Number power, Normalized normalized, bool center, Word pad_mode,
                                               bool onesided, Ignored) {
  return audio::spectrogram(x, {pad, window, n_fft, hop, width, norm_of(normalized), center, pad_mode, onesided},
                            power);
}
template <class Normalized> Tensor inverse(T x, Count length, int64 pad, T window, int64 n_fft, int64 hop, int64 width,
                                           Normalized normalized, bool center, Word pad_mode, bool onesided) {
  return audio::inverse_spectrogram(x, length,
                                    {pad, window, n_fft, hop, width, norm_of(normalized), center, pad_mode, onesided});
}

void add_spectra(const List& s) {
  const char* of =
      "spectrogram(waveform, pad, window, n_fft, hop_length, win_length, power?, normalized, center=True, "
      "pad_mode='reflect', onesided=True, return_complex=None)";
  s.add(of, &spectrogram<bool>, function,
        "|stft|^power of signals, [..., time] -> [..., bins, frames]; power=None: the complex transform. normalized: "
        "True or 'window', divided by the root of the window's energy; 'frame_length', by the root of n_fft.");
  s.add(of, &spectrogram<Word>, function);
  const char* back =
      "inverse_spectrogram(spectrogram, length?, pad, window, n_fft, hop_length, win_length, "
      "normalized, center=True, pad_mode='reflect', onesided=True)";
  s.add(back, &inverse<bool>, function,
        "The signals of complex spectrograms, [..., bins, frames] -> [..., time]: the inverse of spectrogram.");
  s.add(back, &inverse<Word>, function);
  s.add(
      "griffinlim(specgram, window, n_fft, hop_length, win_length, power, n_iter, momentum, length?, rand_init, *, "
      "generator=None)",
      [](T x, T window, int64 n_fft, int64 hop, int64 width, double power, int64 n_iter, double momentum, Count length,
         bool rand_init, Generator* g) {
        return audio::griffinlim(x, {0, window, n_fft, hop, width}, power, n_iter, momentum, length, rand_init, g);
      },
      function,
      "A signal whose spectrogram is near this one, which has no phases. (Griffin and Lim, 1984; the fast "
      "form of Perraudin, Balazs and Sondergaard, 2013.)");
  s.add("phase_vocoder(complex_specgrams, rate, phase_advance)", &audio::phase_vocoder, function,
        "Complex spectrograms rate times as fast, of the same pitch: [..., bins, ceil(frames / rate)]. phase_advance "
        "[bins, 1]: of each bin from frame to frame.");
  s.add(
      "spectral_centroid(waveform, sample_rate, pad, window, n_fft, hop_length, win_length)",
      [](T x, int64 rate, int64 pad, T window, int64 n_fft, int64 hop, int64 width) {
        return audio::spectral_centroid(x, rate, {pad, window, n_fft, hop, width});
      },
      function, "The mean frequency of each frame, weighted by the magnitudes: [..., time] -> [..., frames].");
}

void add_features(const List& s) {
  s.add(
      "melscale_fbanks(n_freqs, f_min, f_max, n_mels, sample_rate, norm=None, mel_scale='htk')",
      [](int64 n, double low, double high, int64 mels, int64 rate, MaybeWord norm, Word scale) {
        return audio::melscale_fbanks(n, low, high, mels, rate, view(norm), scale);
      },
      function,
      "Triangular filters, evenly apart on a mel scale, 'htk' or 'slaney': [n_freqs, n_mels]. "
      "norm='slaney': each of area 1.");
  s.add("linear_fbanks(n_freqs, f_min, f_max, n_filter, sample_rate)", &audio::linear_fbanks, function,
        "Triangular filters, evenly apart in hertz: [n_freqs, n_filter].");
  s.add(
      "create_dct(n_mfcc, n_mels, norm?)",
      [](int64 mfcc, int64 mels, MaybeWord norm) { return audio::create_dct(mfcc, mels, view(norm)); }, function,
      "The discrete cosine transform (DCT-II) as a matrix [n_mels, n_mfcc]; norm='ortho' makes it orthonormal.");
  s.add(
      "amplitude_to_DB(x, multiplier, amin, db_multiplier, top_db=None)", &audio::amplitude_to_DB, function,
      "multiplier (log10(max(x, amin)) - db_multiplier); top_db bounds the values below by the largest minus top_db.");
  s.add("DB_to_amplitude(x, ref, power)", &audio::DB_to_amplitude, function, "ref (10^(x / 10))^power.");
  s.add("compute_deltas(specgram, win_length=5, mode='replicate')", &audio::compute_deltas, function,
        "Delta coefficients along time, [..., time]: slopes by regression over win_length frames; mode: how pad fills "
        "the ends.");
  s.add("mu_law_encoding(x, quantization_channels)", &audio::mu_law_encoding, function,
        "Signals in [-1, 1] as int64 codes from 0 to quantization_channels - 1, finer around 0.");
  s.add("mu_law_decoding(x_mu, quantization_channels)", &audio::mu_law_decoding, function,
        "The signal of codes of mu_law_encoding.");
  s.add("mask_along_axis(specgram, mask_param, mask_value, axis, p=1.0, *, generator=None)", &audio::mask_along_axis,
        function,
        "SpecAugment (Park et al., 2019): fills a band of random position and width below mask_param along axis (time "
        "or frequency) with mask_value, the same for all.");
  s.add("mask_along_axis_iid(specgrams, mask_param, mask_value, axis, p=1.0, *, generator=None)",
        &audio::mask_along_axis_iid, function, "mask_along_axis with a separate band for each spectrogram.");
}

void add_filters(const List& s) {
  s.add(
      "resample(waveform, orig_freq, new_freq, lowpass_filter_width=6, rolloff=0.99, "
      "resampling_method='sinc_interp_hann', beta=None)",
      [](T x, int64 from, int64 to, int64 width, double rolloff, Word method, Number beta) {
        return audio::resample(x, from, to, {width, rolloff, method, beta});
      },
      function, "Signals [..., time] at another rate, by windowed sincs: [..., ceil(time new_freq / orig_freq)].");
  s.add("lfilter(waveform, a_coeffs, b_coeffs, clamp=True, batching=True)", &audio::lfilter, function,
        "sum of a[k] y[t - k] = sum of b[k] x[t - k] for y, clamped to [-1, 1]. Coefficients [order + 1], or [filters, "
        "order + 1] for signals [..., filters, time]; batching=False: every filter for every signal. Coefficients get "
        "no gradient.");
  s.add("filtfilt(waveform, a_coeffs, b_coeffs, clamp=True)", &audio::filtfilt, function,
        "lfilter forwards, then backwards in time: no phase changes.");
  s.add("biquad(waveform, b0, b1, b2, a0, a1, a2)", &audio::biquad, function,
        "Second-order IIR filter: lfilter with the coefficients b0, b1, b2 and a0, a1, a2.");
  s.add("lowpass_biquad(waveform, sample_rate, cutoff_freq, Q=0.707)", &audio::lowpass_biquad, function,
        "Second-order low-pass filter at cutoff_freq.");
  s.add("highpass_biquad(waveform, sample_rate, cutoff_freq, Q=0.707)", &audio::highpass_biquad, function,
        "Second-order high-pass filter at cutoff_freq.");
  s.add("bandpass_biquad(waveform, sample_rate, central_freq, Q=0.707, const_skirt_gain=False)",
        &audio::bandpass_biquad, function, "Second-order band-pass filter around central_freq.");
  s.add("bandreject_biquad(waveform, sample_rate, central_freq, Q=0.707)", &audio::bandreject_biquad, function,
        "Second-order band-reject (notch) filter around central_freq.");
  s.add("allpass_biquad(waveform, sample_rate, central_freq, Q=0.707)", &audio::allpass_biquad, function,
        "Second-order all-pass filter around central_freq: changes phases, not magnitudes.");
  s.add("equalizer_biquad(waveform, sample_rate, center_freq, gain, Q=0.707)", &audio::equalizer_biquad, function,
        "Second-order peaking equalizer: gain (in dB) around center_freq.");
  s.add("bass_biquad(waveform, sample_rate, gain, central_freq=100, Q=0.707)", &audio::bass_biquad, function,
        "Second-order low-shelf filter: gain (in dB) below central_freq.");
  s.add("treble_biquad(waveform, sample_rate, gain, central_freq=3000, Q=0.707)", &audio::treble_biquad, function,
        "Second-order high-shelf filter: gain (in dB) above central_freq.");
  s.add("preemphasis(waveform, coeff=0.97)", &audio::preemphasis, function, "x[t] - coeff x[t - 1].");
  s.add("deemphasis(waveform, coeff=0.97)", &audio::deemphasis, function,
        "The inverse of preemphasis, clamped to [-1, 1].");
  s.add("gain(waveform, gain_db=1.0)", &audio::gain, function, "The signal times 10^(gain_db / 20).");
  s.add("fftconvolve(x, y, mode='full')", &audio::fftconvolve, function,
        "The convolution along the last dimension, by Fourier transforms; mode 'full', 'valid' or 'same'.");
  s.add("add_noise(waveform, noise, snr, lengths=None)", &audio::add_noise, function,
        "waveform + noise, [..., time], the noise scaled to a signal-to-noise ratio of snr [...] in dB; lengths [...]: "
        "the valid samples.");
}

}  // namespace

void add_audio(std::deque<Function>& all) {
  const List s(all, "audio");
  add_spectra(s);
  add_features(s);
  add_filters(s);
}

}  // namespace neura::surface

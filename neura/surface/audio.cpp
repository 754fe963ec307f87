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
  s.add(
      "create_dct(n_mfcc, n_mels, norm?)",
      [](int64 mfcc, int64 mels, MaybeWord norm) { return audio::create_dct(mfcc, mels, view(norm)); }, function,
      "The discrete cosine transform (DCT-II) as a matrix [n_mels, n_mfcc]; norm='ortho' makes it orthonormal.");
}

void add_table(const List& s) {
  using namespace audio;
#include "neura/surface/entries.h"
#include "neura/tables/functions/audio.def"
#include "neura/tables/functions/end.h"
}

void add_filters(const List& s) {
  s.add(
      "resample(waveform, orig_freq, new_freq, lowpass_filter_width=6, rolloff=0.99, "
      "resampling_method='sinc_interp_hann', beta=None)",
      [](T x, int64 from, int64 to, int64 width, double rolloff, Word method, Number beta) {
        return audio::resample(x, from, to, {width, rolloff, method, beta});
      },
      function, "Signals [..., time] at another rate, by windowed sincs: [..., ceil(time new_freq / orig_freq)].");
}

}  // namespace

void add_audio(std::deque<Function>& all) {
  const List s(all, "audio");
  add_table(s);
  add_spectra(s);
  add_features(s);
  add_filters(s);
}

}  // namespace neura::surface

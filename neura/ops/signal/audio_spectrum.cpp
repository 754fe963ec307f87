// Spectrograms and what is made of them.
#include <cmath>
#include <numbers>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/scan.h"
#include "neura/ops/reduce/statistics.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/signal/audio.h"
#include "neura/ops/signal/audio_common.h"
#include "neura/ops/signal/stft.h"
#include "neura/ops/spatial/conv.h"

namespace neura::audio {
namespace {

void check_complex(const char* op, const Tensor& x, int dims) {
  check_given(op, "spectrogram", x);
  check<DTypeError>(is_complex(x.dtype()), [&] {
    return std::string(op) + ": expected a complex spectrogram, got " + x.spec().str() +
           "; spectrogram with power=None gives one";
  });
  check<ShapeError>(x.dim() >= dims, [&] {
    return std::string(op) + ": expected a spectrogram [..., bins, frames], got " + x.spec().str();
  });
}
void check_frames(const char* op, const Frames& f) {
  if (!f.normalized.empty() && f.normalized != "window" && f.normalized != "frame_length")
    refuse_word(op, "normalized", "'window' or 'frame_length', or True or False", f.normalized);
  check_count(op, "pad", f.pad, 0);
  check_given(op, "window", f.window);
}
Tensor energy_root(const Tensor& window) { return sqrt(sum(window * window)); }

Tensor frames_of(const char* op, const Tensor& waveform, const Frames& f) {
  check_signal(op, "waveform", waveform);
  check_frames(op, f);
  const Tensor x = f.pad > 0 ? pad(waveform, {f.pad, f.pad}) : waveform;
  Tensor z = stft(x.reshape({leading(x, 1, {}).numel(), x.size(-1)}), f.n_fft,
                  {.hop_length = f.hop_length,
                   .win_length = f.win_length,
                   .window = f.window,
                   .center = f.center,
                   .pad_mode = f.pad_mode,
                   .normalized = f.normalized == "frame_length",
                   .onesided = f.onesided,
                   .return_complex = true});
  z = z.reshape(leading(x, 1, {z.size(-2), z.size(-1)}));
  return f.normalized == "window" ? z / energy_root(f.window) : z;
}
// The inverse; normalisations of the frames are undone by the caller.
Tensor signal_of(const Tensor& z, const Frames& f, bool normalized, std::optional<int64_t> length) {
  const Tensor x = istft(z.reshape({leading(z, 2, {}).numel(), z.size(-2), z.size(-1)}), f.n_fft,
                         {.hop_length = f.hop_length,
                          .win_length = f.win_length,
                          .window = f.window,
                          .center = f.center,
                          .normalized = normalized,
                          .onesided = f.onesided,
                          .length = length});
  return x.reshape(leading(z, 2, {x.size(-1)}));
}

}  // namespace

Tensor spectrogram(const Tensor& waveform, const Frames& f, std::optional<double> power) {
  const Tensor z = frames_of("spectrogram", waveform, f);
  if (!power) return z;
  const Tensor magnitude = abs(z);
  return *power == 1 ? magnitude : *power == 2 ? square(magnitude) : pow(magnitude, *power);
}

Tensor inverse_spectrogram(const Tensor& spectrogram, std::optional<int64_t> length, const Frames& f) {
  check_complex("inverse_spectrogram", spectrogram, 2);
  check_frames("inverse_spectrogram", f);
  if (length) check_count("inverse_spectrogram", "length", *length);
  const Tensor z = f.normalized == "window" ? spectrogram * energy_root(f.window) : spectrogram;
  const std::optional<int64_t> padded = length ? std::optional(*length + 2 * f.pad) : std::nullopt;
  const Tensor x = signal_of(z, f, f.normalized == "frame_length", padded);
  check<ValueError>(x.size(-1) >= 2 * f.pad, [&] {
    return "inverse_spectrogram: expected a signal longer than its padding, got " + std::to_string(x.size(-1)) +
           " samples and pad " + std::to_string(f.pad);
  });
  return f.pad > 0 ? x.narrow(-1, f.pad, x.size(-1) - 2 * f.pad) : x;
}

Tensor griffinlim(const Tensor& specgram, const Frames& given, double power, int64_t n_iter, double momentum,
                  std::optional<int64_t> length, bool rand_init, Generator* generator) {
  check_signal("griffinlim", "spectrogram", specgram, 2);
  check_frames("griffinlim", given);
  check<ValueError>(momentum >= 0 && momentum < 1,
                    [&] { return "griffinlim: expected a momentum from 0 to below 1, got " + Scalar(momentum).str(); });
  check<ValueError>(power > 0, [&] { return "griffinlim: expected a power above 0, got " + Scalar(power).str(); });
  check_count("griffinlim", "n_iter", n_iter, 0);
  Frames f = given;
  f.pad = 0, f.normalized = "", f.center = true, f.pad_mode = "reflect", f.onesided = true;
  const double speed = momentum / (1 + momentum);
  const Tensor magnitude =
      pow(specgram.reshape({leading(specgram, 2, {}).numel(), specgram.size(-2), specgram.size(-1)}), 1 / power);
  const RandomOptions random{.generator = generator, .dtype = magnitude.dtype(), .device = magnitude.device()};
  Tensor phases = rand_init ? complex(rand(magnitude.shape(), random), rand(magnitude.shape(), random))
                            : complex(ones_like(magnitude), zeros_like(magnitude));
  Tensor before;
  for (int64_t i = 0; i < n_iter; ++i) {
    const Tensor rebuilt = frames_of("griffinlim", signal_of(magnitude * phases, f, false, length), f);
    phases = before && speed > 0 ? rebuilt - before * speed : rebuilt;
    phases = phases / (abs(phases) + 1e-16);
    before = rebuilt;
  }
  const Tensor x = signal_of(magnitude * phases, f, false, length);
  return x.reshape(leading(specgram, 2, {x.size(-1)}));
}

Tensor phase_vocoder(const Tensor& z, double rate, const Tensor& phase_advance) {
  check_complex("phase_vocoder", z, 2);
  check_signal("phase_vocoder", "phase_advance", phase_advance);
  check<ValueError>(rate > 0 && std::isfinite(rate),
                    [&] { return "phase_vocoder: expected a rate above 0, got " + Scalar(rate).str(); });
  if (rate == 1) return z;
  constexpr double kTurn = 2 * std::numbers::pi;
  const Tensor times = arange(0.0, double(z.size(-1)), rate, {.dtype = real(z).dtype(), .device = z.device()});
  const Tensor first = floor(times), part = times - first, place = first.to(DType::int64);
  const Tensor padded = pad(z, {0, 2});
  const Tensor here = index_select(padded, -1, place), next = index_select(padded, -1, place + 1);
  Tensor turn = angle(next) - angle(here) - phase_advance;  // beyond what the bin's frequency turns anyway
  turn = turn - kTurn * round(turn / kTurn) + phase_advance;
  turn = cat({angle(padded.narrow(-1, 0, 1)), turn.narrow(-1, 0, turn.size(-1) - 1)}, -1);
  return polar(part * abs(next) + (1.0 - part) * abs(here), cumsum(turn, -1));
}

Tensor spectral_centroid(const Tensor& waveform, int64_t sample_rate, const Frames& frames) {
  check_count("spectral_centroid", "sample_rate", sample_rate);
  const Tensor magnitude = spectrogram(waveform, frames, 1);
  const Tensor frequencies = linspace(0, double(sample_rate / 2), magnitude.size(-2),
                                      {.dtype = magnitude.dtype(), .device = magnitude.device()});
  return sum(frequencies.unsqueeze(-1) * magnitude, -2) / sum(magnitude, -2);
}

Tensor compute_deltas(const Tensor& specgram, int64_t win_length, std::string_view mode) {
  check_signal("compute_deltas", "spectrogram", specgram, 1);
  check_count("compute_deltas", "win_length", win_length, 3);
  const int64_t n = (win_length - 1) / 2;
  const Tensor x = specgram.reshape({leading(specgram, 1, {}).numel(), 1, specgram.size(-1)});
  const Tensor slope = arange(double(-n), double(n + 1), 1.0, {.dtype = x.dtype(), .device = x.device()});
  const double energy = double(n) * double(n + 1) * double(2 * n + 1) / 3;
  return (conv1d(pad(x, {n, n}, mode), slope.reshape({1, 1, 2 * n + 1})) / energy).reshape(specgram.shape());
}

Tensor amplitude_to_DB(const Tensor& x, double multiplier, double amin, double db_multiplier,
                       std::optional<double> top_db) {
  check_signal("amplitude_to_DB", "spectrogram", x, top_db ? 2 : 0);
  const Tensor db = multiplier * log10(clamp(x, {.min = amin})) - multiplier * db_multiplier;
  if (!top_db) return db;
  const int64_t channels = x.dim() > 2 ? x.size(-3) : 1;
  const Tensor packed = db.reshape({x.dim() > 3 ? leading(x, 3, {}).numel() : 1, channels, x.size(-2), x.size(-1)});
  if (packed.numel() == 0) return db;
  return maximum(packed, amax(packed, {1, 2, 3}, true) - *top_db).reshape(x.shape());
}
Tensor DB_to_amplitude(const Tensor& x, double ref, double power) {
  check_signal("DB_to_amplitude", "spectrogram", x, 0);
  return ref * pow(10.0, x * (0.1 * power));
}

}  // namespace neura::audio

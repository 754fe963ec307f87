// Matrices of filters and cosines, codes, masks.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/random/random.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/signal/audio.h"
#include "neura/ops/signal/audio_common.h"

namespace neura::audio {
namespace {

constexpr int64_t kMost = int64_t{1} << 28;  // numbers of a matrix

// The scale of Slaney's Auditory Toolbox: linear below 1000 Hz, then 27 steps for a factor of 6.4.
constexpr double kStep = 200.0 / 3, kKnee = 1000;
double slaney_slope() { return std::log(6.4) / 27; }

double to_mel(double hz, bool htk) {
  if (htk) return 2595 * std::log10(1 + hz / 700);
  return hz < kKnee ? hz / kStep : kKnee / kStep + std::log(hz / kKnee) / slaney_slope();
}
double to_hz(double mel, bool htk) {
  if (htk) return 700 * (std::pow(10.0, mel / 2595) - 1);
  return mel < kKnee / kStep ? mel * kStep : kKnee * std::exp(slaney_slope() * (mel - kKnee / kStep));
}

void check_matrix(const char* op, const char* rows, int64_t n, const char* columns, int64_t m) {
  check_count(op, rows, n), check_count(op, columns, m);
  check<ValueError>(n <= kMost / m, [&] {
    return std::string(op) + ": expected a matrix of at most 2^28 numbers, got " + std::to_string(n) + " x " +
           std::to_string(m);
  });
}
Tensor matrix(const std::vector<double>& values, int64_t rows, int64_t columns) {
  return tensor(values, Shape{rows, columns}, {.dtype = default_dtype(), .device = default_device()});
}

// Triangles between every three corners; `sharp`: each is divided by half its base.
Tensor triangles(int64_t n_freqs, const std::vector<double>& corners, int64_t sample_rate, bool sharp) {
  const int64_t n = int64_t(corners.size()) - 2;
  const double step = n_freqs > 1 ? double(sample_rate / 2) / double(n_freqs - 1) : 0;
  std::vector<double> values(std::size_t(n_freqs * n));
  for (int64_t m = 0; m < n; ++m) {
    const double* c = &corners[std::size_t(m)];
    const double height = sharp ? 2 / (c[2] - c[0]) : 1;
    for (int64_t f = 0; f < n_freqs; ++f) {
      const double hz = double(f) * step, up = (hz - c[0]) / (c[1] - c[0]), down = (c[2] - hz) / (c[2] - c[1]);
      values[std::size_t(f * n + m)] = height * std::max(0.0, std::min(up, down));
    }
  }
  return matrix(values, n_freqs, n);
}
void check_range(const char* op, double f_min, double f_max, int64_t sample_rate) {
  check_count(op, "sample_rate", sample_rate);
  check<ValueError>(f_min >= 0 && f_max > f_min && std::isfinite(f_max), [&] {
    return std::string(op) + ": expected 0 <= f_min < f_max, got " + Scalar(f_min).str() + " and " +
           Scalar(f_max).str();
  });
}

Tensor masked(const char* op, const Tensor& x, int64_t mask_param, double value, int axis, double p, bool each,
              Generator* generator) {
  check_signal(op, "spectrogram", x, each ? 3 : 2);
  const int at = axis < 0 ? axis + x.dim() : axis;
  check<ValueError>(at == x.dim() - 2 || at == x.dim() - 1, [&] {
    return std::string(op) + ": expected the axis of frequency or time, " + std::to_string(x.dim() - 2) + " or " +
           std::to_string(x.dim() - 1) + ", got " + std::to_string(axis);
  });
  check<ValueError>(p >= 0 && p <= 1,
                    [&] { return std::string(op) + ": expected p from 0 to 1, got " + Scalar(p).str(); });
  check_count(op, "mask_param", mask_param, 0);
  const int64_t size = x.size(at), widest = p == 1 ? mask_param : std::min(mask_param, int64_t(double(size) * p));
  if (widest < 1) return x;
  const Shape shape = each ? leading(x, 2, {1, 1}) : Shape{1, 1};
  const RandomOptions random{.generator = generator, .dtype = DType::float32, .device = x.device()};
  const Tensor width = floor(rand(shape, random) * double(widest));
  const Tensor first = floor(rand(shape, random) * clamp(double(size) - width, {.min = 0}));
  const Tensor places = arange(0.0, double(size), 1.0, {.dtype = DType::float32, .device = x.device()})
                            .reshape(at == x.dim() - 1 ? Shape{1, size} : Shape{size, 1});
  return masked_fill(x, (places >= first) & (places < first + width), value);
}

}  // namespace

Tensor melscale_fbanks(int64_t n_freqs, double f_min, double f_max, int64_t n_mels, int64_t sample_rate,
                       std::optional<std::string_view> norm, std::string_view mel_scale) {
  constexpr const char* op = "melscale_fbanks";
  check_matrix(op, "n_freqs", n_freqs, "n_mels", n_mels);
  check_range(op, f_min, f_max, sample_rate);
  if (norm && *norm != "slaney") refuse_word(op, "norm", "'slaney' or None", *norm);
  if (mel_scale != "htk" && mel_scale != "slaney") refuse_word(op, "mel_scale", "'htk' or 'slaney'", mel_scale);
  const bool htk = mel_scale == "htk";
  const double first = to_mel(f_min, htk), step = (to_mel(f_max, htk) - first) / double(n_mels + 1);
  std::vector<double> corners;
  for (int64_t i = 0; i < n_mels + 2; ++i) corners.push_back(to_hz(first + double(i) * step, htk));
  return triangles(n_freqs, corners, sample_rate, norm.has_value());
}
Tensor linear_fbanks(int64_t n_freqs, double f_min, double f_max, int64_t n_filter, int64_t sample_rate) {
  check_matrix("linear_fbanks", "n_freqs", n_freqs, "n_filter", n_filter);
  check_range("linear_fbanks", f_min, f_max, sample_rate);
  std::vector<double> corners;
  const double step = (f_max - f_min) / double(n_filter + 1);
  for (int64_t i = 0; i < n_filter + 2; ++i) corners.push_back(f_min + double(i) * step);
  return triangles(n_freqs, corners, sample_rate, false);
}

Tensor create_dct(int64_t n_mfcc, int64_t n_mels, std::optional<std::string_view> norm) {
  check_matrix("create_dct", "n_mels", n_mels, "n_mfcc", n_mfcc);
  if (norm && *norm != "ortho") refuse_word("create_dct", "norm", "'ortho' or None", *norm);
  std::vector<double> values(std::size_t(n_mels * n_mfcc));
  for (int64_t n = 0; n < n_mels; ++n) {
    for (int64_t k = 0; k < n_mfcc; ++k) {
      const double scale = !norm ? 2 : std::sqrt((k == 0 ? 1.0 : 2.0) / double(n_mels));
      values[std::size_t(n * n_mfcc + k)] =
          scale * std::cos(std::numbers::pi / double(n_mels) * (double(n) + 0.5) * double(k));
    }
  }
  return matrix(values, n_mels, n_mfcc);
}

Tensor mu_law_encoding(const Tensor& x, int64_t channels) {
  check_signal("mu_law_encoding", "signal", x, 0);
  check_count("mu_law_encoding", "quantization_channels", channels, 2);
  const double mu = double(channels - 1);
  const Tensor y = sign(x) * log1p(mu * abs(x)) / std::log1p(mu);
  return ((y + 1.0) / 2.0 * mu + 0.5).to(DType::int64);
}
Tensor mu_law_decoding(const Tensor& x_mu, int64_t channels) {
  check_given("mu_law_decoding", "codes", x_mu);
  check_count("mu_law_decoding", "quantization_channels", channels, 2);
  const double mu = double(channels - 1);
  const Tensor y = (is_floating(x_mu.dtype()) ? x_mu : x_mu.to(default_dtype())) / mu * 2.0 - 1.0;
  return sign(y) * expm1(abs(y) * std::log1p(mu)) / mu;
}

Tensor mask_along_axis(const Tensor& specgram, int64_t mask_param, double mask_value, int axis, double p,
                       Generator* generator) {
  return masked("mask_along_axis", specgram, mask_param, mask_value, axis, p, false, generator);
}
Tensor mask_along_axis_iid(const Tensor& specgrams, int64_t mask_param, double mask_value, int axis, double p,
                           Generator* generator) {
  return masked("mask_along_axis_iid", specgrams, mask_param, mask_value, axis, p, true, generator);
}

}  // namespace neura::audio

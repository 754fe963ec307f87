// Resampling, and filters in time.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/signal/audio.h"
#include "neura/ops/signal/audio_common.h"
#include "neura/ops/signal/fft.h"
#include "neura/ops/spatial/conv.h"

namespace neura::audio {
namespace {

constexpr double kPi = std::numbers::pi;

double bessel_i0(double x) {  // the power series, all of whose terms are positive
  double term = 1, total = 1;
  for (int k = 1; term > 1e-17 * total; ++k) total += term *= x * x / (4.0 * k * k);
  return total;
}

struct Sinc {  // the filter of a change from `from` to `to` frames, without common divisor
  int64_t from, to, width;
  std::vector<double> taps;  // [to, 2 width + from]
};
Sinc sinc_of(int64_t from, int64_t to, const ResampleOptions& o) {
  const double zeros = double(o.lowpass_filter_width), base = double(std::min(from, to)) * o.rolloff;
  const double beta = o.beta.value_or(14.769656459379492), top = bessel_i0(beta);
  const bool kaiser = o.resampling_method == "sinc_interp_kaiser";
  Sinc s{from, to, int64_t(std::ceil(zeros * double(from) / base)), {}};
  const int64_t taps = 2 * s.width + from;
  check<ValueError>(taps <= (int64_t{1} << 27) / to, [&] {
    return "resample: expected a filter of at most 2^27 taps, got " + std::to_string(to) + " of " +
           std::to_string(taps) + "; choose rates with a larger common divisor";
  });
  s.taps.reserve(std::size_t(taps * to));
  for (int64_t phase = 0; phase < to; ++phase) {
    for (int64_t i = 0; i < taps; ++i) {
      const double at = double(i - s.width) / double(from) - double(phase) / double(to);
      const double t = std::clamp(at * base, -zeros, zeros), edge = t / zeros;
      const double window = kaiser ? bessel_i0(beta * std::sqrt(std::max(0.0, 1 - edge * edge))) / top
                                   : std::pow(std::cos(edge * kPi / 2), 2);
      s.taps.push_back((t == 0 ? 1 : std::sin(t * kPi) / (t * kPi)) * window * base / double(from));
    }
  }
  return s;
}

// The values of filters [filters, taps], for the response to be computed on the host.
using Coefficients = std::vector<std::vector<double>>;
Coefficients read(const char* op, const char* what, const Tensor& c) {
  check_signal(op, what, c);
  check<ShapeError>(c.dim() <= 2 && c.numel() > 0, [&] {
    return std::string(op) + ": expected " + what + " [order + 1] or [filters, order + 1], got " + c.spec().str();
  });
  check<NotImplementedError>(!c.requires_grad(), [&] {
    return std::string(op) + ": expected " + what + " that need no gradient, got " + c.spec().str() + "; detach them";
  });
  const Tensor x = c.to(Device()).to(DType::float64).contiguous();
  const int64_t n = x.size(-1), rows = x.numel() / n;
  Coefficients r;
  for (int64_t i = 0; i < rows; ++i) {
    const double* p = x.const_data<double>() + i * n;
    r.emplace_back(p, p + n);
  }
  return r;
}

// The first `length` values of the response to an impulse, or fewer: up to where they no longer count.
std::vector<double> response(const std::vector<double>& a, const std::vector<double>& b, int64_t length) {
  std::vector<double> h;
  double largest = 0;
  std::size_t quiet = 0;
  for (std::size_t t = 0; t < std::size_t(length) && quiet <= a.size(); ++t) {
    double sum = t < b.size() ? b[t] : 0;
    for (std::size_t k = 1; k < a.size() && k <= t; ++k) sum -= a[k] * h[t - k];
    h.push_back(sum / a[0]);
    largest = std::max(largest, std::abs(h[t]));
    quiet = t >= b.size() && std::abs(h[t]) <= 1e-20 * largest ? quiet + 1 : 0;
    check<ValueError>(std::isfinite(h[t]) && largest < 1e6, [&] {
      return "lfilter: expected a stable filter with a first a_coeff that is not 0, got one whose response reaches " +
             Scalar(h[t]).str() + " after " + std::to_string(t) + " samples";
    });
  }
  return h;
}

Tensor convolved(const Tensor& x, const Tensor& y) {  // of the last dimension, all of it
  const int64_t n = x.size(-1) + y.size(-1) - 1;
  int64_t fast = 1;  // the next product of twos and one 3 or 5
  while (fast < n) fast *= 2;
  for (const int64_t odd : {3, 5}) {
    int64_t m = odd;
    while (m < n) m *= 2;
    fast = std::min(fast, m);
  }
  return fft::irfft(fft::rfft(x, fast) * fft::rfft(y, fast), fast).narrow(-1, 0, n);
}

struct Cookbook {  // what the formulas share
  double cosine, alpha;
  Cookbook(const char* op, int64_t rate, double frequency, double Q) {
    check_count(op, "sample_rate", rate);
    check<ValueError>(Q > 0, [&] { return std::string(op) + ": expected Q above 0, got " + Scalar(Q).str(); });
    const double w = 2 * kPi * frequency / double(rate);
    cosine = std::cos(w), alpha = std::sin(w) / 2 / Q;
  }
};

}  // namespace

Tensor resample(const Tensor& waveform, int64_t orig_freq, int64_t new_freq, const ResampleOptions& o) {
  check_signal("resample", "waveform", waveform);
  check_count("resample", "orig_freq", orig_freq), check_count("resample", "new_freq", new_freq);
  check_count("resample", "lowpass_filter_width", o.lowpass_filter_width);
  check<ValueError>(o.rolloff > 0 && o.rolloff <= 1, [&] {
    return "resample: expected a rolloff above 0 and at most 1, got " + Scalar(o.rolloff).str();
  });
  check<ValueError>(std::abs(o.beta.value_or(0)) <= 700,
                    [&] { return "resample: expected beta from -700 to 700, got " + Scalar(*o.beta).str(); });
  if (o.resampling_method != "sinc_interp_hann" && o.resampling_method != "sinc_interp_kaiser")
    refuse_word("resample", "resampling_method", "'sinc_interp_hann' or 'sinc_interp_kaiser'", o.resampling_method);
  if (orig_freq == new_freq) return waveform;
  const int64_t common = std::gcd(orig_freq, new_freq), length = waveform.size(-1);
  const Sinc s = sinc_of(orig_freq / common, new_freq / common, o);
  const Tensor taps =
      tensor(s.taps, Shape{s.to, 1, 2 * s.width + s.from}, {.dtype = waveform.dtype(), .device = waveform.device()});
  const Tensor x = waveform.reshape({leading(waveform, 1, {}).numel(), 1, length});
  const Tensor phases = conv1d(pad(x, {s.width, s.width + s.from}), taps, {}, {.stride = s.from});
  const int64_t kept = (s.to * length + s.from - 1) / s.from;
  const Tensor y = phases.transpose(1, 2).reshape({x.size(0), phases.size(1) * phases.size(2)}).narrow(-1, 0, kept);
  return y.reshape(leading(waveform, 1, {kept}));
}

Tensor lfilter(const Tensor& waveform, const Tensor& a_coeffs, const Tensor& b_coeffs, bool clamped, bool batching) {
  check_signal("lfilter", "waveform", waveform);
  const Coefficients a = read("lfilter", "a_coeffs", a_coeffs), b = read("lfilter", "b_coeffs", b_coeffs);
  check<ShapeError>(a_coeffs.shape() == b_coeffs.shape(), [&] {
    return "lfilter: expected a_coeffs and b_coeffs of one shape, got " + a_coeffs.shape().str() + " and " +
           b_coeffs.shape().str();
  });
  const int64_t filters = int64_t(a.size()), length = waveform.size(-1);
  const bool many = a_coeffs.dim() == 2;
  check<ShapeError>(!many || !batching || (waveform.dim() >= 2 && waveform.size(-2) == filters), [&] {
    return "lfilter: expected a waveform [..., " + std::to_string(filters) + ", time], got " + waveform.spec().str() +
           "; pass batching=False for every filter on every signal";
  });
  if (length == 0)
    return many && !batching ? waveform.unsqueeze(-2).expand(leading(waveform, 1, {filters, 0})) : waveform;
  std::vector<std::vector<double>> responses;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    responses.push_back(response(a[i], b[i], length));
    longest = std::max(longest, responses.back().size());
  }
  std::vector<double> all;
  for (std::vector<double>& h : responses) {
    h.resize(longest);
    all.insert(all.end(), h.begin(), h.end());
  }
  const Tensor h = tensor(all, many ? Shape{filters, int64_t(longest)} : Shape{int64_t(longest)},
                          {.dtype = DType::float64, .device = waveform.device()});
  const Tensor x = (many && !batching ? waveform.unsqueeze(-2) : waveform).to(DType::float64);
  const Tensor y = convolved(x, h).narrow(-1, 0, length).to(waveform.dtype());
  return clamped ? clamp(y, {.min = -1.0, .max = 1.0}) : y;
}
Tensor filtfilt(const Tensor& waveform, const Tensor& a_coeffs, const Tensor& b_coeffs, bool clamped) {
  const Tensor forward = lfilter(waveform, a_coeffs, b_coeffs, false);
  return flip(lfilter(flip(forward, {-1}), a_coeffs, b_coeffs, clamped), {-1});
}

Tensor biquad(const Tensor& waveform, double b0, double b1, double b2, double a0, double a1, double a2) {
  const TensorOptions made{.dtype = DType::float64, .device = Device()};
  return lfilter(waveform, tensor(std::vector<double>{a0, a1, a2}, made),
                 tensor(std::vector<double>{b0, b1, b2}, made));
}
Tensor lowpass_biquad(const Tensor& x, int64_t rate, double f, double Q) {
  const Cookbook c("lowpass_biquad", rate, f, Q);
  const double b = (1 - c.cosine) / 2;
  return biquad(x, b, 2 * b, b, 1 + c.alpha, -2 * c.cosine, 1 - c.alpha);
}
Tensor highpass_biquad(const Tensor& x, int64_t rate, double f, double Q) {
  const Cookbook c("highpass_biquad", rate, f, Q);
  const double b = (1 + c.cosine) / 2;
  return biquad(x, b, -2 * b, b, 1 + c.alpha, -2 * c.cosine, 1 - c.alpha);
}
Tensor bandpass_biquad(const Tensor& x, int64_t rate, double f, double Q, bool const_skirt_gain) {
  const Cookbook c("bandpass_biquad", rate, f, Q);
  const double b = const_skirt_gain ? c.alpha * Q : c.alpha;
  return biquad(x, b, 0, -b, 1 + c.alpha, -2 * c.cosine, 1 - c.alpha);
}
Tensor bandreject_biquad(const Tensor& x, int64_t rate, double f, double Q) {
  const Cookbook c("bandreject_biquad", rate, f, Q);
  return biquad(x, 1, -2 * c.cosine, 1, 1 + c.alpha, -2 * c.cosine, 1 - c.alpha);
}
Tensor allpass_biquad(const Tensor& x, int64_t rate, double f, double Q) {
  const Cookbook c("allpass_biquad", rate, f, Q);
  return biquad(x, 1 - c.alpha, -2 * c.cosine, 1 + c.alpha, 1 + c.alpha, -2 * c.cosine, 1 - c.alpha);
}
Tensor equalizer_biquad(const Tensor& x, int64_t rate, double f, double gain, double Q) {
  const Cookbook c("equalizer_biquad", rate, f, Q);
  const double A = std::pow(10.0, gain / 40);
  return biquad(x, 1 + c.alpha * A, -2 * c.cosine, 1 - c.alpha * A, 1 + c.alpha / A, -2 * c.cosine, 1 - c.alpha / A);
}
Tensor bass_biquad(const Tensor& x, int64_t rate, double gain, double f, double Q) {
  const Cookbook c("bass_biquad", rate, f, Q);
  const double A = std::pow(10.0, gain / 40), r = 2 * std::sqrt(A) * c.alpha, p = A + 1, m = A - 1;
  return biquad(x, A * (p - m * c.cosine + r), 2 * A * (m - p * c.cosine), A * (p - m * c.cosine - r),
                p + m * c.cosine + r, -2 * (m + p * c.cosine), p + m * c.cosine - r);
}
Tensor treble_biquad(const Tensor& x, int64_t rate, double gain, double f, double Q) {
  const Cookbook c("treble_biquad", rate, f, Q);
  const double A = std::pow(10.0, gain / 40), r = 2 * std::sqrt(A) * c.alpha, p = A + 1, m = A - 1;
  return biquad(x, A * (p + m * c.cosine + r), -2 * A * (m + p * c.cosine), A * (p + m * c.cosine - r),
                p - m * c.cosine + r, 2 * (m - p * c.cosine), p - m * c.cosine - r);
}
Tensor preemphasis(const Tensor& x, double coeff) {
  check_signal("preemphasis", "waveform", x);
  if (x.size(-1) < 2) return x;
  return cat({x.narrow(-1, 0, 1), x.narrow(-1, 1, x.size(-1) - 1) - coeff * x.narrow(-1, 0, x.size(-1) - 1)}, -1);
}
Tensor deemphasis(const Tensor& x, double coeff) {
  const TensorOptions made{.dtype = DType::float64, .device = Device()};
  return lfilter(x, tensor(std::vector<double>{1, -coeff}, made), tensor(std::vector<double>{1, 0}, made));
}

Tensor gain(const Tensor& waveform, double gain_db) {
  check_signal("gain", "waveform", waveform, 0);
  return waveform * std::pow(10.0, gain_db / 20);
}
Tensor fftconvolve(const Tensor& x, const Tensor& y, std::string_view mode) {
  check_signal("fftconvolve", "x", x), check_signal("fftconvolve", "y", y);
  if (mode != "full" && mode != "valid" && mode != "same")
    refuse_word("fftconvolve", "mode", "'full', 'valid' or 'same'", mode);
  const int64_t n = x.size(-1), m = y.size(-1);
  check<ShapeError>(n > 0 && m > 0, [&] {
    return "fftconvolve: expected at least one sample, got " + x.spec().str() + " and " + y.spec().str();
  });
  const Tensor all = convolved(x, y);
  const int64_t kept = mode == "full" ? n + m - 1 : mode == "same" ? n : std::max(n, m) - std::min(n, m) + 1;
  return all.narrow(-1, (n + m - 1 - kept) / 2, kept);
}
Tensor add_noise(const Tensor& waveform, const Tensor& noise, const Tensor& snr, const Tensor& lengths) {
  check_signal("add_noise", "waveform", waveform), check_signal("add_noise", "noise", noise);
  check_given("add_noise", "snr", snr);
  check<ShapeError>(waveform.shape() == noise.shape(), [&] {
    return "add_noise: expected noise of the shape of the waveform, " + waveform.shape().str() + ", got " +
           noise.shape().str();
  });
  const auto energy = [&](const Tensor& x) {
    if (!lengths) return sum(x * x, -1);
    const Tensor places = arange(waveform.size(-1), {.dtype = DType::int64, .device = x.device()});
    return sum(masked_fill(x * x, places >= lengths.unsqueeze(-1), 0), -1);
  };
  const Tensor ratio = 10.0 * (log10(energy(waveform)) - log10(energy(noise)));
  return waveform + pow(10.0, (ratio - snr) / 20.0).unsqueeze(-1) * noise;
}

}  // namespace neura::audio

// Fourier transforms, windows, mel bins.
#include <cmath>
#include <numbers>

#include "neura/onnx/operators.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/signal/fft.h"

namespace neura::onnx {
namespace {

// [..., 1] of real or [..., 2] of complex numbers.
Tensor numbers_of(const char* op, const Tensor& x) {
  const std::int64_t parts = x.dim() ? x.shape().back() : 0;
  if (x.dim() < 2 || (parts != 1 && parts != 2))
    throw ShapeError(std::string(op) + ": expected [..., 1] or [..., 2], got " + x.shape().str());
  return parts == 1 ? squeeze(x, x.dim() - 1) : view_as_complex(x.contiguous());
}
// Halves compute in float.
Tensor wide(const Tensor& x) { return x.to(accumulation(x.dtype())); }

struct Transform {
  bool inverse, onesided;
  Tensor operator()(const Tensor& x, std::optional<std::int64_t> length, std::int64_t axis) const {
    const Tensor t = numbers_of("DFT", wide(x));
    const int dim = axis_of("DFT", axis, x.dim());
    if (dim >= t.dim()) refuse("DFT", "an axis before the last", std::to_string(axis));
    if (inverse && onesided) return unsqueeze(fft::irfft(t, length, dim), t.dim()).to(x.dtype());
    Tensor y = inverse ? fft::ifft(t, length, dim) : fft::fft(t, length, dim);
    if (onesided) y = narrow(y, dim, 0, y.size(dim) / 2 + 1);
    return view_as_real(y).to(x.dtype());
  }
};
std::optional<std::int64_t> length_of(const Operands& x) {
  if (!x.has(1)) return {};
  return x.integer(1);
}
BoundNode transformed_by_attribute(const Node& n) {
  const std::int64_t axis = n.integer("axis", 1);
  const Transform f{n.flag("inverse"), n.flag("onesided")};
  return [=](const Operands& x) -> Results { return f(x[0], length_of(x), axis); };
}
BoundNode transformed(const Node& n) {
  const Transform f{n.flag("inverse"), n.flag("onesided")};
  return [=](const Operands& x) -> Results { return f(x[0], length_of(x), x.has(2) ? x.integer(2) : -2); };
}
BoundNode frames(const Node& n) {  // signal [N, L, 1 or 2], step, window, length
  const bool onesided = n.flag("onesided", true);
  return [onesided](const Operands& x) -> Results {
    const Tensor t = numbers_of("STFT", wide(x[0]));
    const std::int64_t step = x.integer(1), length = x.has(3) ? x.integer(3) : x[2].numel();
    Tensor pieces = neura::unfold(t, 1, length, step);
    if (x.has(2)) pieces = mul(pieces, wide(x[2]));
    Tensor y = fft::fft(pieces, length, 2);
    if (onesided && !is_complex(t.dtype())) y = narrow(y, 2, 0, length / 2 + 1);
    return view_as_real(y).to(x[0].dtype());
  };
}

template <int kind> BoundNode window(const Node& n) {  // Hann, Hamming, Blackman
  const bool periodic = n.flag("periodic", true);
  const DType dtype = dtype_for(Type(n.integer("output_datatype", 1)));
  return [=](const Operands& x) -> Results {
    const std::int64_t size = x.integer(0);
    if (size < 0 || size > INT32_MAX) refuse("window", "a size of 31 bits", std::to_string(size));
    std::vector<double> w;
    const double period = double(periodic ? size : size - 1), turn = 2 * std::numbers::pi;
    for (std::int64_t i = 0; i < size; ++i) {
      const double a = turn * double(i) / period;
      w.push_back(kind == 0   ? 0.5 - 0.5 * std::cos(a)
                  : kind == 1 ? 25.0 / 46 - 21.0 / 46 * std::cos(a)
                              : 0.42 - 0.5 * std::cos(a) + 0.08 * std::cos(2 * a));
    }
    return tensor(w, {float64, Device(), false}).to(dtype);
  };
}

// Triangles over the bins of a transform; O'Shaughnessy's scale.
BoundNode mel_weights(const Node& n) {
  const DType dtype = dtype_for(Type(n.integer("output_datatype", 1)));
  return [dtype](const Operands& x) -> Results {
    const std::int64_t bins = x.integer(0), length = x.integer(1), rate = x.integer(2), spectrum = length / 2 + 1;
    const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
    const double low = mel(x.real(3)), step = (mel(x.real(4)) - low) / double(bins + 2);
    if (bins < 1 || length < 1 || rate < 1 || bins > 1 << 20 || length > 1 << 24)
      refuse("MelWeightMatrix", "positive sizes", std::to_string(bins));
    std::vector<std::int64_t> edge;
    for (std::int64_t i = 0; i < bins + 2; ++i) {
      const double hertz = 700 * (std::pow(10, (double(i) * step + low) / 2595) - 1);
      edge.push_back(std::int64_t(std::floor(double(length + 1) * hertz / double(rate))));
      if (edge.back() < 0 || edge.back() >= spectrum)
        refuse("MelWeightMatrix", "frequencies below half the sample rate", std::to_string(hertz));
    }
    Tensor m = zeros({spectrum, bins}, {float64, Device(), false});
    for (std::int64_t i = 0; i < bins; ++i) {
      double* column = m.data<double>() + i;
      const std::int64_t a = edge[std::size_t(i)], b = edge[std::size_t(i + 1)], c = edge[std::size_t(i + 2)];
      if (a == b) column[b * bins] = 1;
      for (std::int64_t k = a; a < b && k <= b; ++k) column[k * bins] = double(k - a) / double(b - a);
      for (std::int64_t k = b; k < c; ++k) column[k * bins] = double(c - k) / double(c - b);
    }
    return m.to(dtype);
  };
}

}  // namespace

std::span<const Operator> signal_operators() {
  constexpr Types plain = Types::plain;
  constexpr Folding never = Folding::never;
  static const Operator rows[] = {
      {"DFT", 17, 19, transformed_by_attribute, plain, never},
      {"DFT", 20, kNewest, transformed, plain, never},
      {"STFT", 17, kNewest, frames, plain, never},
      {"HannWindow", 17, kNewest, window<0>, plain, never},
      {"HammingWindow", 17, kNewest, window<1>, plain, never},
      {"BlackmanWindow", 17, kNewest, window<2>, plain, never},
      {"MelWeightMatrix", 17, kNewest, mel_weights, plain, never},
  };
  return rows;
}

}  // namespace neura::onnx

#include "neura/nn/init.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "neura/core/meta.h"
#include "neura/nn/blank_scope.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/random/random.h"
#include "neura/ops/shape/join.h"

namespace neura::nn {

static thread_local BlankScope* blank_scope = nullptr;
BlankScope::BlankScope() : outer_(blank_scope) { blank_scope = this; }
BlankScope::~BlankScope() { blank_scope = outer_; }
Generator* BlankScope::generator() { return blank_scope ? &blank_scope->generator_ : nullptr; }

namespace init {
namespace {

Generator* from(Generator* given) { return given ? given : BlankScope::generator(); }

void existing(const char* op, const Tensor& t) {
  check<ValueError>(t.defined(), [&] { return std::string(op) + ": expected a tensor, got none"; });
}

void needs_rank(const char* op, const Tensor& t, int least, int most) {
  existing(op, t);
  check<ShapeError>(t.dim() >= least && t.dim() <= most, [&] {
    const std::string range = least == most      ? std::to_string(least)
                              : most == kMaxRank ? "at least " + std::to_string(least)
                                                 : std::to_string(least) + " to " + std::to_string(most);
    return std::string(op) + ": expected a tensor of " + range + " dimensions, got " + t.shape().str();
  });
}

double kaiming_std(const char* op, const Tensor& t, const KaimingOptions& o) {
  check<ValueError>(o.mode == "fan_in" || o.mode == "fan_out",
                    [&] { return std::string(op) + ": expected mode fan_in or fan_out, got " + std::string(o.mode); });
  const Fans fans = calculate_fan_in_and_fan_out(t);
  const std::int64_t fan = o.mode == "fan_in" ? fans.in : fans.out;
  return calculate_gain(o.nonlinearity, o.a) / std::sqrt(double(fan));
}

// The Q of [rows, columns] (rows >= columns, row-major) by Householder's reflections, with the signs that make R's
// diagonal positive, so that the result is uniform over orthogonal matrices.
std::vector<double> orthonormal_columns(std::vector<double> a, std::int64_t rows, std::int64_t columns) {
  std::vector<std::vector<double>> reflections;
  std::vector<double> sign(std::size_t(columns), 1.0), dots(std::size_t(columns), 0.0);
  auto reflect = [&](const std::vector<double>& v, std::vector<double>& m, std::int64_t first) {  // m -= 2 v (vᵀ m)
    std::fill(dots.begin(), dots.end(), 0.0);
    for (std::int64_t i = first; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        dots[std::size_t(j)] += v[std::size_t(i)] * m[std::size_t(i * columns + j)];
    for (std::int64_t i = first; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        m[std::size_t(i * columns + j)] -= 2 * v[std::size_t(i)] * dots[std::size_t(j)];
  };
  for (std::int64_t k = 0; k < columns; ++k) {
    std::vector<double> v(std::size_t(rows), 0.0);
    double norm = 0;
    for (std::int64_t i = k; i < rows; ++i)
      norm = std::hypot(norm, v[std::size_t(i)] = a[std::size_t(i * columns + k)]);
    const double alpha = v[std::size_t(k)] > 0 ? -norm : norm;  // away from v[k]: no cancellation
    sign[std::size_t(k)] = alpha < 0 ? -1 : 1;
    v[std::size_t(k)] -= alpha;
    double length = 0;
    for (std::int64_t i = k; i < rows; ++i) length = std::hypot(length, v[std::size_t(i)]);
    if (length > 0)
      for (double& x : v) x /= length;
    reflect(v, a, k);
    reflections.push_back(std::move(v));
  }
  std::vector<double> q(std::size_t(rows * columns), 0.0);
  for (std::int64_t k = 0; k < columns; ++k) q[std::size_t(k * columns + k)] = sign[std::size_t(k)];
  for (std::int64_t k = columns; k-- > 0;) reflect(reflections[std::size_t(k)], q, k);
  return q;
}

}  // namespace

Tensor uniform_(const Tensor& tensor, double a, double b, Generator* generator) {
  existing("uniform_", tensor);
  Tensor t = tensor.detach();
  neura::uniform_(t, a, b, from(generator));
  return tensor;
}
Tensor normal_(const Tensor& tensor, double mean, double std, Generator* generator) {
  existing("normal_", tensor);
  Tensor t = tensor.detach();
  neura::normal_(t, mean, std, from(generator));
  return tensor;
}
Tensor constant_(const Tensor& tensor, double val) {
  existing("constant_", tensor);
  tensor.detach().fill_(val);
  return tensor;
}
Tensor ones_(const Tensor& tensor) { return constant_(tensor, 1); }
Tensor zeros_(const Tensor& tensor) { return constant_(tensor, 0); }

Tensor trunc_normal_(const Tensor& tensor, double mean, double std, double a, double b, Generator* generator) {
  existing("trunc_normal_", tensor);
  check<ValueError>(std > 0 && a < b, [&] {
    return "trunc_normal_: expected std > 0 and a < b, got std " + std::to_string(std) + ", a " + std::to_string(a) +
           ", b " + std::to_string(b);
  });
  // By the inverse of the distribution function: erf at the bounds, uniform between them, erfinv back.
  const double low = std::erf((a - mean) / (std * std::numbers::sqrt2));
  const double high = std::erf((b - mean) / (std * std::numbers::sqrt2));
  Tensor u = empty(tensor.shape(), {.dtype = DType::float64, .device = tensor.device()});
  neura::uniform_(u, low, high, from(generator));
  Tensor t = tensor.detach();
  t.copy_(clamp(erfinv(u) * (std * std::numbers::sqrt2) + mean, a, b));
  return tensor;
}

Tensor eye_(const Tensor& tensor) {
  needs_rank("eye_", tensor, 2, 2);
  tensor.detach().copy_(eye(tensor.size(0), tensor.size(1), {.dtype = tensor.dtype(), .device = tensor.device()}));
  return tensor;
}

Tensor dirac_(const Tensor& tensor, std::int64_t groups) {
  needs_rank("dirac_", tensor, 3, 5);
  check<ValueError>(groups > 0 && tensor.size(0) % groups == 0, [&] {
    return "dirac_: expected a first size divisible by groups " + std::to_string(groups) + ", got " +
           tensor.shape().str();
  });
  Tensor t = tensor.detach();
  t.zero_();
  if (!t.numel()) return tensor;
  const std::int64_t out = t.size(0) / groups;
  for (std::int64_t g = 0; g < groups; ++g)
    for (std::int64_t d = 0; d < std::min(out, t.size(1)); ++d) {
      Tensor at = t[g * out + d][d];
      while (at.dim()) at = at[at.size(0) / 2];
      at.fill_(1);
    }
  return tensor;
}

Tensor xavier_uniform_(const Tensor& tensor, double gain, Generator* generator) {
  const Fans fans = calculate_fan_in_and_fan_out(tensor);
  const double bound = gain * std::sqrt(6.0 / double(fans.in + fans.out));
  return init::uniform_(tensor, -bound, bound, generator);
}
Tensor xavier_normal_(const Tensor& tensor, double gain, Generator* generator) {
  const Fans fans = calculate_fan_in_and_fan_out(tensor);
  return init::normal_(tensor, 0, gain * std::sqrt(2.0 / double(fans.in + fans.out)), generator);
}
Tensor kaiming_uniform_(const Tensor& tensor, const KaimingOptions& o) {
  existing("kaiming_uniform_", tensor);
  if (tensor.numel() == 0) return tensor;
  const double bound = std::sqrt(3.0) * kaiming_std("kaiming_uniform_", tensor, o);
  return init::uniform_(tensor, -bound, bound, o.generator);
}
Tensor kaiming_normal_(const Tensor& tensor, const KaimingOptions& o) {
  existing("kaiming_normal_", tensor);
  if (tensor.numel() == 0) return tensor;
  return init::normal_(tensor, 0, kaiming_std("kaiming_normal_", tensor, o), o.generator);
}

Tensor orthogonal_(const Tensor& tensor, double gain, Generator* generator) {
  needs_rank("orthogonal_", tensor, 2, kMaxRank);
  if (tensor.numel() == 0 || is_meta(tensor.device())) return tensor;
  const std::int64_t rows = tensor.size(0), columns = tensor.numel() / rows;
  const std::int64_t tall = std::max(rows, columns), narrow = std::min(rows, columns);
  const Tensor random =
      randn({tall, narrow}, {.generator = from(generator), .dtype = DType::float64, .device = Device()});
  const std::vector<double> q = orthonormal_columns(random.to_vector<double>(), tall, narrow);
  Tensor result = neura::tensor(q, {tall, narrow}, {.device = Device()});
  if (rows < columns) result = result.t();
  tensor.detach().copy_((result * gain).reshape(tensor.shape()).to(tensor.device()));
  return tensor;
}

Tensor sparse_(const Tensor& tensor, double sparsity, double std, Generator* generator) {
  needs_rank("sparse_", tensor, 2, 2);
  init::normal_(tensor, 0, std, generator);
  Tensor t = tensor.detach();
  if (is_meta(t.device())) return tensor;
  const std::int64_t rows = t.size(0);
  const std::int64_t zeros = std::clamp<std::int64_t>(std::int64_t(std::ceil(sparsity * double(rows))), 0, rows);
  std::vector<Tensor> chosen;  // of each column
  for (std::int64_t c = 0; c < t.size(1); ++c)
    chosen.push_back(randperm(rows, {.generator = from(generator), .device = t.device()}).slice(0, 0, zeros));
  if (zeros && !chosen.empty()) scatter_(t, 0, stack(chosen, 1), 0);
  return tensor;
}

double calculate_gain(std::string_view f, std::optional<double> param) {
  for (const char* linear :
       {"linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid"})
    if (f == linear) return 1;
  if (f == "tanh") return 5.0 / 3;
  if (f == "relu") return std::numbers::sqrt2;
  if (f == "leaky_relu") {
    const double slope = param.value_or(0.01);
    return std::sqrt(2.0 / (1 + slope * slope));
  }
  if (f == "selu") return 0.75;
  throw ValueError(
      "calculate_gain: expected linear, conv1d to conv3d, conv_transpose1d to conv_transpose3d, sigmoid, "
      "tanh, relu, leaky_relu or selu, got " +
      std::string(f));
}

Fans calculate_fan_in_and_fan_out(const Tensor& tensor) {
  existing("calculate_fan_in_and_fan_out", tensor);
  check<ShapeError>(tensor.dim() >= 2, [&] {
    return "calculate_fan_in_and_fan_out: expected at least 2 dimensions, got " + tensor.shape().str();
  });
  std::int64_t field = 1;
  for (int d = 2; d < tensor.dim(); ++d) field *= tensor.size(d);
  return {tensor.size(1) * field, tensor.size(0) * field};
}

}  // namespace init
}  // namespace neura::nn

#include "neura/ops/spatial/fractional_pool.h"

#include "neura/core/number_text.h"
#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/expect.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

std::string name_of(int rank) { return "fractional_max_pool" + std::to_string(rank) + "d"; }

Shape result_size(int rank, const Shape& input, const FractionalPoolOptions& o) {
  const std::vector<double> ratios = detail::output_ratios(name_of(rank), rank, o.output_size, o.output_ratio);
  if (ratios.empty()) return per_dim(name_of(rank).c_str(), "output_size", o.output_size, rank, 1);
  Shape s;
  for (int d = 0; d < rank; ++d) s.push_back(std::int64_t(double(input[d]) * ratios[std::size_t(d)]));
  return s;
}

// The places that the windows of each plane show, [planes, windows, kernel's elements]. In a dimension they begin at
// steps of (input - kernel) / (output - 1), rounded down, from the plane's sample on.
struct Windows {
  int rank;
  Shape input, output, kernel;  // of the spatial dimensions

  // [planes, output] of dimension d. Computed in the input's number type, as in torch: rounding decides.
  Tensor starts(const Tensor& sample, int d) const {
    const std::int64_t last = input[d] - kernel[d], windows = output[d];
    const TensorOptions whole{.dtype = DType::int64, .device = sample.device()};
    const Tensor end = full({sample.size(0), 1}, last, whole);
    if (windows == 1) return end;
    const bool wide = sample.dtype() == DType::float64;
    const double step = wide ? double(last) / double(windows - 1) : double(float(last) / float(windows - 1));
    const Tensor place = arange(windows - 1, {.dtype = sample.dtype(), .device = sample.device()});
    const Tensor s = unsqueeze(sample, 1);
    return cat({((place + s) * step).to(DType::int64) - (s * step).to(DType::int64), end}, 1);
  }
  Tensor places(const std::vector<Tensor>& all) const {
    Tensor place;
    std::int64_t stride = 1;
    for (int d = rank - 1; d >= 0; --d) {
      Shape window = Shape::filled(1 + 2 * rank, 1), inside = window;
      window[0] = all[std::size_t(d)].size(0), window[1 + d] = output[d], inside[1 + rank + d] = kernel[d];
      const Tensor here = reshape(all[std::size_t(d)], window) +
                          reshape(arange(kernel[d], {.dtype = DType::int64, .device = all[0].device()}), inside);
      place = place ? place + here * stride : here;
      stride *= input[d];
    }
    return reshape(place, {place.size(0), output.numel(), kernel.numel()});
  }
};

// Of torch's samples, the first belongs to the last of two dimensions, but to the first of three.
int dimension_of(int rank, int sample) { return rank == 2 ? 1 - sample : sample; }

std::pair<Tensor, Tensor> pool(int rank, const Tensor& input, const PerDim& kernel_size,
                               const FractionalPoolOptions& o) {
  check<ShapeError>(input.dim() == rank + 1 || input.dim() == rank + 2, [&] {
    return name_of(rank) + ": expected an input of " + std::to_string(rank + 1) + " or " + std::to_string(rank + 2) +
           " dimensions, got " + input.spec().str();
  });
  check<DTypeError>(is_floating(input.dtype()),
                    [&] { return name_of(rank) + ": expected a floating input, got " + input.spec().str(); });
  const bool batched = input.dim() == rank + 2;
  const std::int64_t n = batched ? input.size(0) : 1, c = input.size(batched ? 1 : 0);
  Windows w{rank, {}, {}, per_dim(name_of(rank).c_str(), "kernel_size", kernel_size, rank, 1)};
  for (int d = 0; d < rank; ++d) w.input.push_back(input.size(input.dim() - rank + d));
  w.output = result_size(rank, w.input, o);
  for (int d = 0; d < rank; ++d)
    check<ValueError>(w.output[d] > 0 && w.output[d] + w.kernel[d] - 1 <= w.input[d], [&] {
      return name_of(rank) + ": expected output_size + kernel_size - 1 to be at most the input's size, got " +
             w.output.str() + " and " + w.kernel.str() + " for " + w.input.str();
    });
  const Shape wanted{n, c, rank};
  const Tensor samples = o.random_samples ? o.random_samples : rand(wanted, {.device = Device()});
  const bool fits = samples.dim() == 3 && samples.size(0) >= n && samples.size(1) == c && samples.size(2) == rank;
  check<ShapeError>(fits && is_floating(samples.dtype()), [&] {  // for more inputs than there are, as in torch
    return name_of(rank) + ": expected _random_samples of shape " + wanted.str() + ", got " + samples.spec().str();
  });
  const Tensor fit = ge(samples.detach(), 0) & le(samples.detach(), 1);
  if (!host_looks(fit)) expect(Rule::samples, fit);
  else
    check<ValueError>(all(fit).item<bool>(),
                      [&] { return name_of(rank) + ": expected _random_samples within [0, 1], got " + samples.str(); });
  const DType computed = input.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const Tensor planes = reshape(narrow(samples.detach(), 0, 0, n), {n * c, rank}).to(computed).to(input.device());
  std::vector<Tensor> starts(static_cast<std::size_t>(rank));
  for (int s = 0; s < rank; ++s) {
    const int d = dimension_of(rank, s);
    starts[std::size_t(d)] = w.starts(select(planes, 1, s), d);
  }
  const std::int64_t windows = w.output.numel(), size = w.kernel.numel();
  const Tensor at = reshape(w.places(starts), {n * c, windows * size});
  const Tensor shown = gather(input.reshape({n * c, w.input.numel()}), 1, at).view({n * c, windows, size});
  const auto [value, inside] = max(shown, -1);
  const Tensor index = gather(at.view({n * c, windows, size}), 2, inside.unsqueeze(-1)).squeeze(-1);
  Shape result = batched ? Shape{n, c} : Shape{c};
  for (const std::int64_t s : w.output) result.push_back(s);
  return {value.view(result), index.view(result)};
}

}  // namespace

std::vector<double> detail::output_ratios(const std::string& op, int rank, const PerDim& output_size,
                                          const std::vector<double>& output_ratio) {
  check<ValueError>(output_size.empty() != output_ratio.empty(),
                    [&] { return op + ": expected either output_size or output_ratio"; });
  const std::size_t given = output_ratio.size(), all = std::size_t(rank);
  check<ValueError>(given <= 1 || given == all, [&] {
    return op + ": expected one output_ratio or " + std::to_string(rank) + ", got " + std::to_string(given);
  });
  for (const double ratio : output_ratio)
    check<ValueError>(ratio > 0 && ratio < 1,
                      [&] { return op + ": expected an output_ratio between 0 and 1, got " + number_text(ratio); });
  return given == 1 ? std::vector<double>(all, output_ratio[0]) : output_ratio;
}

std::pair<Tensor, Tensor> fractional_max_pool2d_with_indices(const Tensor& input, const PerDim& kernel_size,
                                                             const FractionalPoolOptions& options) {
  if (const amp::CastScope cast{amp::Name::fractional_max_pool, input})
    return pool(2, cast(input), kernel_size, options);
  return pool(2, input, kernel_size, options);
}
std::pair<Tensor, Tensor> fractional_max_pool3d_with_indices(const Tensor& input, const PerDim& kernel_size,
                                                             const FractionalPoolOptions& options) {
  if (const amp::CastScope cast{amp::Name::fractional_max_pool, input})
    return pool(3, cast(input), kernel_size, options);
  return pool(3, input, kernel_size, options);
}

}  // namespace neura

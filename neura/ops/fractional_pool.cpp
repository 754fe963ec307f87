#include "neura/ops/fractional_pool.h"

#include "neura/ops/create.h"
#include "neura/ops/index.h"
#include "neura/ops/random.h"
#include "neura/ops/reduce.h"
#include "neura/ops/under_autocast.h"
#include "neura/ops/view.h"

namespace neura {
namespace {

std::string name_of(int rank) { return "fractional_max_pool" + std::to_string(rank) + "d"; }

Shape per_dimension(int rank, const char* what, const PerDim& given) {
  check<ValueError>(given.size() == 1 || given.size() == rank, [&] {
    return name_of(rank) + ": expected " + what + " to be one number or " + std::to_string(rank) + ", got " +
           given.str();
  });
  Shape s;
  for (int d = 0; d < rank; ++d) s.push_back(given[given.size() == 1 ? 0 : d]);
  return s;
}

Shape result_size(int rank, const Shape& input, const FractionalPoolOptions& o) {
  check<ValueError>(o.output_size.empty() != o.output_ratio.empty(),
                    [&] { return name_of(rank) + ": expected either output_size or output_ratio"; });
  if (!o.output_size.empty()) return per_dimension(rank, "output_size", o.output_size);
  check<ValueError>(o.output_ratio.size() == 1 || o.output_ratio.size() == std::size_t(rank), [&] {
    return name_of(rank) + ": expected one output_ratio or " + std::to_string(rank) + ", got " +
           std::to_string(o.output_ratio.size());
  });
  Shape s;
  for (int d = 0; d < rank; ++d) {
    const double ratio = o.output_ratio[o.output_ratio.size() == 1 ? 0 : std::size_t(d)];
    check<ValueError>(ratio > 0 && ratio < 1, [&] {
      return name_of(rank) + ": expected an output_ratio between 0 and 1, got " + std::to_string(ratio);
    });
    s.push_back(std::int64_t(double(input[d]) * ratio));
  }
  return s;
}

// Where the windows of one dimension begin: steps of (input - kernel) / (output - 1), rounded down, from `sample` on.
// The number type is that of the input, as in torch: rounding decides.
template <class N>
void starts_of(N sample, std::int64_t input, std::int64_t output, std::int64_t kernel, std::vector<std::int64_t>& out) {
  const N step = output > 1 ? N(input - kernel) / N(output - 1) : N(0);
  const auto first = std::int64_t(sample * step);
  for (std::int64_t i = 0; i + 1 < output; ++i) out.push_back(std::int64_t((N(i) + sample) * step) - first);
  if (output > 0) out.push_back(input - kernel);
}

struct Windows {
  int rank;
  Shape input, output, kernel;  // of the spatial dimensions

  // The places that the windows of one plane show, window after window.
  void add(const std::vector<std::vector<std::int64_t>>& starts, std::vector<std::int64_t>& places) const {
    const std::int64_t windows = output.numel(), size = kernel.numel();
    for (std::int64_t w = 0; w < windows; ++w)
      for (std::int64_t k = 0; k < size; ++k) {
        std::int64_t place = 0, stride = 1, window = w, inside = k;
        for (int d = rank - 1; d >= 0; --d) {
          place += (starts[std::size_t(d)][std::size_t(window % output[d])] + inside % kernel[d]) * stride;
          stride *= input[d], window /= output[d], inside /= kernel[d];
        }
        places.push_back(place);
      }
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
  Windows w{rank, {}, {}, per_dimension(rank, "kernel_size", kernel_size)};
  for (int d = 0; d < rank; ++d) w.input.push_back(input.size(input.dim() - rank + d));
  w.output = result_size(rank, w.input, o);
  for (int d = 0; d < rank; ++d)
    check<ValueError>(w.kernel[d] > 0 && w.output[d] > 0 && w.output[d] + w.kernel[d] - 1 <= w.input[d], [&] {
      return name_of(rank) + ": expected output_size + kernel_size - 1 to be at most the input's size, got " +
             w.output.str() + " and " + w.kernel.str() + " for " + w.input.str();
    });
  const Shape wanted{n, c, rank};
  const Tensor samples = o.random_samples ? o.random_samples : rand(wanted, {.device = Device()});
  const bool fits = samples.dim() == 3 && samples.size(0) >= n && samples.size(1) == c && samples.size(2) == rank;
  check<ShapeError>(fits && is_floating(samples.dtype()), [&] {  // for more inputs than there are, as in torch
    return name_of(rank) + ": expected _random_samples of shape " + wanted.str() + ", got " + samples.spec().str();
  });
  const std::vector<double> values = samples.detach().to(Device()).to(DType::float64).to_vector<double>();
  std::vector<std::int64_t> places;
  for (std::int64_t plane = 0; plane < n * c; ++plane) {
    std::vector<std::vector<std::int64_t>> starts(static_cast<std::size_t>(rank));
    for (int s = 0; s < rank; ++s) {
      const int d = dimension_of(rank, s);
      const double sample = values[std::size_t(plane * rank + s)];
      check<ValueError>(sample >= 0 && sample <= 1, [&] {
        return name_of(rank) + ": expected _random_samples within [0, 1], got " + std::to_string(sample);
      });
      std::vector<std::int64_t>& to = starts[std::size_t(d)];
      if (input.dtype() == DType::float64) starts_of(sample, w.input[d], w.output[d], w.kernel[d], to);
      else starts_of(float(sample), w.input[d], w.output[d], w.kernel[d], to);
    }
    w.add(starts, places);
  }
  const std::int64_t windows = w.output.numel(), size = w.kernel.numel();
  const Tensor at = tensor(places, {n * c, windows * size}, {.device = input.device()});
  const Tensor shown = gather(input.reshape({n * c, w.input.numel()}), 1, at).view({n * c, windows, size});
  const auto [value, inside] = max(shown, -1);
  const Tensor index = gather(at.view({n * c, windows, size}), 2, inside.unsqueeze(-1)).squeeze(-1);
  Shape result = batched ? Shape{n, c} : Shape{c};
  for (const std::int64_t s : w.output) result.push_back(s);
  return {value.view(result), index.view(result)};
}

}  // namespace

std::pair<Tensor, Tensor> fractional_max_pool2d_with_indices(const Tensor& input, const PerDim& kernel_size,
                                                             const FractionalPoolOptions& options) {
  if (const amp::Under cast{amp::Name::fractional_max_pool, input}) return pool(2, cast(input), kernel_size, options);
  return pool(2, input, kernel_size, options);
}
std::pair<Tensor, Tensor> fractional_max_pool3d_with_indices(const Tensor& input, const PerDim& kernel_size,
                                                             const FractionalPoolOptions& options) {
  if (const amp::Under cast{amp::Name::fractional_max_pool, input}) return pool(3, cast(input), kernel_size, options);
  return pool(3, input, kernel_size, options);
}

}  // namespace neura

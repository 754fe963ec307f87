// antialias: against the definition, a kernel as wide as an element of the result, summed over the whole input.
#include "neura/ops/spatial/interpolate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "neura/ops/create/create.h"
#include "tests/support/gradients.h"
#include "tests/support/loop.h"
#include "tests/support/refusals.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

double kernel(double x, bool cubic) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (!cubic) return std::max(0.0, 1 - x);
  return x <= 1 ? (a + 2) * x * x * x - (a + 3) * x * x + 1 : x < 2 ? a * (x * x * x - 5 * x * x + 8 * x - 4) : 0;
}
// Element i of `out` of them in a line of `in`, of which element j counts.
double weight(std::int64_t i, std::int64_t j, std::int64_t in, double scale, bool cubic) {
  const double centre = (double(i) + 0.5) * scale, width = std::max(scale, 1.0);
  double total = 0;
  for (std::int64_t k = 0; k < in; ++k) total += kernel((double(k) + 0.5 - centre) / width, cubic);
  return kernel((double(j) + 0.5 - centre) / width, cubic) / total;
}
Tensor looped(const Tensor& x, std::int64_t height, std::int64_t width, bool cubic, double down, double across) {
  return from_loop({x.size(0), x.size(1), height, width}, x.dtype(), [&](const Shape& i) {
    double sum = 0;
    for_each_index({x.size(2), x.size(3)}, [&](const Shape& e) {
      sum += at(x, {i[0], i[1], e[0], e[1]}) * weight(i[2], e[0], x.size(2), down, cubic) *
             weight(i[3], e[1], x.size(3), across, cubic);
    });
    return sum;
  });
}

TEST(Antialias, EqualsASumOverTheInput) {
  const Tensor x = sample({2, 1, 11, 16}, DType::float64);
  for (const char* mode : {"bilinear", "bicubic"})
    for (const Shape& size : {Shape{3, 4}, Shape{5, 7}, Shape{11, 16}, Shape{13, 5}, Shape{1, 1}}) {
      const Tensor y = interpolate(x, {.size = size, .mode = mode, .antialias = true});
      const bool cubic = std::string(mode) == "bicubic";
      expect_close(y, looped(x, size[0], size[1], cubic, 11.0 / double(size[0]), 16.0 / double(size[1])), {1e-9, 1e-9});
    }
  const Tensor y = interpolate(x, {.scale_factor = {0.3, 0.4}, .mode = "bilinear", .antialias = true});
  expect_close(y, looped(x, 3, 6, false, 1 / 0.3, 1 / 0.4), {1e-9, 1e-9});
}
TEST(Antialias, GradientsAndOtherDtypes) {
  const InterpolateOptions o{.size = {2, 3}, .mode = "bicubic", .antialias = true};
  expect_gradients([&](const Tensor& x) { return interpolate(x, o); }, sample({1, 1, 4, 7}, DType::float64));
  const Tensor x = sample({1, 2, 4, 7}, DType::bfloat16);
  expect_same(interpolate(x, o), interpolate(x.to(DType::float32), o).to(DType::bfloat16));
  const Tensor flat = full({1, 1, 9, 9}, 77, {.dtype = DType::uint8});
  expect_same(interpolate(flat, o), full({1, 1, 2, 3}, 77, {.dtype = DType::uint8}));
}
TEST(Antialias, EqualsPlainInterpolationWhereNothingShrinks) {
  const Tensor x = sample({1, 1, 4, 5}, DType::float64);
  const Tensor inside = interpolate(x, {.size = {8, 10}, .mode = "bilinear", .antialias = true});
  expect_close(inside, interpolate(x, {.size = {8, 10}, .mode = "bilinear"}), {1e-12, 1e-12});
}
TEST(Antialias, Refusals) {
  expect_refusals<ValueError>({{"interpolate: expected antialias with mode bilinear or bicubic", [] {
                                  interpolate(ones({1, 1, 4, 4}), {.size = {2}, .antialias = true});
                                }}});
}

}  // namespace
}  // namespace neura::test

#include "tests/support/sample.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/loop.h"

namespace neura::test {

std::uint64_t Dice::bits() {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

Tensor sample(const Shape& shape, DType dtype, Sample o) {
  Dice dice{o.seed};
  auto real = [&] {
    const double v = o.low + (o.high - o.low) * dice.uniform();
    return std::abs(v) < o.gap ? std::copysign(o.gap, v) : v;
  };
  return from_loop(shape, dtype, [&](const Shape&) -> Scalar {
    if (dtype == DType::boolean) return Scalar(bool(dice.bits() & 1));
    if (is_integral(dtype)) {
      const std::int64_t low = std::int64_t(std::ceil(dtype == DType::uint8 ? std::max(o.low, 0.0) : o.low));
      return Scalar(low + dice.below(std::max<std::int64_t>(std::int64_t(std::ceil(o.high)) - low, 1)));
    }
    if (!is_complex(dtype)) return Scalar(real());
    const double re = real();
    return Scalar(std::complex<double>(re, real()));
  });
}

Tensor distinct_sample(const Shape& shape, DType dtype, std::uint64_t seed, double step) {
  Dice dice{seed};
  const std::int64_t n = shape.numel(), middle = n / 2;
  std::vector<std::int64_t> order(std::size_t(n), 0);
  for (std::int64_t i = 0; i < n; ++i) {  // Fisher and Yates
    const std::int64_t j = dice.below(i + 1);
    order[std::size_t(i)] = order[std::size_t(j)], order[std::size_t(j)] = i;
  }
  std::size_t next = 0;
  return from_loop(shape, dtype, [&](const Shape&) { return Scalar(double(order[next++] - middle) * step); });
}

}  // namespace neura::test

#include "neura/data/random.h"

#include <cmath>
#include <numbers>

namespace neura::data {

Generator& generator() { return default_generator(); }

std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const auto words = philox(seed, stream, index);
  return std::uint64_t(words[0]) << 32 | words[1];
}

std::uint32_t Draws::next() {
  if (used_ == 4) numbers_ = philox(state_.seed, state_.offset, block_++), used_ = 0;
  return numbers_[used_++];
}

double Draws::uniform() {
  const std::uint32_t high = next();
  return to_uniform64(high, next());
}

std::int64_t Draws::below(std::int64_t n) {
  // Numbers beyond the last whole multiple of n would make small results likelier: they are drawn again.
  const auto range = std::uint64_t(n);
  const std::uint64_t rest = (0 - range) % range;  // 2^64 mod n
  std::uint64_t x = next64();
  while (x < rest) x = next64();
  return std::int64_t(x % range);
}

double Draws::normal() {  // Box and Muller, A note on the generation of random normal deviates, 1958
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

double Draws::gamma(double a) {  // Marsaglia and Tsang, A simple method for generating gamma variables, 2000
  if (a < 1) return gamma(a + 1) * std::pow(1 - uniform(), 1 / a);
  const double d = a - 1. / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal(), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

double Draws::beta(double a, double b) {
  const double x = gamma(a), y = gamma(b);
  return x + y > 0 ? x / (x + y) : double(uniform() < a / (a + b));  // both vanish where a and b are tiny
}

}  // namespace neura::data

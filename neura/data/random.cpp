#include "neura/data/random.h"

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

}  // namespace neura::data

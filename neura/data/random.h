// Random numbers of data loading: the generator that transforms draw from, and how loaders seed it.
#pragma once
#include <cstdint>

#include "neura/core/random.h"

namespace neura::data {

// What random transforms draw from. While a loader fetches an item it is that item's own, seeded by the loader's seed,
// the epoch and the item's place in it, so that an augmented epoch is the same with any number of workers; elsewhere it
// is the process's. The same as default_generator(), so that any random operation in a data set repeats.
Generator& generator();

using neura::GeneratorScope;

// A 64-bit seed derived from a base seed, for item (stream, index).
std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

// Draws numbers one by one from one reservation of a generator.
class Draws {
 public:
  explicit Draws(Generator& g) : state_(g.reserve()) {}
  std::uint32_t next();
  double uniform();                    // in [0, 1)
  std::int64_t below(std::int64_t n);  // in [0, n), all equally likely
  double between(double low, double high) { return low + (high - low) * uniform(); }
  double normal();
  double beta(double a, double b);  // in [0, 1]; both above 0

 private:
  double gamma(double a);
  std::uint64_t next64() { return std::uint64_t(next()) << 32 | next(); }
  GeneratorState state_;
  std::uint64_t block_ = 0;
  std::array<std::uint32_t, 4> numbers_{};
  unsigned used_ = 4;
};

// The draws of a transform: from its own generator, or else from the scope's.
inline Draws draws_of(Generator* own) { return Draws(own ? *own : generator()); }

}  // namespace neura::data

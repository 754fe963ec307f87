// Random numbers: Philox 4x32-10 (Salmon et al., SC 2011), addressed by (seed, offset): the same on any number of
// threads and on every device.
#pragma once
#include <array>
#include <cstdint>

#include "neura/core/fields.h"

namespace neura {

// Four independent 32-bit numbers for this counter. `offset` is the call's place in the generator's stream, `index` the
// block within the call (element i of a call uses number i % 4 of block i / 4).
std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t offset, std::uint64_t index);

struct GeneratorState {
  std::uint64_t seed = 0, offset = 0;
};
// A source of random numbers. Thread-safe. A call that draws n numbers reserves one offset.
class Generator {
 public:
  explicit Generator(std::uint64_t seed = 0) { state_.seed = seed; }
  void manual_seed(std::uint64_t seed);
  std::uint64_t seed() const { return state().seed; }
  GeneratorState state() const;
  void set_state(GeneratorState);
  GeneratorState reserve();  // the (seed, offset) of one call; the offset then moves on by one

 private:
  GeneratorState state_;
};
Generator& default_generator();        // of the whole process, or of this thread's innermost GeneratorScope
void manual_seed(std::uint64_t seed);  // seeds it; until then its seed is taken from the system

// The place in a generator's stream from which one call of an operation draws. Reserved once: a derivative that draws
// the same numbers again keeps it.
struct PhiloxState {
  std::uint64_t seed = 0, offset = 0;
  bool reserved = false;
  NEURA_FIELDS(varying(seed), varying(offset), varying(reserved))
};

// Makes `g` this thread's default_generator() while it lives: code in a thread of a data loader then draws from
// a generator of its own.
class GeneratorScope {
 public:
  explicit GeneratorScope(Generator& g);
  GeneratorScope(const GeneratorScope&) = delete;
  ~GeneratorScope();

 private:
  Generator* before_;
};

// Integers in [0, 2^53) scaled: uniform in [0, 1) with 53 and with 24 bits.
inline double to_uniform64(std::uint32_t high, std::uint32_t low) {
  return double((std::uint64_t(high) << 21) ^ (std::uint64_t(low) >> 11)) * 0x1p-53;
}
inline float to_uniform32(std::uint32_t x) { return float(x >> 8) * 0x1p-24f; }

}  // namespace neura

#include "neura/core/random.h"

#include <pthread.h>

#include <mutex>
#include <random>
#include <utility>

namespace neura {
namespace {
// Of all generators: a call holds it for two additions. A fork waits for it, so that no child finds it locked.
std::mutex& lock() {
  static std::mutex& m = *[] {
    auto* made = new std::mutex;
    pthread_atfork([] { lock().lock(); }, [] { lock().unlock(); }, [] { lock().unlock(); });
    return made;
  }();
  return m;
}
thread_local Generator* scoped = nullptr;
}  // namespace

std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t offset, std::uint64_t index) {
  std::uint32_t c0 = std::uint32_t(index), c1 = std::uint32_t(index >> 32);
  std::uint32_t c2 = std::uint32_t(offset), c3 = std::uint32_t(offset >> 32);
  std::uint32_t k0 = std::uint32_t(seed), k1 = std::uint32_t(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * c0, b = std::uint64_t{0xCD9E8D57} * c2;
    c0 = std::uint32_t(b >> 32) ^ c1 ^ k0, c1 = std::uint32_t(b);
    c2 = std::uint32_t(a >> 32) ^ c3 ^ k1, c3 = std::uint32_t(a);
    k0 += 0x9E3779B9, k1 += 0xBB67AE85;
  }
  return {c0, c1, c2, c3};
}

void Generator::manual_seed(std::uint64_t seed) { set_state({seed, 0}); }
GeneratorState Generator::state() const {
  std::lock_guard hold(lock());
  return state_;
}
void Generator::set_state(GeneratorState s) {
  std::lock_guard hold(lock());
  state_ = s;
}
GeneratorState Generator::reserve() {
  std::lock_guard hold(lock());
  const GeneratorState s = state_;
  ++state_.offset;
  return s;
}

GeneratorScope::GeneratorScope(Generator& g) : before_(std::exchange(scoped, &g)) {}
GeneratorScope::~GeneratorScope() { scoped = before_; }

Generator& default_generator() {
  if (scoped) return *scoped;
  static Generator* const generator = [] {  // never destroyed
    std::random_device system;
    return new Generator(std::uint64_t(system()) << 32 | system());
  }();
  return *generator;
}
void manual_seed(std::uint64_t seed) { default_generator().manual_seed(seed); }

}  // namespace neura

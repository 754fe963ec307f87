#include "neura/backend/cpu/instruction_sets.h"

#include <cctype>
#include <cstdint>

#include "hwy/highway.h"
#include "hwy/nanobenchmark.h"
#include "neura/core/settings.h"

// libhwy 1.0 measures how fine the processor's clock is whenever it is loaded, 5 ms of every program's start, for what
// Measure() in it alone needs. Ours is found first.
std::uint64_t hwy::platform::TimerResolution() { return 1; }

namespace neura {
namespace {

constexpr std::int64_t kCompiled = std::int64_t(HWY_TARGETS);

std::int64_t nth(int i) {  // the lower the bit, the better
  for (std::int64_t rest = HWY_SUPPORTED_TARGETS & kCompiled; rest; rest &= rest - 1)
    if (i-- == 0) return rest & -rest;
  return 0;
}
void choose([[maybe_unused]] std::int64_t targets) {
  if constexpr ((kCompiled & (kCompiled - 1)) != 0) {  // of a single one the kernels are called directly
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
}

}  // namespace

int cpu_targets() {
  choose(0);
  int n = 0;
  while (nth(n)) ++n;
  return n;
}

const char* use_cpu_target(int i) {
  choose(0);
  const std::int64_t target = nth(i < 0 ? 0 : i);
  if (i >= 0) choose(target);
  return hwy::TargetName(target);
}

void apply_cpu_setting() {
  const char* wanted = setting_given(Setting::cpu);
  if (!wanted) return;
  for (int i = cpu_targets(); i-- > 0;) {
    const char* name = hwy::TargetName(nth(i));
    std::size_t k = 0;
    while (wanted[k] && std::tolower(name[k]) == std::tolower(wanted[k])) ++k;
    if (!wanted[k]) return void(use_cpu_target(i));
  }
}

}  // namespace neura

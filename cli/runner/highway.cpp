// What Highway's shared libraries would give a program that has none beside it: which instruction sets this machine
// has, and sorting. Where Highway is linked otherwise, it is not needed.
#include "hwy/highway.h"

#include <algorithm>

#include "hwy/contrib/sort/vqsort.h"

namespace hwy {

#if HWY_ARCH_X86
namespace {

std::int64_t asked = 0;  // by SetSupportedTargetsForTest; 0: what the machine has

std::int64_t found() {
  __builtin_cpu_init();
  std::int64_t all = HWY_BASELINE_TARGETS;
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2");
  if (avx2) all |= HWY_AVX2;
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd"))
    all |= HWY_AVX3;
  return all;
}

}  // namespace

std::int64_t SupportedTargets() {
  static const std::int64_t all = found();
  return asked ? asked : all;
}
void SetSupportedTargetsForTest(std::int64_t targets) { asked = targets; }
ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}
#endif

Sorter::Sorter() : ptr_(nullptr) {}
void Sorter::Delete() {}
void Sorter::operator()(std::uint64_t* keys, std::size_t n, SortAscending) const { std::sort(keys, keys + n); }
void Sorter::operator()(uint128_t* keys, std::size_t n, SortAscending) const { std::sort(keys, keys + n); }

}  // namespace hwy

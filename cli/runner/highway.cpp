// What Highway's shared libraries would give a program that has none next to it: which instruction sets this machine
// has, and sorting. Where Highway is linked otherwise, it is not needed.
#include "hwy/highway.h"

#include <algorithm>

#include "hwy/contrib/sort/vqsort.h"
#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace hwy {

#if HWY_ARCH_X86
namespace {

std::int64_t asked = 0;  // by SetSupportedTargetsForTest; 0: what the machine has

// Asked of the processor itself: what compilers have for it is not in each of their libraries.
std::int64_t found() {
  unsigned a = 0, b = 0, c = 0, d = 0, saved = 0;  // saved: registers that the system keeps for a process
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return HWY_BASELINE_TARGETS;
  const bool fma = c & bit_FMA;
  __asm__("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return HWY_BASELINE_TARGETS;
  const auto has = [&](unsigned all, unsigned kept) { return (b & all) == all && (saved & kept) == kept; };
  std::int64_t all = HWY_BASELINE_TARGETS;
  const bool avx2 = fma && has(bit_AVX2 | bit_BMI | bit_BMI2, 0x06);
  if (avx2) all |= HWY_AVX2;
  if (avx2 && has(bit_AVX512F | bit_AVX512DQ | bit_AVX512CD | bit_AVX512BW | bit_AVX512VL, 0xe6)) all |= HWY_AVX3;
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

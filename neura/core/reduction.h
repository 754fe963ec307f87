// What a loss does with its elements.
#pragma once
#include <cstdint>

namespace neura {
enum class Reduction : std::uint8_t { none, mean, sum };
inline constexpr const char* kReductions[] = {"none", "mean", "sum"};
}  // namespace neura

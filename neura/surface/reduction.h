// How losses are put together, by the words that torch's callers write.
#pragma once
#include <optional>
#include <string_view>

#include "neura/ops/loss/loss.h"

namespace neura::surface {

// size_average and reduce came before reduction; where one of them is given, it counts.
inline std::string_view reduction_word(std::optional<bool> size_average, std::optional<bool> reduce,
                                       std::string_view reduction) {
  if (!size_average && !reduce) return reduction;
  return !reduce.value_or(true) ? "none" : size_average.value_or(true) ? "mean" : "sum";
}
inline Reduction reduction_of(std::optional<bool> size_average, std::optional<bool> reduce,
                              std::string_view reduction) {
  return to_reduction(reduction_word(size_average, reduce, reduction));
}

}  // namespace neura::surface

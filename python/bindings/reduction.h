// The reduction of a loss as torch's callers write it.
#pragma once
#include <nanobind/stl/string_view.h>

#include "common.h"

namespace neura::python {

using Word = std::string_view;
using Flag = std::optional<bool>;
#define NEURA_REDUCTION "reduction"_a = "mean"
// size_average and reduce came before reduction; where one of them is given, it counts.
inline Word word_of(Flag size_average, Flag reduce, Word reduction) {
  if (!size_average && !reduce) return reduction;
  return !reduce.value_or(true) ? "none" : size_average.value_or(true) ? "mean" : "sum";
}
inline Reduction reduction_of(Flag size_average, Flag reduce, Word reduction) {
  return to_reduction(word_of(size_average, reduce, reduction));
}

}  // namespace neura::python

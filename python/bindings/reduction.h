// The reduction of a loss as torch's callers write it.
#pragma once
#include <nanobind/stl/string_view.h>

#include "common.h"
#include "neura/surface/reduction.h"

namespace neura::python {

using Word = std::string_view;
using Flag = std::optional<bool>;
#define NEURA_REDUCTION "reduction"_a = "mean"
using surface::reduction_of, surface::reduction_word;

}  // namespace neura::python

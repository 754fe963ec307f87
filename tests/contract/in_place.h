// The in-place forms of operations that are no rows, each with the form that gives a new tensor.
#pragma once
#include <ostream>
#include <span>

#include "neura/core/tensor.h"

namespace neura::test {

struct InPlaceCase {
  const char* name;
  Tensor& (*write)(Tensor& self, const Tensor& other);  // self is [3, 3], other [2, 3]
  Tensor (*fresh)(const Tensor& self, const Tensor& other);
};
inline std::ostream& operator<<(std::ostream& s, const InPlaceCase& c) { return s << c.name; }
std::span<const InPlaceCase> in_place_cases();

}  // namespace neura::test

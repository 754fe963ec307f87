// Sizes of windows: one number that holds for every spatial dimension, or one number per dimension.
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>

#include "neura/core/shape.h"

namespace neura {

struct PerDim : Shape {  // empty: the operation's default
  PerDim() = default;
  PerDim(std::integral auto everywhere) { push_back(std::int64_t(everywhere)); }
  PerDim(std::initializer_list<std::int64_t> l) : Shape(l) {}
  PerDim(const Shape& s) : Shape(s) {}
};

// The limit of a window's numbers, as in torch: what is computed from them cannot overflow.
inline constexpr std::int64_t kMostPerDim = INT32_MAX;
// `dims` numbers from one or as many given, each from `least` to kMostPerDim. ShapeError, ValueError, naming the
// operation and the argument.
Shape per_dim(const char* op, const char* what, const PerDim& given, int dims, std::int64_t least);

}  // namespace neura

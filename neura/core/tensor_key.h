// Tensors as keys: std::unordered_map<Tensor, T> finds a tensor by which one it is, as std::hash<Tensor> does, since
// == compares elements and gives a tensor.
#pragma once
#include <functional>

#include "neura/core/tensor.h"

template <> struct std::equal_to<neura::Tensor> {
  bool operator()(const neura::Tensor& a, const neura::Tensor& b) const { return a.is_same(b); }
};

// What quantised operators share: exact products of integers, scales and zero points along an axis.
#pragma once
#include "neura/onnx/operators.h"

namespace neura::onnx {

// The product as int64, exact while every sum stays below 2^53: with 8-bit numbers always.
Tensor integer_product(const Tensor& a, const Tensor& b);

// A parameter of one number per place of `axis`, or of one in all, shaped so that it broadcasts against `rank`
// dimensions.
Tensor along_axis(const Tensor& parameter, std::int64_t axis, int rank);

// Operand i minus its zero point (operand `zero`, where there is one), as float64.
Tensor without_zero_point(const Operands& x, std::size_t i, std::size_t zero, int axis);

// The product of operands a and b minus their zero points (operands a_zero, b_zero, where they are there): exact, as
// int32 for bytes and int64 for others.
Tensor product_without_zero_points(const Operands& x, std::size_t a, std::size_t a_zero, std::size_t b,
                                   std::size_t b_zero);

// Rounded, moved by the zero point and cut to the type's range.
Value quantised(const Tensor& y, const Tensor& scale, const Tensor& zero_point, Type to, bool saturate = true);

// [lowest, highest] of an integer type.
std::pair<double, double> range_of(Type);

}  // namespace neura::onnx

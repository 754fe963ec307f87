// The formats of few bits, as numbers: rounding to them. Their bits do not matter to a model that computes.
#pragma once
#include "neura/onnx/proto.h"

namespace neura::onnx {

// The nearest number that the type has, ties to even; what is beyond its largest becomes that (saturate), or infinity
// or NaN, as the type has them.
float round_to(Type, float x, bool saturate);

// The number that some bits mean, and the bits of a number that the type has.
float number_of_bits(Type, std::uint8_t bits);
std::uint8_t bits_of_number(Type, float x);

}  // namespace neura::onnx

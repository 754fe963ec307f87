// Lines of numbers that become integers, and integers that become numbers; one table per instruction set.
#pragma once
#include <cstdint>

namespace neura {

struct QuantizedLine {
  std::int64_t n;
  const float* scale;        // one for the line, or (each) one for every element
  const std::int32_t* zero;  // likewise
  bool each;
  float low, high;  // of q
};

struct IntegerLines {
  void (*fake)(const QuantizedLine&, const float* x, float* y);
  void (*fake_gradient)(const QuantizedLine&, const float* g, const float* x, float* y);
  void (*quantize_signed)(const QuantizedLine&, const float* x, std::int8_t* q);
  void (*quantize_unsigned)(const QuantizedLine&, const float* x, std::uint8_t* q);
  void (*requantize_signed)(const QuantizedLine&, const std::int32_t* sums, std::int8_t* q);
  void (*requantize_unsigned)(const QuantizedLine&, const std::int32_t* sums, std::uint8_t* q);
  void (*dequantize_signed)(const QuantizedLine&, const std::int8_t* q, float* y);
  void (*dequantize_unsigned)(const QuantizedLine&, const std::uint8_t* q, float* y);
  void (*dequantize_sums)(const QuantizedLine&, const std::int32_t* q, float* y);
};
const IntegerLines& integer_lines();

}  // namespace neura

// Affine quantisation to integers of few bits, and back. One rule everywhere:
//
//   q = round(x / scale) + zero_point, to the nearest even one, within [quant_min, quant_max];  x ~ (q - zero_point)
//   scale
//
// A NaN becomes quant_min. scale and zero_point are one number for all, or along an axis one for each place. quant_min
// and quant_max say how many bits there are, with a sign or without: -128 and 127, 0 and 255, -8 and 7, 0 and 15. Those
// that Python calls alike: functions.h.
#pragma once
#include <cstdint>
#include <optional>

#include "neura/ops/quant/functions.h"

namespace neura {

// What quantising and dequantising makes of `input`, of its dtype. The gradient passes where no number was cut off, and
// is 0 elsewhere. scale and zero_point have one element; they get no gradient: NotImplementedError where scale wants
// one. ValueError unless quant_min <= zero_point <= quant_max, but a zero_point that is a tensor is not checked;
// UnsupportedDTypeError where input is not floating.
Tensor fake_quantize_per_tensor_affine(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                                       std::int64_t quant_min, std::int64_t quant_max);
Tensor fake_quantize_per_tensor_affine(const Tensor& input, double scale, std::int64_t zero_point,
                                       std::int64_t quant_min, std::int64_t quant_max);

struct QuantizeOptions {
  std::optional<std::int64_t> axis = {};                       // of scales and zero points; none: there is one of each
  std::optional<std::int64_t> quant_min = {}, quant_max = {};  // what the dtype holds, if they are not given
  DType dtype = DType::int8;                                   // or uint8
};
// The integers q of a floating input. ShapeError where scale or zero_point do not fit, ValueError for a zero_point
// outside of quant_min and quant_max.
Tensor quantize_affine(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                       const QuantizeOptions& options = {});
// From the int32 sums of a product to integers again: round(float32(sums) scale) + zero_point, with one product of
// float32.
Tensor requantize_affine(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                         const QuantizeOptions& options = {});

}  // namespace neura

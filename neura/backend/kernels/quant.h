// Quantisation to 8-bit integers, and exact products of such integers.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

// Numbers as integers: q = round(x / scale) + zero, to the nearest even one, within [low, high]. A NaN becomes `low`.
// One scale and zero for all, or along `axis` one for each place.
struct Quantization {
  std::int64_t low = -128, high = 127;
  int axis = -1;  // none
};
// Bytes of a packed [k, n] matrix: panels of 16 columns, with k filled up to fours, and the sum of each column.
constexpr std::int64_t packed_bytes(std::int64_t k, std::int64_t n) {
  return (n + 15) / 16 * 16 * ((k + 3) / 4 * 4 + std::int64_t(sizeof(std::int32_t)));
}

struct quant_kernels {  // null where a back end has none: the operations' definitions run
  // y = a b, exactly (modulo 2^32). y is int32, contiguous, [batch.., m, n]; a [.., m, k] and b [.., k, n] are of int8
  // or uint8 each, of any strides, and broadcast to its batch. packed: absent, or of an int8 b [k, n] by integer_pack.
  NEURA_KERNEL(quant, integer_product, void(Context&, View a, View b, View packed, View y));
  NEURA_KERNEL(quant, integer_pack, void(Context&, View b, View packed));  // packed: uint8 [packed_bytes(k, n)]
  // All of these are contiguous; scale is float32, zero int32, each of one number or [x.size(axis)].
  // y = (q - zero) scale of float32 x; with g the gradient instead: g where q needed no clamp, 0 elsewhere.
  NEURA_KERNEL(quant, fake_quantize,
               void(Context&, View g, View x, View scale, View zero, const Quantization&, View y));
  // float32 x to q, which is int8 or uint8.
  NEURA_KERNEL(quant, quantize, void(Context&, View x, View scale, View zero, const Quantization&, View q));
  // int32 sums to q = round(float32(sums) * scale) + zero: one product of float32, one rounding.
  NEURA_KERNEL(quant, requantize, void(Context&, View sums, View scale, View zero, const Quantization&, View q));
  // float32 y = float32(q - zero) * scale of int8, uint8 or int32.
  NEURA_KERNEL(quant, dequantize, void(Context&, View q, View scale, View zero, const Quantization&, View y));
};

}  // namespace neura

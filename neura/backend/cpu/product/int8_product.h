// Products of 8-bit integers, and what turns numbers into them and back.
#pragma once
#include "neura/backend/kernels/matmul.h"

namespace neura {

void cpu_integer_product(Context&, View a, View b, View packed, View y);
void cpu_integer_pack(Context&, View b, View packed);
void cpu_fake_quantize(Context&, View g, View x, View scale, View zero, const Quantization&, View y);
void cpu_quantize(Context&, View x, View scale, View zero, const Quantization&, View q);
void cpu_requantize(Context&, View sums, View scale, View zero, const Quantization&, View q);
void cpu_dequantize(Context&, View q, View scale, View zero, const Quantization&, View y);

}  // namespace neura

#include "neura/backend/cpu/product/int8_lines.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/product/int8_lines.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
namespace {

// f(element, its scale, its zero) for all. The compiler makes vectors of these loops.
template <class F> HWY_INLINE void walk(const QuantizedLine& l, F f) {
  if (l.each) {
    for (std::int64_t i = 0; i < l.n; ++i) f(i, l.scale[i], l.zero[i]);
  } else {
    const float scale = *l.scale;
    const std::int32_t zero = *l.zero;
    for (std::int64_t i = 0; i < l.n; ++i) f(i, scale, zero);
  }
}
HWY_INLINE float within(float q, float low, float high) {  // a NaN becomes low
  q = q >= low ? q : low;
  return q <= high ? q : high;
}

void fake(const QuantizedLine& l, const float* HWY_RESTRICT x, float* HWY_RESTRICT y) {
  walk(l, [=, low = l.low, high = l.high](std::int64_t i, float s, std::int32_t z) {
    y[i] = within(std::nearbyint(x[i] / s), low - float(z), high - float(z)) * s;
  });
}
void fake_gradient(const QuantizedLine& l, const float* HWY_RESTRICT g, const float* HWY_RESTRICT x,
                   float* HWY_RESTRICT y) {
  walk(l, [=, low = l.low, high = l.high](std::int64_t i, float s, std::int32_t z) {
    const float q = std::nearbyint(x[i] / s), at = g[i];
    const float kept = q >= low - float(z) ? at : 0;
    y[i] = q <= high - float(z) ? kept : 0;
  });
}
template <class Q> void quantize(const QuantizedLine& l, const float* HWY_RESTRICT x, Q* HWY_RESTRICT q) {
  walk(l, [=, low = l.low, high = l.high](std::int64_t i, float s, std::int32_t z) {
    q[i] = Q(std::int32_t(within(std::nearbyint(x[i] / s), low - float(z), high - float(z))) + z);
  });
}
template <class Q> void requantize(const QuantizedLine& l, const std::int32_t* HWY_RESTRICT sums, Q* HWY_RESTRICT q) {
  walk(l, [=, low = l.low, high = l.high](std::int64_t i, float s, std::int32_t z) {
    q[i] = Q(std::int32_t(within(std::nearbyint(float(sums[i]) * s), low - float(z), high - float(z))) + z);
  });
}
template <class Q> void dequantize(const QuantizedLine& l, const Q* HWY_RESTRICT q, float* HWY_RESTRICT y) {
  walk(l, [=](std::int64_t i, float s, std::int32_t z) {
    y[i] = float(std::int32_t(std::uint32_t(q[i]) - std::uint32_t(z))) * s;
  });
}

constexpr IntegerLines table{
    fake,
    fake_gradient,
    quantize<std::int8_t>,
    quantize<std::uint8_t>,
    requantize<std::int8_t>,
    requantize<std::uint8_t>,
    dequantize<std::int8_t>,
    dequantize<std::uint8_t>,
    dequantize<std::int32_t>,
};

}  // namespace
const IntegerLines* integer_lines_table() { return &table; }

}  // namespace HWY_NAMESPACE
#if HWY_ONCE
HWY_EXPORT(integer_lines_table);
const IntegerLines& integer_lines() { return *HWY_DYNAMIC_DISPATCH(integer_lines_table)(); }
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();

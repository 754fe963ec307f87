// Every dtype from any stride into every other: how strided, broadcast, half and mixed operands become the contiguous
// lines that kernels take. 289 pairs once per instruction set, instead of a factor in every kernel.
#include <type_traits>

#include "neura/backend/number/prelude.h"
#include "neura/backend/row_kernel.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/convert.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
#include "neura/backend/number/numbers.h"
#include "neura/backend/number/cast.h"
#include "neura/backend/number/convert.h"
#undef NEURA_HAS_HALVES
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
// The processor's own conversions. (Highway 1.0.3's software ones, SSE4 and WASM, are wrong for infinities and NaN.)
#define NEURA_HAS_HALVES
namespace hn = hwy::HWY_NAMESPACE;
constexpr hn::ScalableTag<float> kFloats;
constexpr hn::Rebind<hwy::float16_t, hn::ScalableTag<float>> kHalves;
inline void widen(const Half* in, float* out) {
  hn::StoreU(hn::PromoteTo(kFloats, hn::LoadU(kHalves, reinterpret_cast<const hwy::float16_t*>(in))), kFloats, out);
}
inline void narrow(const float* in, Half* out) {
  hn::StoreU(hn::DemoteTo(kHalves, hn::LoadU(kFloats, in)), kHalves, reinterpret_cast<hwy::float16_t*>(out));
}
#endif
template <class From, class To>
void convert(const char* from, std::ptrdiff_t from_stride, char* to, std::ptrdiff_t to_stride, std::size_t size) {
  if (from_stride == sizeof(From) && to_stride == sizeof(To)) {
    auto in = reinterpret_cast<const From*>(from);
    auto out = reinterpret_cast<To*>(to);
    const std::size_t whole = size / 64 * 64;  // GCC vectorises this at -O2, a loop with a tail it does not
#ifdef NEURA_HAS_HALVES
    if constexpr (is_same<From, Half> && is_same<To, float>)
      for (std::size_t i = 0; i < whole; i += hn::Lanes(kFloats)) widen(in + i, out + i);
    else if constexpr (is_same<From, float> && is_same<To, Half>)
      for (std::size_t i = 0; i < whole; i += hn::Lanes(kFloats)) narrow(in + i, out + i);
    else
#endif
    {
      NEURA_INDEPENDENT
      for (std::size_t i = 0; i < whole; ++i) out[i] = converted<To>(in[i]);
    }
    for (std::size_t i = whole; i < size; ++i) out[i] = converted<To>(in[i]);
  } else {
    for (; size; --size, from += from_stride, to += to_stride)
      *reinterpret_cast<To*>(to) = converted<To>(*reinterpret_cast<const From*>(from));
  }
}
#ifdef NEURA_INFERENCE
[[gnu::cold]] void missing(const char*, std::ptrdiff_t, char*, std::ptrdiff_t, std::size_t) { refuse_missing_kernel(); }
#endif
template <int D> using ElementAt = typename Element<DType(D)>::type;
template <int From, int To = 0> constexpr void fill_row(ConvertTable& t) {
  if constexpr (To < kDTypes) {
    if constexpr (in_build::conversion(DType(From), DType(To)))
      t.pair[From][To] = &convert<ElementAt<From>, ElementAt<To>>;
#ifdef NEURA_INFERENCE
    else t.pair[From][To] = &missing;
#endif
    fill_row<From, To + 1>(t);
  }
}
template <int From = 0> constexpr void fill_table(ConvertTable& t) {
  if constexpr (From < kDTypes) fill_row<From>(t), fill_table<From + 1>(t);
}
constexpr ConvertTable make() {
  ConvertTable t{};
  return fill_table(t), t;
}
constexpr ConvertTable table = make();
const ConvertTable* convert_table() { return &table; }
}  // namespace HWY_NAMESPACE
#if HWY_ONCE
HWY_EXPORT(convert_table);
const ConvertTable* cpu_convert() { return HWY_DYNAMIC_DISPATCH(convert_table)(); }
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();

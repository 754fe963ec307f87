// From a dtype to its C++ type, for kernels that are no rows.
#pragma once
#include <cstdint>

#include "neura/core/dtype.h"

namespace neura {

// f.template operator()<T>() with T of the dtype; other dtypes do nothing, as `infer` refuses them.
template <class F> void visit_integers(DType d, F f) {
  const auto of = [&]<class T, DType own>() {  // nothing in a library without it
    if constexpr (dtypes::compiled & bit(own)) f.template operator()<T>();
  };
  switch (d) {
    case DType::uint8:
      return of.template operator()<std::uint8_t, DType::uint8>();
    case DType::int8:
      return of.template operator()<std::int8_t, DType::int8>();
    case DType::int16:
      return of.template operator()<std::int16_t, DType::int16>();
    case DType::int32:
      return of.template operator()<std::int32_t, DType::int32>();
    case DType::int64:
      return of.template operator()<std::int64_t, DType::int64>();
    default:
      return;
  }
}
template <class F> void visit_integers_and_floats(DType d, F f) {  // except for the halves, which are computed as float
  if (d == DType::float32) return f.template operator()<float>();
  if constexpr (dtypes::compiled & bit(DType::float64))
    if (d == DType::float64) return f.template operator()<double>();
  visit_integers(d, f);
}

}  // namespace neura

// From a dtype to its C++ type, for kernels that are no rows.
#pragma once
#include <cstdint>

#include "neura/core/dtype.h"

namespace neura {

// f.template operator()<T>() with T of the dtype; nothing for the others, which `infer` does not let through.
template <class F> void visit_integers(DType d, F f) {
  switch (d) {
    case DType::uint8:
      return f.template operator()<std::uint8_t>();
    case DType::int8:
      return f.template operator()<std::int8_t>();
    case DType::int16:
      return f.template operator()<std::int16_t>();
    case DType::int32:
      return f.template operator()<std::int32_t>();
    case DType::int64:
      return f.template operator()<std::int64_t>();
    default:
      return;
  }
}
template <class F> void visit_integers_and_floats(DType d, F f) {  // but for the halves, which are computed as float
  if (d == DType::float32) return f.template operator()<float>();
  if (d == DType::float64) return f.template operator()<double>();
  visit_integers(d, f);
}

}  // namespace neura

// Kernels of floating elements: which element a dtype has in memory, and in which number it is computed.
#pragma once
#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/cuda/pointwise/numbers.cuh"

namespace neura::cuda {

template <class M> using number_of = std::conditional_t<sizeof(M) == 8, double, float>;

// f.operator()<M>() for a floating dtype's element in memory.
template <class F> Failed with_floating(DType d, const F& f) {
  switch (d) {
    case DType::float32:
      return f.template operator()<float>();
    case DType::float64:
      return f.template operator()<double>();
    case DType::float16:
      return f.template operator()<Half>();
    case DType::bfloat16:
      return f.template operator()<BFloat16>();
    default:
      return fail(DeviceFailure::absent,
                  "expected float32, float64, float16 or bfloat16, got %s; convert it with .to()", name(d));
  }
}

}  // namespace neura::cuda

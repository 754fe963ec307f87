// The names that the Open Inference Protocol has for dtypes.
#pragma once

#include "neura/core/dtype.h"

namespace neura::serve {

constexpr const char* datatype(DType d) {  // "" where it has none
  switch (d) {
    case DType::boolean:
      return "BOOL";
    case DType::uint8:
      return "UINT8";
    case DType::int8:
      return "INT8";
    case DType::int16:
      return "INT16";
    case DType::int32:
      return "INT32";
    case DType::int64:
      return "INT64";
    case DType::float16:
      return "FP16";
    case DType::bfloat16:
      return "BF16";
    case DType::float32:
      return "FP32";
    case DType::float64:
      return "FP64";
    default:
      return "";
  }
}
constexpr bool has_json(DType d) { return d != DType::bfloat16; }  // of the protocol: BF16 goes as bytes alone

}  // namespace neura::serve

// The kernels of a pointwise row, for any back end: lines of contiguous memory in, a line out.
#pragma once
#include <cstddef>

#include "neura/backend/wanted.h"

namespace neura {

struct Line {  // contiguous operands of the computing dtype
  void* out;
  const void* in[5];  // the operands; for a slope: g, operands, result (those that it does not read are null)
  std::size_t size;   // a multiple of simd_padding(): kernels have no tails
  const double* attributes;
};
using LineFn = void(const Line&);

// What a row says of itself to people. A library that only runs programs leaves these texts out.
#ifdef NEURA_INFERENCE
#define NEURA_ROW_TEXT(text) ""
#else
#define NEURA_ROW_TEXT(text) text
#endif

// Elements that are whole vectors of every instruction set: 64 bytes, and for complex numbers two such vectors.
constexpr std::size_t simd_padding(DType d) { return std::size_t(is_complex(d) ? 128 : 64) / std::size_t(size_of(d)); }

struct RowKernel {  // by dtype of computation; null where the row's type rule has none
  LineFn* value[kDTypes];
  LineFn* slope[3][kDTypes];  // null as well where the slope is g itself, or does not exist
};

// From any dtype and stride to any other: how strided, broadcast, half and mixed operands become lines.
using ConvertFn = void(const char* from, std::ptrdiff_t from_stride, char* to, std::ptrdiff_t to_stride,
                       std::size_t size);
struct ConvertTable {
  ConvertFn* pair[kDTypes][kDTypes];  // [from][to]
};

}  // namespace neura

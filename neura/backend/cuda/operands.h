// One launch of a pointwise kernel: what the device needs to know of a Plan. Passed to the kernel by value.
#pragma once
#include <cuda_runtime_api.h>

#include "neura/backend/plan.h"

namespace neura::cuda {

struct Division {  // n / d for n and d below 2^31: one multiplication (Granlund and Montgomery, 1994)
  std::uint32_t divisor = 1, factor = 1, shift = 0;
};
Division division(std::uint32_t divisor);

struct Operands {
  std::uint32_t numel = 0;
  std::uint8_t rank = 0;
  std::uint8_t immediate = 0;  // bit k: operand k is a number, in `value`
  std::uint8_t single = 0;     // bit k: all elements are one in memory
  std::uint8_t row = 0;        // bit k: operand k repeats along the outer of two dimensions
  std::uint8_t column = 0;     // or along the inner one
  bool flat = false;           // all others are contiguous and aligned to 16 bytes
  DType dtype[kMaxPlan];       // in memory
  std::uint8_t bytes[kMaxPlan];
  char* data[kMaxPlan];
  alignas(16) char value[kMaxPlan][16];
  Division size[kMaxRank];
  std::int64_t strides[kMaxRank][kMaxPlan];  // bytes
  double attributes[4];
};

struct Launch : Line {  // what a LineFn of this back end is called with
  Operands operands;
  cudaStream_t stream = nullptr;
};

}  // namespace neura::cuda

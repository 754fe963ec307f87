// Several pointwise kernels in one pass over memory, on the cpu: the lines between them stay in the first-level cache.
#pragma once
#include <span>

#include "neura/backend/plan.h"

namespace neura {

struct FusedInput {
  const char* data;  // contiguous
  DType dtype;
  bool one;  // a single element, which serves for all
};
struct FusedStep {
  LineFn* fn;
  const double* attributes;
  int operands;
  int in[kMaxPlan - 1];        // slots: the inputs, then the results of the steps before; -1: not read
  DType wanted[kMaxPlan - 1];  // by the kernel
  DType natural, result;       // what it writes, and what that is rounded to
};
struct FusedPlan {
  std::int64_t numel;
  int cost;  // of an element, all steps
  std::span<const FusedInput> inputs;
  std::span<const FusedStep> steps;
  char* out;  // the last step's result, contiguous
};
// As the steps one after the other, bit for bit.
void execute_fused(const FusedPlan&);

}  // namespace neura

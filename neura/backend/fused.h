// Several pointwise kernels in one pass over memory, on the cpu: the lines between them stay in the first-level cache.
#pragma once
#include <span>

#include "neura/backend/plan.h"

namespace neura {

struct FusedInput {
  const char* data;
  DType dtype;
  // Element i of the whole reads element i / repeat % count: 1 and all of them for an operand of the whole's size, 1
  // and a row's length for a row, a row's length and their number for one value a row, count 1 for a single element.
  std::int64_t repeat, count;
};
struct FusedStep {
  LineFn* fn;  // null: the operand itself, converted from `natural` to `result`
  const double* attributes;
  int operands;
  int in[kMaxPlan - 1];        // slots: the inputs, then the results of the steps before; -1: not read
  DType wanted[kMaxPlan - 1];  // by the kernel
  DType natural, result;       // what it writes, and what that is rounded to
  char* out;                   // contiguous memory of the result; null: only steps read it
};
struct FusedPlan {
  std::int64_t numel;
  int cost;  // of an element, all steps
  std::span<const FusedInput> inputs;
  std::span<const FusedStep> steps;
};
// As the steps one after the other, bit for bit.
void execute_fused(const FusedPlan&);

}  // namespace neura

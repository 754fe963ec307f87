// One step of an optimizer on many parameters, all of its arithmetic in one pass over memory; and what clips their
// gradients before it.
#pragma once
#include <span>

#include "neura/backend/backend.h"

namespace neura {

// Floating, of one dtype, and dense with the same strides: element i is at offset i. Halves are computed in float32.
struct OptimTensors {
  View param, grad;
  View state[3];  // in the order of tables/optimizers.def; those that are not there are null
};

// The numbers of each step of tables/optimizers.def.
#define NUMBERS(...) double __VA_ARGS__;
#define FLAGS(...) bool __VA_ARGS__;
#define OPTIMIZER_STEP(kernel, Step, least, most, numbers) \
  struct Step {                                            \
    numbers bool operator==(const Step&) const = default;  \
  };
#include "neura/tables/optimizers.def"

// The parameters have one dtype and the same states, and each has its own step. No two of them share memory that either
// writes. `there` is null, or the steps in the device's memory: the kernel reads them when it runs, so that a graph
// that is replayed finds the numbers of the present step. On the cpu it is always null.
struct optim_kernels {
#define OPTIMIZER_STEP(name, Step, ...) \
  Entry<void(Context&, std::span<const OptimTensors>, std::span<const Step>, const Step* there)> name;
#include "neura/tables/optimizers.def"
  // The root of the sum of all elements' squares, to `norm`: one floating number. Tensors are floating or complex, and
  // dense.
  Entry<void(Context&, std::span<const View> tensors, View norm)> norm_of_all;
  // Every element times min(1, max_norm / (norm + 1e-6)), which is rounded to norm's dtype. No two share memory.
  Entry<void(Context&, std::span<const View> tensors, View norm, double max_norm)> clip_all;
  // Every element times `by`, which is float32; `found` (float32) becomes 1 where one of them was not finite before,
  // and stays as it is otherwise. No two share memory.
  Entry<void(Context&, std::span<const View> tensors, View by, View found)> unscale_all;
};

}  // namespace neura

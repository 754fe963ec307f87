// What starts a pointwise kernel, and what that has to know of an operation.
#pragma once
#include "neura/backend/cuda/operands.h"

namespace neura::cuda {

inline constexpr int kStridedItems = 4;  // of a thread, where operands are not dense

struct FlatOperands {  // of operands that are all dense
  std::uint32_t numel;
  std::uint8_t single;  // bit k: all elements are one in memory, or a number of this launch
  std::uint8_t immediate, row, column;
  bool twice;      // nothing that is moved is wider than a half: a thread takes two packs of numbers
  Division inner;  // elements of the inner dimension, where a row or column repeats
  DType dtype[kMaxPlan];
  char* data[kMaxPlan];
  alignas(16) char value[kMaxPlan][16];
  double attributes[4];
};

struct DenseKernel {  // of operands that are all `from`, into `to`
  DType from, to;
  int pack;
  void (*run)(FlatOperands);
};
struct PointwiseKernels {
  void (*strided)(Operands);
  void (*flat)(FlatOperands);
  int inputs, pack;          // numbers of a pack
  bool may_be_twice;         // as FlatOperands says
  unsigned reads;            // a bit for each input
  DType moved[kMaxPlan];     // what `flat` reads and writes: with float32 also halves
  const DenseKernel* dense;  // where there are some, for operands none of which repeats; the last has no `run`
};
void start_pointwise(const Launch&, const PointwiseKernels&);

}  // namespace neura::cuda

// One layer of a recurrent network in one direction, for ops/nn/recurrent.cpp.
#pragma once
#include <vector>

#include "neura/backend/kernels/recurrent.h"
#include "neura/core/fields.h"
#include "neura/core/tensor.h"

namespace neura {

struct Direction {
  RecurrentCell cell;
  bool reverse;
  std::int64_t times;
  std::vector<std::int64_t> sizes = {};  // of a packed sequence: rows of each time; empty: all have the batch's
  NEURA_FIELDS(cell, reverse, times, sizes)
  std::int64_t size(std::int64_t t, std::int64_t batch) const { return sizes.empty() ? batch : sizes[std::size_t(t)]; }
};
struct StepResults {
  Tensor y, h, c = {};  // rows by time; states after each sequence, c of an lstm alone
};
// x [rows, gates * hidden], h and c [batch, hidden], w [gates * hidden, hidden]; b is a gru's of what h gives.
StepResults compose_steps(const Direction&, const Tensor& x, const Tensor& h, const Tensor& c, const Tensor& w,
                          const Tensor& b);  // of operations; recurrent.cpp
// The same as one operation: by the back end's kernel, or else its definition.
StepResults recurrence(const Direction&, const Tensor& x, const Tensor& h, const Tensor& c, const Tensor& w,
                       const Tensor& b);

}  // namespace neura

// One layer of a recurrent network in one direction, for ops/recurrent.cpp.
#pragma once
#include "neura/backend/kernels/matmul.h"
#include "neura/core/tensor.h"

namespace neura {

struct Direction {
  RecurrentCell cell;
  bool reverse;
  std::int64_t times;
  Tensor sizes =
      {};  // of a packed sequence: rows of each time, int64 on the cpu, contiguous; else all have the batch's
  std::int64_t size(std::int64_t t, std::int64_t batch) const {
    return sizes ? reinterpret_cast<const std::int64_t*>(sizes.impl()->data())[t] : batch;
  }
};
struct StepResults {
  Tensor y, h, c = {};  // rows by time; states after each sequence, c of an lstm alone
};
// x [rows, gates * hidden], h and c [batch, hidden], w [gates * hidden, hidden]; b is a gru's of what h gives.
StepResults compose_steps(const Direction&, const Tensor& x, const Tensor& h, const Tensor& c, const Tensor& w,
                          const Tensor& b);  // of operations; recurrent.cpp
bool fuses_steps(const Tensor& x, const Tensor& h, const Tensor& c, const Tensor& w, const Tensor& b);
StepResults fuse_steps(const Direction&, const Tensor& x, const Tensor& h, const Tensor& c, const Tensor& w,
                       const Tensor& b);  // the same in one operation, where there is a kernel for it

}  // namespace neura

// Broadcasting prepared once: dimensions ordered by the result's layout, merged where every operand allows.
#pragma once
#include "neura/backend/row_kernel.h"
#include "neura/backend/view.h"

namespace neura {

inline constexpr int kMaxPlan = 6;  // the result, which is number 0, and up to five operands

struct Plan {
  int operands = 0, rank = 0;
  std::int64_t numel = 1;
  std::int64_t shape[kMaxRank], strides[kMaxRank][kMaxPlan];  // in bytes; the last dimension is the innermost
  char* data[kMaxPlan];                                       // null: an operand that the kernel does not read
  DType dtype[kMaxPlan];                                      // in memory
  DType wanted[kMaxPlan];                                     // by the kernel
  unsigned host = 0;  // bit k: operand k is one number in the cpu's memory, though the result is elsewhere
};
// in[k].data may be null. Every operand broadcasts to out's shape.
Plan make_plan(const View& out, DType out_wanted, const View* in, const DType* wanted, int inputs);

// On the cpu: runs the line kernel over the plan, with threads where numel * cost pays for them.
void execute(const Plan&, LineFn*, const double* attributes, int cost);
// to = from, converted and broadcast; of the cpu.
void assign_on_cpu(const View& to, const View& from);

}  // namespace neura

// A fold's innermost loops, for one dtype and one instruction set. Steps are in bytes; `p` as in kernels/reduce.h, its
// step is 0 where one number serves all.
#pragma once
#include <cstdint>

#include "neura/backend/kernels/reduce.h"

namespace neura {

struct FoldLoops {
  // out[r] = fold of the n contiguous elements at x + r * x_step
  void (*rows)(const char* x, std::int64_t x_step, std::int64_t n, std::int64_t rows, const char* p,
               std::int64_t p_step, char* out, std::int64_t out_step);
  // acc[i] combined with element i of each of `lines` contiguous lines
  void (*columns)(char* acc, const char* x, std::int64_t x_step, std::int64_t lines, std::int64_t width, const char* p,
                  std::int64_t p_step);
  void (*merge)(char* acc, const char* other, std::int64_t n);  // acc[i] combined with other[i]
  void (*start)(char* acc, std::int64_t n);
  void (*finish)(char* acc, std::int64_t n, const char* p, std::int64_t p_step, std::int64_t count);
};
struct FoldTable {
  FoldLoops loops[int(ReduceOp::count)][kDTypes];  // null where the row is not computed in that dtype
};
const FoldTable& fold_table();

void fold(Context&, ReduceOp, DType computed, unsigned reduced, View x, View p, View y);
void norm(Context&, ReduceOp, DType computed, unsigned reduced, View x, View p,
          View y);  // norm2 and normp, of any size
void extreme(Context&, bool largest, int dim, View x, View values, View indices);
void moments(Context&, double correction, bool root, unsigned reduced, View x, View y, View mean);
void logsumexp(Context&, unsigned reduced, View x, View y);

}  // namespace neura

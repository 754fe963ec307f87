// One launch of a fold: which elements belong to which result.
#pragma once
#include "neura/backend/backend.h"
#include "neura/backend/cuda/operands.h"
#include "neura/backend/cuda/runtime/failure.h"

namespace neura::cuda {

struct Axes {  // outermost first; steps in bytes
  int rank = 0;
  Division size[kMaxRank];
  std::int64_t x[kMaxRank], y[kMaxRank];
};
struct FoldArguments {
  const char* x;
  char* y;
  const char* p;  // one number of the computing dtype per result, or (p_step 0) one for all, or null
  char* partial;  // [chunks, outputs] of the computing dtype; null where one chunk does all
  DType x_dtype, y_dtype;
  std::uint32_t outputs, count, chunks, chunk, p_step;
  double centre;  // the number for all where p is null
  double number;  // what `finish` takes for n: the count, or what replaces it
  bool packs;     // reduced elements are contiguous, lines aligned to 16 bytes
  bool root;      // of moments: the square root at the end
  Axes kept, reduced;
};

// True if the kernels read this dtype without conversion: the computing dtype, or a half of it.
inline bool is_read(DType d, DType computed) {
  return d == computed || (computed == DType::float32 && (d == DType::float16 || d == DType::bfloat16));
}
// Launches mean (dense, of the computing dtype) and spread of dense lines, if that is what f describes.
bool moments_in_one_pass(const FoldArguments& f, DType computed, char* means, cudaStream_t);
// The steps where it is not. f: x's elements and the results; the rest is dense, of the computing dtype.
void first_elements(const FoldArguments&, DType computed, char* pilots, cudaStream_t);  // 0 for one that is too large
// The pilots become the means; the sums of the distances from them, what rounding the means took.
void settle_means(const FoldArguments&, DType computed, char* means, char* rests, cudaStream_t);
// Variances or deviations: spreads around the rounded means have n times the square of that too much.
void deliver_spread(const FoldArguments&, DType computed, const char* spread, const char* rests, cudaStream_t);
// Whether f's sums are those over rows of halves that sum_columns adds up.
bool takes_column_sums(const FoldArguments&);
Failed sum_columns(FoldArguments, int index, cudaStream_t);
void extreme(Context&, bool largest, int dim, View x, View values, View indices);  // kernels/reduce.h

}  // namespace neura::cuda

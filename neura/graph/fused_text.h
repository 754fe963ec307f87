// The kernel of a fused call on CUDA: its text, and the words that it is launched with.
#pragma once
#include <string>
#include <vector>

#include "neura/cuda/compile.h"
#include "neura/graph/fused.h"

namespace neura::graph {

struct FusedOperand {
  enum Access : std::uint8_t {
    flat,    // contiguous, as the result
    single,  // one element for all
    line,    // contiguous along the innermost dimension
    same,    // one element for all of the innermost dimension
    apart,   // strided along the innermost dimension
  };
  DType dtype;
  Access access;
  std::int64_t strides[kMaxRank];  // of the layout's dimensions, in elements
};
struct FusedLayout {  // of the result and what is read for it, with as few dimensions as all of them allow
  int rank = 1;
  std::int64_t numel, shape[kMaxRank];
  std::vector<FusedOperand> operands;
  int pack = 1;            // elements of a thread
  bool wide = false;       // more elements than 32 bits count
  bool positions = false;  // some operand is neither flat nor single
};
inline constexpr int kFusedThreads = 256;
inline constexpr const char* kFusedName = "neura::fused::kernel";

// False where one kernel cannot do it: too many operands, or strided ones with more elements than 32 bits count. Run
// the calls one by one then.
bool lay_out(const Fused&, std::span<const Spec* const> operands, FusedLayout&);
std::string text_of(const Fused&, const FusedLayout&);
// data: of the results, then of the operands.
std::vector<std::uint64_t> words_of(const Fused&, const FusedLayout&, std::span<const char* const> data);
std::string formula_of(const Row&);                   // of a row or a slope
std::span<const cuda::KernelHeader> fused_headers();  // what the text includes

}  // namespace neura::graph

// Fused calls on CUDA.
#pragma once
#include "neura/graph/fused.h"

namespace neura::graph {

// Runs the call by a kernel that is compiled at the first call of its kind, and cached. False where there is none:
// without NVRTC, or for what a kernel cannot do; nothing is written then.
bool run_compiled(const Fused&, Context&, std::span<const View> operands, std::span<const View> results);
// Call by call, through memory.
void run_apart(const Fused&, Context&, std::span<const View> operands, std::span<const View> results);

struct FusedCounts {
  std::int64_t compiled, apart;  // calls so far, by what ran them
};
FusedCounts fused_counts();

}  // namespace neura::graph

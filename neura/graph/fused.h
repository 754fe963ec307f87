// Several pointwise calls as one operation, on the cpu.
#pragma once
#include "neura/ops/apply.h"

namespace neura::graph {

struct FusedCall {
  std::int64_t row;  // its place in all_operations()
  DType computed, natural, result;
  std::vector<std::int64_t> in;  // operands of the whole, then its numbers, then the results of the calls before
  std::vector<double> attributes;
  NEURA_FIELDS(row, computed, natural, result, in, attributes)
};
// Operands are contiguous, of this size or of one element. The result is the last call's.
struct Fused {
  static constexpr Operation op = operation("fused").list(1);
  Shape size;
  std::vector<Scalar> numbers;  // each is read once
  std::vector<FusedCall> calls;
  NEURA_FIELDS(size, numbers, calls)

  void infer(std::span<const Spec* const> operands, Spec& y) const;
  void run(Context&, std::span<const View> operands, const View& y) const;
};

}  // namespace neura::graph

// Several pointwise calls as one operation: on the cpu line by line, on CUDA by a kernel that is compiled for them.
#pragma once
#include <optional>

#include "neura/op/apply.h"

namespace neura::graph {

struct FusedCall {
  std::int64_t row;  // row_number()
  DType computed, natural, result;
  std::vector<std::int64_t> in;  // operands of the whole, its numbers, results of the calls before; -1: not read
  std::vector<double> attributes;
  NEURA_FIELDS(row, computed, natural, result, in, attributes)
};
// Operands broadcast to this size: on the cpu as broadcast_of() says, on CUDA those of real numbers in any way. The
// result is the last call's; FusedOf<n> has n: the last call's and those of `also`.
struct Fused {
  static constexpr Operation op = operation("fused").list(1);
  Shape size;
  std::vector<Scalar> numbers;  // each is read once
  std::vector<FusedCall> calls;
  std::vector<std::int64_t> also;  // calls, in order
  NEURA_FIELDS(size, numbers, calls, also)

  void infer(std::span<const Spec* const> operands, Spec& y) const { infer_all(operands, {&y, 1}); }
  void run(Context& c, std::span<const View> operands, const View& y) const { run_all(c, operands, {&y, 1}); }
  void infer_all(std::span<const Spec* const> operands, std::span<Spec> y) const;
  void run_all(Context&, std::span<const View> operands, std::span<const View> y) const;
};
template <int n> struct FusedOf : Fused {
  static constexpr int results = n;
  static constexpr Operation op = operation(n == 2 ? "fused_2" : n == 3 ? "fused_3" : "fused_4").list(1);
  void infer(std::span<const Spec* const> operands, Spec& y) const { infer_all(operands, {&y, std::size_t(n)}); }
  void run(Context& c, std::span<const View> operands, const View& y) const {
    run_all(c, operands, {&y, std::size_t(n)});
  }
};
// The meaning of a call in a saved program: made from the operation's name, so that it is the same in every build.
// Null where no operation has that number.
std::int64_t row_number(const Row&);
const Row* row_of_number(std::int64_t);

// The call of a fused one that is the i-th result.
inline const FusedCall& result_of(const Fused& f, std::size_t i) {
  return i ? f.calls[std::size_t(f.also[i - 1])] : f.calls.back();
}

// Element i of a whole of some size reads element i / repeat % count of an operand's memory.
struct Broadcast {
  std::int64_t repeat, count;
};
// None where strides or sizes need more than that, as those of a transposed operand do.
std::optional<Broadcast> broadcast_of(const Spec&, std::span<const std::int64_t> size);

// A conversion of dtypes, which a fused call has on the cpu: it has no kernel, and its `natural` is the operand's
// dtype.
bool is_conversion(const Row&);
bool is_fused(const Row&);  // one of Fused and FusedOf

// Other calls are of rows and of their slopes. The row whose formulas it has; what its kernel reads as operand i.
inline const Row& formulas_of(const Row& row) { return row.kind == Row::slope ? *row.of : row; }
inline bool is_condition(const Row& row, int i) {
  return formulas_of(row).types.mask_first && i == int(row.kind == Row::slope);
}
inline DType wanted(const Row& row, int i, DType computed) { return is_condition(row, i) ? DType::boolean : computed; }
inline LineFn* kernel_of(const Row& row, const Backend& b, DType computed) {
  const RowKernel& k = formulas_of(row).kernel(b);
  return row.kind == Row::slope ? k.slope[row.operand][int(computed)] : k.value[int(computed)];
}

}  // namespace neura::graph

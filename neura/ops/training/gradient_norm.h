// The total norm of a list of gradients, and their scaling by it.
#pragma once
#include <span>

#include "neura/op/apply.h"

namespace neura {

// The root of the sum of all squares, without dimensions, in the real dtype that holds all of theirs. Tensors are
// floating or complex, and dense.
struct GetTotalNorm {
  static constexpr Operation op = operation("get_total_norm").list(1);
  NEURA_FIELDS()
  void infer(std::span<const Spec* const> tensors, Spec& norm) const;
  void run(Context&, std::span<const View> tensors, const View& norm) const;
};

// total_norm is one floating number. The gradients are multiplied by min(1, max_norm / (total_norm + 1e-6)); no two
// share memory.
struct ClipGradNorm {
  static constexpr int results = 0;
  NEURA_OPERANDS(total_norm, gradient)
  static constexpr Operation op = operation("clip_grad_norm_").list(1, In::gradient).writes(in(In::gradient));
  double max_norm;
  NEURA_FIELDS(max_norm)
  void infer(std::span<const Spec* const> operands, Spec&) const;
  void run(Context&, std::span<const View> operands, const View&) const;
};

// The calls.
Tensor gradient_norm(std::span<const Tensor> gradients);
void clip_gradients(std::span<const Tensor> gradients, double max_norm, const Tensor& norm);

}  // namespace neura

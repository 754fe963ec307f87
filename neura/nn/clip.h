// Clipping of gradients, in place, before an optimizer's step. Parameters without a gradient are skipped.
#pragma once
#include <vector>

#include "neura/core/tensor.h"

namespace neura::nn::utils {

struct ClipNormOptions {
  double norm_type = 2;             // or another p, or infinity
  bool error_if_nonfinite = false;  // else a norm of NaN or infinity scales by NaN or 0
};
// The norm of all gradients together, as a 0-d tensor. Where it exceeds max_norm, all gradients are multiplied by
// max_norm / (norm + 1e-6), as in torch. ValueError for a norm that is not finite, if wanted.
Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, const ClipNormOptions& = {});
// Each element within [-clip_value, clip_value]. ValueError if that is negative.
void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);
// The norm alone. ValueError for one that is not finite, if wanted.
Tensor get_total_norm(const std::vector<Tensor>& tensors, double norm_type = 2, bool error_if_nonfinite = false);
// Scaling alone, by a norm that is known.
void clip_grads_with_norm_(const std::vector<Tensor>& parameters, double max_norm, const Tensor& total_norm);

}  // namespace neura::nn::utils

#include "neura/nn/clip.h"

#include <algorithm>
#include <cmath>

#include "neura/autograd/grad_mode.h"
#include "neura/core/pending.h"
#include "neura/nn/repr.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/training/gradient_norm.h"

namespace neura::nn::utils {
namespace {

std::vector<Tensor> gradients(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> out;
  for (const Tensor& p : parameters)
    if (const Tensor g = p.grad()) out.push_back(g.detach());
  return out;
}

void check_finite(const char* function, const Tensor& total) {
  const double norm = total.item<double>();
  check<ValueError>(std::isfinite(norm), [&] {
    return std::string(function) + ": expected finite gradients, got a total norm of " + python_text(norm) +
           "; set error_if_nonfinite = false to continue anyway";
  });
}

// Kernels take many tensors at a time: dense ones of one device.
bool fit_together(const std::vector<Tensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [&](const Tensor& t) {
    return t && differentiable(t.dtype()) && t.spec().dense() && t.device() == tensors[0].device();
  });
}
bool apart(const std::vector<Tensor>& tensors) {  // true if no two share memory
  std::vector<MemoryRange> ranges;
  for (const Tensor& t : tensors)
    if (t.numel()) ranges.push_back(range_of(t.impl()));
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].overlaps(ranges[i - 1])) return false;
  return true;
}

void scale(std::vector<Tensor> grads, double max_norm, const Tensor& total) {
  std::vector<Tensor> all = grads;
  all.push_back(total);
  if (fit_together(all) && total.dim() == 0 && is_floating(total.dtype()) && apart(all))
    return clip_gradients(grads, max_norm, total);
  // Always multiplies, if need be by 1: so the host never reads the norm.
  const Tensor factor = clamp(max_norm / (total + 1e-6), {.max = 1.0});
  for (Tensor& g : grads) mul_(g, factor.to(g.device()).to(to_real(g.dtype())));
}

}  // namespace

Tensor get_total_norm(const std::vector<Tensor>& tensors, double norm_type, bool error_if_nonfinite) {
  NoGrad guard;
  if (tensors.empty()) return zeros({});
  if (norm_type == 2 && fit_together(tensors)) {
    const Tensor total = gradient_norm(tensors);
    if (error_if_nonfinite) check_finite("get_total_norm", total);
    return total;
  }
  std::vector<Tensor> norms;  // one number each; they meet on the first device
  for (const Tensor& t : tensors) norms.push_back(vector_norm(t, norm_type).to(tensors[0].device()));
  const Tensor total = norms.size() == 1 ? norms[0] : vector_norm(stack(norms), norm_type);
  if (error_if_nonfinite) check_finite("get_total_norm", total);
  return total;
}

Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, const ClipNormOptions& o) {
  check<ValueError>(!(max_norm < 0),
                    [&] { return "clip_grad_norm_: expected a max_norm from 0 up, got " + python_text(max_norm); });
  NoGrad guard;
  const std::vector<Tensor> grads = gradients(parameters);
  const Tensor total = get_total_norm(grads, o.norm_type);
  if (o.error_if_nonfinite) check_finite("clip_grad_norm_", total);
  scale(grads, max_norm, total);
  return total;
}

void clip_grads_with_norm_(const std::vector<Tensor>& parameters, double max_norm, const Tensor& total_norm) {
  NoGrad guard;
  scale(gradients(parameters), max_norm, total_norm);
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  check<ValueError>(clip_value >= 0,
                    [&] { return "clip_grad_value_: expected a value from 0 up, got " + python_text(clip_value); });
  NoGrad guard;
  for (Tensor& g : gradients(parameters)) clamp_(g, {.min = -clip_value, .max = clip_value});
}

}  // namespace neura::nn::utils

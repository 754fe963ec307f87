// One step of one parameter by each optimizer: the numbers its kernel needs, and where its state is. S is a state of
// any kind, with has(name), tensor(name, like, first) and number(name, first), which is assigned to; it brings its own
// take_step(state, parameter, gradient, step, tensors...).
#pragma once
#include <algorithm>
#include <cmath>

#include "neura/backend/kernels/optim.h"
#include "neura/optim/matrix_step.h"

namespace neura::optim::detail {

inline double sign_of(bool maximize) { return maximize ? -1 : 1; }
// Weight decay, either added to the gradient or subtracted from the parameter (decoupled).
template <class S, class O> void set_decay(S& s, const O& o) {
  s.decay = o.decoupled_weight_decay ? 1 - o.lr * o.weight_decay : 1;
  s.weight_decay = o.decoupled_weight_decay ? 0 : o.weight_decay;
}

template <class S> double count(S& state) {
  auto&& steps = state.number("step");
  steps = steps + 1;
  return steps;
}

template <class S> void step_of(const Tensor& p, const Tensor& g, S& state, const SGDOptions& o) {
  const bool moving = o.momentum != 0;
  const SgdStep s{o.lr,
                  o.weight_decay,
                  o.momentum,
                  o.dampening,
                  sign_of(o.maximize),
                  o.nesterov,
                  moving && !state.has("momentum_buffer")};
  take_step(state, p, g, s, moving ? state.tensor("momentum_buffer", p) : Tensor());
}

template <class S, class O> void adam_step(const Tensor& p, const Tensor& g, S& state, const O& o) {
  const double t = count(state);
  AdamStep s{};
  set_decay(s, o);
  s.beta1 = o.betas[0], s.beta2 = o.betas[1], s.eps = o.eps, s.sign = sign_of(o.maximize);
  s.step_size = o.lr / (1 - std::pow(s.beta1, t));
  s.bias_correction2_sqrt = std::sqrt(1 - std::pow(s.beta2, t));
  const Tensor average = state.tensor("exp_avg", p), square = state.tensor("exp_avg_sq", p);
  take_step(state, p, g, s, average, square, o.amsgrad ? state.tensor("max_exp_avg_sq", p) : Tensor());
}
template <class S> void step_of(const Tensor& p, const Tensor& g, S& state, const AdamOptions& o) {
  adam_step(p, g, state, o);
}
template <class S> void step_of(const Tensor& p, const Tensor& g, S& state, const AdamWOptions& o) {
  adam_step(p, g, state, o);
}

template <class S> void step_of(const Tensor& p, const Tensor& g, S& state, const RMSpropOptions& o) {
  count(state);
  const RmspropStep s{o.lr, o.alpha, o.eps, o.weight_decay, o.momentum, sign_of(o.maximize), o.eps_inside_sqrt};
  const Tensor square = state.tensor("square_avg", p);
  const Tensor buffer = o.momentum > 0 ? state.tensor("momentum_buffer", p) : Tensor();
  take_step(state, p, g, s, square, buffer, o.centered ? state.tensor("grad_avg", p) : Tensor());
}

template <class S> void step_of(const Tensor& p, const Tensor& g, S& state, const AdagradOptions& o) {
  const double t = count(state);
  const AdagradStep s{o.lr / (1 + (t - 1) * o.lr_decay), o.weight_decay, o.eps, sign_of(o.maximize)};
  take_step(state, p, g, s, state.tensor("sum", p, o.initial_accumulator_value));
}

template <class S> void step_of(const Tensor& p, const Tensor& g, S& state, const AdadeltaOptions& o) {
  count(state);
  const AdadeltaStep s{o.lr, o.rho, o.eps, o.weight_decay, sign_of(o.maximize)};
  const Tensor square = state.tensor("square_avg", p);
  take_step(state, p, g, s, square, state.tensor("acc_delta", p));
}

template <class S> void step_of(const Tensor& p, const Tensor& g, S& state, const AdamaxOptions& o) {
  const double t = count(state);
  const AdamaxStep s{
      o.lr / (1 - std::pow(o.betas[0], t)), o.betas[0], o.betas[1], o.eps, o.weight_decay, sign_of(o.maximize)};
  const Tensor average = state.tensor("exp_avg", p);
  take_step(state, p, g, s, average, state.tensor("exp_inf", p));
}

template <class S> void step_of(const Tensor& p, const Tensor& g, S& state, const NAdamOptions& o) {
  const double t = count(state);
  auto&& product = state.number("mu_product", 1);
  const double mu = o.betas[0] * (1 - 0.5 * std::pow(0.96, t * o.momentum_decay));
  const double next = o.betas[0] * (1 - 0.5 * std::pow(0.96, (t + 1) * o.momentum_decay));
  product = product * mu;
  NadamStep s{};
  set_decay(s, o);
  s.beta1 = o.betas[0], s.beta2 = o.betas[1], s.eps = o.eps, s.sign = sign_of(o.maximize);
  s.bias_correction2 = 1 - std::pow(s.beta2, t);
  s.grad_factor = o.lr * (1 - mu) / (1 - product);
  s.average_factor = o.lr * next / (1 - product * next);
  const Tensor average = state.tensor("exp_avg", p);
  take_step(state, p, g, s, average, state.tensor("exp_avg_sq", p));
}

template <class S> void step_of(const Tensor& p, const Tensor& g, S& state, const RAdamOptions& o) {
  const double t = count(state);
  RadamStep s{};
  set_decay(s, o);
  s.beta1 = o.betas[0], s.beta2 = o.betas[1], s.eps = o.eps, s.sign = sign_of(o.maximize);
  const double power = std::pow(s.beta2, t), correction = 1 - power;
  s.step_size = o.lr / (1 - std::pow(s.beta1, t));
  const double longest = 2 / (1 - s.beta2) - 1, length = longest - 2 * t * power / correction;
  if (length > 5)  // enough samples for the variance to be tractable
    s.rectified = std::sqrt(correction) *
                  std::sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length));
  const Tensor average = state.tensor("exp_avg", p);
  take_step(state, p, g, s, average, state.tensor("exp_avg_sq", p));
}

template <class S> void step_of(const Tensor& p, const Tensor& g, S& state, const ASGDOptions& o) {
  const double t = count(state);
  const double eta = state.number("eta", o.lr), mu = state.number("mu", 1);
  const AsgdStep s{o.lambd, eta, mu, o.weight_decay, sign_of(o.maximize)};
  take_step(state, p, g, s, state.tensor("ax", p));
  state.number("eta") = o.lr / std::pow(1 + o.lambd * o.lr * t, o.alpha);
  state.number("mu") = 1 / std::max(1.0, t - o.t0);
}

template <class S> void step_of(const Tensor& p, const Tensor& g, S& state, const RpropOptions& o) {
  count(state);
  const RpropStep s{o.etas[0], o.etas[1], o.step_sizes[0], o.step_sizes[1], sign_of(o.maximize)};
  const Tensor before = state.tensor("prev", p);
  take_step(state, p, g, s, before, state.tensor("step_size", p, o.lr));
}

// A state whose shape is not the parameter's.
template <class S> Tensor state_of(S& state, const char* name, const Shape& shape, const Tensor& like) {
  const Tensor kept = state.saved(name);
  if (kept && kept.dtype() == like.dtype() && kept.device() == like.device() && kept.shape() == shape) return kept;
  Tensor made = Tensor::empty(Spec::dense(like.dtype(), shape, like.device()));
  if (kept) made.copy_(kept);
  else made.zero_();
  return state.put(name, made), made;
}

template <class S> void step_of(const Tensor& p, const Tensor& g, S& state, const AdafactorOptions& o) {
  refuse_recording("Adafactor", p);
  const double t = count(state);
  if (p.dim() < 2) return adafactor_step(p, g, t, o, state.tensor("variance", p), {});
  Shape rows = p.shape(), columns = p.shape();
  rows[p.dim() - 1] = 1, columns[p.dim() - 2] = 1;
  const Tensor by_row = state_of(state, "row_var", rows, p);
  adafactor_step(p, g, t, o, by_row, state_of(state, "col_var", columns, p));
}

template <class S> void step_of(const Tensor& p, const Tensor& g, S& state, const MuonOptions& o) {
  refuse_recording("Muon", p);
  muon_step(p, g, o, state.tensor("momentum_buffer", p));
}

}  // namespace neura::optim::detail

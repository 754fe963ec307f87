#include "neura/optim/optimizers.h"

#include <cmath>

#include "neura/optim/step.h"

namespace neura::optim {
namespace {

using detail::apply_step;

// ---- Options as entries of a group, and back

Value to_value(double x) { return x; }
Value to_value(bool x) { return x; }
Value to_value(const Pair& x) { return nn::List{{x[0], x[1]}, true}; }
void from_group(const ParamGroup& g, const char* name, double& x) { x = g.number(name); }
void from_group(const ParamGroup& g, const char* name, bool& x) { x = g.flag(name); }
void from_group(const ParamGroup& g, const char* name, Pair& x) { x = g.pair(name); }

#define OPTION(type, name, ...) d[#name] = to_value(o.name);
#define OPTIMIZER(Name, options)         \
  Dict dict_of(const Name##Options& o) { \
    Dict d;                              \
    options return d;                    \
  }
#include "neura/optim/optimizers.def"
#undef OPTION
#undef OPTIMIZER
#define OPTION(type, name, ...) from_group(g, #name, o.name);
#define OPTIMIZER(Name, options) \
  void read(const ParamGroup& g, Name##Options& o) { options }
#include "neura/optim/optimizers.def"
#undef OPTION
#undef OPTIMIZER

// ---- What is refused

template <class... Rest> void expect(const char* name, const char* what, bool ok, double got) {
  check<ValueError>(ok, [&] { return std::string(name) + ": expected " + what + ", got " + Scalar(got).str(); });
}
template <class O> void check_options(const char* name, const O& o) {
  expect(name, "lr >= 0", o.lr >= 0, o.lr);
  if constexpr (requires { o.eps; }) expect(name, "eps >= 0", o.eps >= 0, o.eps);
  if constexpr (requires { o.weight_decay; }) expect(name, "weight_decay >= 0", o.weight_decay >= 0, o.weight_decay);
  if constexpr (requires { o.betas; })
    for (double beta : o.betas) expect(name, "betas in [0, 1)", beta >= 0 && beta < 1, beta);
  if constexpr (requires { o.momentum; }) expect(name, "momentum >= 0", o.momentum >= 0, o.momentum);
  if constexpr (requires { o.rho; }) expect(name, "rho in [0, 1]", o.rho >= 0 && o.rho <= 1, o.rho);
  if constexpr (requires { o.lr_decay; }) {
    expect(name, "lr_decay >= 0", o.lr_decay >= 0, o.lr_decay);
    expect(name, "initial_accumulator_value >= 0", o.initial_accumulator_value >= 0, o.initial_accumulator_value);
  }
  if constexpr (requires { o.centered; }) expect(name, "alpha >= 0", o.alpha >= 0, o.alpha);
  if constexpr (requires { o.momentum_decay; })
    expect(name, "momentum_decay >= 0", o.momentum_decay >= 0, o.momentum_decay);
  if constexpr (requires { o.etas; })
    expect(name, "etas with 0 < etas[0] < 1 < etas[1]", 0 < o.etas[0] && o.etas[0] < 1 && 1 < o.etas[1], o.etas[0]);
  if constexpr (requires { o.nesterov; })
    check<ValueError>(!o.nesterov || (o.momentum > 0 && o.dampening == 0), [&] {
      return std::string(name) + ": expected a momentum and no dampening with nesterov, got momentum " +
             Scalar(o.momentum).str() + " and dampening " + Scalar(o.dampening).str();
    });
}

double sign_of(bool maximize) { return maximize ? -1 : 1; }
// The decay of weights, either added to the gradient or taken off the parameter.
template <class S, class O> void set_decay(S& s, const O& o) {
  s.decay = o.decoupled_weight_decay ? 1 - o.lr * o.weight_decay : 1;
  s.weight_decay = o.decoupled_weight_decay ? 0 : o.weight_decay;
}

// ---- One step of one parameter

void step_of(const Tensor& p, const Tensor& g, State& state, const SGDOptions& o) {
  const SgdStep s{
      o.lr, o.weight_decay, o.momentum, o.dampening, sign_of(o.maximize), o.nesterov, !state.has("momentum_buffer")};
  apply_step(p, g, s, o.momentum == 0 ? Tensor() : state.tensor("momentum_buffer", p));
}

template <class O> void adam_step(const Tensor& p, const Tensor& g, State& state, const O& o) {
  const double t = ++state.number("step");
  AdamStep s{};
  set_decay(s, o);
  s.beta1 = o.betas[0], s.beta2 = o.betas[1], s.eps = o.eps, s.sign = sign_of(o.maximize);
  s.step_size = o.lr / (1 - std::pow(s.beta1, t));
  s.bias_correction2_sqrt = std::sqrt(1 - std::pow(s.beta2, t));
  const Tensor average = state.tensor("exp_avg", p), square = state.tensor("exp_avg_sq", p);
  apply_step(p, g, s, average, square, o.amsgrad ? state.tensor("max_exp_avg_sq", p) : Tensor());
}
void step_of(const Tensor& p, const Tensor& g, State& s, const AdamOptions& o) { adam_step(p, g, s, o); }
void step_of(const Tensor& p, const Tensor& g, State& s, const AdamWOptions& o) { adam_step(p, g, s, o); }

void step_of(const Tensor& p, const Tensor& g, State& state, const RMSpropOptions& o) {
  ++state.number("step");
  const RmspropStep s{o.lr, o.alpha, o.eps, o.weight_decay, o.momentum, sign_of(o.maximize), o.eps_inside_sqrt};
  const Tensor square = state.tensor("square_avg", p);
  const Tensor buffer = o.momentum > 0 ? state.tensor("momentum_buffer", p) : Tensor();
  apply_step(p, g, s, square, buffer, o.centered ? state.tensor("grad_avg", p) : Tensor());
}

void step_of(const Tensor& p, const Tensor& g, State& state, const AdagradOptions& o) {
  const double t = ++state.number("step");
  const AdagradStep s{o.lr / (1 + (t - 1) * o.lr_decay), o.weight_decay, o.eps, sign_of(o.maximize)};
  apply_step(p, g, s, state.tensor("sum", p, o.initial_accumulator_value));
}

void step_of(const Tensor& p, const Tensor& g, State& state, const AdadeltaOptions& o) {
  ++state.number("step");
  const AdadeltaStep s{o.lr, o.rho, o.eps, o.weight_decay, sign_of(o.maximize)};
  const Tensor square = state.tensor("square_avg", p);
  apply_step(p, g, s, square, state.tensor("acc_delta", p));
}

void step_of(const Tensor& p, const Tensor& g, State& state, const AdamaxOptions& o) {
  const double t = ++state.number("step");
  const AdamaxStep s{
      o.lr / (1 - std::pow(o.betas[0], t)), o.betas[0], o.betas[1], o.eps, o.weight_decay, sign_of(o.maximize)};
  const Tensor average = state.tensor("exp_avg", p);
  apply_step(p, g, s, average, state.tensor("exp_inf", p));
}

void step_of(const Tensor& p, const Tensor& g, State& state, const NAdamOptions& o) {
  const double t = ++state.number("step");
  double& product = state.number("mu_product", 1);
  const double mu = o.betas[0] * (1 - 0.5 * std::pow(0.96, t * o.momentum_decay));
  const double next = o.betas[0] * (1 - 0.5 * std::pow(0.96, (t + 1) * o.momentum_decay));
  product *= mu;
  NadamStep s{};
  set_decay(s, o);
  s.beta1 = o.betas[0], s.beta2 = o.betas[1], s.eps = o.eps, s.sign = sign_of(o.maximize);
  s.bias_correction2 = 1 - std::pow(s.beta2, t);
  s.grad_factor = o.lr * (1 - mu) / (1 - product);
  s.average_factor = o.lr * next / (1 - product * next);
  const Tensor average = state.tensor("exp_avg", p);
  apply_step(p, g, s, average, state.tensor("exp_avg_sq", p));
}

void step_of(const Tensor& p, const Tensor& g, State& state, const RAdamOptions& o) {
  const double t = ++state.number("step");
  RadamStep s{};
  set_decay(s, o);
  s.beta1 = o.betas[0], s.beta2 = o.betas[1], s.eps = o.eps, s.sign = sign_of(o.maximize);
  const double power = std::pow(s.beta2, t), correction = 1 - power;
  s.step_size = o.lr / (1 - std::pow(s.beta1, t));
  const double longest = 2 / (1 - s.beta2) - 1, length = longest - 2 * t * power / correction;
  if (length > 5)  // enough samples for the variance to be known
    s.rectified = std::sqrt(correction) *
                  std::sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length));
  const Tensor average = state.tensor("exp_avg", p);
  apply_step(p, g, s, average, state.tensor("exp_avg_sq", p));
}

void step_of(const Tensor& p, const Tensor& g, State& state, const ASGDOptions& o) {
  const double t = ++state.number("step");
  const double eta = state.number("eta", o.lr), mu = state.number("mu", 1);
  const AsgdStep s{o.lambd, eta, mu, o.weight_decay, sign_of(o.maximize)};
  apply_step(p, g, s, state.tensor("ax", p));
  state.number("eta") = o.lr / std::pow(1 + o.lambd * o.lr * t, o.alpha);
  state.number("mu") = 1 / std::max(1.0, t - o.t0);
}

void step_of(const Tensor& p, const Tensor& g, State& state, const RpropOptions& o) {
  ++state.number("step");
  const RpropStep s{o.etas[0], o.etas[1], o.step_sizes[0], o.step_sizes[1], sign_of(o.maximize)};
  const Tensor before = state.tensor("prev", p);
  apply_step(p, g, s, before, state.tensor("step_size", p, o.lr));
}

}  // namespace

#define OPTIMIZER(Name, options)                                                                                  \
  Name::Name(std::vector<Tensor> params, const Name##Options& o) : Name(one_group(std::move(params)), o) {}       \
  Name::Name(std::vector<ParamGroup> groups, const Name##Options& o) : Optimizer(std::move(groups), dict_of(o)) { \
    for (const ParamGroup& g : param_groups()) Name::check_group(g);                                              \
  }                                                                                                               \
  void Name::check_group(const ParamGroup& g) const {                                                             \
    Name##Options o;                                                                                              \
    read(g, o);                                                                                                   \
    check_options(#Name, o);                                                                                      \
  }                                                                                                               \
  void Name::update(ParamGroup& group) {                                                                          \
    Name##Options o;                                                                                              \
    read(group, o);                                                                                               \
    for (const Tensor& p : group.params)                                                                          \
      if (const Tensor g = p.grad()) step_of(p, g.detach(), state(p), o);                                         \
  }
#include "neura/optim/optimizers.def"
#undef OPTIMIZER

}  // namespace neura::optim

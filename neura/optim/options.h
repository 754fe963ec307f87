// What the options of optimizers.def are named and how they are refused.
#pragma once
#include "neura/optim/optimizers.h"

namespace neura::optim::detail {

// Calls f(name, field) for every option, in the order of optimizers.def.
#define OPTION(type, name, ...) f(#name, o.name);
#define OPTIMIZER(Name, options)                                           \
  template <class F> void each_option(Name##Options& o, F&& f) { options } \
  template <class F> void each_option(const Name##Options& o, F&& f) { options }
#include "neura/optim/optimizers.def"
#undef OPTION
#undef OPTIMIZER

inline void expect(const char* name, const char* what, bool ok, double got) {
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

}  // namespace neura::optim::detail

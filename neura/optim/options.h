// Names and limits of the options of tables/optimizers.def.
#pragma once
#include "neura/optim/optimizers.h"

namespace neura::optim::detail {

// Calls f(name, field) for every option, in the order of the table.
#define OPTION(type, name, ...) f(#name, o.name);
#define OPTIMIZER(Name, options, ...)                                      \
  template <class F> void each_option(Name##Options& o, F&& f) { options } \
  template <class F> void each_option(const Name##Options& o, F&& f) { options }
#define MATRIX_OPTIMIZER OPTIMIZER
#define CLOSURE_OPTIMIZER OPTIMIZER
#include "neura/tables/optimizers.def"

// Conversion of options to groups and back.
template <class T> Value to_value(const T& x) { return nn::box(x); }
template <std::size_t N> Value to_value(const std::array<double, N>& x) {
  nn::List l;
  for (const double e : x) l.items.emplace_back(e);
  return l;
}
inline void from_group(const ParamGroup& g, const char* name, double& x) { x = g.number(name); }
inline void from_group(const ParamGroup& g, const char* name, bool& x) { x = g.flag(name); }
template <std::size_t N> void from_group(const ParamGroup& g, const char* name, std::array<double, N>& x) {
  g.numbers(name, N, x.data());
}
template <class T> void from_group(const ParamGroup& g, const char* name, T& x) { x = nn::unbox<T>(g.option(name)); }
template <class O> Dict dict_of(const O& options) {
  Dict d;
  each_option(options, [&](const char* name, const auto& field) { d[name] = to_value(field); });
  return d;
}
template <class O> O options_of(const ParamGroup& g) {
  O options;
  each_option(options, [&](const char* name, auto& field) { from_group(g, name, field); });
  return options;
}

inline void expect(const char* name, const char* what, bool ok, double got) {
  check<ValueError>(ok, [&] { return std::string(name) + ": expected " + what + ", got " + Scalar(got).str(); });
}
template <class O> void check_options(const char* name, const O& o) {
  expect(name, "lr >= 0", o.lr >= 0, o.lr);
  if constexpr (requires { o.eps >= 0; }) expect(name, "eps >= 0", o.eps >= 0, o.eps);
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
  if constexpr (requires { o.dampening; })
    check<ValueError>(!o.nesterov || (o.momentum > 0 && o.dampening == 0), [&] {
      return std::string(name) + ": expected a momentum and no dampening with nesterov, got momentum " +
             Scalar(o.momentum).str() + " and dampening " + Scalar(o.dampening).str();
    });
}
inline void check_options(const char* name, const AdafactorOptions& o) {
  expect(name, "lr >= 0", o.lr >= 0, o.lr);
  expect(name, "beta2_decay <= 0", o.beta2_decay <= 0, o.beta2_decay);
  if (o.eps.first) expect(name, "eps[0] None or >= 0", *o.eps.first >= 0, *o.eps.first);
  expect(name, "eps[1] >= 0", o.eps.second >= 0, o.eps.second);
  expect(name, "d >= 1", o.d >= 1, o.d);
  expect(name, "weight_decay >= 0", o.weight_decay >= 0, o.weight_decay);
}
inline void expect_word(const char* name, const std::optional<std::string>& word, const char* what,
                        std::initializer_list<const char*> words) {
  bool ok = !word;
  for (const char* w : words) ok = ok || *word == w;
  check<ValueError>(ok, [&] { return std::string(name) + ": expected " + what + ", got " + *word; });
}
inline void check_options(const char* name, const MuonOptions& o) {
  expect(name, "lr >= 0", o.lr >= 0, o.lr);
  expect(name, "momentum >= 0", o.momentum >= 0, o.momentum);
  expect(name, "weight_decay >= 0", o.weight_decay >= 0, o.weight_decay);
  expect(name, "ns_steps below 100", o.ns_steps < 100, double(o.ns_steps));
  expect_word(name, o.adjust_lr_fn, "adjust_lr_fn None, \"original\" or \"match_rms_adamw\"",
              {"original", "match_rms_adamw"});
}
inline void check_options(const char* name, const LBFGSOptions& o) {
  expect(name, "lr >= 0", o.lr >= 0, o.lr);
  expect(name, "history_size >= 1", o.history_size >= 1, double(o.history_size));
  expect_word(name, o.line_search_fn, "line_search_fn None or \"strong_wolfe\"", {"strong_wolfe"});
}

// ValueError or DTypeError for a parameter that the optimizer does not take.
template <class O> void check_parameter(const char*, const O&, const Tensor&) {}
inline void check_parameter(const char* name, const AdafactorOptions&, const Tensor& p) {
  check<DTypeError>(!is_complex(p.dtype()),
                    [&] { return std::string(name) + ": expected real parameters, got " + p.spec().str(); });
}
inline void check_parameter(const char* name, const MuonOptions&, const Tensor& p) {
  check<ValueError>(p.dim() == 2 && !is_complex(p.dtype()),
                    [&] { return std::string(name) + ": expected real matrices, got " + p.spec().str(); });
}

}  // namespace neura::optim::detail

#include "neura/optim/optimizers.h"

#include "neura/optim/options.h"
#include "neura/optim/rules.h"
#include "neura/optim/step.h"

namespace neura::optim {
namespace {

Value to_value(double x) { return x; }
Value to_value(bool x) { return x; }
Value to_value(const Pair& x) { return nn::List{{x[0], x[1]}, true}; }
void from_group(const ParamGroup& g, const char* name, double& x) { x = g.number(name); }
void from_group(const ParamGroup& g, const char* name, bool& x) { x = g.flag(name); }
void from_group(const ParamGroup& g, const char* name, Pair& x) { x = g.pair(name); }

template <class O> Dict dict_of(const O& options) {
  Dict d;
  detail::each_option(options, [&](const char* name, const auto& field) { d[name] = to_value(field); });
  return d;
}
template <class O> O options_of(const ParamGroup& g) {
  O options;
  detail::each_option(options, [&](const char* name, auto& field) { from_group(g, name, field); });
  return options;
}

}  // namespace

namespace detail {
struct Stepping {  // a parameter's state, and where its step goes
  State& state;
  Batch& batch;
  double& number(const char* name, double first = 0) { return state.number(name, first); }
  Tensor tensor(const char* name, const Tensor& like, double first = 0) { return state.tensor(name, like, first); }
  bool has(const char* name) const { return state.has(name); }
  Tensor saved(const char* name) const {
    const Value* v = state.values.find(name);
    return v && v->is<Tensor>() ? *v->get<Tensor>() : Tensor();
  }
  void put(const char* name, const Tensor& t) { state.values[name] = t; }
};
// Found by the rules through their argument.
template <class... T> void take_step(Stepping& s, const T&... arguments) { apply_step(s.batch, arguments...); }
}  // namespace detail

namespace {

template <class O> void take_steps(Optimizer& optimizer, const ParamGroup& group) {
  const O options = options_of<O>(group);
  const bool master = group.options.find("master") && group.flag("master");
  detail::Batch batch;
  detail::Masters masters;
  std::vector<Tensor> recorded;
  for (const Tensor& p : group.params) {
    const Tensor g = p.grad();
    if (!g) continue;
    detail::Stepping s{optimizer.state(p), batch};
    if (master && detail::takes_master(p)) {
      const Tensor wide = detail::master_of(s, p);
      masters.add(p, wide);
      detail::step_of(wide, g.detach().to(DType::float32), s, options);
    } else {
      detail::step_of(p, g.detach(), s, options);
    }
    if (batch.recorded()) recorded.push_back(p);
  }
  if (recorded.empty()) return batch.run(), masters.write();
  const auto number = std::size_t(&group - optimizer.param_groups().data());
  batch.run([&optimizer, alive = optimizer.alive(), number, recorded, master](detail::Batch& next) {
    check<ValueError>(!alive.expired(), [] {
      return std::string("optimizer: expected the one of a captured step to live as long as its graph, got none");
    });
    const O now = options_of<O>(optimizer.param_groups()[number]);
    for (const Tensor& p : recorded) {
      detail::Stepping s{optimizer.state(p), next};
      const Tensor q = master && detail::takes_master(p) ? detail::master_of(s, p) : p;
      detail::step_of(q, q, s, now);
    }
  });
  masters.write();
}

}  // namespace

#define OPTIMIZER(Name, options)                                                                                    \
  Name::Name(std::vector<Tensor> params, const Name##Options& o) : Name(one_group(std::move(params)), o) {}         \
  Name::Name(std::vector<ParamGroup> groups, const Name##Options& o) : Optimizer(std::move(groups), dict_of(o)) {   \
    for (const ParamGroup& g : param_groups()) Name::check_group(g);                                                \
  }                                                                                                                 \
  void Name::check_group(const ParamGroup& g) const { detail::check_options(#Name, options_of<Name##Options>(g)); } \
  void Name::update(ParamGroup& group) { take_steps<Name##Options>(*this, group); }
#include "neura/optim/optimizers.def"
#undef OPTIMIZER

}  // namespace neura::optim

#include "neura/optim/optimizers.h"

#include "neura/optim/options.h"
#include "neura/optim/sparse_step.h"
#include "neura/optim/step_batch.h"

namespace neura::optim {
namespace detail {

struct StepContext {  // a parameter's state, and where its step goes
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
template <class... T> void take_step(StepContext& s, const T&... arguments) { apply_step(s.batch, arguments...); }
}  // namespace detail

namespace {

template <class O> void take_steps(Optimizer& optimizer, const ParamGroup& group) {
  const O options = detail::options_of<O>(group);
  const bool master = group.options.find("master") && group.flag("master");
  detail::Batch batch;
  detail::MasterWeights masters;
  std::vector<Tensor> recorded;
  for (const Tensor& p : group.params) {
    const Tensor g = p.grad();
    if (!g) continue;
    detail::StepContext s{optimizer.state(p), batch};
    if (master && detail::takes_master(p)) {
      const Tensor wide = detail::master_of(s, p);
      masters.add(p, wide);
      detail::any_step(wide, g.detach().to(DType::float32), s, options);
    } else {
      detail::any_step(p, g.detach(), s, options);
    }
    if (batch.recorded()) recorded.push_back(p);
  }
  if (recorded.empty()) return batch.run(), masters.write();
  const auto number = std::size_t(&group - optimizer.param_groups().data());
  batch.run([&optimizer, alive = optimizer.alive(), number, recorded, master](detail::Batch& next) {
    check<ValueError>(!alive.expired(), [] {
      return std::string("optimizer: expected the one of a captured step to live as long as its graph, got none");
    });
    const O now = detail::options_of<O>(optimizer.param_groups()[number]);
    for (const Tensor& p : recorded) {
      detail::StepContext s{optimizer.state(p), next};
      const Tensor q = master && detail::takes_master(p) ? detail::master_of(s, p) : p;
      detail::step_of(q, q, s, now);
    }
  });
  masters.write();
}

// For a state that need not have its parameter's strides: each size is the parameter's, or 1.
template <class O> bool fits(const O&, const Shape& state, const Shape& parameter) { return state == parameter; }
bool fits(const AdafactorOptions&, const Shape& state, const Shape& parameter) {
  bool all = state.size() == parameter.size();
  for (int i = 0; all && i < state.size(); ++i) all = state[i] == parameter[i] || state[i] == 1;
  return all;
}
template <class O> void check_whole_group(const char* name, const ParamGroup& g) {
  const O options = detail::options_of<O>(g);
  detail::check_options(name, options);
  for (const Tensor& p : g.params) detail::check_parameter(name, options, p);
}

}  // namespace

#define OPTIMIZER(Name, ...)                                                                                \
  Name::Name(std::vector<Tensor> params, const Name##Options& o) : Name(one_group(std::move(params)), o) {} \
  Name::Name(std::vector<ParamGroup> groups, const Name##Options& o)                                        \
      : Optimizer(std::move(groups), detail::dict_of(o)) {                                                  \
    for (const ParamGroup& g : param_groups()) Name::check_group(g);                                        \
  }                                                                                                         \
  void Name::check_group(const ParamGroup& g) const { check_whole_group<Name##Options>(#Name, g); }         \
  void Name::update(ParamGroup& group) { take_steps<Name##Options>(*this, group); }                         \
  bool Name::may_have_shape(const Shape& state, const Shape& parameter) const {                             \
    return fits(Name##Options(), state, parameter);                                                         \
  }
#define MATRIX_OPTIMIZER OPTIMIZER
#include "neura/tables/optimizers.def"

}  // namespace neura::optim

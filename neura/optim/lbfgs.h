// LBFGS: curvature from the last steps, and a search along each direction (Nocedal and Wright, Numerical Optimization).
#pragma once
#include "neura/optim/optimizers.h"

namespace neura::optim {

// Quasi-Newton steps for smooth losses of whole data sets. step(closure) takes up to max_iter of them and calls the
// closure, which computes loss and gradients again, up to about max_eval times (5/4 of max_iter by default); the loss
// before the first step is returned. It ends where the largest gradient is at most tolerance_grad, or the change of a
// parameter or of the loss at most tolerance_change. history_size: how many steps are remembered, each with two copies
// of the parameters. line_search_fn "strong_wolfe" searches along each direction; without, every step has length lr.
// One group only.
//
//   optim::LBFGS optimizer(net.parameters(), {.line_search_fn = "strong_wolfe"});
//   optimizer.step([&] { optimizer.zero_grad(); Tensor l = loss(); l.backward(); return l; });
class LBFGS : public Optimizer {
 public:
  explicit LBFGS(std::vector<Tensor> params, const LBFGSOptions& = {});
  Tensor step(const std::function<Tensor()>& closure) override;
  void add_param_group(ParamGroup) override;  // ValueError for a second one
  std::string type_name() const override { return "LBFGS"; }

 protected:
  void update(ParamGroup&) override;  // ValueError: it needs a closure
  void check_group(const ParamGroup&) const override;
  bool may_have_shape(const Shape&, const Shape&) const override { return true; }
};

namespace detail {
inline std::int64_t max_eval_of(const LBFGSOptions& o) { return o.max_eval.value_or(o.max_iter * 5 / 4); }
// What step does, over the parameters of the group and the state of the first, which has torch's keys.
Tensor lbfgs_step(const std::vector<Tensor>& params, const LBFGSOptions&, Dict& state,
                  const std::function<Tensor()>& closure);
}  // namespace detail

}  // namespace neura::optim

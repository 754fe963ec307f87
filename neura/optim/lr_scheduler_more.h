// The schedulers with many options, and those made of others. Included by lr_scheduler.h.
#pragma once
#include "neura/optim/lr_scheduler.h"

namespace neura::optim::lr_scheduler {

struct CyclicOptions {
  std::int64_t step_size_up = 2000;
  std::optional<std::int64_t> step_size_down = {};  // as step_size_up
  std::string mode = "triangular";                  // "triangular2": half as high every cycle; "exp_range": gamma^epoch
  double gamma = 1;
  bool cycle_momentum = true;  // against the rate, from max_momentum down to base_momentum
  double base_momentum = 0.8, max_momentum = 0.9;
};
class CyclicLR : public LRScheduler {  // up from base_lr to max_lr and down again, over and over
 public:
  CyclicLR(Optimizer&, double base_lr, double max_lr, const CyclicOptions& = {});

 protected:
  std::vector<double> get_lr() override;
  void visit(Fields&) override;
  void admit(ParamGroup&) override;
  double base_lr_, max_lr_;
  CyclicOptions o_;
};

struct OneCycleOptions {
  std::optional<std::int64_t> total_steps = {}, epochs = {}, steps_per_epoch = {};  // the first, or both others
  double pct_start = 0.3;                                                           // of the cycle, going up
  std::string anneal_strategy = "cos";                                              // or "linear"
  bool cycle_momentum = true;
  double base_momentum = 0.85, max_momentum = 0.95;
  double div_factor = 25, final_div_factor = 1e4;  // from max_lr / div_factor to that / final_div_factor
  bool three_phase = false;
};
class OneCycleLR : public LRScheduler {  // up to max_lr once, then down to almost nothing; step() after every batch
 public:
  OneCycleLR(Optimizer&, std::vector<double> max_lr, const OneCycleOptions& = {});
  OneCycleLR(Optimizer& o, double max_lr, const OneCycleOptions& options = {})
      : OneCycleLR(o, std::vector<double>{max_lr}, options) {}

 protected:
  std::vector<double> get_lr() override;
  void visit(Fields&) override;
  void admit(ParamGroup&) override;
  void start(ParamGroup&, double max_lr);
  std::int64_t total_steps_;
  OneCycleOptions o_;
  std::optional<double> max_lr_;  // of groups that are added later
};

struct PlateauOptions {
  std::string mode = "min";  // or "max": what is better
  double factor = 0.1;
  std::int64_t patience = 10;          // epochs without improvement that are borne
  double threshold = 1e-4;             // what counts as improvement
  std::string threshold_mode = "rel";  // or "abs"
  std::int64_t cooldown = 0;           // epochs after a reduction in which none are counted
  std::vector<double> min_lr = {0};    // one, or one per group
  double eps = 1e-8;                   // a smaller change is not made
};
class ReduceLROnPlateau : public LRScheduler {  // times factor when the metric has stopped improving
 public:
  explicit ReduceLROnPlateau(Optimizer&, const PlateauOptions& = {});
  void step(StepOptions) override;  // ValueError without metrics
  void step(double metrics) { step(StepOptions{.metrics = metrics}); }
  void begin() override;

 protected:
  std::vector<double> get_lr() override { return last_lr_; }
  void visit(Fields&) override;
  bool is_better(double) const;
  PlateauOptions o_;
  std::optional<double> min_lr_;  // of groups that are added later
  double best_;
  std::int64_t num_bad_epochs_ = 0, cooldown_counter_ = 0;
};

// One scheduler after the other: the next takes over, from its epoch 0, at each milestone.
class SequentialLR : public LRScheduler {
 public:
  SequentialLR(Optimizer&, std::vector<std::shared_ptr<LRScheduler>>, std::vector<std::int64_t> milestones);
  void step(StepOptions = {}) override;
  Dict state_dict() const override;
  void load_state_dict(const Dict&) override;

 protected:
  std::vector<double> get_lr() override { return last_lr_; }
  void visit(Fields&) override;
  std::vector<std::shared_ptr<LRScheduler>> schedulers_;
  std::vector<std::int64_t> milestones_;
};
class ChainedScheduler : public LRScheduler {  // all of them at every step
 public:
  explicit ChainedScheduler(std::vector<std::shared_ptr<LRScheduler>>);
  void step(StepOptions = {}) override;
  Dict state_dict() const override;
  void load_state_dict(const Dict&) override;

 protected:
  std::vector<double> get_lr() override { return last_lr_; }
  std::vector<std::shared_ptr<LRScheduler>> schedulers_;
};

}  // namespace neura::optim::lr_scheduler

// The schedulers with many options, and those made of others. Included by lr_scheduler.h.
#pragma once
#include "neura/optim/lr_scheduler.h"

namespace neura::optim::lr_scheduler {

// Cosine annealing over T_0 epochs, then restarted over T_0 * T_mult, and so on. step takes fractions of an epoch:
// step({.epoch = 2.5}).
class CosineAnnealingWarmRestarts : public LRScheduler {
 public:
  CosineAnnealingWarmRestarts(Optimizer&, Count T_0, Count T_mult = RestartOptions().T_mult,
                              double eta_min = RestartOptions().eta_min, std::int64_t last_epoch = -1);

 protected:
  std::vector<double> get_lr() override;
  void update_lr(std::optional<double> epoch) override;
  void visit(Fields&) override;
  Restarts o_;
};

class CyclicLR : public LRScheduler {  // cycles from base_lr to max_lr and back
 public:
  CyclicLR(Optimizer&, Values base_lr, Values max_lr, const CyclicOptions& = {}, std::int64_t last_epoch = -1);
  CyclicLR(Optimizer& o, double base_lr, double max_lr, const CyclicOptions& options = {}, std::int64_t last_epoch = -1)
      : CyclicLR(o, Values{base_lr}, Values{max_lr}, options, last_epoch) {}

 protected:
  std::vector<double> get_lr() override;
  void visit(Fields&) override;
  void admit(ParamGroup&) override;
  Cycle o_;
  Scale scale_fn_;
  bool cycle_momentum_;
  Values max_lrs_, base_momentums_, max_momentums_;
  std::optional<double> new_base_lr_, new_max_lr_, new_base_momentum_, new_max_momentum_;  // of groups added later
};

class OneCycleLR : public LRScheduler {  // one cycle: up to max_lr, then down to almost 0; step() after every batch
 public:
  OneCycleLR(Optimizer&, Values max_lr, const OneCycleOptions& = {}, std::int64_t last_epoch = -1);
  OneCycleLR(Optimizer& o, double max_lr, const OneCycleOptions& options = {}, std::int64_t last_epoch = -1)
      : OneCycleLR(o, Values{max_lr}, options, last_epoch) {}

 protected:
  std::vector<double> get_lr() override;
  void visit(Fields&) override;
  void admit(ParamGroup&) override;
  void start(ParamGroup&, double max_lr, double base_momentum, double max_momentum);
  std::int64_t total_steps_;
  std::string anneal_strategy_;
  bool cycle_momentum_;
  std::vector<Phase> phases_;
  double div_factor_, final_div_factor_;
  std::optional<double> new_max_lr_, new_base_momentum_, new_max_momentum_;  // of groups added later
};

// Anneals each group's rate to swa_lr (one, or one per group) over anneal_epochs by a cosine or linearly; then
// constant.
class SWALR : public LRScheduler {
 public:
  SWALR(Optimizer&, Values swa_lr, const SwaOptions& = {}, std::int64_t last_epoch = -1);
  SWALR(Optimizer& o, double swa_lr, const SwaOptions& options = {}, std::int64_t last_epoch = -1)
      : SWALR(o, Values{swa_lr}, options, last_epoch) {}

 protected:
  std::vector<double> get_lr() override;
  void visit(Fields&) override;
  void admit(ParamGroup&) override;
  SwaOptions o_;
  std::optional<double> new_swa_lr_;  // of groups added later
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
  Plateau o_;
  Values min_lrs_;
  std::optional<double> new_min_lr_;  // of groups added later
};

// Schedulers in sequence: at each milestone the next one takes over, from its epoch 0.
class SequentialLR : public LRScheduler {
 public:
  SequentialLR(Optimizer&, std::vector<std::shared_ptr<LRScheduler>>, std::vector<std::int64_t> milestones,
               std::int64_t last_epoch = -1);
  void step(StepOptions = {}) override;
  void begin() override;
  Dict state_dict() const override;
  void load_state_dict(const Dict&) override;

 protected:
  std::vector<double> get_lr() override { return last_lr_; }
  void update_lr(std::optional<double> epoch) override { step({.epoch = epoch}); }
  void undo() override;
  void visit(Fields&) override;
  std::vector<std::shared_ptr<LRScheduler>> schedulers_;
  std::vector<std::int64_t> milestones_;
};
class ChainedScheduler : public LRScheduler {  // steps all of them together
 public:
  explicit ChainedScheduler(std::vector<std::shared_ptr<LRScheduler>>);
  void step(StepOptions = {}) override;
  void begin() override;
  Dict state_dict() const override;
  void load_state_dict(const Dict&) override;

 protected:
  std::vector<double> get_lr() override { return last_lr_; }
  void update_lr(std::optional<double> epoch) override { step({.epoch = epoch}); }
  void undo() override;
  std::vector<std::shared_ptr<LRScheduler>> schedulers_;
};

}  // namespace neura::optim::lr_scheduler

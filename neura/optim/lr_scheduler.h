// Learning rates over time, with PyTorch's names, arguments and numbers. Each scheduler reads and writes "lr" of the
// optimizer's groups; the rate a group had first stays in it as "initial_lr". Call step() after optimizer.step().
//
//   optim::lr_scheduler::StepLR scheduler(optimizer, 30, 0.1);
#pragma once
#include <limits>

#include "neura/optim/optimizer.h"

namespace neura::optim::lr_scheduler {

struct StepOptions {
  std::optional<std::int64_t> epoch = {};  // go there, instead of one further
  std::optional<double> metrics = {};      // what ReduceLROnPlateau watches
};

class Fields {  // of a scheduler, saved to or loaded from a Dict: listed once
 public:
  Fields(Dict& d, bool load) : d_(d), load_(load) {}
  template <class T> void operator()(std::string_view name, T& x) {
    if (!load_) d_[name] = nn::box(x);
    else if (const Value* v = d_.find(name)) x = nn::unbox<T>(*v);
  }

 private:
  Dict& d_;
  bool load_;
};

class LRScheduler {
 public:
  virtual ~LRScheduler() = default;
  LRScheduler(const LRScheduler&) = delete;

  virtual void step(StepOptions = {});
  std::vector<double> get_last_lr() const { return last_lr_; }  // of every group
  std::int64_t last_epoch() const { return last_epoch_; }
  Optimizer& optimizer() { return *optimizer_; }
  const Optimizer& optimizer() const { return *optimizer_; }
  virtual Dict state_dict() const;
  virtual void load_state_dict(const Dict&);
  virtual void begin();  // epoch 0; the last thing a constructor does

 protected:
  explicit LRScheduler(Optimizer&);
  virtual std::vector<double> get_lr() = 0;  // of every group, at last_epoch_
  // The same from the first rates alone, for a jump; nothing where there is no such form.
  virtual std::optional<std::vector<double>> closed_form() { return {}; }
  virtual void visit(Fields&);
  virtual void admit(ParamGroup&);  // a group that was added later takes part from its own rate on
  void admit_new();
  void write(const std::vector<double>& lr);
  template <class F> std::vector<double> each(const F& f) const {  // f(current rate, first rate)
    std::vector<double> out;
    for (std::size_t i = 0; i < base_lrs_.size(); ++i)
      out.push_back(f(optimizer_->param_groups()[i].lr(), base_lrs_[i]));
    return out;
  }

  Optimizer* optimizer_;
  std::vector<double> base_lrs_, last_lr_;
  std::int64_t last_epoch_ = -1, step_count_ = 0;
  friend class SequentialLR;
};

class StepLR : public LRScheduler {  // times gamma every step_size epochs
 public:
  StepLR(Optimizer&, std::int64_t step_size, double gamma = 0.1);

 protected:
  std::vector<double> get_lr() override;
  std::optional<std::vector<double>> closed_form() override;
  void visit(Fields&) override;
  std::int64_t step_size_;
  double gamma_;
};

class MultiStepLR : public LRScheduler {  // times gamma at each milestone
 public:
  MultiStepLR(Optimizer&, std::vector<std::int64_t> milestones, double gamma = 0.1);

 protected:
  std::vector<double> get_lr() override;
  std::optional<std::vector<double>> closed_form() override;
  void visit(Fields&) override;
  std::vector<std::int64_t> milestones_;
  double gamma_;
};

class ConstantLR : public LRScheduler {  // times factor until total_iters
 public:
  explicit ConstantLR(Optimizer&, double factor = 1.0 / 3, std::int64_t total_iters = 5);

 protected:
  std::vector<double> get_lr() override;
  std::optional<std::vector<double>> closed_form() override;
  void visit(Fields&) override;
  double factor_;
  std::int64_t total_iters_;
};

class LinearLR : public LRScheduler {  // the factor goes from start_factor to end_factor: warm-up
 public:
  explicit LinearLR(Optimizer&, double start_factor = 1.0 / 3, double end_factor = 1, std::int64_t total_iters = 5);

 protected:
  std::vector<double> get_lr() override;
  std::optional<std::vector<double>> closed_form() override;
  void visit(Fields&) override;
  double start_factor_, end_factor_;
  std::int64_t total_iters_;
};

class ExponentialLR : public LRScheduler {  // times gamma every epoch
 public:
  ExponentialLR(Optimizer&, double gamma);

 protected:
  std::vector<double> get_lr() override;
  std::optional<std::vector<double>> closed_form() override;
  void visit(Fields&) override;
  double gamma_;
};

class PolynomialLR : public LRScheduler {  // times (1 - epoch / total_iters)^power, until 0
 public:
  explicit PolynomialLR(Optimizer&, std::int64_t total_iters = 5, double power = 1);

 protected:
  std::vector<double> get_lr() override;
  std::optional<std::vector<double>> closed_form() override;
  void visit(Fields&) override;
  std::int64_t total_iters_;
  double power_;
};

class CosineAnnealingLR : public LRScheduler {  // half a cosine down to eta_min in T_max epochs, and up again
 public:
  CosineAnnealingLR(Optimizer&, std::int64_t T_max, double eta_min = 0);

 protected:
  std::vector<double> get_lr() override;
  std::optional<std::vector<double>> closed_form() override;
  void visit(Fields&) override;
  std::int64_t T_max_;
  double eta_min_;
};

class CosineAnnealingWarmRestarts : public LRScheduler {  // down in T_0 epochs, then from the top in T_0 * T_mult, …
 public:
  CosineAnnealingWarmRestarts(Optimizer&, std::int64_t T_0, std::int64_t T_mult = 1, double eta_min = 0);
  void step(StepOptions = {}) override;

 protected:
  std::vector<double> get_lr() override;
  void visit(Fields&) override;
  std::int64_t T_0_, T_i_, T_mult_;
  double eta_min_;
  std::int64_t T_cur_ = -1;
};

using Factor = std::function<double(std::int64_t epoch)>;
class LambdaLR : public LRScheduler {  // the first rate times f(epoch); one f, or one per group. f is not saved.
 public:
  LambdaLR(Optimizer&, std::vector<Factor> lr_lambda);
  LambdaLR(Optimizer& o, Factor f) : LambdaLR(o, std::vector<Factor>{std::move(f)}) {}

 protected:
  std::vector<double> get_lr() override;
  std::vector<Factor> factors_;
};
class MultiplicativeLR : public LRScheduler {  // times f(epoch) every epoch
 public:
  MultiplicativeLR(Optimizer&, std::vector<Factor> lr_lambda);
  MultiplicativeLR(Optimizer& o, Factor f) : MultiplicativeLR(o, std::vector<Factor>{std::move(f)}) {}

 protected:
  std::vector<double> get_lr() override;
  std::vector<Factor> factors_;
};

}  // namespace neura::optim::lr_scheduler

#include "neura/optim/lr_scheduler_more.h"

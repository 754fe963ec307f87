// Learning rates over time, with PyTorch's names, arguments and numbers. Each scheduler reads and writes "lr" of the
// optimizer's groups; the rate a group had first stays in it as "initial_lr". Call step() after optimizer.step().
//
//   optim::lr_scheduler::StepLR scheduler(optimizer, 30, 0.1);
#pragma once
#include "neura/optim/optimizer.h"
#include "neura/optim/schedules.h"

namespace neura::optim::lr_scheduler {

struct StepOptions {
  std::optional<double> epoch = {};    // jumps there instead of advancing by one; fractions for warm restarts alone
  std::optional<double> metrics = {};  // what ReduceLROnPlateau watches
};

class Fields {  // fields of a scheduler, saved to or loaded from a Dict
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
  // last_epoch resumes: ValueError if a group has no "initial_lr" then. -1 is the beginning.
  explicit LRScheduler(Optimizer&, std::int64_t last_epoch = -1);
  virtual std::vector<double> get_lr() = 0;  // of every group, at last_epoch_
  // The same from the first rates alone, for a jump; nothing where there is no such form.
  virtual std::optional<std::vector<double>> closed_form() { return {}; }
  virtual void update_lr(std::optional<double> epoch);  // what step() does, without counting a call
  virtual void undo() { --last_epoch_; }                // the step that the constructor took
  virtual void visit(Fields&);
  virtual void admit(ParamGroup&);  // a group added later starts from its own rate
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
  bool initial_ = false;  // inside begin()
  friend class SequentialLR;
  friend class ChainedScheduler;
};

template <class O> class ScheduleOf : public LRScheduler {  // of the numbers O
 protected:
  ScheduleOf(Optimizer& o, O options, std::int64_t last_epoch)
      : LRScheduler((check_schedule(options), o), last_epoch), o_(std::move(options)) {
    begin();
  }
  std::vector<double> get_lr() override {
    const Moment now{double(last_epoch_), step_count_, initial_};
    return each([&](double lr, double base) { return next_rate(o_, now, lr, base); });
  }
  std::optional<std::vector<double>> closed_form() override {
    return each([&](double, double base) { return rate_at(o_, double(last_epoch_), base); });
  }
  void visit(Fields& f) override {
    each_option(o_, f);
    LRScheduler::visit(f);
  }
  O o_;
};

// StepLR: times gamma every step_size epochs.
// MultiStepLR: times gamma at each of the milestones; twice where one occurs twice.
// ConstantLR: times factor until epoch total_iters.
// LinearLR: the factor goes from start_factor to end_factor in total_iters epochs: warm-up.
// ExponentialLR: times gamma every epoch.
// PolynomialLR: times (1 - epoch / total_iters)^power, until 0.
// CosineAnnealingLR: half a cosine down to eta_min in T_max epochs, and up again.
#define OPTION(type, name, ...) , type name = __VA_ARGS__
#define REQUIRED(type, name) , type name
#define SCHEDULE(Name, options, ...)                                           \
  class Name : public ScheduleOf<Name##Options> {                              \
   public:                                                                     \
    explicit Name(Optimizer& optimizer options, std::int64_t last_epoch = -1); \
  };
#define SCHEDULE_OPTIONS(Name, options)
#include "neura/optim/schedules.def"
#undef OPTION
#undef REQUIRED
#undef SCHEDULE
#undef SCHEDULE_OPTIONS

using Factor = std::function<double(std::int64_t epoch)>;
class LambdaLR : public LRScheduler {  // the first rate times f(epoch); one f, or one per group. f is not saved.
 public:
  LambdaLR(Optimizer&, std::vector<Factor> lr_lambda, std::int64_t last_epoch = -1);
  LambdaLR(Optimizer& o, Factor f, std::int64_t last_epoch = -1)
      : LambdaLR(o, std::vector<Factor>{std::move(f)}, last_epoch) {}

 protected:
  std::vector<double> get_lr() override;
  std::vector<Factor> factors_;
};
class MultiplicativeLR : public LRScheduler {  // times f(epoch) every epoch
 public:
  MultiplicativeLR(Optimizer&, std::vector<Factor> lr_lambda, std::int64_t last_epoch = -1);
  MultiplicativeLR(Optimizer& o, Factor f, std::int64_t last_epoch = -1)
      : MultiplicativeLR(o, std::vector<Factor>{std::move(f)}, last_epoch) {}

 protected:
  std::vector<double> get_lr() override;
  std::vector<Factor> factors_;
};

}  // namespace neura::optim::lr_scheduler

#include "neura/optim/lr_scheduler_options.h"

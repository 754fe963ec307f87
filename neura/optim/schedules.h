// The mathematics of schedules: rates as functions of a few numbers. Schedulers of both languages hold those numbers
// and call them.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "neura/nn/value.h"

namespace neura::optim::lr_scheduler {

using Count = nn::Number;  // of epochs or steps; need not be whole
using Milestones = std::vector<std::int64_t>;
using Values = std::vector<double>;
using Steps = std::optional<std::int64_t>;
using Scale = std::function<double(double)>;

struct Moment {
  double epoch = 0;
  std::int64_t steps = 0;  // calls of step(), with the constructor's
  bool initial = false;    // the constructor's own
};

// Every schedule of schedules.def has its numbers here, the rate that follows the present one (so that schedulers can
// be chained), and the rate at an epoch, computed from the first one.
#define OPTION(type, name, ...) type name = __VA_ARGS__;
#define REQUIRED(type, name) type name = {};
#define SCHEDULE(Name, options, ...)                                             \
  struct Name##Options {                                                         \
    options                                                                      \
  };                                                                             \
  double next_rate(const Name##Options&, const Moment&, double lr, double base); \
  double rate_at(const Name##Options&, double epoch, double base);               \
  void check_schedule(const Name##Options&); /* ValueError */
#define SCHEDULE_OPTIONS(Name, options) \
  struct Name##Options {                \
    options                             \
  };
#include "neura/optim/schedules.def"
#undef OPTION
#undef REQUIRED
#undef SCHEDULE
#undef SCHEDULE_OPTIONS

// Calls f(name, field) for every number, in the order of schedules.def.
#define OPTION(type, name, ...) f(#name, o.name);
#define REQUIRED(type, name) f(#name, o.name);
#define SCHEDULE(Name, options, ...) \
  template <class F> void each_option(Name##Options& o, F&& f) { options }
#define SCHEDULE_OPTIONS(Name, options) \
  template <class F> void each_option(Name##Options& o, F&& f) { options }
#include "neura/optim/schedules.def"
#undef OPTION
#undef REQUIRED
#undef SCHEDULE
#undef SCHEDULE_OPTIONS

// Down a cosine in T_i epochs, of which T_cur are over; T_i grows by T_mult at each restart.
struct Restarts {
  Count T_0, T_i, T_mult;
  double eta_min = 0;
  Count T_cur;
  void check_counts() const;
  void begin();                                      // ValueError unless T_0 and T_mult are positive integers
  Count go(std::optional<Count> epoch, Count last);  // to an epoch, or to the next; returns the epoch. ValueError
  double rate(double base) const;
};
template <class F> void each_option(Restarts& o, F&& f) {
  f("T_0", o.T_0), f("T_i", o.T_i), f("T_mult", o.T_mult), f("eta_min", o.eta_min), f("T_cur", o.T_cur);
}

// The position within a cycle of CyclicLR.
struct Cycle {
  double total_size = 0, step_ratio = 0, gamma = 0;
  std::string mode, scale_mode;
  void begin(Count step_size_up, std::optional<Count> step_size_down, bool own_scale);  // ValueError
  double scale_argument(double epoch) const;  // what scale() is asked with: the cycle or, by scale_mode, the epoch
  double scale(double x) const;               // how high the cycle is, by its mode
  double height(double epoch) const;          // from 0 to 1, before it is scaled
};
template <class F> void each_option(Cycle& o, F&& f) {
  f("total_size", o.total_size), f("step_ratio", o.step_ratio), f("mode", o.mode), f("gamma", o.gamma);
  f("scale_mode", o.scale_mode);
}

// A part of OneCycleLR, and what goes from where to where in it: names of a group's options.
struct Phase {
  double end_step = 0;
  std::string start_lr, end_lr, start_momentum, end_momentum;
};
template <class F> void each_option(Phase& o, F&& f) {
  f("end_step", o.end_step), f("start_lr", o.start_lr), f("end_lr", o.end_lr);
  f("start_momentum", o.start_momentum), f("end_momentum", o.end_momentum);
}
std::int64_t total_steps_of(const OneCycleOptions&);  // ValueError for options out of range
std::vector<Phase> phases_of(double total_steps, double pct_start, bool three_phase);
struct Part {  // the phase of an epoch, and which part of it is over
  std::size_t phase;
  double part;
};
Part part_at(const std::vector<Phase>&, double total_steps, double epoch);  // ValueError after the last step
double between(const std::string& anneal_strategy, double start, double end, double part);

void check_schedule(const SwaOptions&);  // ValueError
// Annealing to swa_lr; `steps` do not count the constructor's. The rest of the way starts from the present rate, which
// others may have changed.
double next_rate(const SwaOptions&, std::int64_t steps, double lr, double swa_lr);

struct Plateau {  // of ReduceLROnPlateau
  std::string mode, threshold_mode;
  double factor = 0, threshold = 0, eps = 0;
  Count patience, cooldown;
  double best = 0;
  Count cooldown_counter, num_bad_epochs;
  void begin();  // ValueError
  void reset();
  bool is_better(double a, double than) const;
  bool observe(double metric, bool better);  // true if the rates are to be reduced now
  double reduced(double lr, double min_lr) const;
};
template <class F> void each_option(Plateau& o, F&& f) {
  f("mode", o.mode), f("factor", o.factor), f("patience", o.patience), f("threshold", o.threshold);
  f("threshold_mode", o.threshold_mode), f("cooldown", o.cooldown), f("eps", o.eps), f("best", o.best);
  f("cooldown_counter", o.cooldown_counter), f("num_bad_epochs", o.num_bad_epochs);
}

}  // namespace neura::optim::lr_scheduler

template <> struct neura::nn::BoxedAs<neura::optim::lr_scheduler::Phase> {  // a dictionary, as torch saves it
  static Value value(const optim::lr_scheduler::Phase&);
  static optim::lr_scheduler::Phase back(const Value&);
};

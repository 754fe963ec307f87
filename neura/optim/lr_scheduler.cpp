#include "neura/optim/lr_scheduler.h"

namespace neura::optim::lr_scheduler {

LRScheduler::LRScheduler(Optimizer& o, std::int64_t last_epoch) : optimizer_(&o), last_epoch_(last_epoch) {
  for (ParamGroup& g : o.param_groups()) {
    check<ValueError>(last_epoch == -1 || g.options.find("initial_lr"), [&] {
      return "scheduler: expected \"initial_lr\" in every group to resume at epoch " + std::to_string(last_epoch) +
             ", got none; load the optimizer's state first";
    });
    LRScheduler::admit(g);
  }
}

void LRScheduler::admit(ParamGroup& g) {
  if (!g.options.find("initial_lr")) g.options["initial_lr"] = g.lr();
  base_lrs_.push_back(g.number("initial_lr"));
}

void LRScheduler::admit_new() {
  auto& groups = optimizer_->param_groups();
  while (base_lrs_.size() < groups.size()) admit(groups[base_lrs_.size()]);
}

void LRScheduler::begin() {
  step_count_ = 0;
  initial_ = true;
  LRScheduler::step();
  initial_ = false;
}

void LRScheduler::write(const std::vector<double>& lr) {
  auto& groups = optimizer_->param_groups();
  check<ValueError>(lr.size() <= groups.size(), [&] {
    return "scheduler: expected one rate per group (" + std::to_string(groups.size()) + "), got " +
           std::to_string(lr.size());
  });
  for (std::size_t i = 0; i < lr.size(); ++i) groups[i].set_lr(lr[i]);
  last_lr_ = lr;
}

void LRScheduler::step(StepOptions o) {
  ++step_count_;
  update_lr(o.epoch);
}

void LRScheduler::update_lr(std::optional<double> epoch) {
  admit_new();
  if (!epoch) {
    ++last_epoch_;
    return write(get_lr());
  }
  last_epoch_ = std::int64_t(*epoch);
  const auto closed = closed_form();
  write(closed ? *closed : get_lr());
}

void LRScheduler::visit(Fields& f) {
  f("base_lrs", base_lrs_);
  f("last_epoch", last_epoch_);
  f("_step_count", step_count_);
  f("_is_initial", initial_);
  f("_last_lr", last_lr_);
}

Dict LRScheduler::state_dict() const {
  Dict d;
  Fields fields(d, false);
  const_cast<LRScheduler*>(this)->visit(fields);
  return d;
}

void LRScheduler::load_state_dict(const Dict& state) {
  Dict d = state;
  Fields fields(d, true);
  visit(fields);
}

#define OPTION(type, name, ...) , type name
#define REQUIRED(type, name) , type name
#define SCHEDULE(Name, options, ...)                                \
  Name::Name(Optimizer& optimizer options, std::int64_t last_epoch) \
      : ScheduleOf(optimizer, {__VA_ARGS__}, last_epoch) {}
#define SCHEDULE_OPTIONS(Name, options)
#include "neura/optim/schedules.def"
#undef OPTION
#undef REQUIRED
#undef SCHEDULE
#undef SCHEDULE_OPTIONS

// ---- By a function

static std::vector<Factor> one_per_group(std::vector<Factor> f, std::size_t groups) {
  check<ValueError>(f.size() == 1 || f.size() == groups, [&] {
    return "scheduler: expected one function or " + std::to_string(groups) + ", got " + std::to_string(f.size());
  });
  return f;
}
static const Factor& of_group(const std::vector<Factor>& f, std::size_t group) {
  check<ValueError>(f.size() == 1 || group < f.size(), [&] {
    return "scheduler: expected one function for all groups where a group is added later, got " +
           std::to_string(f.size()) + "; make the scheduler after the last group";
  });
  return f[f.size() == 1 ? 0 : group];
}
LambdaLR::LambdaLR(Optimizer& o, std::vector<Factor> f, std::int64_t last_epoch)
    : LRScheduler(o, last_epoch), factors_(one_per_group(std::move(f), o.param_groups().size())) {
  LambdaLR::begin();
}
std::vector<double> LambdaLR::get_lr() {
  std::size_t i = 0;
  return each([&](double, double base) { return base * of_group(factors_, i++)(last_epoch_); });
}
MultiplicativeLR::MultiplicativeLR(Optimizer& o, std::vector<Factor> f, std::int64_t last_epoch)
    : LRScheduler(o, last_epoch), factors_(one_per_group(std::move(f), o.param_groups().size())) {
  MultiplicativeLR::begin();
}
std::vector<double> MultiplicativeLR::get_lr() {
  std::size_t i = 0;
  return each([&](double lr, double) { return initial_ ? lr : lr * of_group(factors_, i++)(last_epoch_); });
}

}  // namespace neura::optim::lr_scheduler

#include <algorithm>
#include <cmath>
#include <numbers>

#include "neura/optim/lr_scheduler.h"

namespace neura::optim::lr_scheduler {
namespace {

void set_momentum(ParamGroup& g, double momentum) {
  if (g.options.find("betas")) g.options["betas"] = nn::List{{momentum, g.pair("betas")[1]}, true};
  else g.options["momentum"] = momentum;
}
void expect_momentum(const char* name, const Optimizer& o) {
  check<ValueError>(o.defaults().find("momentum") || o.defaults().find("betas"), [&] {
    return std::string(name) + ": expected an optimizer with momentum or betas, got " + o.type_name() +
           "; set cycle_momentum = false";
  });
}
void expect_word(const char* name, const std::string& got, std::initializer_list<const char*> words) {
  std::string all;
  for (const char* w : words) {
    if (got == w) return;
    all += (all.empty() ? "" : ", ") + std::string(w);
  }
  throw ValueError(std::string(name) + ": expected one of " + all + ", got " + got);
}

}  // namespace

// ---- Cycles

CyclicLR::CyclicLR(Optimizer& o, double base_lr, double max_lr, const CyclicOptions& options)
    : LRScheduler(o), base_lr_(base_lr), max_lr_(max_lr), o_(options) {
  expect_word("CyclicLR", o_.mode, {"triangular", "triangular2", "exp_range"});
  if (o_.cycle_momentum) expect_momentum("CyclicLR", o);
  for (ParamGroup& g : o.param_groups()) {
    g.set_lr(base_lr), g.options["initial_lr"] = base_lr;
    if (o_.cycle_momentum) set_momentum(g, o_.max_momentum);
  }
  std::fill(base_lrs_.begin(), base_lrs_.end(), base_lr);
  CyclicLR::begin();
}
void CyclicLR::admit(ParamGroup& g) {
  g.options["initial_lr"] = base_lr_;
  base_lrs_.push_back(base_lr_);
}
std::vector<double> CyclicLR::get_lr() {
  const double up = double(o_.step_size_up), total = up + double(o_.step_size_down.value_or(o_.step_size_up));
  const double e = double(last_epoch_), cycle = std::floor(1 + e / total), x = 1 + e / total - cycle;
  const double peak = up / total, height = x <= peak ? x / peak : (x - 1) / (peak - 1);
  const double scale = o_.mode == "triangular"    ? 1
                       : o_.mode == "triangular2" ? 1 / std::pow(2, cycle - 1)
                                                  : std::pow(o_.gamma, e);
  if (o_.cycle_momentum)
    for (ParamGroup& g : optimizer_->param_groups())
      set_momentum(g, o_.max_momentum - (o_.max_momentum - o_.base_momentum) * height * scale);
  return each([&](double, double base) { return base + (max_lr_ - base) * height * scale; });
}
void CyclicLR::visit(Fields& f) {
  f("max_lr", max_lr_), f("step_size_up", o_.step_size_up), f("step_size_down", o_.step_size_down), f("mode", o_.mode);
  f("gamma", o_.gamma), f("cycle_momentum", o_.cycle_momentum);
  f("base_momentum", o_.base_momentum), f("max_momentum", o_.max_momentum);
  LRScheduler::visit(f);
}

OneCycleLR::OneCycleLR(Optimizer& o, std::vector<double> max_lr, const OneCycleOptions& options)
    : LRScheduler(o), o_(options) {
  check<ValueError>(o_.total_steps || (o_.epochs && o_.steps_per_epoch), [] {
    return std::string("OneCycleLR: expected total_steps, or epochs and steps_per_epoch, got neither");
  });
  total_steps_ = o_.total_steps ? *o_.total_steps : *o_.epochs * *o_.steps_per_epoch;
  check<ValueError>(total_steps_ > 0 && o_.pct_start >= 0 && o_.pct_start <= 1, [&] {
    return "OneCycleLR: expected a positive number of steps and pct_start in [0, 1], got " +
           std::to_string(total_steps_) + " and " + Scalar(o_.pct_start).str();
  });
  expect_word("OneCycleLR", o_.anneal_strategy, {"cos", "linear"});
  auto& groups = o.param_groups();
  if (max_lr.size() == 1) max_lr_ = max_lr[0], max_lr.resize(groups.size(), *max_lr_);
  check<ValueError>(max_lr.size() == groups.size(), [&] {
    return "OneCycleLR: expected one max_lr or one per group, got " + std::to_string(max_lr.size());
  });
  if (o_.cycle_momentum) expect_momentum("OneCycleLR", o);
  for (std::size_t i = 0; i < groups.size(); ++i)
    start(groups[i], max_lr[i]), base_lrs_[i] = groups[i].number("initial_lr");
  OneCycleLR::begin();
}
void OneCycleLR::start(ParamGroup& g, double max_lr) {
  const double first = max_lr / o_.div_factor;
  g.options["initial_lr"] = first;
  g.options["max_lr"] = max_lr;
  g.options["min_lr"] = first / o_.final_div_factor;
  if (!o_.cycle_momentum) return;
  g.options["max_momentum"] = o_.max_momentum;
  g.options["base_momentum"] = o_.base_momentum;
  set_momentum(g, o_.max_momentum);
}
void OneCycleLR::admit(ParamGroup& g) {
  check<ValueError>(max_lr_.has_value(), [] {
    return std::string(
        "OneCycleLR: expected one max_lr for all groups where a group is added later, got a list; make "
        "the scheduler after the last group");
  });
  start(g, *max_lr_);
  LRScheduler::admit(g);
}
std::vector<double> OneCycleLR::get_lr() {
  check<ValueError>(last_epoch_ <= total_steps_, [&] {
    return "OneCycleLR: expected at most " + std::to_string(total_steps_) + " steps, got one more";
  });
  const double last = double(total_steps_) - 1, top = o_.pct_start * double(total_steps_) - 1, e = double(last_epoch_);
  // Where each phase ends, and the rate (from, to) in it: 0 the first, 1 the highest, 2 the lowest.
  struct Phase {
    double end;
    int from, to;
  };
  std::vector<Phase> phases = {{top, 0, 1}};
  if (o_.three_phase) phases.push_back({2 * top, 1, 0}), phases.push_back({last, 0, 2});
  else phases.push_back({last, 1, 2});
  double start = 0;
  std::size_t now = 0;
  for (; now + 1 < phases.size() && e > phases[now].end; ++now) start = phases[now].end;
  const double part = (e - start) / (phases[now].end - start);
  auto between = [&](double from, double to) {
    if (o_.anneal_strategy == "linear") return (to - from) * part + from;
    return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * part));
  };
  std::vector<double> out;
  for (ParamGroup& g : optimizer_->param_groups()) {
    const double rates[] = {g.number("initial_lr"), g.number("max_lr"), g.number("min_lr")};
    out.push_back(between(rates[phases[now].from], rates[phases[now].to]));
    if (!o_.cycle_momentum) continue;
    const double high = g.number("max_momentum"), momenta[] = {high, g.number("base_momentum"), high};
    set_momentum(g, between(momenta[phases[now].from], momenta[phases[now].to]));
  }
  return out;
}
void OneCycleLR::visit(Fields& f) {
  f("total_steps", total_steps_), f("pct_start", o_.pct_start), f("_anneal_func_type", o_.anneal_strategy);
  f("cycle_momentum", o_.cycle_momentum), f("three_phase", o_.three_phase);
  LRScheduler::visit(f);
}

// ---- By a metric

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& o, const PlateauOptions& options) : LRScheduler(o), o_(options) {
  expect_word("ReduceLROnPlateau", o_.mode, {"min", "max"});
  expect_word("ReduceLROnPlateau", o_.threshold_mode, {"rel", "abs"});
  check<ValueError>(o_.factor < 1,
                    [&] { return "ReduceLROnPlateau: expected a factor below 1, got " + Scalar(o_.factor).str(); });
  if (o_.min_lr.size() == 1) min_lr_ = o_.min_lr[0], o_.min_lr.resize(o.param_groups().size(), *min_lr_);
  check<ValueError>(o_.min_lr.size() == o.param_groups().size(), [&] {
    return "ReduceLROnPlateau: expected one min_lr or one per group, got " + std::to_string(o_.min_lr.size());
  });
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  best_ = o_.mode == "min" ? kInfinity : -kInfinity;
  ReduceLROnPlateau::begin();
}
void ReduceLROnPlateau::begin() {
  last_epoch_ = 0;
  last_lr_ = each([](double lr, double) { return lr; });
}
bool ReduceLROnPlateau::is_better(double a) const {
  const bool less = o_.mode == "min";
  const double margin = o_.threshold_mode == "abs" ? o_.threshold : o_.threshold * best_;
  if (o_.threshold_mode == "rel" && std::isinf(best_)) return less ? a < best_ : a > best_;
  return less ? a < best_ - margin : a > best_ + margin;
}
void ReduceLROnPlateau::step(StepOptions o) {
  check<ValueError>(o.metrics.has_value(),
                    [] { return std::string("ReduceLROnPlateau: expected metrics, got none; call step(loss)"); });
  auto& groups = optimizer_->param_groups();
  check<ValueError>(o_.min_lr.size() >= groups.size() || min_lr_, [&] {
    return "ReduceLROnPlateau: expected one min_lr for all groups where a group is added later, got " +
           std::to_string(o_.min_lr.size()) + "; make the scheduler after the last group";
  });
  while (o_.min_lr.size() < groups.size()) o_.min_lr.push_back(*min_lr_);
  last_epoch_ = o.epoch.value_or(last_epoch_ + 1);
  if (is_better(*o.metrics)) best_ = *o.metrics, num_bad_epochs_ = 0;
  else ++num_bad_epochs_;
  if (cooldown_counter_ > 0) --cooldown_counter_, num_bad_epochs_ = 0;
  if (num_bad_epochs_ > o_.patience) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const double old = groups[i].lr(), fresh = std::max(old * o_.factor, o_.min_lr[i]);
      if (old - fresh > o_.eps) groups[i].set_lr(fresh);
    }
    cooldown_counter_ = o_.cooldown, num_bad_epochs_ = 0;
  }
  last_lr_.clear();
  for (const ParamGroup& g : groups) last_lr_.push_back(g.lr());
}
void ReduceLROnPlateau::visit(Fields& f) {
  f("factor", o_.factor), f("min_lrs", o_.min_lr), f("patience", o_.patience), f("cooldown", o_.cooldown);
  f("mode", o_.mode), f("threshold", o_.threshold), f("threshold_mode", o_.threshold_mode), f("eps", o_.eps);
  f("best", best_), f("num_bad_epochs", num_bad_epochs_), f("cooldown_counter", cooldown_counter_);
  f("last_epoch", last_epoch_), f("_last_lr", last_lr_);
}

// ---- Of others

static nn::List states_of(const std::vector<std::shared_ptr<LRScheduler>>& schedulers) {
  nn::List l;
  for (const auto& s : schedulers) l.items.emplace_back(s->state_dict());
  return l;
}
static void load_states(const Dict& d, const std::vector<std::shared_ptr<LRScheduler>>& schedulers) {
  const Value* v = d.find("_schedulers");
  const nn::List* l = v ? v->get<nn::List>() : nullptr;
  check<ValueError>(l && l->items.size() == schedulers.size(), [&] {
    return "load_state_dict: expected the states of " + std::to_string(schedulers.size()) + " schedulers, got others";
  });
  for (std::size_t i = 0; i < schedulers.size(); ++i)
    if (const Dict* state = l->items[i].get<Dict>()) schedulers[i]->load_state_dict(*state);
}
static void expect_schedulers(const char* name, const std::vector<std::shared_ptr<LRScheduler>>& schedulers,
                              const Optimizer* o) {
  check<ValueError>(!schedulers.empty(), [&] { return std::string(name) + ": expected schedulers, got none"; });
  for (const auto& s : schedulers)
    check<ValueError>(&s->optimizer() == o,
                      [&] { return std::string(name) + ": expected schedulers of one optimizer, got two"; });
}

SequentialLR::SequentialLR(Optimizer& o, std::vector<std::shared_ptr<LRScheduler>> schedulers,
                           std::vector<std::int64_t> milestones)
    : LRScheduler(o), schedulers_(std::move(schedulers)), milestones_(std::move(milestones)) {
  expect_schedulers("SequentialLR", schedulers_, &o);
  check<ValueError>(milestones_.size() + 1 == schedulers_.size(), [&] {
    return "SequentialLR: expected one milestone between every two schedulers, got " +
           std::to_string(milestones_.size());
  });
  last_epoch_ = 0;
  for (ParamGroup& g : o.param_groups()) g.set_lr(g.number("initial_lr"));
  for (const auto& s : schedulers_) --s->last_epoch_;  // undoes the step that each took when it was made
  schedulers_[0]->begin();
  last_lr_ = schedulers_[0]->get_last_lr();
}
void SequentialLR::step(StepOptions) {
  ++last_epoch_;
  const auto next = std::upper_bound(milestones_.begin(), milestones_.end(), last_epoch_) - milestones_.begin();
  LRScheduler& now = *schedulers_[std::size_t(next)];
  if (next > 0 && milestones_[std::size_t(next) - 1] == last_epoch_) now.step({.epoch = 0});
  else now.step();
  last_lr_ = now.get_last_lr();
}
void SequentialLR::visit(Fields& f) {
  f("_milestones", milestones_), f("last_epoch", last_epoch_), f("_last_lr", last_lr_);
}
Dict SequentialLR::state_dict() const {
  Dict d = LRScheduler::state_dict();
  d["_schedulers"] = states_of(schedulers_);
  return d;
}
void SequentialLR::load_state_dict(const Dict& d) {
  LRScheduler::load_state_dict(d);
  load_states(d, schedulers_);
}

static Optimizer& optimizer_of(const std::vector<std::shared_ptr<LRScheduler>>& schedulers) {
  check<ValueError>(!schedulers.empty(), [] { return std::string("ChainedScheduler: expected schedulers, got none"); });
  return schedulers[0]->optimizer();
}
ChainedScheduler::ChainedScheduler(std::vector<std::shared_ptr<LRScheduler>> schedulers)
    : LRScheduler(optimizer_of(schedulers)), schedulers_(std::move(schedulers)) {
  expect_schedulers("ChainedScheduler", schedulers_, optimizer_);
  last_lr_ = each([](double lr, double) { return lr; });
}
void ChainedScheduler::step(StepOptions o) {
  for (const auto& s : schedulers_) s->step(o);
  last_lr_ = each([](double lr, double) { return lr; });
}
Dict ChainedScheduler::state_dict() const {
  Dict d;
  d["_schedulers"] = states_of(schedulers_);
  d["_last_lr"] = nn::box(last_lr_);
  return d;
}
void ChainedScheduler::load_state_dict(const Dict& d) {
  load_states(d, schedulers_);
  if (const Value* v = d.find("_last_lr")) last_lr_ = nn::unbox<std::vector<double>>(*v);
}

}  // namespace neura::optim::lr_scheduler

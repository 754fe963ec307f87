#include <algorithm>
#include <cmath>

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
// One value for every group, or a list of them.
Values per_group(const char* name, const Optimizer& o, Values given) {
  const std::size_t groups = o.param_groups().size();
  check<ValueError>(given.size() == 1 || given.size() == groups, [&] {
    return std::string(name) + ": expected one value or " + std::to_string(groups) + ", one per group, got " +
           std::to_string(given.size());
  });
  if (given.size() == 1) given.resize(groups, given[0]);
  return given;
}
std::optional<double> one_for_all(const Values& given) {
  return given.size() == 1 ? std::optional(given[0]) : std::nullopt;
}
double for_new(const char* name, const std::optional<double>& one, std::size_t given) {
  check<ValueError>(one.has_value(), [&] {
    return std::string(name) + " for all groups where a group is added later, got " + std::to_string(given) +
           "; make the scheduler after the last group";
  });
  return *one;
}

}  // namespace

// ---- Cycles

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& o, Count T_0, Count T_mult, double eta_min,
                                                         std::int64_t last_epoch)
    : LRScheduler(o, last_epoch), o_{T_0, T_0, T_mult, eta_min, last_epoch} {
  o_.begin();
  CosineAnnealingWarmRestarts::begin();
}
void CosineAnnealingWarmRestarts::update_lr(std::optional<double> epoch) {
  admit_new();
  std::optional<Count> to;
  if (epoch) to = std::floor(*epoch) == *epoch && std::isfinite(*epoch) ? Count(std::int64_t(*epoch)) : Count(*epoch);
  last_epoch_ = std::int64_t(o_.go(to, last_epoch_).value);
  write(get_lr());
}
std::vector<double> CosineAnnealingWarmRestarts::get_lr() {
  return each([&](double, double base) { return o_.rate(base); });
}
void CosineAnnealingWarmRestarts::visit(Fields& f) {
  each_option(o_, f);
  LRScheduler::visit(f);
}

CyclicLR::CyclicLR(Optimizer& o, Values base_lr, Values max_lr, const CyclicOptions& options, std::int64_t last_epoch)
    : LRScheduler(o, last_epoch),
      scale_fn_(options.scale_fn),
      cycle_momentum_(options.cycle_momentum),
      max_lrs_(per_group("CyclicLR: max_lr", o, max_lr)),
      base_momentums_(per_group("CyclicLR: base_momentum", o, options.base_momentum)),
      max_momentums_(per_group("CyclicLR: max_momentum", o, options.max_momentum)),
      new_base_lr_(one_for_all(base_lr)),
      new_max_lr_(one_for_all(max_lr)),
      new_base_momentum_(one_for_all(options.base_momentum)),
      new_max_momentum_(one_for_all(options.max_momentum)) {
  o_.mode = options.mode, o_.gamma = options.gamma, o_.scale_mode = options.scale_mode;
  o_.begin(options.step_size_up, options.step_size_down, bool(scale_fn_));
  if (cycle_momentum_) expect_momentum("CyclicLR", o);
  base_lrs_ = per_group("CyclicLR: base_lr", o, base_lr);
  auto& groups = o.param_groups();
  for (std::size_t i = 0; last_epoch == -1 && i < groups.size(); ++i) {
    groups[i].set_lr(base_lrs_[i]), groups[i].options["initial_lr"] = base_lrs_[i];
    if (!cycle_momentum_) continue;
    set_momentum(groups[i], max_momentums_[i]);
    groups[i].options["max_momentum"] = max_momentums_[i], groups[i].options["base_momentum"] = base_momentums_[i];
  }
  CyclicLR::begin();
}
void CyclicLR::admit(ParamGroup& g) {
  const auto value = [&](const char* name, const std::optional<double>& one) {
    return for_new(("CyclicLR: expected one " + std::string(name)).c_str(), one, base_lrs_.size());
  };
  const double low = value("base_lr", new_base_lr_), high = value("max_lr", new_max_lr_);
  if (cycle_momentum_) {
    base_momentums_.push_back(value("base_momentum", new_base_momentum_));
    max_momentums_.push_back(value("max_momentum", new_max_momentum_));
    g.options["max_momentum"] = max_momentums_.back(), g.options["base_momentum"] = base_momentums_.back();
  }
  g.options["initial_lr"] = low;
  base_lrs_.push_back(low), max_lrs_.push_back(high);
}
std::vector<double> CyclicLR::get_lr() {
  const double e = double(last_epoch_), x = o_.scale_argument(e);
  const double height = o_.height(e) * (scale_fn_ ? scale_fn_(x) : o_.scale(x));
  std::vector<double> out;
  for (std::size_t i = 0; i < base_lrs_.size(); ++i) {
    out.push_back(base_lrs_[i] + (max_lrs_[i] - base_lrs_[i]) * height);
    if (cycle_momentum_)
      set_momentum(optimizer_->param_groups()[i],
                   max_momentums_[i] - (max_momentums_[i] - base_momentums_[i]) * height);
  }
  return out;
}
void CyclicLR::visit(Fields& f) {
  each_option(o_, f);
  f("max_lrs", max_lrs_), f("cycle_momentum", cycle_momentum_);
  if (cycle_momentum_) f("base_momentums", base_momentums_), f("max_momentums", max_momentums_);
  LRScheduler::visit(f);
}

OneCycleLR::OneCycleLR(Optimizer& o, Values max_lr, const OneCycleOptions& options, std::int64_t last_epoch)
    : LRScheduler(o, last_epoch),
      total_steps_(total_steps_of(options)),
      anneal_strategy_(options.anneal_strategy),
      cycle_momentum_(options.cycle_momentum),
      phases_(phases_of(double(total_steps_), options.pct_start, options.three_phase)),
      div_factor_(options.div_factor),
      final_div_factor_(options.final_div_factor),
      new_max_lr_(one_for_all(max_lr)),
      new_base_momentum_(one_for_all(options.base_momentum)),
      new_max_momentum_(one_for_all(options.max_momentum)) {
  if (cycle_momentum_) expect_momentum("OneCycleLR", o);
  max_lr = per_group("OneCycleLR: max_lr", o, max_lr);
  const Values low = per_group("OneCycleLR: base_momentum", o, options.base_momentum);
  const Values high = per_group("OneCycleLR: max_momentum", o, options.max_momentum);
  auto& groups = o.param_groups();
  for (std::size_t i = 0; last_epoch == -1 && i < groups.size(); ++i)
    start(groups[i], max_lr[i], low[i], high[i]), base_lrs_[i] = groups[i].number("initial_lr");
  OneCycleLR::begin();
}
void OneCycleLR::start(ParamGroup& g, double max_lr, double base_momentum, double max_momentum) {
  const double first = max_lr / div_factor_;
  g.options["initial_lr"] = first;
  g.options["max_lr"] = max_lr;
  g.options["min_lr"] = first / final_div_factor_;
  if (!cycle_momentum_) return;
  g.options["max_momentum"] = max_momentum;
  g.options["base_momentum"] = base_momentum;
  set_momentum(g, max_momentum);
}
void OneCycleLR::admit(ParamGroup& g) {
  const double max_lr = for_new("OneCycleLR: expected one max_lr", new_max_lr_, base_lrs_.size());
  double low = 0, high = 0;
  if (cycle_momentum_) {
    low = for_new("OneCycleLR: expected one base_momentum", new_base_momentum_, base_lrs_.size());
    high = for_new("OneCycleLR: expected one max_momentum", new_max_momentum_, base_lrs_.size());
  }
  start(g, max_lr, low, high);
  LRScheduler::admit(g);
}
std::vector<double> OneCycleLR::get_lr() {
  const Part now = part_at(phases_, double(total_steps_), double(last_epoch_));
  const Phase& phase = phases_[now.phase];
  std::vector<double> out;
  for (ParamGroup& g : optimizer_->param_groups()) {
    const auto at = [&](const std::string& from, const std::string& to) {
      return between(anneal_strategy_, g.number(from), g.number(to), now.part);
    };
    out.push_back(at(phase.start_lr, phase.end_lr));
    if (cycle_momentum_) set_momentum(g, at(phase.start_momentum, phase.end_momentum));
  }
  return out;
}
void OneCycleLR::visit(Fields& f) {
  f("total_steps", total_steps_), f("_schedule_phases", phases_), f("_anneal_func_type", anneal_strategy_);
  f("cycle_momentum", cycle_momentum_);
  LRScheduler::visit(f);
}

SWALR::SWALR(Optimizer& o, Values swa_lr, const SwaOptions& options, std::int64_t last_epoch)
    : LRScheduler((check_schedule(options), o), last_epoch), o_(options), new_swa_lr_(one_for_all(swa_lr)) {
  swa_lr = per_group("SWALR: swa_lr", o, swa_lr);
  for (std::size_t i = 0; i < swa_lr.size(); ++i) o.param_groups()[i].options["swa_lr"] = swa_lr[i];
  SWALR::begin();
}
void SWALR::admit(ParamGroup& g) {
  if (!g.options.find("swa_lr"))
    g.options["swa_lr"] = for_new("SWALR: expected one swa_lr", new_swa_lr_, base_lrs_.size());
  LRScheduler::admit(g);
}
std::vector<double> SWALR::get_lr() {
  std::vector<double> out;
  for (const ParamGroup& g : optimizer_->param_groups())
    out.push_back(next_rate(o_, step_count_ - 1, g.lr(), g.number("swa_lr")));
  return out;
}
void SWALR::visit(Fields& f) {
  each_option(o_, f);
  LRScheduler::visit(f);
}

// ---- By a metric

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& o, const PlateauOptions& p)
    : LRScheduler(o),
      min_lrs_(per_group("ReduceLROnPlateau: min_lr", o, p.min_lr)),
      new_min_lr_(one_for_all(p.min_lr)) {
  o_.mode = p.mode, o_.factor = p.factor, o_.patience = p.patience, o_.threshold = p.threshold;
  o_.threshold_mode = p.threshold_mode, o_.cooldown = p.cooldown, o_.eps = p.eps;
  o_.begin();
  ReduceLROnPlateau::begin();
}
void ReduceLROnPlateau::begin() {
  last_epoch_ = 0;
  last_lr_ = each([](double lr, double) { return lr; });
}
void ReduceLROnPlateau::step(StepOptions o) {
  check<ValueError>(o.metrics.has_value(),
                    [] { return std::string("ReduceLROnPlateau: expected metrics, got none; call step(loss)"); });
  auto& groups = optimizer_->param_groups();
  while (min_lrs_.size() < groups.size())
    min_lrs_.push_back(for_new("ReduceLROnPlateau: expected one min_lr", new_min_lr_, min_lrs_.size()));
  last_epoch_ = o.epoch ? std::int64_t(*o.epoch) : last_epoch_ + 1;
  const bool reduce = o_.observe(*o.metrics, o_.is_better(*o.metrics, o_.best));
  last_lr_.clear();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (reduce) groups[i].set_lr(o_.reduced(groups[i].lr(), min_lrs_[i]));
    last_lr_.push_back(groups[i].lr());
  }
}
void ReduceLROnPlateau::visit(Fields& f) {
  each_option(o_, f);
  f("min_lrs", min_lrs_), f("last_epoch", last_epoch_), f("_last_lr", last_lr_);
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
                           std::vector<std::int64_t> milestones, std::int64_t last_epoch)
    : LRScheduler(o), schedulers_(std::move(schedulers)), milestones_(std::move(milestones)) {
  expect_schedulers("SequentialLR", schedulers_, &o);
  check<ValueError>(milestones_.size() + 1 == schedulers_.size(), [&] {
    return "SequentialLR: expected one milestone between every two schedulers, got " +
           std::to_string(milestones_.size());
  });
  last_epoch_ = last_epoch + 1;
  for (ParamGroup& g : o.param_groups()) g.set_lr(g.number("initial_lr"));
  SequentialLR::undo();
  SequentialLR::begin();
}
void SequentialLR::begin() {
  schedulers_[0]->begin();
  last_lr_ = schedulers_[0]->get_last_lr();
}
void SequentialLR::undo() {
  for (const auto& s : schedulers_) s->undo();
}
void SequentialLR::step(StepOptions o) {
  last_epoch_ = o.epoch ? std::int64_t(*o.epoch) : last_epoch_ + 1;
  const auto next = std::upper_bound(milestones_.begin(), milestones_.end(), last_epoch_) - milestones_.begin();
  LRScheduler& now = *schedulers_[std::size_t(next)];
  if (next > 0 && milestones_[std::size_t(next) - 1] == last_epoch_) now.update_lr(0);
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
void ChainedScheduler::begin() {
  for (const auto& s : schedulers_) s->begin();
}
void ChainedScheduler::undo() {
  for (const auto& s : schedulers_) s->undo();
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

#include "neura/optim/lr_scheduler.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace neura::optim::lr_scheduler {

using std::numbers::pi;

LRScheduler::LRScheduler(Optimizer& o) : optimizer_(&o) {
  for (ParamGroup& g : o.param_groups()) LRScheduler::admit(g);
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
  LRScheduler::step();
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
  admit_new();
  ++step_count_;
  if (!o.epoch) {
    ++last_epoch_;
    return write(get_lr());
  }
  last_epoch_ = *o.epoch;
  const auto closed = closed_form();
  write(closed ? *closed : get_lr());
}

void LRScheduler::visit(Fields& f) {
  f("base_lrs", base_lrs_);
  f("last_epoch", last_epoch_);
  f("_step_count", step_count_);
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

static void expect_positive(const char* name, const char* what, std::int64_t n) {
  check<ValueError>(n > 0,
                    [&] { return std::string(name) + ": expected a positive " + what + ", got " + std::to_string(n); });
}

// ---- Steps

StepLR::StepLR(Optimizer& o, std::int64_t step_size, double gamma)
    : LRScheduler(o), step_size_(step_size), gamma_(gamma) {
  expect_positive("StepLR", "step_size", step_size);
  StepLR::begin();
}
std::vector<double> StepLR::get_lr() {
  const bool now = last_epoch_ > 0 && last_epoch_ % step_size_ == 0;
  return each([&](double lr, double) { return now ? lr * gamma_ : lr; });
}
std::optional<std::vector<double>> StepLR::closed_form() {
  return each([&](double, double base) { return base * std::pow(gamma_, double(last_epoch_ / step_size_)); });
}
void StepLR::visit(Fields& f) {
  f("step_size", step_size_), f("gamma", gamma_);
  LRScheduler::visit(f);
}

MultiStepLR::MultiStepLR(Optimizer& o, std::vector<std::int64_t> milestones, double gamma)
    : LRScheduler(o), milestones_(std::move(milestones)), gamma_(gamma) {
  std::sort(milestones_.begin(), milestones_.end());
  MultiStepLR::begin();
}
std::vector<double> MultiStepLR::get_lr() {
  const auto times = std::count(milestones_.begin(), milestones_.end(), last_epoch_);
  return each([&](double lr, double) { return times ? lr * std::pow(gamma_, double(times)) : lr; });
}
std::optional<std::vector<double>> MultiStepLR::closed_form() {
  const auto passed = std::upper_bound(milestones_.begin(), milestones_.end(), last_epoch_) - milestones_.begin();
  return each([&](double, double base) { return base * std::pow(gamma_, double(passed)); });
}
void MultiStepLR::visit(Fields& f) {
  f("milestones", milestones_), f("gamma", gamma_);
  LRScheduler::visit(f);
}

ConstantLR::ConstantLR(Optimizer& o, double factor, std::int64_t total_iters)
    : LRScheduler(o), factor_(factor), total_iters_(total_iters) {
  check<ValueError>(factor >= 0 && factor <= 1,
                    [&] { return "ConstantLR: expected a factor in [0, 1], got " + Scalar(factor).str(); });
  ConstantLR::begin();
}
std::vector<double> ConstantLR::get_lr() {
  return each([&](double lr, double) {
    return last_epoch_ == 0 ? lr * factor_ : last_epoch_ == total_iters_ ? lr / factor_ : lr;
  });
}
std::optional<std::vector<double>> ConstantLR::closed_form() {
  return each([&](double, double base) { return last_epoch_ < total_iters_ ? base * factor_ : base; });
}
void ConstantLR::visit(Fields& f) {
  f("factor", factor_), f("total_iters", total_iters_);
  LRScheduler::visit(f);
}

// ---- Smooth ones. The recursive forms start from the current rate, so that schedulers can be chained.

LinearLR::LinearLR(Optimizer& o, double start_factor, double end_factor, std::int64_t total_iters)
    : LRScheduler(o), start_factor_(start_factor), end_factor_(end_factor), total_iters_(total_iters) {
  check<ValueError>(start_factor > 0 && start_factor <= 1 && end_factor >= 0 && end_factor <= 1, [&] {
    return "LinearLR: expected a start_factor in (0, 1] and an end_factor in [0, 1], got " +
           Scalar(start_factor).str() + " and " + Scalar(end_factor).str();
  });
  LinearLR::begin();
}
std::vector<double> LinearLR::get_lr() {
  const double rise = end_factor_ - start_factor_;
  return each([&](double lr, double) {
    if (last_epoch_ == 0) return lr * start_factor_;
    if (last_epoch_ > total_iters_) return lr;
    return lr * (1 + rise / (double(total_iters_) * start_factor_ + double(last_epoch_ - 1) * rise));
  });
}
std::optional<std::vector<double>> LinearLR::closed_form() {
  const double part = double(std::min(total_iters_, last_epoch_)) / double(total_iters_);
  return each([&](double, double base) { return base * (start_factor_ + (end_factor_ - start_factor_) * part); });
}
void LinearLR::visit(Fields& f) {
  f("start_factor", start_factor_), f("end_factor", end_factor_), f("total_iters", total_iters_);
  LRScheduler::visit(f);
}

ExponentialLR::ExponentialLR(Optimizer& o, double gamma) : LRScheduler(o), gamma_(gamma) { ExponentialLR::begin(); }
std::vector<double> ExponentialLR::get_lr() {
  return each([&](double lr, double) { return last_epoch_ == 0 ? lr : lr * gamma_; });
}
std::optional<std::vector<double>> ExponentialLR::closed_form() {
  return each([&](double, double base) { return base * std::pow(gamma_, double(last_epoch_)); });
}
void ExponentialLR::visit(Fields& f) {
  f("gamma", gamma_);
  LRScheduler::visit(f);
}

PolynomialLR::PolynomialLR(Optimizer& o, std::int64_t total_iters, double power)
    : LRScheduler(o), total_iters_(total_iters), power_(power) {
  PolynomialLR::begin();
}
std::vector<double> PolynomialLR::get_lr() {
  const double n = double(total_iters_), e = double(last_epoch_);
  return each([&](double lr, double) {
    if (last_epoch_ == 0 || last_epoch_ > total_iters_) return lr;
    return lr * std::pow((1 - e / n) / (1 - (e - 1) / n), power_);
  });
}
std::optional<std::vector<double>> PolynomialLR::closed_form() {
  const double left = 1 - double(std::min(total_iters_, last_epoch_)) / double(total_iters_);
  return each([&](double, double base) { return base * std::pow(left, power_); });
}
void PolynomialLR::visit(Fields& f) {
  f("total_iters", total_iters_), f("power", power_);
  LRScheduler::visit(f);
}

CosineAnnealingLR::CosineAnnealingLR(Optimizer& o, std::int64_t T_max, double eta_min)
    : LRScheduler(o), T_max_(T_max), eta_min_(eta_min) {
  expect_positive("CosineAnnealingLR", "T_max", T_max);
  CosineAnnealingLR::begin();
}
std::vector<double> CosineAnnealingLR::get_lr() {
  const double n = double(T_max_), e = double(last_epoch_);
  if (last_epoch_ > 0 && step_count_ == 1) return *closed_form();
  return each([&](double lr, double base) {
    if (last_epoch_ == 0) return lr;
    // From the bottom the recursion would divide by zero.
    if ((last_epoch_ - 1 - T_max_) % (2 * T_max_) == 0) return lr + (base - eta_min_) * (1 - std::cos(pi / n)) / 2;
    return (1 + std::cos(pi * e / n)) / (1 + std::cos(pi * (e - 1) / n)) * (lr - eta_min_) + eta_min_;
  });
}
std::optional<std::vector<double>> CosineAnnealingLR::closed_form() {
  const double wave = 1 + std::cos(pi * double(last_epoch_) / double(T_max_));
  return each([&](double, double base) { return eta_min_ + (base - eta_min_) * wave / 2; });
}
void CosineAnnealingLR::visit(Fields& f) {
  f("T_max", T_max_), f("eta_min", eta_min_);
  LRScheduler::visit(f);
}

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& o, std::int64_t T_0, std::int64_t T_mult,
                                                         double eta_min)
    : LRScheduler(o), T_0_(T_0), T_i_(T_0), T_mult_(T_mult), eta_min_(eta_min) {
  expect_positive("CosineAnnealingWarmRestarts", "T_0", T_0);
  expect_positive("CosineAnnealingWarmRestarts", "T_mult", T_mult);
  T_cur_ = 0;
  CosineAnnealingWarmRestarts::begin();
}
void CosineAnnealingWarmRestarts::step(StepOptions o) {
  admit_new();
  ++step_count_;
  last_epoch_ = o.epoch.value_or(last_epoch_ + 1);
  check<ValueError>(last_epoch_ >= 0, [&] {
    return "CosineAnnealingWarmRestarts: expected an epoch from 0 up, got " + std::to_string(last_epoch_);
  });
  if (!o.epoch) {
    if (++T_cur_ >= T_i_) T_cur_ -= T_i_, T_i_ *= T_mult_;
  } else {
    T_cur_ = last_epoch_, T_i_ = T_0_;
    while (T_cur_ >= T_i_) T_cur_ -= T_i_, T_i_ *= T_mult_;
  }
  write(get_lr());
}
std::vector<double> CosineAnnealingWarmRestarts::get_lr() {
  const double wave = 1 + std::cos(pi * double(T_cur_) / double(T_i_));
  return each([&](double, double base) { return eta_min_ + (base - eta_min_) * wave / 2; });
}
void CosineAnnealingWarmRestarts::visit(Fields& f) {
  f("T_0", T_0_), f("T_i", T_i_), f("T_mult", T_mult_), f("eta_min", eta_min_), f("T_cur", T_cur_);
  LRScheduler::visit(f);
}

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
LambdaLR::LambdaLR(Optimizer& o, std::vector<Factor> f)
    : LRScheduler(o), factors_(one_per_group(std::move(f), o.param_groups().size())) {
  LambdaLR::begin();
}
std::vector<double> LambdaLR::get_lr() {
  std::size_t i = 0;
  return each([&](double, double base) { return base * of_group(factors_, i++)(last_epoch_); });
}
MultiplicativeLR::MultiplicativeLR(Optimizer& o, std::vector<Factor> f)
    : LRScheduler(o), factors_(one_per_group(std::move(f), o.param_groups().size())) {
  MultiplicativeLR::begin();
}
std::vector<double> MultiplicativeLR::get_lr() {
  std::size_t i = 0;
  return each([&](double lr, double) { return last_epoch_ > 0 ? lr * of_group(factors_, i++)(last_epoch_) : lr; });
}

}  // namespace neura::optim::lr_scheduler

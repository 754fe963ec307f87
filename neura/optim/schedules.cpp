#include "neura/optim/schedules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace neura::optim::lr_scheduler {
namespace {

using std::numbers::pi;

double wave(double part) { return (1 + std::cos(pi * part)) / 2; }  // from 1 to 0
std::string text_of(const Count& n) {
  return n.whole && std::abs(n.value) < 1e15 ? std::to_string(std::int64_t(n)) : Scalar(n.value).str();
}
void expect(bool ok, const char* what, const std::string& got) {
  check<ValueError>(ok, [&] { return std::string(what) + ", got " + got; });
}
void expect_word(const std::string& name, const std::string& got, std::initializer_list<const char*> words) {
  std::string all;
  for (const char* w : words) {
    if (got == w) return;
    all += (all.empty() ? "" : ", ") + std::string(w);
  }
  throw ValueError(name + ": expected one of " + all + ", got " + got);
}

}  // namespace

// ---- Steps

void check_schedule(const StepLROptions& o) {
  expect(o.step_size > 0, "StepLR: expected a positive step_size", text_of(o.step_size));
}
double next_rate(const StepLROptions& o, const Moment& m, double lr, double) {
  return m.epoch != 0 && std::fmod(m.epoch, o.step_size) == 0 ? lr * o.gamma : lr;
}
double rate_at(const StepLROptions& o, double epoch, double base) {
  return base * std::pow(o.gamma, std::floor(epoch / o.step_size));
}

void check_schedule(const MultiStepLROptions&) {}
double next_rate(const MultiStepLROptions& o, const Moment& m, double lr, double) {
  const auto is_now = [&](std::int64_t milestone) { return double(milestone) == m.epoch; };
  const auto times = std::count_if(o.milestones.begin(), o.milestones.end(), is_now);
  return times ? lr * std::pow(o.gamma, double(times)) : lr;
}
double rate_at(const MultiStepLROptions& o, double epoch, double base) {
  const auto is_over = [&](std::int64_t milestone) { return double(milestone) <= epoch; };
  return base * std::pow(o.gamma, double(std::count_if(o.milestones.begin(), o.milestones.end(), is_over)));
}

void check_schedule(const ConstantLROptions& o) {
  expect(o.factor >= 0 && o.factor <= 1, "ConstantLR: expected a factor in [0, 1]", Scalar(o.factor).str());
}
double next_rate(const ConstantLROptions& o, const Moment& m, double lr, double base) {
  if (m.epoch == 0) return lr * o.factor;
  if (m.epoch != o.total_iters) return lr;
  return o.factor == 0 ? base : lr * (1 / o.factor);
}
double rate_at(const ConstantLROptions& o, double epoch, double base) {
  return epoch < o.total_iters ? base * o.factor : base;
}

// ---- Smooth ones

void check_schedule(const LinearLROptions& o) {
  expect(o.start_factor > 0 && o.start_factor <= 1, "LinearLR: expected a start_factor in (0, 1]",
         Scalar(o.start_factor).str());
  expect(o.end_factor >= 0 && o.end_factor <= 1, "LinearLR: expected an end_factor in [0, 1]",
         Scalar(o.end_factor).str());
}
double next_rate(const LinearLROptions& o, const Moment& m, double lr, double) {
  if (m.epoch == 0) return lr * o.start_factor;
  if (m.initial || m.epoch > o.total_iters) return lr;
  const double rise = o.end_factor - o.start_factor;
  return lr * (1 + rise / (o.total_iters * o.start_factor + (m.epoch - 1) * rise));
}
double rate_at(const LinearLROptions& o, double epoch, double base) {
  const double part = std::min<double>(o.total_iters, epoch) / o.total_iters;
  return base * (o.start_factor + (o.end_factor - o.start_factor) * part);
}

void check_schedule(const ExponentialLROptions&) {}
double next_rate(const ExponentialLROptions& o, const Moment& m, double lr, double) {
  return m.initial ? lr : lr * o.gamma;
}
double rate_at(const ExponentialLROptions& o, double epoch, double base) { return base * std::pow(o.gamma, epoch); }

void check_schedule(const PolynomialLROptions&) {}
double next_rate(const PolynomialLROptions& o, const Moment& m, double lr, double) {
  if (m.initial || m.epoch > o.total_iters) return lr;
  const double left = 1 - m.epoch / o.total_iters;
  return lr * std::pow(left / (1 - (m.epoch - 1) / o.total_iters), o.power);
}
double rate_at(const PolynomialLROptions& o, double epoch, double base) {
  return base * std::pow(1 - std::min<double>(o.total_iters, epoch) / o.total_iters, o.power);
}

void check_schedule(const CosineAnnealingLROptions& o) {
  expect(o.T_max > 0, "CosineAnnealingLR: expected a positive T_max", text_of(o.T_max));
}
double next_rate(const CosineAnnealingLROptions& o, const Moment& m, double lr, double base) {
  if (m.initial) return lr;
  if (m.steps == 1 && m.epoch > 0) return rate_at(o, m.epoch, base);
  if (std::fmod(m.epoch - 1 - o.T_max, 2 * o.T_max) == 0)  // at the bottom: the quotient below is 0 / 0
    return lr + (base - o.eta_min) * (1 - std::cos(pi / o.T_max)) / 2;
  const double now = 1 + std::cos(pi * m.epoch / o.T_max), before = 1 + std::cos(pi * (m.epoch - 1) / o.T_max);
  return now / before * (lr - o.eta_min) + o.eta_min;
}
double rate_at(const CosineAnnealingLROptions& o, double epoch, double base) {
  return o.eta_min + (base - o.eta_min) * wave(epoch / o.T_max);
}

// ---- Restarts

void Restarts::check_counts() const {
  const auto natural = [](const Count& n) { return n.whole && n >= 1; };
  expect(natural(T_0), "CosineAnnealingWarmRestarts: expected a positive integer T_0", text_of(T_0));
  expect(natural(T_mult), "CosineAnnealingWarmRestarts: expected a positive integer T_mult", text_of(T_mult));
}
void Restarts::begin() {
  check_counts();
  T_i = T_0;
}
Count Restarts::go(std::optional<Count> to, Count last) {
  check_counts();
  const auto minus = [](const Count& a, const Count& b) {
    Count out = a;
    return out.value -= b.value, out.whole = a.whole && b.whole, out;
  };
  if (!to && last >= 0) {
    ++T_cur.value;
    if (T_cur >= T_i) T_cur = minus(T_cur, T_i), T_i.value *= T_mult;
    return ++last.value, last;
  }
  const Count epoch = to ? *to : Count(0);
  expect(epoch >= 0 && std::isfinite(epoch.value), "CosineAnnealingWarmRestarts: expected an epoch from 0 up",
         text_of(epoch));
  T_cur = epoch, T_i = T_0;
  if (T_mult == 1) T_cur.value = std::fmod(epoch.value, T_0.value);
  while (T_cur >= T_i) T_cur = minus(T_cur, T_i), T_i.value *= T_mult;
  return Count(std::int64_t(std::floor(epoch.value)));
}
double Restarts::rate(double base) const { return eta_min + (base - eta_min) * wave(T_cur / T_i); }

// ---- Cycles

void Cycle::begin(Count up, std::optional<Count> down, bool own_scale) {
  if (!own_scale) expect_word("CyclicLR", mode, {"triangular", "triangular2", "exp_range"});
  expect(up > 0 && down.value_or(up) >= 0,
         "CyclicLR: expected a positive step_size_up, and step_size_down of at least 0",
         text_of(up) + " and " + text_of(down.value_or(up)));
  total_size = up + down.value_or(up);
  step_ratio = up / total_size;
  if (!own_scale) scale_mode = mode == "exp_range" ? "iterations" : "cycle";
}
double Cycle::scale_argument(double epoch) const {
  return scale_mode == "cycle" ? std::floor(1 + epoch / total_size) : epoch;
}
double Cycle::scale(double x) const {
  return mode == "triangular" ? 1 : mode == "triangular2" ? std::pow(0.5, x - 1) : std::pow(gamma, x);
}
double Cycle::height(double epoch) const {
  const double x = 1 + epoch / total_size - std::floor(1 + epoch / total_size);
  return x <= step_ratio ? x / step_ratio : (x - 1) / (step_ratio - 1);
}

std::int64_t total_steps_of(const OneCycleOptions& o) {
  check<ValueError>(o.total_steps || (o.epochs && o.steps_per_epoch), [] {
    return std::string("OneCycleLR: expected total_steps, or epochs and steps_per_epoch, got neither");
  });
  const std::int64_t total = o.total_steps ? *o.total_steps : *o.epochs * *o.steps_per_epoch;
  expect(total > 0, "OneCycleLR: expected a positive number of steps", std::to_string(total));
  expect(o.pct_start >= 0 && o.pct_start <= 1, "OneCycleLR: expected pct_start in [0, 1]", Scalar(o.pct_start).str());
  expect_word("OneCycleLR", o.anneal_strategy, {"cos", "linear"});
  return total;
}
std::vector<Phase> phases_of(double total_steps, double pct_start, bool three_phase) {
  const double top = pct_start * total_steps - 1, last = total_steps - 1;
  std::vector<Phase> phases = {{top, "initial_lr", "max_lr", "max_momentum", "base_momentum"}};
  if (!three_phase) return phases.push_back({last, "max_lr", "min_lr", "base_momentum", "max_momentum"}), phases;
  phases.push_back({2 * pct_start * total_steps - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"});
  phases.push_back({last, "initial_lr", "min_lr", "max_momentum", "max_momentum"});
  return phases;
}
Part part_at(const std::vector<Phase>& phases, double total_steps, double epoch) {
  check<ValueError>(epoch <= total_steps, [&] {
    return "OneCycleLR: expected at most " + std::to_string(std::int64_t(total_steps)) + " steps, got one more";
  });
  double start = 0;
  std::size_t now = 0;
  for (; now + 1 < phases.size() && epoch > phases[now].end_step; ++now) start = phases[now].end_step;
  const double length = phases.at(now).end_step - start;
  return {now, length == 0 ? 1 : (epoch - start) / length};
}
double between(const std::string& anneal_strategy, double start, double end, double part) {
  if (anneal_strategy == "linear") return (end - start) * part + start;
  return end + (start - end) / 2 * (1 + std::cos(pi * part));
}

void check_schedule(const SwaOptions& o) {
  expect_word("SWALR", o.anneal_strategy, {"cos", "linear"});
  expect(o.anneal_epochs.whole && o.anneal_epochs >= 0, "SWALR: expected anneal_epochs to be an integer from 0 up",
         text_of(o.anneal_epochs));
}
double next_rate(const SwaOptions& o, std::int64_t steps, double lr, double swa_lr) {
  if (o.anneal_epochs == 0) steps = std::max<std::int64_t>(1, steps);
  const auto done = [&](std::int64_t n) {  // the completed fraction
    const double part = std::clamp(double(n) / std::max<double>(1, o.anneal_epochs), 0.0, 1.0);
    return o.anneal_strategy == "linear" ? part : (1 - std::cos(pi * part)) / 2;
  };
  const double before = done(steps - 1), now = done(steps);
  if (before >= 1) return swa_lr;
  const double start = (lr - before * swa_lr) / (1 - before);
  return start + (swa_lr - start) * now;
}

// ---- By a metric

void Plateau::begin() {
  expect_word("ReduceLROnPlateau", mode, {"min", "max"});
  expect_word("ReduceLROnPlateau", threshold_mode, {"rel", "abs"});
  expect(factor < 1, "ReduceLROnPlateau: expected a factor below 1", Scalar(factor).str());
  reset();
}
void Plateau::reset() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  best = mode == "min" ? kInfinity : -kInfinity;
  cooldown_counter = num_bad_epochs = 0;
}
bool Plateau::is_better(double a, double than) const {
  const double sign = mode == "min" ? -1 : 1;
  than = threshold_mode == "rel" ? than * (1 + sign * threshold) : than + sign * threshold;
  return mode == "min" ? a < than : a > than;
}
bool Plateau::observe(double metric, bool better) {
  if (better) best = metric, num_bad_epochs = 0;
  else ++num_bad_epochs.value;
  if (cooldown_counter > 0) --cooldown_counter.value, num_bad_epochs = 0;
  if (num_bad_epochs <= patience) return false;
  cooldown_counter = cooldown, num_bad_epochs = 0;
  return true;
}
double Plateau::reduced(double lr, double min_lr) const {
  const double fresh = std::max(lr * factor, min_lr);
  return lr - fresh > eps ? fresh : lr;
}

}  // namespace neura::optim::lr_scheduler

namespace neura::nn {

using optim::lr_scheduler::Phase;

Value BoxedAs<Phase>::value(const Phase& phase) {
  Dict d;
  Phase copy = phase;
  each_option(copy, [&](const char* name, const auto& x) { d[name] = box(x); });
  return d;
}
Phase BoxedAs<Phase>::back(const Value& v) {
  const Dict* d = v.get<Dict>();
  if (!d) detail::wrong_type("dict", v);
  Phase out;
  each_option(out, [&]<class T>(const char* name, T& x) {
    if (const Value* saved = d->find(name)) x = unbox<T>(*saved);
  });
  return out;
}

}  // namespace neura::nn

#include "neura/train/run.h"

#include <cmath>

#include "neura/autograd/autograd.h"
#include "neura/autograd/grad_mode.h"
#include "neura/core/scalar.h"
#include "neura/nn/clip.h"
#include "neura/op/autocast.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/train/files.h"

namespace neura::train {
namespace {

void check_options(const RunOptions& o) {
  const auto demand = [](bool ok, const char* what) {
    check<ValueError>(ok, [&] { return std::string("Run: expected ") + what; });
  };
  demand(o.model && o.optimizer, "a model and an optimizer, got null");
  demand(o.accumulate >= 1, "accumulate of 1 or more");
  demand(!o.clip_norm || *o.clip_norm > 0, "a positive clip_norm");
  demand(!o.clip_value || *o.clip_value > 0, "a positive clip_value");
  demand(!o.ema || (*o.ema >= 0 && *o.ema <= 1), "a decay in [0, 1] as ema");
  demand(o.save_every >= 0 && (o.save_every == 0 || !o.folder.empty()), "a folder where save_every is given");
  demand(o.keep >= 1 && o.log_every >= 1, "keep and log_every of 1 or more");
  demand(o.patience >= 0 && (o.patience == 0 || !o.monitor.empty()), "a monitor where patience is given");
}

}  // namespace

Run::Run(RunOptions o) : o_((check_options(o), std::move(o))) {
  const auto all = o_.model->named_parameters();
  if (!all.empty()) device_ = all.front().second.device();
  if (!o_.ema) return;
  const NoGrad off;
  for (const auto& [name, p] : all) average_.append(name, clone(p.detach()));
}

bool Run::next_epoch(std::int64_t count) {
  if (in_epoch_) {
    flush();
    ++epoch_;
    batch_ = 0;
    order_.reset();
    now_.reset();
    due_ = false;
    if (!o_.folder.empty()) save();
  } else if (now_) {
    default_generator().set_state(*now_);
  }
  in_epoch_ = epoch_ < count && stopped_.empty();
  return in_epoch_;
}

void Run::begin_pass() {
  check<ValueError>(passed_ != epoch_, [] {
    return std::string("batches: expected one pass in an epoch, got a second; chain the loaders");
  });
  passed_ = epoch_;
  in_pass_ = true;
  if (order_) default_generator().set_state(*order_);
  else order_ = default_generator().state();
}

void Run::skipped() {
  if (now_ && batch_ > 0) default_generator().set_state(*now_);
  now_.reset();
}

void Run::finished() { save_if_due(); }

void Run::ended() {
  flush();
  in_pass_ = false;
  save_if_due();
}

void Run::save_if_due() {
  if (!due_ || micro_ > 0) return;
  due_ = false;
  save();
}

bool Run::step(const std::function<Loss()>& loss) {
  if (micro_ == 0) o_.optimizer->zero_grad();
  const auto call = [&] {
    if (!o_.precision) return loss();
    const amp::Autocast on(device_, *o_.precision);
    return loss();
  };
  const Loss found = call();
  check<ValueError>(found.weight >= 0 && std::isfinite(found.weight),
                    [&] { return "step: expected a weight of 0 or more, got " + std::to_string(found.weight); });
  if (micro_ == 0) unit_ = found.weight > 0 ? found.weight : 1;
  Tensor part = unit_ == 1 ? found.value : found.value / unit_;  // gradients as large as those of a mean
  if (o_.scaler) part = o_.scaler->scale(part);
  part.backward();
  losses_.push_back({found.value.detach(), found.weight});
  weight_ += found.weight;
  return ++micro_ >= o_.accumulate && update();
}

bool Run::flush() { return micro_ > 0 && update(); }

std::vector<Tensor> Run::parameters() const {
  std::vector<Tensor> all;
  for (const auto& g : o_.optimizer->param_groups()) all.insert(all.end(), g.params.begin(), g.params.end());
  return all;
}

bool Run::update() {
  const double factor = weight_ > 0 ? unit_ / weight_ : 0;
  micro_ = 0;
  weight_ = 0;
  if (factor == 0) return false;
  if (factor != 1) {
    const NoGrad off;
    for (const Tensor& p : parameters())
      if (Tensor g = p.grad(); g.defined()) mul_(g, factor);
  }
  if (!clip_and_step()) return false;
  advance();
  return true;
}

bool Run::clip_and_step() {
  if (o_.clip_norm || o_.clip_value) {
    const std::vector<Tensor> all = parameters();
    if (o_.scaler) o_.scaler->unscale_(*o_.optimizer);
    if (o_.clip_value) nn::utils::clip_grad_value_(all, *o_.clip_value);
    if (o_.clip_norm) nn::utils::clip_grad_norm_(all, *o_.clip_norm, {.error_if_nonfinite = !o_.scaler});
  }
  if (!o_.scaler) {
    o_.optimizer->step();
    return true;
  }
  const bool taken = o_.scaler->step(*o_.optimizer);
  o_.scaler->update();
  return taken;
}

void Run::advance() {
  ++steps_;
  if (o_.scheduler) o_.scheduler->step();
  if (o_.ema) {
    const NoGrad off;
    std::size_t i = 0;
    const auto all = o_.model->named_parameters();
    for (const auto& [name, mean] : average_) {
      Tensor to = mean;
      const Tensor& now = all[i++].second;
      if (steps_ == 1) copy_(to, now);
      else lerp_(to, now, 1 - *o_.ema);
    }
  }
  if (o_.on_step) o_.on_step(*this);
  if (steps_ % o_.log_every == 0) log_means();
  if (o_.save_every > 0 && steps_ % o_.save_every == 0) {
    due_ = true;  // at the end of the loop's body, when all that belongs to the batch is done
    if (!in_pass_) save_if_due();
  }
}

void Run::tally(const std::string& name, const Tensor& sum, double weight) {
  check<ValueError>(weight > 0, [&] {
    return "tally: expected a positive weight of \"" + name + "\", got " + std::to_string(weight);
  });
  parts_[name].push_back({sum.detach(), weight});
}

// Before losses that are not finite are logged, or weights that came from them saved.
void Run::check_losses() {
  if (!o_.check_finite || o_.scaler) return;  // which leaves such steps out
  for (const Part& p : losses_) {
    const double loss = p.sum.item<double>();
    check<ValueError>(std::isfinite(loss), [&] {
      return "Run: expected finite losses, got " + Scalar(loss).str() + " by step " + std::to_string(steps_) +
             "; go on from an earlier checkpoint, or begin anew with a lower learning rate or a clip_norm";
    });
  }
}

void Run::log_means() {
  check_losses();
  Values values{{"lr", o_.optimizer->param_groups().front().lr()}};
  const auto add = [&](const std::string& name, const std::vector<Part>& parts) {
    double sum = 0, weight = 0;
    for (const Part& p : parts) {
      sum += p.sum.item<double>();
      weight += p.weight;
    }
    if (weight > 0) values[name] = sum / weight;
  };
  add("loss", losses_);
  for (const auto& [name, parts] : parts_) add(name, parts);
  losses_.clear(), parts_.clear();
  log(values);
}

void Run::log(const Values& values) {
  for (const auto& [name, value] : values) values_[name] = value;
  if (o_.on_log) o_.on_log(*this, values);
  const auto seen = values.find(o_.monitor);
  if (o_.monitor.empty() || seen == values.end()) return;
  const double value = seen->second;
  const bool better = !std::isnan(value) && (!best_ || (o_.maximize ? value > *best_ : value < *best_));
  if (better) {
    best_ = value;
    waited_ = 0;
    if (!o_.folder.empty()) save_best(o_.folder, *o_.model, average_, steps_, epoch_);
  } else if (++waited_ >= o_.patience && o_.patience > 0) {
    stop(o_.monitor + " has not improved for " + std::to_string(waited_) + " times");
  }
}

}  // namespace neura::train

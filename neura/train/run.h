// A training run: checkpoints, accumulation, clipping, averages and logs, around a loop that remains the program's own.
//
//   train::Run run({.model = &net, .optimizer = &adam, .scheduler = &cosine, .accumulate = 4, .clip_norm = 1,
//                   .folder = "runs/a", .save_every = 500, .monitor = "val/loss"});
//   run.resume();
//   while (run.next_epoch(20)) {
//     for (auto& [x, y] : run.batches(loader)) run.step([&] { return cross_entropy(net(x), y); });
//     run.log({{"val/loss", measure(net)}});
//   }
//
// What follows resume() is bit for bit what would have followed without a stop, on one machine: model, optimizer,
// schedule, scaler, average, random numbers, the place in the epoch and the run's own counts come back.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "neura/core/random.h"
#include "neura/nn/module.h"
#include "neura/optim/grad_scaler.h"
#include "neura/optim/lr_scheduler.h"
#include "neura/train/batches.h"

namespace neura::train {

using Values = std::map<std::string, double>;
class Run;

struct RunOptions {
  nn::Module* model = nullptr;
  optim::Optimizer* optimizer = nullptr;
  optim::lr_scheduler::LRScheduler* scheduler = nullptr;  // advances once per optimizer step that was taken
  amp::GradScaler* scaler = nullptr;
  std::optional<DType> precision = {};  // what step() calls runs under autocast
  int accumulate = 1;                   // gradients of so many calls of step() make one step of the optimizer
  std::optional<double> clip_norm = {}, clip_value = {};
  std::optional<double> ema = {};  // the decay of an average of the weights
  std::string folder = {};         // where checkpoints are written, at the end of each epoch; empty: none
  std::int64_t save_every = 0;     // also every so many steps; 0: not
  int keep = 2;                    // how many checkpoints stay
  std::string monitor = {};        // the logged value whose best weights are kept in best.safetensors
  bool maximize = false;           // the largest value is the best
  std::int64_t patience = 0;       // early stopping: after so many logged values without improvement; 0: never
  std::int64_t log_every = 50;     // "loss" and what tally() adds, means since the last time, and "lr"
  // ValueError for a loss that is not finite, when it is logged and before a checkpoint; not with a scaler.
  bool check_finite = true;
  std::function<void(Run&)> on_step = {};
  std::function<void(Run&, const Values&)> on_log = {};
  std::function<void(Run&, const std::string& path)> on_save = {};
};

struct Loss {  // a mean; or a sum, and the items or tokens that it is the sum over
  Loss(Tensor mean) : value(std::move(mean)) {}
  Loss(Tensor sum, double items) : value(std::move(sum)), weight(items) {}
  Tensor value;
  double weight = 1;
};

struct Part {  // of a mean
  Tensor sum;
  double weight;
};

class Run final : BatchCount {
 public:
  explicit Run(RunOptions);  // ValueError for options out of range
  Run(const Run&) = delete;

  // True if an epoch of `count` is left. First finishes the previous one: the step of an incomplete group, a
  // checkpoint.
  bool next_epoch(std::int64_t count);
  // The remaining batches of this epoch, as a range. Those done before a stop are read and skipped. ValueError for a
  // second pass in an epoch.
  template <class Loader> Batches<Loader> batches(Loader& loader) {
    begin_pass();
    loader.set_epoch(epoch_);
    return Batches<Loader>(loader, *this, batch_);
  }
  // Gradients of a batch, and every `accumulate` calls the optimizer's step; true if that was taken. Sums are added up
  // and divided by the sum of their weights, so that a step over several batches is that of one large batch, whatever
  // their lengths. Means all count the same. A group of weight 0 makes no step. ValueError for a negative weight, and
  // for a norm that is not finite, unless a scaler leaves the step out.
  bool step(const std::function<Loss()>& loss);
  bool flush();  // the step of an incomplete group, if there is one
  // The bookkeeping after an optimizer step, for loops that call it themselves.
  void advance();
  void log(const Values&);
  // A mean that is logged with the loss: of sums that the device computed, over their weights. ValueError for a weight
  // that is not positive.
  void tally(const std::string& name, const Tensor& sum, double weight);
  void stop(std::string reason) { stopped_ = std::move(reason); }

  std::string save();  // writes a checkpoint, complete or not at all; its path. ValueError without a folder
  bool resume();       // from the newest checkpoint of the folder; false if there is none
  void resume(const std::string& path);  // the next save() removes checkpoints of later steps

  std::int64_t steps() const { return steps_; }  // of the optimizer, really taken
  std::int64_t epoch() const { return epoch_; }
  std::int64_t batch() const { return batch_; }            // of this epoch, done
  const std::string& stopped() const { return stopped_; }  // the reason; empty while it continues
  const Values& values() const { return values_; }         // the last of each name
  std::optional<double> best() const { return best_; }
  const nn::StateDict& average() const { return average_; }  // of the parameters; empty without `ema`

 private:
  void begin_pass();
  void skipped() override;  // the batches that were done are after
  void arrived() override { ++batch_; }
  void finished() override;  // the loop's body for a batch
  void ended() override;     // the pass
  bool update();
  bool clip_and_step();
  std::vector<Tensor> parameters() const;
  void check_losses();
  void log_means();
  void save_if_due();
  nn::Dict position() const;
  void go_to(const nn::Dict&);

  RunOptions o_;
  Device device_;
  std::int64_t steps_ = 0, epoch_ = 0, batch_ = 0, passed_ = -1, waited_ = 0;
  int micro_ = 0;
  double weight_ = 0, unit_ = 1;
  bool due_ = false, in_pass_ = false, in_epoch_ = false, rewound_ = false;
  std::vector<Part> losses_;                        // since the last log
  std::map<std::string, std::vector<Part>> parts_;  // of tally()
  std::optional<double> best_;
  std::string stopped_;
  Values values_;
  nn::StateDict average_;
  std::optional<GeneratorState> order_, now_;  // as the epoch began; where a run continues
};

}  // namespace neura::train

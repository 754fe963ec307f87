#include <chrono>
#include <cstdio>

#include "cli/commands.h"
#include "cli/graph.h"
#include "cli/history.h"
#include "cli/interrupt.h"
#include "cli/machine.h"
#include "cli/meter.h"
#include "cli/models.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/testing.h"
#include "neura/core/device_api.h"
#include "neura/core/parallel.h"
#include "neura/data/loader.h"
#include "neura/io/checkpoint.h"
#include "neura/ops/loss.h"
#include "neura/optim/optim.h"

namespace neura::cli {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

constexpr int kPointsPerEpoch = 40;  // of the loss curve

// What was asked for must agree with the checkpoint: a run that goes on with other settings is another run.
template <class T> void settle(const std::string& file, const char* option, const std::optional<T>& asked, T& setting) {
  if (!asked) return;
  check<ValueError>(file.empty() || *asked == setting, [&] {
    return std::string(option) + " differs from the run in \"" + file + "\"; leave it out to go on with that run";
  });
  setting = *asked;
}

Settings settings_for(const TrainOptions& o, const data::MNIST& set) {
  Settings s;
  if (!o.resume.empty()) {
    s = load_trained(o.resume).settings;
  } else {
    s.height = set.images().size(2), s.width = set.images().size(3);
    s.classes = set.classes();
  }
  settle(o.resume, "--model", o.model, s.model);
  settle(o.resume, "--epochs", o.epochs, s.epochs);
  settle(o.resume, "--batch-size", o.batch_size, s.batch_size);
  settle(o.resume, "--lr", o.lr, s.lr);
  settle(o.resume, "--seed", o.seed, s.seed);
  return s;
}

class Run {
 public:
  Run(const TrainOptions& o, data::MNIST train, data::MNIST test)
      : options_(o),
        settings_(settings_for(o, train)),
        train_(std::move(train)),
        test_(std::move(test)),
        device_(o.device) {
    check<ValueError>(train_.size() > 0 && test_.size() > 0, [] { return "train: expected pictures, got none"; });
    check_pictures(settings_, train_);
    check_pictures(settings_, test_);
    save_ = !o.save.empty()     ? o.save
            : !o.resume.empty() ? o.resume
                                : "fashion-mnist-" + settings_.model + ".safetensors";
    manual_seed(settings_.seed);
    model_ = make_model(settings_);
    model_->to(device_);
    optimizer_.emplace(model_->parameters(), optim::AdamWOptions{.lr = settings_.lr, .weight_decay = 0.02});
    // A device should never wait for a batch: a thread brings the next ones there.
    loader_.emplace(train_, data::DataLoaderOptions{.batch_size = settings_.batch_size,
                                                    .shuffle = true,
                                                    .num_workers = device_.is_cpu() ? 0 : 1,
                                                    .seed = settings_.seed,
                                                    .device = device_});
    schedule_.emplace(*optimizer_, settings_.lr,
                      optim::lr_scheduler::OneCycleOptions{.total_steps = settings_.epochs * loader_->size() + 1});
    if (!o.resume.empty()) resume();
    meter_.emplace(device_, history_);
    choose_graph();
  }

  int go() {
    describe();
    const Clock::time_point start = Clock::now();
    std::optional<TestResult> last;
    while (std::int64_t(history_.epochs.size()) < settings_.epochs) {
      if (!epoch()) return interrupted();
      last = finish_epoch();
    }
    if (!last) std::printf("%s is already trained\n", save_.c_str()), last = test(*model_, settings_, test_);
    std::printf("%s in all; saved as %s\n", duration(since(start)).c_str(), save_.c_str());
    if (!options_.report.empty()) {
      write_report(options_.report,
                   {"Fashion-MNIST", settings_, history_, *last, test_, device_, other_history(options_.compare)});
      std::printf("report: %s\n", options_.report.c_str());
    }
    return kDone;
  }

 private:
  Checkpoint parts() { return {model_.get(), &*optimizer_, &*schedule_, &default_generator()}; }

  void resume() {
    const nn::Dict extra = load_checkpoint(options_.resume, parts(), MapLocation(Device()));
    const nn::Value* h = extra.find("history");
    check<FormatError>(h && h->is<nn::Dict>(), [&] { return options_.resume + ": not a checkpoint of neura train"; });
    history_ = History::load(*h->get<nn::Dict>());
    check<FormatError>(history_.batches >= 0 && history_.batches <= loader_->size(),
                       [&] { return options_.resume + ": made with another number of pictures"; });
  }

  void write() {
    save_checkpoint(save_, parts(), nn::Dict{{{"settings", settings_.save()}, {"history", history_.save()}}});
  }

  void describe() const {
    std::int64_t n = 0;
    for (const Tensor& p : model_->parameters()) n += p.numel();
    const std::string where = device_.is_cpu() ? std::to_string(get_num_threads()) + " threads"
                                               : device_.str() + " (" + device_name(device_) + ")";
    std::printf("%s with %s parameters, %s pictures, batches of %lld, %s\n", settings_.model.c_str(),
                thousands(n).c_str(), thousands(train_.size()).c_str(), static_cast<long long>(settings_.batch_size),
                where.c_str());
    if (!no_graph_.empty()) std::printf("steps run without a CUDA graph: %s\n", no_graph_.c_str());
    std::fflush(stdout);
  }

  // A graph holds one size of batch: what is left of an epoch runs without.
  void choose_graph() {
    const GraphMode mode = options_.graph;
    if (device_.is_cpu()) {
      check<ValueError>(mode != GraphMode::on,
                        [] { return "train: expected --device cuda with --graph on, got the cpu"; });
      return;
    }
    if (mode == GraphMode::off) return;
    if (!device_api(device_).graphs) no_graph_ = "this device has none";
    else if (train_.size() < settings_.batch_size) no_graph_ = "all pictures together are less than a batch";
    check<ValueError>(no_graph_.empty() || mode != GraphMode::on,
                      [&] { return "train: expected --graph off or auto, got on: " + no_graph_; });
    if (no_graph_.empty())
      graph_.emplace(*model_, device_, settings_.batch_size,
                     [this](const Tensor& images, const Tensor& labels) { compute(images, labels); });
  }

  // One epoch, or what is left of it; false when Ctrl-C stopped it.
  bool epoch() {
    const auto number = std::int64_t(history_.epochs.size());
    const Clock::time_point start = Clock::now();
    const double before = history_.seconds;
    Progress progress("epoch " + std::to_string(number + 1) + "/" + std::to_string(settings_.epochs), train_.size(),
                      history_.seen);
    model_->train();
    loader_->set_epoch(number);
    std::int64_t batch = 0;
    for (auto [images, labels] : *loader_) {
      if (batch++ < history_.batches) continue;  // of a run that was stopped within the epoch
      step(images, labels, number, progress);
      const bool stop = Interrupt::asked(), draw = progress.due();
      if (stop || draw) meter_->read();
      if (draw)
        progress.update(history_.seen, history_.loss_sum / double(history_.seen),
                        double(history_.right) / double(history_.seen));
      history_.seconds = before + since(start);
      if (stop) return false;
    }
    meter_->read();
    history_.seconds = before + since(start);
    return true;
  }

  // All that the device does but the optimizer's step, whose numbers change from step to step.
  void compute(const Tensor& images, const Tensor& labels) {
    const Tensor scores = (*model_)(network_input(images));
    const Tensor loss = cross_entropy(scores, labels);
    optimizer_->zero_grad();
    loss.backward();
    meter_->tally(scores, loss, labels);
  }

  bool compute_as_graph(const Tensor& images, const Tensor& labels, Progress& progress) {
    try {
      return graph_ && graph_->run(images, labels);
    } catch (const Error& e) {
      if (options_.graph == GraphMode::on) throw;
      progress.say(std::string("steps run without a CUDA graph: ") + e.what());
      graph_.reset();
      return false;
    }
  }

  void step(const Tensor& images, const Tensor& labels, std::int64_t epoch, Progress& progress) {
    if (!compute_as_graph(images, labels, progress)) compute(images, labels);
    optimizer_->step();
    schedule_->step();
    meter_->count(labels.numel());
    const std::int64_t every = std::max<std::int64_t>(1, loader_->size() / kPointsPerEpoch);
    if (history_.batches % every == 0)
      meter_->point(double(epoch) + double(history_.batches) / double(loader_->size()));
  }

  TestResult finish_epoch() {
    TestResult t = test(*model_, settings_, test_);
    const EpochRecord r{history_.loss_sum / double(history_.seen), double(history_.right) / double(history_.seen),
                        t.loss, t.accuracy, history_.seconds};
    history_.epochs.push_back(r);
    meter_->restart();
    write();
    std::printf("epoch %zu/%lld  loss %.4f  accuracy %s  test loss %.4f  test accuracy %s  %s\n",
                history_.epochs.size(), static_cast<long long>(settings_.epochs), r.train_loss,
                percent(r.train_accuracy).c_str(), t.loss, percent(t.accuracy).c_str(),
                duration(r.seconds + t.seconds).c_str());
    std::fflush(stdout);
    return t;
  }

  int interrupted() {
    write();
    std::printf("stopped in epoch %zu; go on with: neura train fashion-mnist --resume %s\n", history_.epochs.size() + 1,
                save_.c_str());
    return kInterrupted;
  }

  const TrainOptions& options_;
  Settings settings_;
  data::MNIST train_, test_;
  Device device_;
  std::string save_;
  Ref<nn::Sequential> model_;
  std::optional<optim::AdamW> optimizer_;
  std::optional<data::DataLoader<data::MNIST>> loader_;
  std::optional<optim::lr_scheduler::OneCycleLR> schedule_;
  History history_;
  std::optional<Meter> meter_;
  std::optional<StepGraph> graph_;
  std::string no_graph_;  // why there is none
};

}  // namespace

int train(const TrainOptions& o) {
  const Interrupt listen;
  data::FashionMNIST training({.root = o.data, .train = true});
  data::FashionMNIST testing({.root = o.data, .train = false});
  return Run(o, std::move(training), std::move(testing)).go();
}

}  // namespace neura::cli

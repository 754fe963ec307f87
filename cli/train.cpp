// neura train: a run in a folder.
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "cli/answers.h"
#include "cli/interrupt.h"
#include "cli/machine.h"
#include "cli/ports.h"
#include "cli/progress.h"
#include "cli/run_page.h"
#include "cli/train_file.h"
#include "neura/core/file.h"
#include "neura/core/parallel.h"
#include "neura/core/scalar.h"
#include "neura/data/loader.h"
#include "neura/io/value.h"
#include "neura/optim/optim.h"
#include "neura/train/run.h"

namespace neura::cli {
namespace {

constexpr std::int64_t kPointsPerEpoch = 20;                 // of the loss curve
constexpr std::int64_t kSamples = 5;                         // of what is written, over all epochs
constexpr std::int64_t kQuickBatches = 20, kQuickTests = 5;  // of a run that only shows that all works

std::string absolute(const std::string& path) {
  std::string text = std::filesystem::absolute(path).lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

// Of `o`, what has no value of the command line's.
std::set<std::string> left_open(const TaskKind& kind, const FitOptions& o) {
  std::set<std::string> open;
  if (!o.model || *o.model == kAutomatic) open.insert("model");
  if (!o.epochs && !o.quick) open.insert("epochs");
  if (!o.batch_size) open.insert("batch_size");
  if (!o.lr) open.insert("lr");
  for (const Hyperparameter& k : kind.hyperparameters) open.insert(k.name);
  for (const std::string& s : o.settings) open.erase(parted(s).first);
  return open;
}

Config fresh_config(const FitOptions& o) {
  const TaskKind& kind = kind_of(o.task);
  check<ValueError>(!o.data.empty() || kind.has_data, [&] {
    return "train " + o.task + ": expected data, got none; see \"neura train " + o.task + " --help\"";
  });
  Config c;
  c.task = o.task, c.quick = o.quick;
  if (!o.data.empty()) c.data = absolute(o.data);
  c.model = o.model.value_or(kind.models.front());
  c.epochs = o.epochs.value_or(o.quick ? 1 : kind.epochs);
  c.batch_size = o.batch_size.value_or(kind.batch_size);
  c.lr = o.lr.value_or(kind.lr);
  c.seed = o.seed.value_or(0);
  c.hyperparameters = set_knobs(kind.hyperparameters, o.settings);
  c.open = left_open(kind, o);
  if (!o.target.empty()) c.facts["target"] = o.target;
  if (!o.as.empty()) c.facts["as"] = o.as;
  if (!o.tokenizer.empty()) c.facts["tokenizer"] = o.tokenizer;
  return c;
}

// A run cannot be resumed with other settings.
Config resumed_config(const FitOptions& o) {
  Config c = Config::load(o.resume);
  check<ValueError>(c.task == o.task, [&] {
    return "--resume: expected a run of train " + o.task + ", got one of train " + c.task + " in " + o.resume;
  });
  const auto settle = [&](const char* option, bool same) {
    check<ValueError>(same, [&] {
      return std::string(option) + " differs from the run in \"" + o.resume +
             "\"; leave it out to continue with that run";
    });
  };
  settle("--model", !o.model || *o.model == kAutomatic || *o.model == c.model);
  settle("--epochs", o.epochs.value_or(c.epochs) == c.epochs);
  settle("--batch-size", o.batch_size.value_or(c.batch_size) == c.batch_size);
  settle("--lr", o.lr.value_or(c.lr) == c.lr);
  settle("--seed", o.seed.value_or(c.seed) == c.seed);
  for (const std::string& s : o.settings) {
    const std::string name = parted(s).first;
    settle("--set", set_knobs(kind_of(c.task).hyperparameters, {s})[name] == c.hyperparameter(name));
  }
  settle("--quick", !o.quick || c.quick);
  settle("--out", o.out.empty());
  settle("--target", o.target.empty() || c.facts.value("target", "") == o.target);
  settle("--as", o.as.empty() || c.facts.value("as", "") == o.as);
  settle("--tokenizer", o.tokenizer.empty());
  if (!o.data.empty()) c.data = absolute(o.data);  // it may have moved
  return c;
}

class Fit {
 public:
  explicit Fit(const FitOptions& o)
      : config_(o.resume.empty() ? fresh_config(o) : resumed_config(o)),
        folder_(o.resume.empty() ? new_folder(o.out, config_.name()) : o.resume),
        resumed_(!o.resume.empty()),
        device_(o.device),
        task_(kind_of(config_.task).make(config_)),
        data_(task_->open(!resumed_)),
        log_(folder_) {
    if (config_.quick) {
      data_.training.count = std::min(data_.training.count, kQuickBatches * config_.batch_size);
      data_.validation.count = std::min(data_.validation.count, kQuickTests * config_.batch_size);
    }
    manual_seed(config_.seed);
    model_ = task_->network();
    model_->to(device_);
    optimizer_.emplace(model_->parameters(),
                       optim::AdamWOptions{.lr = config_.lr, .weight_decay = config_.hyperparameter("weight_decay")});
    // A device should never wait for a batch: threads bring the next ones there.
    loader_.emplace(data_.training, data::DataLoaderOptions{.batch_size = config_.batch_size,
                                                            .shuffle = true,
                                                            .num_workers = device_.is_cpu() ? 0 : 2,
                                                            .seed = config_.seed,
                                                            .device = device_});
    schedule_.emplace(*optimizer_, config_.lr,
                      optim::lr_scheduler::OneCycleOptions{.total_steps = config_.epochs * loader_->size() + 1});
    file_ = train_file_of(config_, o);
    make_run();
  }

  int go() {
    describe();
    if (!resumed_) {
      config_.save(folder_);
      io::write_file(folder_ + "/config.toml", file_);
    }
    if (resumed_ && run_->resume()) log_.go_on(run_->steps());
    else log_.start();
    const std::int64_t before = run_->epoch();
    while (run_->next_epoch(config_.epochs))
      if (!epoch()) return interrupted();
    if (!run_->stopped().empty()) std::printf("ended: %s\n", run_->stopped().c_str());
    else if (resumed_ && before == run_->epoch()) std::printf("%s is already trained\n", folder_.c_str());
    finish();
    return kDone;
  }

 private:
  void make_run() {
    const bool classes = task_->target_kind() == TargetKind::classes;
    train::RunOptions o{.model = model_.get(), .optimizer = &*optimizer_, .scheduler = &*schedule_};
    if (config_.hyperparameter("clip") > 0) o.clip_norm = config_.hyperparameter("clip");
    o.folder = folder_, o.keep = 1;
    o.monitor = classes ? "val/accuracy" : "val/loss", o.maximize = classes;
    o.patience = config_.whole("patience");
    o.log_every = std::max<std::int64_t>(1, loader_->size() / kPointsPerEpoch);
    o.on_log = [this](train::Run& r, const train::Values& values) {
      const double place = double(r.epoch()) + double(r.batch()) / double(loader_->size());
      std::map<std::string, std::string> texts;
      if (values.contains("val/loss") && !sample_.empty()) texts["sample"] = sample_;
      train::Values all = values;
      if (values.contains("val/loss")) all["seconds"] = seconds_;  // no value of the run: checkpoints stay the same
      log_.add(r.steps(), place, all, texts);
    };
    run_.emplace(std::move(o));
  }

  void describe() const {
    for (const std::string& note : data_.notes) std::printf("%s\n", note.c_str());
    std::int64_t n = 0;
    for (const Tensor& p : model_->parameters()) n += p.numel();
    const std::string where = device_.is_cpu() ? std::to_string(get_num_threads()) + " threads"
                                               : device_.str() + " (" + device_name(device_) + ")";
    std::printf("%s with %s parameters, %s %s in batches of %lld, %s; the run is in %s\n", config_.model.c_str(),
                thousands(n).c_str(), thousands(data_.training.count).c_str(), task_->things(),
                static_cast<long long>(config_.batch_size), where.c_str(), folder_.c_str());
    std::fflush(stdout);
  }

  // One epoch, or what is left of it; false when Ctrl-C stopped it.
  bool epoch() {
    const Clock::time_point start = Clock::now();
    const std::int64_t number = run_->epoch(), size = config_.batch_size;
    Progress progress("epoch " + std::to_string(number + 1) + "/" + std::to_string(config_.epochs),
                      data_.training.count, run_->batch() * size,
                      task_->target_kind() == TargetKind::tokens ? "windows" : "items");
    model_->train();
    for (auto& batch : run_->batches(*loader_)) {
      Tensor loss;
      try {
        run_->step([&] {
          const Tensor output = (*model_)(batch.first);
          if (task_->target_kind() == TargetKind::classes)
            run_->tally("accuracy", hits(output, batch.second), double(batch.second.numel()));
          return loss = loss_of(*task_, output, batch.second);
        });
      } catch (const ValueError& e) {  // of the clipping or the run: gradients or losses that are not finite
        const std::string_view text = e.what();
        if (text.starts_with("clip_grad_norm_") || text.starts_with("Run: expected finite")) diverged();
        throw;
      }
      if (Interrupt::asked()) return false;
      if (!progress.due()) continue;
      char text[48];
      std::snprintf(text, sizeof(text), "loss %.4f", loss.item<double>());
      progress.update(std::min(data_.training.count, run_->batch() * size), text);
    }
    validate(number + 1, start);
    return true;
  }

  void validate(std::int64_t epoch, Clock::time_point start) {
    const Evaluation m = evaluate(*task_, *model_, data_.validation, config_.batch_size);
    const bool shows = epoch == config_.epochs || epoch % std::max<std::int64_t>(1, config_.epochs / kSamples) == 0;
    sample_ = shows ? task_->sample(*model_, config_.seed + std::uint64_t(epoch)) : "";
    if (!std::isfinite(m.loss)) diverged();
    seconds_ = since(start);
    train::Values values{{"val/loss", m.loss}};
    for (const auto& [name, value] : m.values) values["val/" + name] = value;
    run_->log(values);
    const double right = log_.mean("accuracy", double(epoch) - 1, double(epoch));
    std::printf("epoch %lld/%lld  loss %.4f%s  validation %s  %s\n", static_cast<long long>(epoch),
                static_cast<long long>(config_.epochs), log_.mean("loss", double(epoch) - 1, double(epoch)),
                std::isnan(right) ? "" : ("  accuracy " + percent(right)).c_str(), m.line().c_str(),
                duration(seconds_).c_str());
    if (!sample_.empty()) std::printf("%s\n\n", sample_.c_str());
    std::fflush(stdout);
  }

  [[noreturn]] void diverged() const {
    throw ValueError("train: expected finite losses and gradients, got others in epoch " +
                     std::to_string(run_->epoch() + 1) + "; begin again with a lower --lr than " +
                     Scalar(config_.lr).str());
  }

  int interrupted() {
    run_->save();
    std::printf("stopped in epoch %lld; continue with: neura train %s --resume %s\n",
                static_cast<long long>(run_->epoch()) + 1, config_.task.c_str(), folder_.c_str());
    return kInterrupted;
  }

  // The page tells of the best weights, which eval and predict take.
  void finish() {
    load_weights(*model_, folder_);
    const Evaluation m = evaluate(*task_, *model_, data_.validation, config_.batch_size);
    write_run_page(folder_ + "/report.html", {config_, *task_, log_, m, data_.validation, device_});
    std::printf("best: %s; in %s\n", m.line().c_str(), folder_.c_str());
    std::printf("report: %s/report.html\n", folder_.c_str());
  }

  Config config_;
  std::string folder_;
  bool resumed_;
  Device device_;
  std::unique_ptr<Task> task_;
  TaskData data_;
  RunLog log_;
  Ref<nn::Sequential> model_;
  std::optional<optim::AdamW> optimizer_;
  std::optional<data::DataLoader<Examples>> loader_;
  std::optional<optim::lr_scheduler::OneCycleLR> schedule_;
  std::optional<train::Run> run_;
  std::string file_;    // of the settings as they were chosen
  double seconds_ = 0;  // of the last epoch
  std::string sample_;
};

}  // namespace

int train(const FitOptions& o) {
  const Interrupt listen;
  return Fit(o).go();
}

}  // namespace neura::cli

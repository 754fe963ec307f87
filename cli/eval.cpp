// The commands for a run in a folder: eval and predict.
#include <cstdio>
#include <filesystem>

#include "cli/answers.h"
#include "cli/progress.h"
#include "cli/run_page.h"
#include "neura/io/value.h"

namespace neura::cli {
namespace {

void print_classes(const std::vector<std::string>& classes, const Evaluation& m) {
  for (std::size_t c = 0; c < m.confusion.size(); ++c) {
    std::int64_t all = 0;
    for (std::int64_t n : m.confusion[c]) all += n;
    if (!all) continue;
    const double part = double(m.confusion[c][c]) / double(all);
    std::printf("%-12s %9s  %s\n", classes[c].c_str(), percent(part).c_str(), bar(part).c_str());
  }
}

}  // namespace

LoadedRun::LoadedRun(const std::string& folder, const std::string& device)
    : config(Config::load(folder)), task(kind_of(config.task).make(config)), model(task->network()) {
  load_weights(*model, folder);
  model->to(Device(device));
  model->eval();
}

void load_weights(nn::Sequential& model, const std::string& folder) {
  const std::string file = weights_file(folder);
  const nn::Value all = load_value(file, MapLocation(Device()));
  const nn::Dict* d = all.get<nn::Dict>();
  const nn::Value* weights = d ? d->find("model") : nullptr;
  check<FormatError>(weights, [&] { return file + ": expected the weights of a run, got none in this file"; });
  model.load_state_dict(to_state_dict(*weights));
}

int evaluate(const EvalOptions& o) {
  LoadedRun t(o.run, o.device);
  const Examples set = o.data.empty() ? t.task->open(false).validation : t.task->open_other(o.data);
  const Evaluation m = evaluate(*t.task, *t.model, set, t.config.batch_size);
  print_classes(t.task->classes(), m);
  std::printf("%s, of %s %s in %s\n", m.line().c_str(), thousands(m.count).c_str(), t.task->things(),
              duration(m.seconds).c_str());
  if (!o.report.empty()) {
    RunLog log(o.run);
    log.read();
    std::optional<RunLog> other;
    if (!o.compare.empty()) other.emplace(o.compare).read();
    write_run_page(o.report, {t.config, *t.task, log, m, set, t.model->device(), o.compare, other ? &*other : nullptr});
    std::printf("report: %s\n", o.report.c_str());
  }
  return kDone;
}

int predict(const PredictOptions& o) {
  LoadedRun t(o.run, o.device);
  check<ValueError>(!o.invert || t.config.task == "fashion-mnist", [&] {
    return "predict: expected --invert with a run of train fashion-mnist, got one of train " + t.config.task;
  });
  return t.task->predict(*t.model, o);
}

}  // namespace neura::cli

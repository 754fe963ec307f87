#include "neura/train/files.h"

#include <algorithm>
#include <filesystem>

#include "neura/autograd/grad_mode.h"
#include "neura/io/checkpoint.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/train/run.h"

namespace neura::train {
namespace {

using nn::Dict;
using nn::List;
using nn::Value;
namespace fs = std::filesystem;

constexpr std::string_view kBefore = "step-", kAfter = ".safetensors";

Value boxed(const std::optional<GeneratorState>& s) {
  return s ? Value(List{{std::int64_t(s->seed), std::int64_t(s->offset)}, true}) : Value();
}

Value boxed(const std::vector<Part>& parts) {
  List all{{}, false};
  for (const Part& p : parts) all.items.emplace_back(List{{p.sum.item<double>(), p.weight}, true});
  return all;
}
std::vector<Part> unboxed_parts(const Value& v) {
  std::vector<Part> parts;
  if (const List* all = v.get<List>())
    for (const Value& item : all->items)
      if (const List* pair = item.get<List>(); pair && pair->items.size() == 2)
        parts.push_back({full({}, pair->items[0].number(), {.dtype = DType::float64}), pair->items[1].number()});
  return parts;
}

const Value& entry(const Dict& d, std::string_view name) {
  const Value* v = d.find(name);
  check<FormatError>(
      v, [&] { return "resume: expected a checkpoint of a run, got one without \"" + std::string(name) + '"'; });
  return *v;
}
std::int64_t whole(const Dict& d, std::string_view name) {
  const Value& v = entry(d, name);
  const std::int64_t* n = v.get<std::int64_t>();
  check<FormatError>(
      n, [&] { return "resume: expected an integer for \"" + std::string(name) + "\", got " + v.type_name(); });
  return *n;
}

std::optional<GeneratorState> unboxed(const Value& v) {
  const List* l = v.get<List>();
  if (!l || l->items.size() != 2) return {};
  const auto word = [&](std::size_t i) {
    const std::int64_t* n = l->items[i].get<std::int64_t>();
    check<FormatError>(n, [] { return std::string("resume: expected a seed and an offset, got something else"); });
    return std::uint64_t(*n);
  };
  return GeneratorState{word(0), word(1)};
}

std::string system_text(const std::string& folder, const std::error_code& e) {
  return "cannot use the folder \"" + folder + "\": " + e.message();
}

}  // namespace

std::string checkpoint_path(const std::string& folder, std::int64_t step) {
  std::string digits = std::to_string(step);
  digits.insert(0, digits.size() < 9 ? 9 - digits.size() : 0, '0');
  return (fs::path(folder) / (std::string(kBefore) + digits + std::string(kAfter))).string();
}

std::vector<std::pair<std::int64_t, std::string>> checkpoints(const std::string& folder) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  std::error_code e;
  for (const auto& file : fs::directory_iterator(folder, e)) {
    const std::string name = file.path().filename().string();
    if (!name.starts_with(kBefore) || !name.ends_with(kAfter)) continue;
    const std::string digits = name.substr(kBefore.size(), name.size() - kBefore.size() - kAfter.size());
    const bool number =
        digits.size() >= 9 && digits.size() < 19 && digits.find_first_not_of("0123456789") == std::string::npos;
    if (number) found.emplace_back(std::stoll(digits), file.path().string());
  }
  check<IoError>(!e || e == std::errc::no_such_file_or_directory, [&] { return system_text(folder, e); });
  std::sort(found.begin(), found.end());
  return found;
}

void keep_newest(const std::string& folder, std::int64_t step, int keep, bool rewound) {
  std::error_code ignored;
  const auto found = checkpoints(folder);
  const auto later = std::partition_point(found.begin(), found.end(), [&](const auto& f) { return f.first <= step; });
  for (auto at = found.begin(); later - at > keep; ++at) fs::remove(at->second, ignored);
  if (rewound)
    for (auto at = later; at != found.end(); ++at) fs::remove(at->second, ignored);
}

void sweep(const std::string& folder) {
  std::error_code ignored;
  for (const auto& file : fs::directory_iterator(folder, ignored)) {
    const std::string name = file.path().filename().string();
    const bool ours = name.starts_with(kBefore) || name.starts_with("best.");
    if (ours && name.find(std::string(kAfter) + ".tmp-") != std::string::npos) fs::remove(file.path(), ignored);
  }
}

void save_best(const std::string& folder, const nn::Module& model, const nn::StateDict& average, std::int64_t step,
               std::int64_t epoch) {
  std::error_code e;
  fs::create_directories(folder, e);
  check<IoError>(!e, [&] { return system_text(folder, e); });
  Dict all{{{"model", to_value(model.state_dict())}, {"step", step}, {"epoch", epoch}}};
  if (!average.empty()) all["ema"] = to_value(average);
  neura::save((fs::path(folder) / "best.safetensors").string(), all);
}

Dict Run::position() const {
  Dict d{{{"steps", steps_}, {"epoch", epoch_}, {"batch", batch_}, {"waited", waited_}, {"stopped", stopped_}}};
  d["order"] = boxed(order_);
  d["best"] = best_ ? Value(*best_) : Value();
  Dict values;
  for (const auto& [name, value] : values_) values[name] = value;
  d["values"] = std::move(values);
  Dict parts;  // of the means since the last log
  for (const auto& [name, all] : parts_) parts[name] = boxed(all);
  d["losses"] = boxed(losses_);
  d["parts"] = std::move(parts);
  if (o_.scaler) d["scaler"] = o_.scaler->state_dict();
  if (o_.ema) d["ema"] = to_value(average_);
  return d;
}

std::string Run::save() {
  check<ValueError>(!o_.folder.empty(),
                    [] { return std::string("save: expected a folder, got none; give the Run one"); });
  check<ValueError>(micro_ == 0, [&] {
    return "save: expected a group of " + std::to_string(o_.accumulate) + " batches to be complete, got " +
           std::to_string(micro_) + "; call flush()";
  });
  check_losses();
  std::error_code e;
  fs::create_directories(o_.folder, e);
  check<IoError>(!e, [&] { return system_text(o_.folder, e); });
  const std::string path = checkpoint_path(o_.folder, steps_);
  save_checkpoint(path, {o_.model, o_.optimizer, o_.scheduler, &default_generator()}, Dict{{{"run", position()}}});
  keep_newest(o_.folder, steps_, o_.keep, rewound_);
  rewound_ = false;
  if (o_.on_save) o_.on_save(*this, path);
  return path;
}

bool Run::resume() {
  check<ValueError>(!o_.folder.empty(),
                    [] { return std::string("resume: expected a folder, got none; give the Run one"); });
  sweep(o_.folder);
  const auto found = checkpoints(o_.folder);
  if (found.empty()) return false;
  resume(found.back().second);
  return true;
}

void Run::resume(const std::string& path) {
  const Value file = load_value(path, MapLocation(Device()));
  const Dict* all = file.get<Dict>();
  const Value* extra = all ? all->find("extra") : nullptr;
  const Value* run = extra && extra->is<Dict>() ? extra->get<Dict>()->find("run") : nullptr;
  check<FormatError>(run && run->is<Dict>(),
                     [&] { return "resume: expected a checkpoint of a run, got another file: " + path; });
  const Dict& at = *run->get<Dict>();
  const auto demand = [&](const char* name, bool have) {
    check<ValueError>(have == (at.find(name) != nullptr), [&] {
      return std::string("resume: expected ") + (have ? "a" : "no") + " state of \"" + name +
             "\", as this run needs, in " + path;
    });
  };
  demand("scaler", o_.scaler != nullptr);
  demand("ema", o_.ema.has_value());
  for (const char* name : {"steps", "epoch", "batch", "waited"}) whole(at, name);
  for (const char* name : {"stopped", "best", "values", "losses", "order"}) entry(at, name);
  restore_checkpoint(file, path, {o_.model, o_.optimizer, o_.scheduler, &default_generator()});
  go_to(at);
  rewound_ = true;
}

void Run::go_to(const Dict& at) {
  steps_ = whole(at, "steps"), epoch_ = whole(at, "epoch"), batch_ = whole(at, "batch"), waited_ = whole(at, "waited");
  const std::string* reason = entry(at, "stopped").get<std::string>();
  stopped_ = reason ? *reason : "";
  const Value& best = entry(at, "best");
  best_ = best.is_none() ? std::nullopt : std::optional(best.number());
  values_.clear();
  if (const Dict* values = entry(at, "values").get<Dict>())
    for (const auto& [name, value] : values->items) values_[name] = value.number();
  losses_ = unboxed_parts(entry(at, "losses"));
  parts_.clear();
  const Value* parts = at.find("parts");  // files of earlier versions have none
  if (const Dict* all = parts ? parts->get<Dict>() : nullptr)
    for (const auto& [name, value] : all->items) parts_[name] = unboxed_parts(value);
  if (o_.scaler)
    if (const Dict* d = entry(at, "scaler").get<Dict>()) o_.scaler->load_state_dict(*d);
  if (o_.ema) {
    const NoGrad off;
    const nn::StateDict saved = to_state_dict(entry(at, "ema"), "average");
    for (const auto& [name, mean] : average_) {
      Tensor to = mean;
      copy_(to, saved.at(name));
    }
  }
  micro_ = 0, weight_ = 0, passed_ = -1;
  due_ = in_pass_ = in_epoch_ = false;
  order_ = unboxed(entry(at, "order"));
  now_ = default_generator().state();
}

}  // namespace neura::train

#include "cli/config.h"

#include <charconv>
#include <cmath>
#include <filesystem>

#include "cli/ports.h"
#include "neura/core/error.h"
#include "neura/core/file.h"
#include "neura/core/scalar.h"
#include "neura/train/files.h"

namespace neura::cli {
namespace fs = std::filesystem;

void Config::save(const std::string& folder) const {
  const nlohmann::ordered_json all = {{"task", task},
                                      {"data", data},
                                      {"model", model},
                                      {"epochs", epochs},
                                      {"batch_size", batch_size},
                                      {"lr", lr},
                                      {"seed", seed},
                                      {"quick", quick},
                                      {"settings", hyperparameters},
                                      {"facts", facts}};
  std::string text;
  try {
    text = all.dump(1);
  } catch (const nlohmann::json::exception&) {  // names and cells are kept as they are, or predictions would differ
    throw ValueError(
        "train: expected the data's name, classes and columns to be UTF-8, got other bytes; rename the folders, or "
        "convert the file: iconv -f latin1 -t utf-8");
  }
  std::error_code e;
  fs::create_directories(folder, e);
  check<IoError>(!e, [&] { return "cannot make the folder \"" + folder + "\": " + e.message(); });
  io::write_file(folder + "/config.json", text + "\n");
}

std::string Config::name() const { return data.empty() ? task : fs::path(data).stem().string(); }

Config Config::load(const std::string& folder) {
  std::error_code ignored;
  check<IoError>(is_run(folder), [&] {
    return "expected the folder of a run, got \"" + folder +
           (fs::exists(folder, ignored) ? "\", which has no config.json" : "\", which does not exist") +
           "; neura train makes one and says where";
  });
  const std::string file = folder + "/config.json";
  const std::string text = io::read_file(file);
  try {
    const nlohmann::json j = nlohmann::json::parse(text);
    Config c;
    j.at("task").get_to(c.task), j.at("data").get_to(c.data), j.at("model").get_to(c.model);
    j.at("epochs").get_to(c.epochs), j.at("batch_size").get_to(c.batch_size), j.at("lr").get_to(c.lr);
    j.at("seed").get_to(c.seed), j.at("quick").get_to(c.quick), j.at("settings").get_to(c.hyperparameters);
    c.facts = j.at("facts");
    check<FormatError>(c.epochs >= 1 && c.batch_size >= 1 && c.lr > 0,
                       [&] { return file + ": expected the settings of a run, got some out of range"; });
    return c;
  } catch (const nlohmann::json::exception&) {
    throw FormatError(file + ": expected the settings of a run of neura train, got something else");
  }
}

std::map<std::string, double> set_knobs(std::span<const Hyperparameter> hyperparameters,
                                        const std::vector<std::string>& settings) {
  std::map<std::string, double> all;
  std::string names;
  for (const Hyperparameter& k : hyperparameters)
    all[k.name] = k.value, names += (names.empty() ? "" : ", ") + std::string(k.name);
  for (const std::string& s : settings) {
    const auto [name, text] = parted(s);
    const auto at = std::find_if(hyperparameters.begin(), hyperparameters.end(),
                                 [&](const Hyperparameter& k) { return name == k.name; });
    check<ValueError>(at != hyperparameters.end(),
                      [&] { return "--set: expected KEY=NUMBER with one of " + names + ", got \"" + s + '"'; });
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool number = error == std::errc() && stop == text.data() + text.size() && value >= at->low &&
                        value <= at->high &&
                        (std::floor(at->value) != at->value || at->high <= 1 || std::floor(value) == value);
    check<ValueError>(number, [&] {
      return "--set " + name + ": expected " + (at->high > 1 ? "a number" : "a part") + " from " +
             Scalar(at->low).str() + " to " + Scalar(at->high).str() + ", got \"" + text + '"';
    });
    all[name] = value;
  }
  return all;
}

std::string hyperparameter_lines(std::span<const Hyperparameter> hyperparameters) {
  std::string out = "Keys of --set:\n";
  for (const Hyperparameter& k : hyperparameters) {
    std::string name = std::string("  ") + k.name + "=" + Scalar(k.value).str();
    name.resize(std::max<std::size_t>(name.size() + 1, 22), ' ');
    out += name + k.text + "\n";
  }
  return out;
}

bool is_run(const std::string& folder) {
  std::error_code ignored;
  return fs::exists(fs::path(folder) / "config.json", ignored);
}

std::string new_folder(const std::string& asked, const std::string& name) {
  if (!asked.empty()) {
    check<ValueError>(!is_run(asked), [&] {
      return "--out: expected a folder without a run, got \"" + asked + "\"; continue with it by --resume " + asked +
             ", or name another";
    });
    return asked;
  }
  const std::string first = "runs/" + (name.empty() ? "run" : name);
  std::error_code ignored;
  std::string folder = first;
  for (int n = 2; fs::exists(folder, ignored); ++n) folder = first + "-" + std::to_string(n);
  return folder;
}

std::string weights_file(const std::string& folder) {
  std::error_code ignored;
  const std::string best = folder + "/best.safetensors";
  if (fs::exists(best, ignored)) return best;
  const auto all = train::checkpoints(folder);
  check<IoError>(!all.empty(),
                 [&] { return "expected weights in \"" + folder + "\", got none; train first: neura train --help"; });
  return all.back().second;
}

}  // namespace neura::cli

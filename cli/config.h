// RUN/config.json: the options of a run, and the facts that its network needs for predictions.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace neura::cli {

struct Hyperparameter {  // changed by --set
  const char* name;
  double value, low, high;
  const char* text;
};

struct Config {
  std::string task;   // "images", "table", "text" or "fashion-mnist"
  std::string data;   // its absolute path; empty: the task has its own
  std::string model;  // of neura/models
  std::int64_t epochs = 0, batch_size = 0;
  double lr = 0;
  std::uint64_t seed = 0;
  bool quick = false;
  std::map<std::string, double> hyperparameters;
  nlohmann::json facts = nlohmann::json::object();  // of the task: classes, columns, vocabulary, the network
  // Names of settings that nobody gave a value, of a run that begins: a task may choose by its data. Not kept.
  std::set<std::string> open = {};

  double hyperparameter(const std::string& name) const { return hyperparameters.at(name); }
  std::int64_t whole(const std::string& name) const { return std::int64_t(hyperparameters.at(name)); }
  std::string name() const;  // of the data, or of the task that has its own
  void save(const std::string& folder) const;
  static Config load(const std::string& folder);  // IoError; FormatError where it is no run's
};

// KEY=VALUE of a command line over the hyperparameters' own values. ValueError for another key, and for a value out of
// range.
std::map<std::string, double> set_knobs(std::span<const Hyperparameter>, const std::vector<std::string>& settings);
std::string hyperparameter_lines(std::span<const Hyperparameter>);  // for --help

// A folder that holds no run: what was asked for, or runs/NAME, runs/NAME-2, … ValueError if there is a run in it.
std::string new_folder(const std::string& asked, const std::string& name);
bool is_run(const std::string& folder);
// RUN/best.safetensors, or the newest checkpoint. IoError where there is neither.
std::string weights_file(const std::string& folder);

}  // namespace neura::cli

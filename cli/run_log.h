// RUN/log.jsonl: a line for each time that something was measured, {"step", "epoch", names and values}. What a page
// shows of a run is read from it.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace neura::cli {

class RunLog {
 public:
  explicit RunLog(const std::string& folder) : path_(folder + "/log.jsonl") {}
  void start() const;              // an empty file
  void read();                     // IoError, FormatError
  void go_on(std::int64_t steps);  // after this step: later lines go, in the file too
  // At a place in epochs, such as 1.5.
  void add(std::int64_t step, double place, const std::map<std::string, double>& values,
           const std::map<std::string, std::string>& texts = {});

  std::vector<std::pair<double, double>> curve(const std::string& name) const;  // (place, value)
  double mean(const std::string& name, double after, double upto) const;        // of the values there; NaN: none
  double sum(const std::string& name) const;
  std::string last_text(const std::string& name) const;  // empty where there is none

 private:
  std::string path_;
  std::vector<nlohmann::ordered_json> lines_;
};

}  // namespace neura::cli

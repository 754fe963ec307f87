#include "cli/run_log.h"

#include <cmath>
#include <fstream>
#include <sstream>

#include "cli/answers.h"
#include "neura/core/error.h"
#include "neura/core/file.h"

namespace neura::cli {

void RunLog::start() const { io::write_file(path_, ""); }

void RunLog::read() {
  lines_.clear();
  std::istringstream in(io::read_file(path_));
  for (std::string line; std::getline(in, line);) {
    const nlohmann::ordered_json j = nlohmann::json::parse(line, nullptr, false);
    if (j.is_discarded() && in.eof()) break;  // a process was killed while it wrote
    check<FormatError>(j.is_object() && j.contains("step") && j.contains("epoch"),
                       [&] { return path_ + ": expected lines of JSON of a run, got another: " + line.substr(0, 60); });
    lines_.push_back(j);
  }
}

void RunLog::go_on(std::int64_t steps) {
  read();
  std::erase_if(lines_, [&](const nlohmann::ordered_json& j) { return j.at("step") > steps; });
  std::string kept;
  for (const nlohmann::ordered_json& j : lines_) kept += j.dump() + "\n";
  io::write_file(path_, kept);
}

void RunLog::add(std::int64_t step, double place, const std::map<std::string, double>& values,
                 const std::map<std::string, std::string>& texts) {
  nlohmann::ordered_json line = {{"step", step}, {"epoch", place}};
  for (const auto& [name, value] : values) line[name] = value;
  for (const auto& [name, text] : texts) line[name] = text;
  std::ofstream out(path_, std::ios::app | std::ios::binary);
  out << json_line(line) << "\n" << std::flush;
  check<IoError>(bool(out), [&] { return "cannot write \"" + path_ + '"'; });
  lines_.push_back(line);
}

std::vector<std::pair<double, double>> RunLog::curve(const std::string& name) const {
  std::vector<std::pair<double, double>> points;
  for (const nlohmann::ordered_json& j : lines_)
    if (const auto at = j.find(name); at != j.end() && at->is_number())
      points.emplace_back(j.at("epoch").get<double>(), at->get<double>());
  return points;
}

double RunLog::mean(const std::string& name, double after, double upto) const {
  double sum = 0;
  int n = 0;
  for (const auto& [place, value] : curve(name))
    if (place > after && place <= upto) sum += value, ++n;
  return n ? sum / n : std::nan("");
}

double RunLog::sum(const std::string& name) const {
  double all = 0;
  for (const auto& [place, value] : curve(name)) all += value;
  return all;
}

std::string RunLog::last_text(const std::string& name) const {
  for (auto line = lines_.rbegin(); line != lines_.rend(); ++line)
    if (const auto at = line->find(name); at != line->end() && at->is_string()) return at->get<std::string>();
  return {};
}

}  // namespace neura::cli

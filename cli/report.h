// A page about a run: one HTML file without anything from elsewhere.
#pragma once
#include <string>

#include "cli/history.h"
#include "cli/testing.h"

namespace neura::cli {

struct Report {
  std::string data;  // what the set is called
  const Settings& settings;
  const History& history;
  const TestResult& result;
  const data::MNIST& set;  // that was tested with
  Device device;
  std::optional<OtherRun> other;
};
// IoError.
void write_report(const std::string& path, const Report&);
std::string report_page(const Report&);

}  // namespace neura::cli

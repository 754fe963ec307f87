// The page about a run in a folder.
#pragma once
#include <string>

#include "cli/run_log.h"
#include "cli/task.h"

namespace neura::cli {

struct RunPage {
  const Config& config;
  const Task& task;
  const RunLog& log;
  const Evaluation& measured;  // on what was held back, or on other data
  const Examples& set;         // those data
  Device device;
  std::string other = {};  // a run to compare with
  const RunLog* other_log = nullptr;
};
void write_run_page(const std::string& path, const RunPage&);  // IoError

}  // namespace neura::cli

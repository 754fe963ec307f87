// Files .neura: programs with their weights.
#pragma once
#include <string>

#include "cli/commands.h"

namespace neura::cli {

bool is_program(const std::string& file);  // by its name
int run_program(const RunOptions&);
int bench_program(const BenchOptions&);

}  // namespace neura::cli

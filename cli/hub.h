// neura hub: models with their weights, by the Python package.
#pragma once
#include <string>
#include <vector>

namespace neura::cli {

// Becomes that program, with these words; comes back by IoError alone, where there is no Python.
int hub(std::vector<std::string> words);

}  // namespace neura::cli

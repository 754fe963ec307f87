// neura train CONFIG.toml: any task from one file.
#pragma once
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/config.h"

namespace neura::cli {

// The options that a file says, with KEY=VALUE of the command line over them: a key of the file, or one of its
// [settings]. Paths in it are taken from its folder. IoError, FormatError for what is no TOML; ValueError, with the
// nearest name, for a key that there is not, and for a value that does not fit; NotImplementedError in a program
// without toml++.
FitOptions read_train_file(const std::string& path, const std::vector<std::string>& settings);
// The same of a run with all that it left open, so that the file trains it once more.
std::string train_file_of(const Config&, const FitOptions&);

}  // namespace neura::cli

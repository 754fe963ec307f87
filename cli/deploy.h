// What neura deploy writes.
#pragma once
#include <string>

#include "neura/io/program.h"

namespace neura::cli {

struct Deployed {
  std::string source;  // the file that the model came from
  std::string bytes;   // of a file .neura
  ProgramFile file;    // the same, read
  bool trusted = false;
};

// Writes NAME.c, NAME.h, example.c, CMakeLists.txt and a Makefile into the folder, whose name is NAME; gives what to
// say.
std::string write_c(const Deployed&, const std::string& folder);

}  // namespace neura::cli

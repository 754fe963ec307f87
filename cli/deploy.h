// What neura deploy writes.
#pragma once
#include <string>

#include "cli/commands.h"
#include "neura/io/program.h"

namespace neura::cli {

struct DeployedModel {
  std::string source;  // the file that the model came from
  std::string bytes;   // of a file .neura
  ProgramFile file;    // the same, read
  bool trusted = false;
};

// Writes NAME.c, NAME.h, example.c, CMakeLists.txt and a Makefile into the folder, whose name is NAME; gives what to
// say.
std::string write_c(const DeployedModel&, const std::string& folder);

// Compiles what the model calls, from Neura's sources, and gives the program that the model is to be appended to.
std::string build_small(const DeployedModel&, const DeployOptions&);
// Runs the program of DeployOptions::output on some inputs, one for another machine by qemu; ValueError where its
// answers are not the library's. Gives what to say: nothing, or that it could not be run.
std::string check_small(const DeployedModel&, const DeployOptions&);

}  // namespace neura::cli

// Files .neura: a program (graph/program.h) with its weights and its signature, in one safetensors file, so that other
// readers see the weights. The metadata hold the program's text, `neura.program`, and `neura.signature`.
//
//   save_program("net.neura", graph::trace(f, {{x}}, names), {.outputs = {"scores"}});
//   const ProgramFile net = load_program("net.neura");
//   const Tensor y = graph::run(net.program, {{x}})[0];
#pragma once
#include "neura/graph/program.h"
#include "neura/io/safetensors.h"

namespace neura {
namespace io {
class Source;
}

// A constant of at most so many bytes stands in the program's text; others are tensors of the file.
inline constexpr std::size_t kInText = 64;

struct ProgramNames {
  std::vector<std::string> inputs = {}, outputs = {};  // missing ones: the program's, or input_0, output_0
  Metadata metadata = {};                              // the user's own; keys that begin with "neura" are taken
};

// The file appears complete or not at all (IoError). Captured memory is written as it is now, under its name; the
// program need not be one that load_program() takes without being told to. ValueError: more names than there are
// inputs or outputs, one that occurs twice, is empty, or has one of " <:" or a line break in it; memory that is
// missing.
void save_program(const std::string& path, const graph::Program&, const ProgramNames& = {});
std::string save_program_bytes(const graph::Program&, const ProgramNames& = {});

struct ProgramFile {
  graph::Program program;
  std::vector<std::string> inputs, outputs;
  Metadata metadata;
  std::string version;  // of the Neura that wrote the file
};
struct ProgramOptions {
  bool mmap = true;  // weights are mapped from the file, see load(); else they are read, and compared with their hash
  // An untrusted file may only call operations that graph::check_foreign knows. Trusted: all of them.
  bool trusted = false;
};

// Everything is checked before anything runs. FormatError, with the file's name, for what is damaged, or no such file;
// NotImplementedError for an operation that is not checked in files, or of a file that a later Neura wrote.
ProgramFile load_program(const std::string& path, const ProgramOptions& = {});
ProgramFile load_program(std::span<const std::byte> bytes, bool trusted = false, const std::string& name = "program");
ProgramFile load_program(const io::Source&, bool trusted = false);  // mmap is the source's

// True if a file begins like one. For tools that read several kinds.
bool is_program_file(const Metadata& metadata);

}  // namespace neura

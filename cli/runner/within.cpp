#include "cli/runner/within.h"

namespace neura::cli {

ProgramFile load_within(const std::string& self, const Appended& a) {
  return load_program(io::Source(self, a.offset, a.size, true), a.trusted);
}

std::vector<std::pair<std::string, Tensor>> tensors_in(const std::string& path) {
  const nn::StateDict all = load(path, Device());
  return {all.begin(), all.end()};
}

}  // namespace neura::cli

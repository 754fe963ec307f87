#include "cli/runner/embedded_model.h"

namespace neura::cli {

const char* const kFiles = "a file .npy or .safetensors";
const char* const kValueHelp =
    "VALUE is FILE.npy; FILE.safetensors, which has a tensor of the input's name; or numbers such as 1,-2.5,3e-4: as "
    "many\nas the input has, or one for all of them. FILE.safetensors without a name gives every input that it has.";

ProgramFile load_within(const std::string& self, const Appended& a) {
  return load_program(io::Source(self, a.offset, a.size, true), a.trusted);
}

std::vector<std::pair<std::string, Tensor>> tensors_in(const std::string& path) {
  const nn::StateDict all = load(path, Device());
  return {all.begin(), all.end()};
}

}  // namespace neura::cli

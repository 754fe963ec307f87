// A compiled kernel in a folder of the user: the one that NEURA_CACHE_DIR names, or neura in $XDG_CACHE_HOME or
// ~/.cache. None where NEURA_CACHE_DIR is empty.
#pragma once
#include <string_view>

#include "neura/cuda/compile.h"

namespace neura::cuda {

std::string hash_of(std::string_view);  // 16 digits; what differs has another one, except for accidents

class KernelFile {
 public:
  explicit KernelFile(std::string key);                // of what was compiled; empty: no file
  std::shared_ptr<const CompiledKernel> read() const;  // null where it is not there, is another kernel's, or is damaged
  void write(const CompiledKernel&) const;             // does nothing where the folder cannot be written

 private:
  std::string key_, path_;
};

}  // namespace neura::cuda

// A compiled kernel in the folder that NEURA_CACHE_DIR names.
#pragma once
#include "neura/cuda/compile.h"

namespace neura::cuda {

class KernelFile {
 public:
  explicit KernelFile(std::string key);                // of what was compiled; empty: no file
  std::shared_ptr<const CompiledKernel> read() const;  // null where it is not there, is another kernel's, or is damaged
  void write(const CompiledKernel&) const;             // does nothing where the folder cannot be written

 private:
  std::string key_, path_;
};

}  // namespace neura::cuda

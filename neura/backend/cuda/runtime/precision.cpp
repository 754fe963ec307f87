#include "neura/backend/cuda/runtime/precision.h"

#include "neura/core/precision.h"

namespace neura::cuda {
namespace {
std::atomic<const detail::Precision*> told{nullptr};  // the process's; until the core has told, its defaults
}  // namespace

bool matmul_may_use_tf32() {
  const detail::Precision* p = told.load(std::memory_order_acquire);
  return p && p->matmul.load(std::memory_order_relaxed) != 0;
}
bool convolution_may_use_tf32() {
  const detail::Precision* p = told.load(std::memory_order_acquire);
  return !p || p->convolution_tf32.load(std::memory_order_relaxed);
}
bool deterministic_algorithms() {
  const detail::Precision* p = told.load(std::memory_order_acquire);
  return p && p->deterministic.load(std::memory_order_relaxed);
}

}  // namespace neura::cuda

extern "C" __attribute__((visibility("default"))) void neura_precision(const neura::detail::Precision* of_process) {
  neura::cuda::told.store(of_process, std::memory_order_release);
}

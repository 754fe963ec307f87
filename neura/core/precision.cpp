#include "neura/core/precision.h"

#include <cstdlib>
#include <iterator>
#include <string>

#include "neura/core/error.h"

namespace neura {
namespace {

constexpr const char* kWords[] = {"highest", "high", "medium"};

bool said(const char* variable, bool otherwise) {
  const char* text = std::getenv(variable);
  return text && *text ? *text != '0' : otherwise;
}

}  // namespace

detail::Precision& detail::precision() {
  static Precision state{said("NEURA_MATMUL_ALLOW_TF32", false), said("NEURA_CUDNN_ALLOW_TF32", true),
                         said("NEURA_DETERMINISTIC", false)};
  return state;
}

void set_float32_matmul_precision(std::string_view precision) {
  for (int i = 0; i < int(std::size(kWords)); ++i)
    if (precision == kWords[i]) return detail::precision().matmul.store(i, std::memory_order_relaxed);
  check<ValueError>(false, [&] {
    return "set_float32_matmul_precision: expected \"highest\", \"high\" or \"medium\", got \"" +
           std::string(precision) + "\"";
  });
}
const char* get_float32_matmul_precision() {
  return kWords[detail::precision().matmul.load(std::memory_order_relaxed)];
}
void set_cudnn_allow_tf32(bool allow) { detail::precision().convolution_tf32.store(allow, std::memory_order_relaxed); }
bool get_cudnn_allow_tf32() { return detail::precision().convolution_tf32.load(std::memory_order_relaxed); }
void use_deterministic_algorithms(bool mode) {
  detail::precision().deterministic.store(mode, std::memory_order_relaxed);
}
bool are_deterministic_algorithms_enabled() {
  return detail::precision().deterministic.load(std::memory_order_relaxed);
}

}  // namespace neura

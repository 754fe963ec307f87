#include "neura/core/precision.h"

#include <iterator>
#include <string>

#include "neura/core/error.h"
#include "neura/core/settings.h"

namespace neura {
namespace {

constexpr const char* kWords[] = {"highest", "high", "medium"};

}  // namespace

detail::Precision& detail::precision() {
  static Precision state{setting_on(Setting::matmul_allow_tf32, false), setting_on(Setting::cudnn_allow_tf32, true),
                         setting_on(Setting::deterministic, false)};
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

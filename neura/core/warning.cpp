#include "neura/core/warning.h"

#include <cstdio>
#include <mutex>
#include <set>

#include "neura/core/interpreter.h"

namespace neura {

void warn(const std::string& text) {
  if (interpreter) return interpreter->warn(text.c_str());
  static std::mutex mutex;
  static auto* said = new std::set<std::string>;  // a loop says it once; outlives whoever warns at exit
  constexpr std::size_t kMost = 1000;             // different ones
  std::lock_guard lock(mutex);
  if (said->size() < kMost && said->insert(text).second) std::fprintf(stderr, "warning: %s\n", text.c_str());
}

}  // namespace neura

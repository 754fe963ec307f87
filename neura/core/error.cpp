#include "neura/core/error.h"

namespace neura {

void assertion_failed(const char* claim, const char* file, int line) {
  throw std::logic_error(std::string("neura: a bug of Neura itself, please report it: expected ") + claim + " (" +
                         file + ":" + std::to_string(line) + ")");
}

}  // namespace neura

// Elements as plain bytes, and loops over all dimensions but the innermost.
#pragma once
#include <cstring>

#include "neura/backend/view.h"
#include "neura/core/walk.h"

namespace neura {

struct Bytes16 {
  std::uint64_t half[2];
};

// f(U()) with an unsigned type of so many bytes.
template <class F> void visit_width(int bytes, const F& f) {
  switch (bytes) {
    case 1:
      return f(std::uint8_t());
    case 2:
      return f(std::uint16_t());
    case 4:
      return f(std::uint32_t());
    case 8:
      return f(std::uint64_t());
    default:
      return f(Bytes16());
  }
}

}  // namespace neura

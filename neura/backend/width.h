// Elements that are moved as they are: by their size alone.
#pragma once
#include <cstdint>

namespace neura {

// f(U()) with an unsigned type of so many bytes; of 16, with `Sixteen`.
template <class Sixteen, class F> void with_width(int bytes, const F& f) {
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
      return f(Sixteen());
  }
}

}  // namespace neura

#include "neura/ops/create/integer_range.h"

#include <string>

#include "neura/core/error.h"

namespace neura {

std::int64_t count_between(const char* op, std::int64_t start, std::int64_t end, std::int64_t step) {
  using Bits = std::uint64_t;
  const Bits distance = step > 0 ? Bits(end) - Bits(start) : Bits(start) - Bits(end);
  const Bits stride = step > 0 ? Bits(step) : 0 - Bits(step);
  const Bits count = distance / stride + (distance % stride != 0);
  check<ValueError>(count <= Bits(INT64_MAX), [&] {
    return std::string(op) + ": expected fewer than 2**63 values, got " + std::to_string(count);
  });
  return std::int64_t(count);
}

}  // namespace neura

#include "neura/ops/create/integer_range.h"

#include <string>

#include "neura/core/error.h"
#include "neura/core/parallel.h"
#include "neura/core/scalar.h"

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

void lay_integers(std::int64_t start, std::int64_t end, const View& out) {
  __extension__ using Wide = __int128;
  const std::int64_t gaps = std::max<std::int64_t>(out.numel() - 1, 1);
  const Wide first = Wide(start) * gaps, distance = Wide(end) - start;
  const std::int64_t width = size_of(out.dtype());
  parallel_for(out.numel(), kSerial / 16, [&](std::int64_t b, std::int64_t e) {
    for (std::int64_t i = b; i < e; ++i)
      Scalar(std::int64_t((first + distance * i) / gaps)).store(out.dtype(), out.data + i * width);
  });
}

}  // namespace neura

// linspace of integers. Its products of two sizes need 128 bits, which 32-bit machines lack; small programs leave this
// file out.
#include <algorithm>

#include "neura/core/parallel.h"
#include "neura/core/scalar.h"
#include "neura/ops/create/integer_range.h"

namespace neura {

void fill_integer_linspace(std::int64_t start, std::int64_t end, const View& out) {
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

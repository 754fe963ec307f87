// Dropout. Backward draws the same numbers again, from seed and offset: no mask is kept.
#include "neura/backend/kernels/dropout.h"

#include <algorithm>
#include <cmath>

#include "neura/backend/cpu/rowwise.h"
#include "neura/backend/cpu/random/random_lines.h"

namespace neura {
namespace {

constexpr std::int64_t kWords = 4 * kGroup;

// words >> 8 below this is dropped: numbers of 24 bits, uniform in [0, 1), against p.
std::uint32_t limit_of(double p) { return std::uint32_t(std::ceil(p * 0x1p24)); }

template <class T> void each(Context& c, const View& x, const DropoutDraw& d, const View& y) {
  const std::uint32_t limit = limit_of(d.p);
  const T scale = d.p < 1 ? T(1 / (1 - d.p)) : T(0);
  const Rows from = Rows::pieces(x, kWords), to = Rows::pieces(y, kWords);
  const Blocks blocks(from.count, 16 * kWords);
  const RowAccess<T> xs(c, from, blocks), ys(c, to, blocks);
  blocks.run([&](Blocks::Block block, std::int64_t r, std::int64_t end) {
    alignas(64) std::uint32_t words[kWords];
    for (; r < end; ++r) {
      philox_group(d.seed, d.offset, std::uint64_t(r) * kGroup, words);
      const T* in = xs.read(block, r);
      T* out = ys.target(block, r);
      const std::int64_t n = from.length_of(r);
      for (std::int64_t i = 0; i < n; ++i) out[i] = words[i] >> 8 >= limit ? in[i] * scale : T(0);
      ys.written(block, r);
    }
  });
}

template <class T> void groups(Context& c, const View& x, const DropoutDraw& d, std::int64_t group, const View& y) {
  const std::uint32_t limit = limit_of(d.p);
  const T scale = d.p < 1 ? T(1 / (1 - d.p)) : T(0);
  const Rows from = Rows::pieces(x, group), to = Rows::pieces(y, group);
  const Blocks blocks(from.count, group);
  const RowAccess<T> xs(c, from, blocks), ys(c, to, blocks);
  std::uint32_t* words = c.scratch_of<std::uint32_t>((from.count + kWords - 1) / kWords * kWords);
  for (std::int64_t i = 0; i < from.count; i += kWords) philox_group(d.seed, d.offset, std::uint64_t(i / 4), words + i);
  blocks.run([&](Blocks::Block block, std::int64_t r, std::int64_t end) {
    for (; r < end; ++r) {
      const T *in = xs.read(block, r), factor = words[r] >> 8 >= limit ? scale : T(0);
      T* out = ys.target(block, r);
      if (factor != 0)
        for (std::int64_t i = 0; i < group; ++i) out[i] = in[i] * factor;
      else std::fill(out, out + group, T(0));
      ys.written(block, r);
    }
  });
}

void dropout(Context& c, View x, const DropoutDraw& d, std::int64_t group, View y) {
  const bool wide = x.dtype() == DType::float64;
  if (!x.numel()) return;
  if (group == 1) wide ? each<double>(c, x, d, y) : each<float>(c, x, d, y);
  else wide ? groups<double>(c, x, d, group, y) : groups<float>(c, x, d, group, y);
}

}  // namespace

const dropout_kernels* cpu_dropout() {
  static constexpr dropout_kernels table{.dropout = &dropout};
  return &table;
}

}  // namespace neura

// How a product of 8-bit integers is packed, cut into tiles and shared among threads.
#include <algorithm>
#include <cstring>

#include "neura/backend/cpu/product/gemm.h"
#include "neura/backend/cpu/product/int8_lines.h"
#include "neura/backend/cpu/product/int8_tile.h"
#include "neura/backend/cpu/product/gemm_batched.h"
#include "neura/backend/kernels/quant.h"

namespace neura {
namespace {

using Bytes = std::uint8_t;
constexpr Bytes kFlip = 128;  // as an exclusive or: from signed to unsigned and back, 128 more or less

struct Sides {  // how the operands become one unsigned and one signed
  bool unsigned_left, flip_left, flip_right;
  Sides(DType a, DType b)
      : unsigned_left(a == DType::uint8 || b == DType::int8),
        flip_left(a == DType::int8 && b == DType::int8),
        flip_right(a == DType::uint8 && b == DType::uint8) {}
};

struct Matrix {
  const Bytes* data;
  int64_t row, column;
};

struct Item {  // one product of a batch
  int64_t m, n, k;
  Matrix a, b;
  const Bytes* packed;  // b, or null
  std::int32_t* y;      // [m, n]
  Sides sides;

  int64_t depth() const { return parts(k, 4); }
  int64_t panels() const { return parts(n, kIntegerPanel); }
  int64_t panel_bytes() const { return depth() * kIntegerPanel * 4; }
};

// The sums of the columns of a packed matrix follow its panels.
const std::int32_t* sums_of(const Bytes* packed, const Item& p) {
  return reinterpret_cast<const std::int32_t*>(packed + p.panels() * p.panel_bytes());
}
void pack_panels(const Item& p, bool flip, bool with_sums, Bytes* to) {
  const IntegerKernels& kernels = integer_kernels();
  auto* const sums = reinterpret_cast<std::int32_t*>(to + p.panels() * p.panel_bytes());
  parallel_for(p.panels(), kSerial / std::max<int64_t>(1, p.k * kIntegerPanel) + 1, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      const int64_t j = i * kIntegerPanel;
      Bytes* const panel = to + i * p.panel_bytes();
      kernels.pack_right(p.b.data + j * p.b.column, p.b.row, p.b.column, int(std::min<int64_t>(p.n - j, kIntegerPanel)),
                         p.k, flip ? kFlip : 0, panel);
      if (!with_sums) continue;
      std::int32_t sum[kIntegerPanel] = {};
      const auto* q = reinterpret_cast<const std::int8_t*>(panel);
      for (int64_t g = 0; g < p.depth(); ++g, q += 4 * kIntegerPanel)
        for (int c = 0; c < kIntegerPanel; ++c) sum[c] += q[4 * c] + q[4 * c + 1] + q[4 * c + 2] + q[4 * c + 3];
      std::memcpy(sums + j, sum, sizeof sum);
    }
  });
}

// Packed rows of a, in slivers of balanced heights: [sliver][depth][its rows][4]; and the sums of the rows.
struct Left {
  const Item& p;
  int64_t slivers;
  Bytes* data;
  std::int32_t* sums;  // null: not asked for

  int64_t begin(int64_t i) const { return part_begin(p.m, slivers, i); }
  void pack(int64_t i) const {
    const int64_t first = begin(i), rows = begin(i + 1) - first;
    integer_kernels().pack_left(p.a.data + first * p.a.row, p.a.row, p.a.column, int(rows), p.k,
                                p.sides.flip_left ? kFlip : 0, data + first * p.depth() * 4);
    if (!sums) return;
    for (int64_t r = first; r < first + rows; ++r) {
      std::int32_t sum = 0;
      for (int64_t l = 0; l < p.k; ++l) sum += p.a.data[r * p.a.row + l * p.a.column];
      sums[r] = sum;
    }
  }
};

// Rows of sliver i, columns of two panels from `panel` on.
void tile(const Item& p, const Left& left, const Bytes* packed, int64_t i, int64_t panel) {
  const IntegerKernels& kernels = integer_kernels();
  alignas(64) std::int32_t sums[kIntegerRows * kIntegerColumns];
  const int64_t first = left.begin(i), rows = left.begin(i + 1) - first, j = panel * kIntegerPanel;
  const IntegerTile t{p.depth(), left.data + first * p.depth() * 4, packed + panel * p.panel_bytes(),
                      panel + 1 < p.panels() ? p.panel_bytes() : 0, sums};
  (p.sides.unsigned_left ? kernels.unsigned_left : kernels.unsigned_right)[rows - 1](t);
  const int64_t columns = std::min<int64_t>(p.n - j, kIntegerColumns);
  const std::int32_t* const of_columns = sums_of(packed, p) + j;
  for (int64_t r = 0; r < rows; ++r) {  // unsigned: sums wrap around
    const std::int32_t* const from = sums + r * kIntegerColumns;
    std::int32_t* const to = p.y + (first + r) * p.n + j;
    const std::uint32_t of_row = left.sums ? std::uint32_t(left.sums[first + r]) << 7 : 0;
    if (p.sides.flip_left)
      for (int64_t c = 0; c < columns; ++c)
        to[c] = std::int32_t(std::uint32_t(from[c]) - (std::uint32_t(of_columns[c]) << 7));
    else
      for (int64_t c = 0; c < columns; ++c) to[c] = std::int32_t(std::uint32_t(from[c]) + of_row);
  }
}

constexpr int64_t kTaskSlivers = 8, kTaskPanels = 16;

void multiply_item(Context& c, const Item& p) {
  const Bytes* packed = p.packed;
  if (!packed) {
    Bytes* const to = c.scratch_of<Bytes>(packed_bytes(p.k, p.n));
    pack_panels(p, p.sides.flip_right, p.sides.flip_left, to);
    packed = to;
  }
  const Left left{p, parts(p.m, integer_kernels().rows), c.scratch_of<Bytes>(p.m * p.depth() * 4),
                  p.sides.flip_right ? c.scratch_of<std::int32_t>(p.m) : nullptr};
  const int64_t work = std::max<int64_t>(1, p.n * p.k * kIntegerRows);
  parallel_for(left.slivers, kSerial / (p.k * kIntegerRows) + 1, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) left.pack(i);
  });
  const int64_t rows = parts(left.slivers, kTaskSlivers), columns = parts(p.panels(), kTaskPanels);
  const int64_t grain = std::max<int64_t>(1, 2 * kGemmSerial * columns / (work * kTaskSlivers));
  parallel_for(rows * columns, grain, [&](int64_t task, int64_t end) {
    for (; task < end; ++task) {
      const int64_t r = task / columns, s = task % columns;
      for (int64_t panel = s * kTaskPanels; panel < std::min(p.panels(), (s + 1) * kTaskPanels);
           panel += kIntegerPanels)
        for (int64_t i = r * kTaskSlivers; i < std::min(left.slivers, (r + 1) * kTaskSlivers); ++i)
          tile(p, left, packed, i, panel);
    }
  });
}

Matrix matrix(const BatchSizes& sizes, const MatrixBatch<const Bytes>& x, int64_t i) {
  return {sizes.at(x, i), x.row, x.column};
}
// A size of 1 may have any stride: the one that packs best.
MatrixBatch<const Bytes> operand(View v, int rank) {
  MatrixBatch<const Bytes> x = matrices<const Bytes>(v.as<Bytes>(), *v.spec, rank);
  if (v.size(v.rank() - 1) == 1 && x.row != 1) x.column = 1;
  return x;
}

void integer_product(Context& c, View a, View b, View packed, View y) {
  const int rank = y.rank();
  BatchSizes sizes;
  sizes.rank = rank - 2;
  for (int d = 0; d < sizes.rank; ++d) sizes.batch[d] = y.size(d);
  const auto left = operand(a, rank), right = operand(b, rank);
  const int64_t m = y.size(rank - 2), n = y.size(rank - 1), k = a.size(a.rank() - 1), count = sizes.count();
  if (!y.numel()) return;
  if (!k) return void(std::fill_n(y.as<std::int32_t>(), y.numel(), 0));
  const auto one = [&](int64_t i) {
    Context own(c.backend, c.device, c.op);
    multiply_item(
        own, Item{m, n, k, matrix(sizes, left, i), matrix(sizes, right, i), packed ? packed.as<const Bytes>() : nullptr,
                  y.as<std::int32_t>() + i * m * n, Sides(a.dtype(), b.dtype())});
  };
  if (m * n * k >= 4 * kGemmSerial) {  // threads share each item
    for (int64_t i = 0; i < count; ++i) one(i);
  } else {
    parallel_for(count, std::max<int64_t>(1, kGemmSerial / (m * n * k)), [&](int64_t i, int64_t end) {
      for (; i < end; ++i) one(i);
    });
  }
}

void integer_pack(Context&, View b, View packed) {
  const Item p{0,
               b.size(1),
               b.size(0),
               {},
               {b.as<const Bytes>(), b.stride(0), b.stride(1)},
               nullptr,
               nullptr,
               Sides(DType::uint8, DType::int8)};
  pack_panels(p, false, true, packed.as<Bytes>());
}

// f(line, first element) for pieces of lines whose elements share a scale, or have one each.
template <class F> void each_line(View x, View scale, View zero, const Quantization& q, F f) {
  int64_t inner = 1;
  if (scale.numel() == 1) inner = std::max<int64_t>(1, x.numel());
  else
    for (int d = q.axis + 1; d < x.rank(); ++d) inner *= x.size(d);
  const int64_t channels = scale.numel();
  const bool each = inner == 1 && channels > 1;
  const int64_t period = each ? channels : inner;
  parallel_for(x.numel(), kSerial / 4, [&](int64_t i, int64_t end) {
    while (i < end) {
      const int64_t n = std::min(end - i, period - i % period), channel = each ? i % channels : i / inner % channels;
      f(QuantizedLine{n, scale.as<const float>() + channel, zero.as<const std::int32_t>() + channel, each, float(q.low),
                      float(q.high)},
        i);
      i += n;
    }
  });
}

void fake_quantize(Context&, View g, View x, View scale, View zero, const Quantization& q, View y) {
  const IntegerLines& lines = integer_lines();
  each_line(x, scale, zero, q, [&](const QuantizedLine& l, int64_t i) {
    if (g) lines.fake_gradient(l, g.as<const float>() + i, x.as<const float>() + i, y.as<float>() + i);
    else lines.fake(l, x.as<const float>() + i, y.as<float>() + i);
  });
}
void quantize(Context&, View x, View scale, View zero, const Quantization& q, View y) {
  const IntegerLines& lines = integer_lines();
  each_line(x, scale, zero, q, [&](const QuantizedLine& l, int64_t i) {
    if (y.dtype() == DType::int8) lines.quantize_signed(l, x.as<const float>() + i, y.as<std::int8_t>() + i);
    else lines.quantize_unsigned(l, x.as<const float>() + i, y.as<std::uint8_t>() + i);
  });
}
void requantize(Context&, View sums, View scale, View zero, const Quantization& q, View y) {
  const IntegerLines& lines = integer_lines();
  each_line(sums, scale, zero, q, [&](const QuantizedLine& l, int64_t i) {
    const auto* from = sums.as<const std::int32_t>() + i;
    if (y.dtype() == DType::int8) lines.requantize_signed(l, from, y.as<std::int8_t>() + i);
    else lines.requantize_unsigned(l, from, y.as<std::uint8_t>() + i);
  });
}
void dequantize(Context&, View q, View scale, View zero, const Quantization& s, View y) {
  const IntegerLines& lines = integer_lines();
  each_line(q, scale, zero, s, [&](const QuantizedLine& l, int64_t i) {
    float* const to = y.as<float>() + i;
    if (q.dtype() == DType::int8) lines.dequantize_signed(l, q.as<const std::int8_t>() + i, to);
    else if (q.dtype() == DType::uint8) lines.dequantize_unsigned(l, q.as<const std::uint8_t>() + i, to);
    else lines.dequantize_sums(l, q.as<const std::int32_t>() + i, to);
  });
}

}  // namespace

const quant_kernels* cpu_quant() {
  static constexpr quant_kernels kernels = {.integer_product = &integer_product,
                                            .integer_pack = &integer_pack,
                                            .fake_quantize = &fake_quantize,
                                            .quantize = &quantize,
                                            .requantize = &requantize,
                                            .dequantize = &dequantize};
  return &kernels;
}

}  // namespace neura

// tril_indices and triu_indices.
#include <algorithm>

#include "neura/backend/host_values.h"
#include "neura/op/registry.h"
#include "neura/ops/create/create_common.h"

namespace neura {
namespace {

constexpr const char* kTriangles[] = {"tril_indices", "triu_indices"};
template <bool upper> struct TriangleIndices {
  static constexpr Operation op = operation(kTriangles[upper]).copies();
  std::int64_t rows, cols, offset;
  DType dtype;
  Device device;
  NEURA_FIELDS(rows, cols, offset, dtype, device)
  struct Part {
    std::int64_t begin, end;
  };
  __extension__ using Wide = __int128;  // for sums of two sizes
  static std::int64_t within(Wide x, std::int64_t low, std::int64_t high) {
    return std::int64_t(std::clamp<Wide>(x, low, high));
  }
  // Offsets are clamped: beyond these, every row has all columns, or none.
  std::int64_t shift() const { return std::clamp(offset, -rows, cols); }
  Part columns(std::int64_t row) const {
    const std::int64_t edge = within(Wide(row) + shift() + (upper ? 0 : 1), 0, cols);
    return upper ? Part{edge, cols} : Part{0, edge};
  }
  Part rows_with_columns() const {
    if (!cols) return {0, 0};
    if (upper) return {0, within(Wide(cols) - shift(), 0, rows)};
    return {std::clamp<std::int64_t>(-shift(), 0, rows), rows};
  }
  // Counts without a loop over rows: those whose number of columns changes by one each, and those with all columns.
  std::int64_t count() const {
    const Part some = rows_with_columns();
    if (some.begin == some.end) return 0;
    const std::int64_t turn = upper ? std::clamp<std::int64_t>(-shift(), some.begin, some.end)
                                    : within(Wide(cols) - shift() - 1, some.begin, some.end);
    const Part partial = upper ? Part{turn, some.end} : Part{some.begin, turn};
    const std::int64_t m = partial.end - partial.begin;
    const auto width = [&](std::int64_t row) { return Wide(columns(row).end - columns(row).begin); };
    const Wide slope = m ? m * (width(partial.begin) + width(partial.end - 1)) / 2 : 0;
    const Wide n = slope + Wide(some.end - some.begin - m) * cols;
    check<ValueError>(n <= INT64_MAX / 2, [&] {
      return std::string(op.name) + ": expected fewer than 2**62 places, got a triangle of " + Shape{rows, cols}.str();
    });
    return std::int64_t(n);
  }
  void infer(Spec& y) const {
    check_sizes(op.name, {rows, cols});
    check<DTypeError>(dtype == DType::int64 || dtype == DType::int32,
                      [&] { return std::string(op.name) + ": expected int32 or int64, got " + name(dtype); });
    y = Spec::dense(dtype, Shape{2, count()}, device);
  }
  void run(Context& c, View y) const {
    made_on_cpu(c, y, [&](Context&, View out) {
      if (dtype == DType::int64) write(out.as<std::int64_t>(), out.size(1));
      else write(out.as<std::int32_t>(), out.size(1));
    });
  }
  template <class I> void write(I* row, std::int64_t n) const {
    I* col = row + n;
    for (std::int64_t i = rows_with_columns().begin; i < rows_with_columns().end; ++i)
      for (std::int64_t j = columns(i).begin; j < columns(i).end; ++j) *row++ = I(i), *col++ = I(j);
  }
};

}  // namespace

Tensor tril_indices(std::int64_t row, std::int64_t col, std::int64_t offset, const TensorOptions& o) {
  return finished(apply(TriangleIndices<false>{row, col, offset, o.dtype.value_or(DType::int64), o.device}), o);
}
Tensor triu_indices(std::int64_t row, std::int64_t col, std::int64_t offset, const TensorOptions& o) {
  return finished(apply(TriangleIndices<true>{row, col, offset, o.dtype.value_or(DType::int64), o.device}), o);
}

}  // namespace neura

NEURA_DEFINE_OPERATION(triu_indices, TriangleIndices<true>);
NEURA_DEFINE_OPERATION(tril_indices, TriangleIndices<false>);

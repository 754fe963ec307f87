#include "neura/ops/segment.h"

#include <cmath>

#include "neura/ops/create.h"
#include "neura/ops/index.h"
#include "neura/ops/rows.h"
#include "neura/ops/rows_more.h"
#include "neura/ops/view.h"

namespace neura {
namespace {

constexpr const char* kName = "segment_reduce";

struct Pieces {
  std::int64_t lines, count, size;    // lines of the axis before it; pieces in each; elements of the axis
  std::vector<std::int64_t> owner;    // [lines, size]: the piece of each element, or `count` for none
  std::vector<std::int64_t> lengths;  // [lines, count]
};

void check_sizes(const Tensor& data, const Tensor& t, int axis) {
  check<DTypeError>(is_floating(data.dtype()),
                    [&] { return std::string(kName) + ": expected floating data, got " + data.spec().str(); });
  check<DTypeError>(t.dtype() == DType::int32 || t.dtype() == DType::int64, [&] {
    return std::string(kName) + ": expected lengths or offsets of int32 or int64, got " + t.spec().str();
  });
  bool fits = t.dim() == axis + 1;
  for (int d = 0; fits && d < axis; ++d) fits = t.size(d) == data.size(d);
  check<ShapeError>(fits, [&] {
    return std::string(kName) + ": expected lengths or offsets with the sizes of data before the axis " +
           std::to_string(axis) + " and one for the pieces, got " + t.spec().str() + " for data " + data.spec().str();
  });
}

Pieces pieces_of(const Tensor& data, const SegmentOptions& o, int axis) {
  const bool by_length = o.lengths.defined();
  const Tensor given = (by_length ? o.lengths : o.offsets).detach().to(Device()).to(DType::int64);
  const std::vector<std::int64_t> v = given.to_vector<std::int64_t>();
  const std::int64_t entries = given.size(-1), size = data.size(axis);
  check<ShapeError>(by_length || entries > 0, [] {
    return std::string(kName) + ": expected offsets that begin with 0 and end with the last end, got none";
  });
  Pieces p{1, by_length ? entries : entries - 1, size, {}, {}};
  for (int d = 0; d < axis; ++d) p.lines *= data.size(d);
  p.owner.assign(std::size_t(p.lines * size), p.count);
  for (std::int64_t line = 0; line < p.lines; ++line) {
    std::int64_t at = by_length ? 0 : v[std::size_t(line * entries)];
    for (std::int64_t i = 0; i < p.count; ++i) {
      const std::int64_t n =
          by_length ? v[std::size_t(line * entries + i)] : v[std::size_t(line * entries + i + 1)] - at;
      check<ValueError>(n >= 0 && at >= 0 && at + n <= size, [&] {
        return std::string(kName) + ": expected pieces within the " + std::to_string(size) +
               " elements of the axis, one after the other, got one of length " + std::to_string(n) + " at " +
               std::to_string(at);
      });
      for (std::int64_t e = 0; e < n; ++e) p.owner[std::size_t(line * size + at + e)] = i;
      p.lengths.push_back(n), at += n;
    }
    check<ValueError>(o.unsafe || at == size || !by_length, [&] {
      return std::string(kName) + ": expected lengths that add up to " + std::to_string(size) + ", got " +
             std::to_string(at) + "; set unsafe to leave the rest out";
    });
  }
  return p;
}

double start_of(std::string_view reduce, std::optional<double> initial) {
  if (initial) return *initial;
  if (reduce == "max") return -INFINITY;
  if (reduce == "min") return INFINITY;
  return reduce == "prod" ? 1 : 0;
}

}  // namespace

Tensor segment_reduce(const Tensor& data, std::string_view reduce, const SegmentOptions& o) {
  check<ValueError>(reduce == "sum" || reduce == "mean" || reduce == "max" || reduce == "min" || reduce == "prod", [&] {
    return std::string(kName) + ": expected reduce \"sum\", \"mean\", \"max\", \"min\" or \"prod\", got \"" +
           std::string(reduce) + '"';
  });
  check<ValueError>(o.lengths.defined() != o.offsets.defined(),
                    [] { return std::string(kName) + ": expected either lengths or offsets"; });
  check<ShapeError>(data.dim() > 0,
                    [&] { return std::string(kName) + ": expected data with dimensions, got " + data.spec().str(); });
  const int axis = wrap_dim(kName, o.axis, data.dim());
  check_sizes(data, o.lengths ? o.lengths : o.offsets, axis);
  const Pieces p = pieces_of(data, o, axis);

  Shape outer, whole = data.shape();
  for (int d = 0; d < axis; ++d) outer.push_back(data.size(d));
  whole[axis] = p.count + 1;
  const auto aligned = [&](const std::vector<std::int64_t>& v, std::int64_t n) {
    Shape s = outer;
    s.push_back(n);
    for (int d = axis + 1; d < data.dim(); ++d) s.push_back(1);
    return tensor(v, s, {.device = data.device()});
  };
  const Tensor owner = aligned(p.owner, p.size).expand(data.shape());
  const Tensor start = full(whole, start_of(reduce, o.initial), {.dtype = data.dtype(), .device = data.device()});
  if (reduce == "max" || reduce == "min" || reduce == "prod") {
    const std::string_view name = reduce == "max" ? "amax" : reduce == "min" ? "amin" : "prod";
    return scatter_reduce(start, axis, owner, data, name).narrow(axis, 0, p.count);
  }
  Tensor sum = scatter_add(start, axis, owner, data).narrow(axis, 0, p.count);
  if (reduce == "sum") return sum;
  const Tensor length = aligned(p.lengths, p.count);
  const Tensor mean = div(sum, clamp(length, {.min = 1}).to(data.dtype()));
  return o.initial ? mean : masked_fill(mean, eq(length, 0), NAN);
}

}  // namespace neura

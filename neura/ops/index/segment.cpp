#include "neura/ops/index/segment.h"

#include <cmath>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/expect.h"
#include "neura/ops/reduce/scan.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/sort/sort.h"

namespace neura {
namespace {

constexpr const char* kName = "segment_reduce";

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

// Checks on the cpu, and names the piece that does not fit. `offsets`: [..., pieces + 1].
void check_pieces(const Tensor& offsets, std::int64_t size, bool whole) {
  const std::vector<std::int64_t> at = offsets.to_vector<std::int64_t>();
  const auto entries = std::size_t(offsets.size(-1));
  for (std::size_t line = 0; line < at.size(); line += entries) {
    for (std::size_t i = line; i + 1 < line + entries; ++i)
      check<ValueError>(at[i] >= 0 && at[i + 1] >= at[i] && at[i + 1] <= size, [&] {
        return std::string(kName) + ": expected pieces within the " + std::to_string(size) +
               " elements of the axis, one after the other, got one of length " + std::to_string(at[i + 1] - at[i]) +
               " at " + std::to_string(at[i]);
      });
    const std::int64_t end = at[line + entries - 1];
    check<ValueError>(!whole || end == size, [&] {
      return std::string(kName) + ": expected lengths that add up to " + std::to_string(size) + ", got " +
             std::to_string(end) + "; set unsafe to leave the rest out";
    });
  }
}

// Where each piece begins, and where the last one ends: [..., pieces + 1], where data is.
Tensor offsets_of(const SegmentOptions& o, std::int64_t size, Device device) {
  const bool whole = o.lengths.defined() && !o.unsafe;
  Tensor t = (o.lengths ? o.lengths : o.offsets).detach().to(DType::int64);
  if (o.lengths) t = constant_pad_nd(cumsum(t, -1), {1, 0});
  check<ShapeError>(t.size(-1) > 0, [] {
    return std::string(kName) + ": expected offsets that begin with 0 and end with the last end, got none";
  });
  if (host_looks(t)) {
    check_pieces(contiguous(t), size, whole);
    return t.to(device);
  }
  const Tensor end = select(t, -1, -1);
  expect(Rule::pieces, ge(diff(t), 0));
  expect(Rule::pieces, ge(select(t, -1, 0), 0) & (whole ? eq(end, size) : le(end, size)));
  return t.to(device);
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
  const std::int64_t size = data.size(axis);
  const Tensor offsets = offsets_of(o, size, data.device());
  const std::int64_t count = offsets.size(-1) - 1;

  Shape lines = offsets.shape(), whole = data.shape();
  lines[axis] = size, whole[axis] = count + 1;
  const auto aligned = [&](Tensor t) {
    while (t.dim() < data.dim()) t = unsqueeze(t, -1);
    return t;
  };
  const Tensor places = contiguous(expand(arange(size, {.device = data.device()}), lines));
  const Tensor found = searchsorted(contiguous(offsets), places, false, true) - std::int64_t{1};
  const Tensor owner = expand(aligned(where(lt(found, 0), count, found)), data.shape());  // `count`: of no piece
  const Tensor start = full(whole, start_of(reduce, o.initial), {.dtype = data.dtype(), .device = data.device()});
  if (reduce == "max" || reduce == "min" || reduce == "prod") {
    const std::string_view name = reduce == "max" ? "amax" : reduce == "min" ? "amin" : "prod";
    return scatter_reduce(start, axis, owner, data, name).narrow(axis, 0, count);
  }
  Tensor sum = scatter_add(start, axis, owner, data).narrow(axis, 0, count);
  if (reduce == "sum") return sum;
  const Tensor length = aligned(diff(offsets));
  const Tensor mean = div(sum, clamp(length, {.min = 1}).to(data.dtype()));
  return o.initial ? mean : masked_fill(mean, eq(length, 0), NAN);
}

}  // namespace neura

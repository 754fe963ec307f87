// What is found by order: different elements, places in a sequence, counts.
#include <algorithm>

#include "neura/backend/kernels/sort.h"
#include "neura/core/error_details.h"
#include "neura/op/pointwise/promotion.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/reduce_common.h"
#include "neura/ops/reduce/scan.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/sort/sort.h"

namespace neura {
namespace {

struct Unique {
  static constexpr Operation op = operation("unique");
  NEURA_FIELDS()
  void infer(const Spec& x, Spec& y) const { y = Spec::dense(DType::int64, Shape{x.shape[0]}, x.device); }
  void run(Context& c, View x, View y) const { c.backend.sort->rows(c, x, y); }
};
struct SearchSorted {
  static constexpr Operation op = operation("searchsorted");
  bool right;
  DType result;
  NEURA_FIELDS(right, result)
  void infer(const Spec&, const Spec& values, Spec& y) const { y = Spec::dense(result, values.sizes(), values.device); }
  void run(Context& c, View sequence, View values, View y) const {
    c.backend.sort->search(c, right, sequence, values, y);
  }
};

// Neighbouring rows of a matrix (or elements of a vector) that are equal become one. `order`: the index of each before
// (undefined: here).
UniqueResult runs(const Tensor& x, const Tensor& order, bool inverse, bool counts, int dim) {
  UniqueResult r;
  const std::int64_t n = x.size(dim);
  const TensorOptions numbers = {.dtype = DType::int64, .device = x.device()};
  if (n == 0) return {x, zeros({0}, numbers), zeros({0}, numbers)};
  Tensor differ = ne(narrow(x, dim, 1, n - 1), narrow(x, dim, 0, n - 1));
  Dims others;
  for (int d = 0; d < x.dim(); ++d)
    if (d != dim) others.push_back(d);
  if (!others.empty()) differ = any(differ, others);
  const Tensor first = cat({ones({1}, {.dtype = DType::boolean, .device = x.device()}), differ});
  const Tensor starts = reshape(nonzero(first), {-1});
  r.values = index_select(x, dim, starts);
  if (inverse) {
    const Tensor group = cumsum(first, 0) - 1;
    r.inverse = order ? scatter(zeros({n}, numbers), 0, order, group) : group;
  }
  if (counts) r.counts = cat({narrow(starts, 0, 1, starts.size(0) - 1), full({1}, n, numbers)}) - starts;
  return r;
}
UniqueResult shaped(UniqueResult r, const Tensor& input, bool inverse, bool counts, bool flat) {
  if (!inverse) r.inverse = {};
  else if (flat) r.inverse = reshape(r.inverse, input.shape());
  if (!counts) r.counts = {};
  return r;
}
}  // namespace

UniqueResult unique(const Tensor& input, bool, bool return_inverse, bool return_counts, std::optional<int> dim) {
  check_dtype("unique", input.spec(), dtypes::ordered, "real");
  const Tensor x = input.detach();
  if (!dim) {
    const SortResult s = sort(flatten(x), 0);
    return shaped(runs(s.values, s.indices, return_inverse, return_counts, 0), input, return_inverse, return_counts,
                  true);
  }
  const int at = wrap_dim("unique", *dim, std::max(x.dim(), 1));
  if (!x.dim()) return shaped(unique(x, true, true, true), input, return_inverse, return_counts, false);
  const Tensor table = contiguous(movedim(x, at, 0));
  check<ValueError>(x.size(at) == 0 || table.numel() > 0, [&] {
    return "unique: expected slices with elements along dim " + std::to_string(at) + ", got " + x.spec().str();
  });
  const Tensor order = x.size(at) ? apply(Unique{}, reshape(table, {x.size(at), -1}))
                                  : zeros({0}, {.dtype = DType::int64, .device = x.device()});
  return shaped(runs(index_select(x, at, order), order, return_inverse, return_counts, at), input, return_inverse,
                return_counts, false);
}

UniqueResult unique_consecutive(const Tensor& input, bool return_inverse, bool return_counts, std::optional<int> dim) {
  const Tensor x = input.detach();
  const bool flat = !dim || !x.dim();
  const int at = dim ? wrap_dim("unique_consecutive", *dim, std::max(x.dim(), 1)) : 0;
  return shaped(runs(flat ? flatten(x) : x, {}, return_inverse, return_counts, flat ? 0 : at), input, return_inverse,
                return_counts, !dim);
}

Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values, bool out_int32, bool right,
                    const Tensor& sorter) {
  const Spec &s = sorted_sequence.spec(), &v = values.spec();
  for (const Spec* each : {&s, &v}) check_dtype("searchsorted", *each, dtypes::ordered, "real");
  const DType met = result_type(sorted_sequence, values);
  if (met == DType::boolean) check_dtype("searchsorted", s, dtypes::ordered & ~dtypes::booleans, "real");
  bool fits = s.rank == 1 || (s.rank == v.rank && s.rank > 0);
  for (int d = 0; fits && s.rank > 1 && d + 1 < s.rank; ++d) fits = s.shape[d] == v.shape[d];
  check<ShapeError>(fits, [&] {
    return "searchsorted: expected a sequence with one dimension or with the values' sizes except for the last, got " +
           s.str() + " and " + v.str();
  });
  check<ValueError>(!out_int32 || s.rank == 0 || s.shape[s.rank - 1] < (std::int64_t(1) << 31), [&] {
    return "searchsorted: expected a sequence that int32 can count, got " + s.str() + "; leave out_int32 out";
  });
  Tensor sequence = sorted_sequence.detach();
  if (sorter) {
    check<ShapeError>(sorter.shape() == sequence.shape(), [&] {
      return "searchsorted: expected a sorter of the sequence's shape, got " + sorter.spec().str() + " for " + s.str();
    });
    check<DTypeError>(sorter.dtype() == DType::int64, [&] {
      return std::string("searchsorted: expected a sorter of int64, got ") + name(sorter.dtype());
    });
    sequence = gather(sequence, -1, sorter);
  }
  // As they meet, both may be rounded; then they are compared in a dtype that holds what they have become.
  const DType compared = is_integral(met) ? DType::int64 : accumulation(met);
  const auto brought = [&](const Tensor& t) { return contiguous(to(to(t, met), compared)); };
  const SearchSorted op{right, out_int32 ? DType::int32 : DType::int64};
  return apply(op, brought(sequence), brought(values.detach()));
}
Tensor searchsorted(const Tensor& sorted_sequence, Scalar value, bool out_int32, bool right, const Tensor& sorter) {
  check<ShapeError>(sorted_sequence.dim() == 1, [&] {
    return "searchsorted: expected a sequence with one dimension for a number, got " + sorted_sequence.spec().str();
  });
  const DType own = value.is_floating() ? DType::float64 : value.is_complex() ? DType::complex128 : value.dtype();
  const Tensor number = full({}, value, {.dtype = own, .device = sorted_sequence.device()});
  const DType met = result_type(sorted_sequence, value);
  return searchsorted(to(sorted_sequence, met), to(number, met), out_int32, right, sorter);
}
Tensor bucketize(const Tensor& input, const Tensor& boundaries, bool out_int32, bool right) {
  check<ShapeError>(boundaries.dim() == 1, [&] {
    return "bucketize: expected boundaries with one dimension, got " + boundaries.spec().str();
  });
  return searchsorted(boundaries, input, out_int32, right);
}
Tensor bucketize(Scalar input, const Tensor& boundaries, bool out_int32, bool right) {
  return searchsorted(boundaries, input, out_int32, right);
}

Tensor bincount(const Tensor& input, const Tensor& weights, std::int64_t minlength) {
  check<UnsupportedDTypeError>(is_integral(input.dtype()) && input.dtype() != DType::boolean,
                               [&] { return std::string("bincount: expected integers, got ") + name(input.dtype()); });
  check<ShapeError>(input.dim() == 1 || input.numel() == 0,
                    [&] { return "bincount: expected one dimension, got " + input.spec().str(); });
  check<ValueError>(minlength >= 0,
                    [&] { return "bincount: expected minlength of 0 or more, got " + std::to_string(minlength); });
  check<ShapeError>(!weights || weights.shape() == input.shape(), [&] {
    return "bincount: expected one weight for each of " + input.spec().str() + ", got " + weights.spec().str();
  });
  const DType counted = !weights ? DType::int64 : weights.dtype() == DType::float32 ? DType::float32 : DType::float64;
  std::int64_t bins = minlength;
  if (input.numel()) {
    const std::int64_t low = amin(input).item<std::int64_t>();
    check<ValueError>(low >= 0, [&] { return "bincount: expected numbers of 0 or more, got " + std::to_string(low); });
    const std::int64_t high = amax(input).item<std::int64_t>();
    check<ValueError>(high < std::int64_t(1) << 48, [&] {
      return "bincount: expected numbers that a table can be as long as, got " + std::to_string(high);
    });
    bins = std::max(bins, high + 1);
  }
  Tensor counts = zeros({bins}, {.dtype = counted, .device = input.device()});
  if (!input.numel()) return counts;
  const Tensor each =
      weights ? to(weights.detach(), counted) : ones(input.shape(), {.dtype = counted, .device = input.device()});
  return index_add(counts, 0, to(input, DType::int64), each);
}

Tensor histc(const Tensor& input, std::int64_t bins, Scalar min, Scalar max) {
  check_dtype("histc", input.spec(), dtypes::floating, "floating");
  check<ValueError>(bins > 0, [&] { return "histc: expected bins above 0, got " + std::to_string(bins); });
  const Tensor x = flatten(input.detach());
  double low = min.real(), high = max.real();
  if (low == high && x.numel()) low = amin(x).item<double>(), high = amax(x).item<double>();
  if (low == high) low -= 1, high += 1;
  check<ValueError>(std::isfinite(low) && std::isfinite(high) && low < high, [&] {
    return "histc: expected a finite range with min below max, got " + std::to_string(low) + " and " +
           std::to_string(high);
  });
  const Tensor counts = zeros({bins}, {.dtype = x.dtype(), .device = x.device()});
  const Tensor inside = masked_select(x, ge(x, low) & le(x, high));
  const Tensor place = to((inside - low) / (high - low) * double(bins), DType::int64);
  return index_add(counts, 0, minimum(place, bins - 1),
                   ones(place.shape(), {.dtype = x.dtype(), .device = x.device()}));
}

}  // namespace neura

NEURA_DEFINE_OPERATION(unique, Unique);
NEURA_DEFINE_OPERATION(searchsorted, SearchSorted);

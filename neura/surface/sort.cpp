// Order: sorting, selection, search, counting.
#include "neura/ops/sort/sort.h"
#include "neura/surface/list.h"

namespace neura::surface {
namespace {

using T = const Tensor&;
using Dim = std::optional<int>;
using Side = const std::optional<std::string>&;

bool to_the_right(bool right, Side side) {
  if (!side) return right;
  check<ValueError>(*side == "left" || *side == "right",
                    [&] { return "searchsorted: expected side 'left' or 'right', got '" + *side + "'"; });
  check<ValueError>(!(right && *side == "left"), [] {
    return std::string("searchsorted: expected side and right to agree, got side 'left' and right=True");
  });
  return *side == "right";
}
Value given(const UniqueResult& r, bool inverse, bool counts) {
  if (!inverse && !counts) return r.values;
  if (inverse && counts) return Tensors{r.values, r.inverse, r.counts};
  return Tensors{r.values, inverse ? r.inverse : r.counts};
}

template <SortResult (*along)(T, int, bool), Tensor (*whole)(T)>
void add_middle(const List& s, const std::string& name, const char* text) {
  s.add((name + "(input)").c_str(), whole, both | out, text);
  s.add((name + "(input, dim, keepdim=False)").c_str(),
        [](T x, int dim, bool keepdim) { return values_indices(along(x, dim, keepdim)); }, both | out);
}
template <Tensor (*of_number)(T, double, Dim, bool, const char*), Tensor (*of_tensor)(T, T, Dim, bool, const char*)>
void add_quantile(const List& s, const std::string& name, const char* text) {
  const std::string signature = name + "(input, q, dim=None, keepdim=False, *, interpolation='linear')";
  s.add(signature.c_str(), of_number, both | out, text);
  s.add(signature.c_str(), of_tensor, both | out);
}

void add_sorting(const List& s) {
  s.add(
      "sort(input, dim=-1, descending=False, stable=False)",
      [](T x, int dim, bool descending, bool stable) { return values_indices(sort(x, dim, descending, stable)); },
      both | out,
      "Sorts along dim: (values, indices). NaN counts as the largest; stable keeps the order of equal elements.");
  s.add(
      "topk(input, k, dim=-1, largest=True, sorted=True)",
      [](T x, std::int64_t k, int dim, bool largest, bool sorted) {
        return values_indices(topk(x, k, dim, largest, sorted));
      },
      both | out, "The k largest (or smallest) elements along dim, as (values, indices).");
  s.add(
      "kthvalue(input, k, dim=-1, keepdim=False)",
      [](T x, std::int64_t k, int dim, bool keepdim) { return values_indices(kthvalue(x, k, dim, keepdim)); },
      both | out, "The k-th smallest element along dim (k from 1), as (values, indices).");
  add_middle<median, median>(s, "median",
                             "The lower median; with dim, (values, indices) along it. NaN if there is one.");
  add_middle<nanmedian, nanmedian>(s, "nanmedian",
                                   "The lower median, ignoring NaN; with dim, (values, indices) along it.");
  s.add(
      "mode(input, dim=-1, keepdim=False)",
      [](T x, int dim, bool keepdim) { return values_indices(mode(x, dim, keepdim)); }, both | out,
      "The mode, the most frequent element, along dim (the smallest of several), as (values, indices).");
  add_quantile<quantile, quantile>(s, "quantile",
                                   "The q-th quantile (0 to 1, a number or 1-d tensor), of all or along dim. "
                                   "interpolation 'linear', 'lower', 'higher', 'midpoint' or 'nearest'.");
  add_quantile<nanquantile, nanquantile>(s, "nanquantile", "The q-th quantile, ignoring NaN, of all or along dim.");
}

void add_search(const List& s) {
  const char* sorted = "searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None)";
  s.add(
      sorted,
      [](T s, T v, bool small, bool right, Side side, T sorter) {
        return searchsorted(s, v, small, to_the_right(right, side), sorter);
      },
      function | out | strict,
      "The indices at which values are inserted into sorted sequences (along the last dimension) so that they stay "
      "sorted: int64, or int32.");
  s.add(
      sorted,
      [](T s, Scalar v, bool small, bool right, Side side, T sorter) {
        return searchsorted(s, v, small, to_the_right(right, side), sorter);
      },
      function | out | strict);
  s.add("bucketize(input, boundaries, *, out_int32=False, right=False)", overload<T, T, bool, bool>(&bucketize),
        function | out | strict,
        "The bucket of each element among the sorted boundaries: i with boundaries[i - 1] < v <= boundaries[i], or for "
        "right=True boundaries[i - 1] <= v < boundaries[i].");
  s.add("bucketize(input, boundaries, *, out_int32=False, right=False)", overload<Scalar, T, bool, bool>(&bucketize),
        function | out | strict);
}

void add_histograms(const List& s) {
  const char* signature = "histogram(input, bins, *, range=None, weight=None, density=False)";
  s.add(
      signature,
      [](T x, std::int64_t bins, const Numbers& range, T weight, bool density) {
        const HistogramResult r = histogram(x, bins, {range, weight, density});
        return Named{"histogram", {"hist", "bin_edges"}, {r.hist, r.bin_edges}};
      },
      both, "The histogram: the count (or sum of weights) of each bin, and the bin edges, as (hist, bin_edges).");
  s.add(
      signature,
      [](T x, T bins, const Numbers& range, T weight, bool density) {
        const HistogramResult r = histogram(x, bins, {range, weight, density});
        return Named{"histogram", {"hist", "bin_edges"}, {r.hist, r.bin_edges}};
      },
      both);
}

void add_unique(const List& s) {
  s.add(
      "unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None)",
      [](T x, bool sorted, bool inverse, bool counts, Dim dim) {
        return given(unique(x, sorted, inverse, counts, dim), inverse, counts);
      },
      both,
      "The unique elements, sorted; with return_inverse also the index of each element's value, with return_counts the "
      "counts.");
  s.add(
      "unique_consecutive(input, return_inverse=False, return_counts=False, dim=None)",
      [](T x, bool inverse, bool counts, Dim dim) {
        return given(unique_consecutive(x, inverse, counts, dim), inverse, counts);
      },
      both,
      "Removes consecutive duplicates; with return_inverse also the index of each element's value, with return_counts "
      "the counts.");
}

}  // namespace

void add_sort(std::deque<Function>& all) {
  const List s(all, "");
#include "neura/surface/entries.h"
#include "neura/tables/functions/sort.def"
#include "neura/tables/functions/end.h"
  add_sorting(s);
  add_search(s);
  add_histograms(s);
  add_unique(s);
}

}  // namespace neura::surface

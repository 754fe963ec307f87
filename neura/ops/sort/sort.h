// Sorting, selection, search, counting. NaN is greater than every number. Indices are int64.
#pragma once
#include <optional>
#include <vector>

#include "neura/core/tensor.h"

namespace neura {

#include "neura/tables/functions/declare.h"
#include "neura/tables/functions/sort.def"
#include "neura/tables/functions/end.h"

struct SortResult {
  Tensor values, indices;
};
// Sorted along `dim`, and where each element came from. With `stable`, equal elements keep their order.
SortResult sort(const Tensor& input, int dim = -1, bool descending = false, bool stable = false);
// The k largest (or smallest) along `dim`; in order if `sorted`. ValueError if there are fewer than k.
SortResult topk(const Tensor& input, std::int64_t k, int dim = -1, bool largest = true, bool sorted = true);
// The k-th smallest, counted from 1.
SortResult kthvalue(const Tensor& input, std::int64_t k, int dim = -1, bool keepdim = false);
// The lower of the two middle elements; without `dim` of all, and alone. NaN wins; nanmedian leaves NaN out.
Tensor median(const Tensor& input);
Tensor nanmedian(const Tensor& input);
SortResult median(const Tensor& input, int dim, bool keepdim = false);
SortResult nanmedian(const Tensor& input, int dim, bool keepdim = false);
// The most frequent element, the smallest of those that tie, and its last index.
SortResult mode(const Tensor& input, int dim = -1, bool keepdim = false);
// Quantiles q in [0, 1], of float32 and float64; of several q, along a new first dimension. Between two elements:
// "linear", "lower", "higher", "midpoint" or "nearest".
Tensor quantile(const Tensor& input, const Tensor& q, std::optional<int> dim = {}, bool keepdim = false,
                const char* interpolation = "linear");
Tensor quantile(const Tensor& input, double q, std::optional<int> dim = {}, bool keepdim = false,
                const char* interpolation = "linear");
Tensor nanquantile(const Tensor& input, const Tensor& q, std::optional<int> dim = {}, bool keepdim = false,
                   const char* interpolation = "linear");
Tensor nanquantile(const Tensor& input, double q, std::optional<int> dim = {}, bool keepdim = false,
                   const char* interpolation = "linear");

// The different elements in ascending order, of the flattened input or (dim) its different slices; for each element of
// the input its place among them (inverse), and how often each occurs (counts). What was not asked for is undefined.
struct UniqueResult {
  Tensor values, inverse, counts;
};
UniqueResult unique(const Tensor& input, bool sorted = true, bool return_inverse = false, bool return_counts = false,
                    std::optional<int> dim = {});
// Removes consecutive duplicates.
UniqueResult unique_consecutive(const Tensor& input, bool return_inverse = false, bool return_counts = false,
                                std::optional<int> dim = {});

// Where each value would be inserted into the ascending last dimension of `sorted_sequence` (1-d, or of the values'
// other sizes): before its equals, with `right` after them. `sorter`: the order that sorts an unsorted sequence.
Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values, bool out_int32 = false, bool right = false,
                    const Tensor& sorter = {});
Tensor searchsorted(const Tensor& sorted_sequence, Scalar value, bool out_int32 = false, bool right = false,
                    const Tensor& sorter = {});
Tensor bucketize(const Tensor& input, const Tensor& boundaries, bool out_int32 = false, bool right = false);
Tensor bucketize(Scalar input, const Tensor& boundaries, bool out_int32 = false, bool right = false);

// How many elements fall into each bin, and the edges of the bins, which are `bins` equal parts of `range` (the data's
// own where left out) or given. Each element counts once, or its weight; with density the counts become a density
// whose integral is 1. Floating.
struct HistogramOptions {
  std::vector<double> range = {};  // from and to, for each dimension
  Tensor weight = {};
  bool density = false;
};
struct HistogramResult {
  Tensor hist, bin_edges;
};
HistogramResult histogram(const Tensor& input, std::int64_t bins, const HistogramOptions& = {});
HistogramResult histogram(const Tensor& input, const Tensor& bins, const HistogramOptions& = {});
// Of points [..., D] in D dimensions.
struct HistogramDDResult {
  Tensor hist;
  std::vector<Tensor> bin_edges;
};
HistogramDDResult histogramdd(const Tensor& input, const std::vector<std::int64_t>& bins, const HistogramOptions& = {});
HistogramDDResult histogramdd(const Tensor& input, const std::vector<Tensor>& bins, const HistogramOptions& = {});

}  // namespace neura

// Scans: cumulative operations along one dimension.
#pragma once
#include <optional>

#include "neura/ops/reduce/functions.h"

namespace neura {

// Running sum and product; of integers and bool in int64. `dtype`: the input is converted to it first.
Tensor cumsum(const Tensor& input, int dim, std::optional<DType> dtype = {});
Tensor cumprod(const Tensor& input, int dim, std::optional<DType> dtype = {});
// Running maximum and minimum, with the index of the last such element so far. NaN, once met, stays.
struct CumulativeResult {
  Tensor values, indices;
};
CumulativeResult cummax(const Tensor& input, int dim);
CumulativeResult cummin(const Tensor& input, int dim);

// Area under y by the trapezoidal rule, at steps dx or at points x; and the running area.
Tensor trapezoid(const Tensor& y, double dx = 1, int dim = -1);
Tensor trapezoid(const Tensor& y, const Tensor& x, int dim = -1);
Tensor cumulative_trapezoid(const Tensor& y, double dx = 1, int dim = -1);
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int dim = -1);

}  // namespace neura

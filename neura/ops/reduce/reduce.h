// Reductions: many elements to one. `dim` is one dimension, several, or (empty) all; a negative one counts from the
// back. With keepdim a reduced dimension stays, of size 1. Dimensions out of range raise IndexError, repeated ones
// ValueError. NaN wins everywhere, except in the functions whose name begins with nan. Results do not depend on the
// number of threads. `dtype`: the input is converted to it first. Those that Python calls alike: functions.h.
#pragma once
#include <optional>

#include "neura/ops/reduce/functions.h"

namespace neura {

Tensor& sum_out(Tensor& out, const Tensor& input, const Dims& dim = {}, bool keepdim = false,
                std::optional<DType> dtype = {});
Tensor& mean_out(Tensor& out, const Tensor& input, const Dims& dim = {}, bool keepdim = false,
                 std::optional<DType> dtype = {});

// Maximum and minimum (amax, amin), of any ordered dtype; elements that tie share the gradient. Of nothing: IndexError.
Tensor& amax_out(Tensor& out, const Tensor& input, const Dims& dim = {}, bool keepdim = false);
Tensor& amin_out(Tensor& out, const Tensor& input, const Dims& dim = {}, bool keepdim = false);
struct MinMaxResult {
  Tensor min, max;
};
MinMaxResult aminmax(const Tensor& input, std::optional<int> dim = {}, bool keepdim = false);

// With the index (int64) of the first such element along `dim`, which alone gets the gradient.
struct MaxResult {
  Tensor values, indices;
};
using MinResult = MaxResult;
Tensor max(const Tensor& input);
Tensor min(const Tensor& input);
MaxResult max(const Tensor& input, int dim, bool keepdim = false);
MinResult min(const Tensor& input, int dim, bool keepdim = false);

// True if any, if every element is nonzero: bool; of uint8, uint8.
Tensor any(const Tensor& input, const Dims& dim = {}, bool keepdim = false);
Tensor all(const Tensor& input, const Dims& dim = {}, bool keepdim = false);

// Variance: the mean square distance from the mean, with n - correction in place of n (1: unbiased). Of complex
// numbers, of both parts together; the result is real. DTypeError for integers.
Tensor var(const Tensor& input, const Dims& dim = {}, double correction = 1, bool keepdim = false);
Tensor std(const Tensor& input, const Dims& dim = {}, double correction = 1, bool keepdim = false);
struct MomentsResult {
  Tensor spread, mean;  // spread: variance or deviation
};
MomentsResult var_mean(const Tensor& input, const Dims& dim = {}, double correction = 1, bool keepdim = false);
MomentsResult std_mean(const Tensor& input, const Dims& dim = {}, double correction = 1, bool keepdim = false);

// (sum |x|^ord)^(1/ord) of floating and complex numbers; ord may be inf, -inf (largest, smallest |x|) or 0 (how many
// are not 0). The result is real. At 0 the gradient is 0.
Tensor vector_norm(const Tensor& input, double ord = 2, const Dims& dim = {}, bool keepdim = false,
                   std::optional<DType> dtype = {});
Tensor norm(const Tensor& input, double p = 2, const Dims& dim = {}, bool keepdim = false,
            std::optional<DType> dtype = {});

}  // namespace neura

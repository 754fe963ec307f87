// Windows for signals: vectors of M values, 1 at the centre. `sym`: symmetric, for filters; otherwise periodic, for
// spectra. Computed in the dtype of the options, float32 or float64 (ValueError otherwise); so is a negative M.
#pragma once
#include <vector>

#include "neura/ops/create/create.h"

namespace neura::windows {

struct Options {
  bool sym = true;
  TensorOptions tensor = {};
};

Tensor bartlett(std::int64_t M, const Options& = {});
Tensor blackman(std::int64_t M, const Options& = {});
Tensor cosine(std::int64_t M, const Options& = {});
// exp(-|n - center| / tau); the centre may be moved for periodic windows only.
Tensor exponential(std::int64_t M, std::optional<double> center = {}, double tau = 1, const Options& = {});
Tensor gaussian(std::int64_t M, double std = 1, const Options& = {});
Tensor general_cosine(std::int64_t M, const std::vector<double>& a, const Options& = {});  // sum of (-1)^i a_i cos(i x)
Tensor general_hamming(std::int64_t M, double alpha = 0.54, const Options& = {});
Tensor hamming(std::int64_t M, const Options& = {});
Tensor hann(std::int64_t M, const Options& = {});
Tensor kaiser(std::int64_t M, double beta = 12, const Options& = {});
Tensor nuttall(std::int64_t M, const Options& = {});

}  // namespace neura::windows

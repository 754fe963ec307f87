// Initialisation of parameters. Every function fills the tensor in place on its own device, records nothing, and
// returns the tensor. Random ones draw from the default generator where none is given.
#pragma once
#include <string_view>

#include "neura/core/random.h"
#include "neura/core/tensor.h"

namespace neura::nn::init {

Tensor uniform_(const Tensor& tensor, double a = 0, double b = 1, Generator* generator = nullptr);      // [a, b)
Tensor normal_(const Tensor& tensor, double mean = 0, double std = 1, Generator* generator = nullptr);  // mean, std
// Normal, truncated to [a, b].
Tensor trunc_normal_(const Tensor& tensor, double mean = 0, double std = 1, double a = -2, double b = 2,
                     Generator* generator = nullptr);
Tensor constant_(const Tensor& tensor, double val);
Tensor ones_(const Tensor& tensor);
Tensor zeros_(const Tensor& tensor);
Tensor eye_(const Tensor& tensor);  // of two dimensions; ShapeError otherwise
// The identity as a convolution, group by group: 3 to 5 dimensions, the first a multiple of groups.
Tensor dirac_(const Tensor& tensor, std::int64_t groups = 1);

// Glorot's, so that variances survive both passes; at least two dimensions (ShapeError).
Tensor xavier_uniform_(const Tensor& tensor, double gain = 1, Generator* generator = nullptr);
Tensor xavier_normal_(const Tensor& tensor, double gain = 1, Generator* generator = nullptr);
struct KaimingOptions {
  double a = 0;                                  // slope of leaky_relu
  std::string_view mode = "fan_in";              // or "fan_out"
  std::string_view nonlinearity = "leaky_relu";  // see calculate_gain
  Generator* generator = nullptr;
};
// He's, for networks of rectifiers. ValueError for another mode or nonlinearity.
Tensor kaiming_uniform_(const Tensor& tensor, const KaimingOptions& = {});
Tensor kaiming_normal_(const Tensor& tensor, const KaimingOptions& = {});

// Rows (or columns, if there are fewer) orthonormal, times gain; further dimensions count as columns.
Tensor orthogonal_(const Tensor& tensor, double gain = 1, Generator* generator = nullptr);
// Normal, and in every column ceil(sparsity * rows) zeros in random places; of two dimensions.
Tensor sparse_(const Tensor& tensor, double sparsity, double std = 0.01, Generator* generator = nullptr);

// The recommended factor of std for a nonlinearity: linear, conv1d … conv_transpose3d and sigmoid 1, tanh 5/3, relu √2,
// leaky_relu √(2 / (1 + param²)) (param 0.01 where none is given), selu 3/4.
double calculate_gain(std::string_view nonlinearity, std::optional<double> param = {});
struct Fans {
  std::int64_t in, out;
};
Fans calculate_fan_in_and_fan_out(const Tensor& tensor);  // ShapeError below two dimensions

}  // namespace neura::nn::init

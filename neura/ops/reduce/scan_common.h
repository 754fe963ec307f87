// The derivative of products, which also that of prod is made of.
#pragma once
#include "neura/core/tensor.h"

namespace neura {

// Gradient of cumprod(x, dim), right where elements are 0 as well, at every order.
Tensor cumprod_gradient(const Tensor& g, const Tensor& x, int dim);
// Gradient of the product over the dimensions in `dims` (a bit each); g has them as ones.
Tensor product_gradient(const Tensor& g, const Tensor& x, unsigned dims);

}  // namespace neura

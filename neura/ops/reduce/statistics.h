// Measures over several variables, distances, vectors in space, and other formulas over existing operations.
#pragma once
#include <variant>
#include <vector>

#include "neura/ops/reduce/functions.h"

namespace neura {

// Distances by the p-norm between the rows of x1 [..., P, M] and of x2 [..., R, M], giving [..., P, R]. Between equal
// rows the gradient is 0. ValueError where p < 0.
Tensor cdist(const Tensor& x1, const Tensor& x2, double p = 2);
Tensor vecdot(const Tensor& x, const Tensor& y, int dim = -1);       // sum of conj(x) * y
Tensor vander(const Tensor& x, std::optional<std::int64_t> N = {});  // [..., N]: powers 0 to N - 1

// The derivative of samples: by differences of both neighbours, at the edges one-sided, of order 1 or 2. `spacing`: the
// distance of samples, or a vector of coordinates, one for each of `dim`.
using Spacing = std::variant<double, Tensor>;
std::vector<Tensor> gradient(const Tensor& input, const std::vector<Spacing>& spacing, const Dims& dim = {},
                             int edge_order = 1);

struct FrexpResult {
  Tensor mantissa, exponent;  // |mantissa| in [0.5, 1), int32
};
FrexpResult frexp(const Tensor& input);
// For each element, true if it is among the test elements: bool.
Tensor isin(const Tensor& elements, const Tensor& test_elements, bool invert = false);
Shape broadcast_shapes(const std::vector<Shape>& shapes);

// Another size in place, over the same bytes where they suffice; what is new is uninitialised. AutogradError if the
// tensor requires a gradient, InplaceError if bytes that other tensors share would not suffice.
Tensor& resize_(Tensor& self, const Shape& size);
Tensor& resize_as_(Tensor& self, const Tensor& other);

}  // namespace neura

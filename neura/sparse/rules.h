// Which operations take sparse tensors; shared by the sources of this folder.
#pragma once
#include <unordered_map>
#include <vector>

#include "neura/sparse/parts.h"

namespace neura::sparse {

using Rules = std::unordered_map<const Row*, Rule>;
void add_arithmetic(Rules&);
void add_products(Rules&);
Tensor permuted(const Tensor&, const Shape& dims);
// Dimensions of one element come or go; undefined where more would change.
Tensor reshaped(const Tensor&, const Shape& to);
Tensor selected(const Tensor&, int dim, std::int64_t at);
Tensor cumulative(const Tensor& count);  // how many are before each
// An attribute of a call: its number, or the numbers of a list.
std::vector<std::int64_t> attribute(const Call&, const char* name);

}  // namespace neura::sparse

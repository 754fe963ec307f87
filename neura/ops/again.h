// Derivatives of derivatives of operations that have no formula for them.
#pragma once
#include <functional>
#include <vector>

#include "neura/ops/row.h"

namespace neura {

// The gradient of an operation with create_graph: that of the same results, composed of other operations while
// recording. `compose` gives one tensor per result, undefined where it has no gradient. Defined in autograd/.
void gradient_of_composition(Gradient& g, const std::function<std::vector<Tensor>(const Tensor* in)>& compose);

}  // namespace neura

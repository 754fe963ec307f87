// How tensors are written: as PyTorch writes them.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "neura/core/tensor.h"

namespace neura {

struct PrintOptions {
  int precision = 4;              // digits after the point
  std::int64_t threshold = 1000;  // more elements than this are summarised
  std::int64_t edgeitems = 3;     // shown at each end of a summarised dimension
  int linewidth = 80;
  std::optional<bool> sci_mode = {};  // scientific notation always, never, or where the numbers differ widely
};
PrintOptions get_printoptions();             // what set_printoptions set
void set_printoptions(const PrintOptions&);  // ValueError for negative numbers

// tensor([1., 2.], dtype=float64); `prefix` precedes the dtype's name ("torch.", "neura.").
std::string repr(const Tensor&, const PrintOptions& = get_printoptions(), const std::string& prefix = "");

// What PyTorch calls the node of an operation whose result has so many dimensions: mul is MulBackward0, matmul of
// matrices MmBackward0, a leaf AccumulateGrad. Where PyTorch computes by other operations, that of its last one.
std::string backward_name(const char* op, int rank);
// The operations and other nodes whose names follow no rule.
std::vector<std::string_view> nodes_with_own_names();

}  // namespace neura

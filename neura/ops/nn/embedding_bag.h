// Sums, means and maxima of rows of a table.
#pragma once
#include <string_view>

#include "neura/ops/nn/embedding.h"

namespace neura {

struct EmbeddingBagOptions {
  EmbeddingOptions table = {};       // rows of padding_idx are left out of their bags
  std::string_view mode = "mean";    // or "sum", "max"
  Tensor per_sample_weights = {};    // a factor for each number, in mode "sum" alone
  bool include_last_offset = false;  // the last offset is where the last bag ends
};
// Numbers [bags, n], or a vector of numbers with the offsets at which bags begin, and weight [rows, width] ->
// [bags, width]. An empty bag gives zeros. ShapeError, ValueError, IndexError.
Tensor embedding_bag(const Tensor& input, const Tensor& weight, const Tensor& offsets = {},
                     const EmbeddingBagOptions& options = {});

}  // namespace neura

// What Embedding and EmbeddingBag share: their learned table.
#pragma once
#include "neura/core/error_details.h"
#include "neura/nn/init.h"
#include "neura/nn/module.h"

namespace neura::nn::detail {

// The row that padding_idx names, counted from the front. ValueError outside of the table.
std::optional<std::int64_t> padding_row(const char* layer, std::optional<std::int64_t> padding_idx, std::int64_t rows);
// A weight that was given: ShapeError where it is no table of these sizes.
Parameter given_table(const char* layer, const Shape& sizes, const Tensor& weight, bool freeze);
void reset_table(const Tensor& weight, std::optional<std::int64_t> padding_row);  // normal; zeros in that row

template <class M, class Options> Ref<M> from_table(const Tensor& embeddings, bool freeze, Options o) {
  check<AssertedError<ShapeError>>(embeddings.dim() == 2, [&] {
    return "from_pretrained: expected a table of 2 dimensions, got " + embeddings.shape().str();
  });
  o._weight = embeddings;
  auto m = make<M>(embeddings.size(0), embeddings.size(1), o);
  m->weight = Parameter(embeddings, !freeze);
  return m;
}

}  // namespace neura::nn::detail

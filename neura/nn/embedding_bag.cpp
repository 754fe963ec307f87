#include "neura/nn/embedding_bag.h"

#include "neura/nn/embedding_table.h"
#include "neura/nn/repr.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/embedding_bag.h"

namespace neura::nn {

NEURA_LAYER_BODY(EmbeddingBag)

EmbeddingBag::EmbeddingBag(std::int64_t num_embeddings, std::int64_t embedding_dim, const EmbeddingBagOptions& o)
    : num_embeddings(num_embeddings),
      embedding_dim(embedding_dim),
      max_norm(o.max_norm),
      norm_type(o.norm_type),
      scale_grad_by_freq(o.scale_grad_by_freq),
      mode(o.mode),
      sparse(o.sparse),
      include_last_offset(o.include_last_offset),
      padding_idx(detail::padding_row("EmbeddingBag", o.padding_idx, num_embeddings)) {
  if (o._weight) {
    weight = detail::given_table("EmbeddingBag", {num_embeddings, embedding_dim}, o._weight, false);
    return;
  }
  weight = empty({num_embeddings, embedding_dim}, {.dtype = o.dtype, .device = o.device});
  reset_parameters();
}

Ref<EmbeddingBag> EmbeddingBag::from_pretrained(const Tensor& embeddings, bool freeze, const EmbeddingBagOptions& o) {
  return detail::from_table<EmbeddingBag>(embeddings, freeze, o);
}

void EmbeddingBag::reset_parameters() { detail::reset_table(weight, padding_idx); }

Tensor EmbeddingBag::forward(const Tensor& input, const Tensor& offsets, const Tensor& per_sample_weights) const {
  const neura::EmbeddingOptions table{.padding_idx = padding_idx,
                                      .max_norm = max_norm,
                                      .norm_type = norm_type,
                                      .scale_grad_by_freq = scale_grad_by_freq,
                                      .sparse = sparse};
  return embedding_bag(input, weight, offsets, {table, mode, per_sample_weights, include_last_offset});
}

std::string EmbeddingBag::extra_repr() const {
  return Repr()
      .add("", num_embeddings)
      .add("", embedding_dim)
      .add_if(max_norm.has_value(), "max_norm", max_norm)
      .add_if(norm_type != 2, "norm_type", norm_type)
      .add_if(scale_grad_by_freq, "scale_grad_by_freq", scale_grad_by_freq)
      .add("mode", mode)
      .add_if(padding_idx.has_value(), "padding_idx", padding_idx);
}

}  // namespace neura::nn

#include "neura/nn/embedding.h"

#include "neura/nn/init.h"
#include "neura/nn/repr.h"
#include "neura/ops/create.h"
#include "neura/ops/embedding.h"

namespace neura::nn {

NEURA_LAYER_BODY(Embedding)

Embedding::Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, const EmbeddingOptions& o)
    : num_embeddings(num_embeddings),
      embedding_dim(embedding_dim),
      padding_idx(o.padding_idx),
      max_norm(o.max_norm),
      norm_type(o.norm_type),
      scale_grad_by_freq(o.scale_grad_by_freq),
      sparse(o.sparse) {
  if (padding_idx) {
    check<ValueError>(*padding_idx >= -num_embeddings && *padding_idx < num_embeddings, [&] {
      return "Embedding: expected a padding_idx within " + std::to_string(num_embeddings) + " rows, got " +
             std::to_string(*padding_idx);
    });
    if (*padding_idx < 0) *padding_idx += num_embeddings;
  }
  weight = empty({num_embeddings, embedding_dim}, {.dtype = o.dtype, .device = o.device});
  reset_parameters();
}

Ref<Embedding> Embedding::from_pretrained(const Tensor& embeddings, bool freeze, const EmbeddingOptions& o) {
  check<ShapeError>(embeddings.dim() == 2, [&] {
    return "from_pretrained: expected a table of 2 dimensions, got " + embeddings.shape().str();
  });
  EmbeddingOptions options = o;
  options.dtype = embeddings.dtype(), options.device = embeddings.device();
  auto m = make<Embedding>(embeddings.size(0), embeddings.size(1), options);
  m->weight = Parameter(embeddings, !freeze);
  return m;
}

void Embedding::reset_parameters() {
  init::normal_(weight);
  if (padding_idx) weight.detach()[*padding_idx].zero_();
}

Tensor Embedding::forward(const Tensor& input) const {
  return embedding(input, weight,
                   {.padding_idx = padding_idx,
                    .max_norm = max_norm,
                    .norm_type = norm_type,
                    .scale_grad_by_freq = scale_grad_by_freq,
                    .sparse = sparse});
}

std::string Embedding::extra_repr() const {
  return Repr()
      .add("", num_embeddings)
      .add("", embedding_dim)
      .add_if(padding_idx.has_value(), "padding_idx", padding_idx)
      .add_if(max_norm.has_value(), "max_norm", max_norm)
      .add_if(norm_type != 2, "norm_type", norm_type)
      .add_if(scale_grad_by_freq, "scale_grad_by_freq", scale_grad_by_freq)
      .add_if(sparse, "sparse", true);
}

}  // namespace neura::nn

#include "neura/nn/embedding.h"

#include "neura/core/error_details.h"
#include "neura/nn/embedding_table.h"
#include "neura/nn/repr.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/embedding.h"

namespace neura::nn {

NEURA_LAYER_BODY(Embedding)

std::optional<std::int64_t> detail::padding_row(const char* layer, std::optional<std::int64_t> padding_idx,
                                                std::int64_t rows) {
  if (!padding_idx) return {};
  check<AssertedError<ValueError>>(*padding_idx >= -rows && *padding_idx < rows, [&] {
    return std::string(layer) + ": expected a padding_idx within " + std::to_string(rows) + " rows, got " +
           std::to_string(*padding_idx);
  });
  return *padding_idx < 0 ? *padding_idx + rows : *padding_idx;
}
Parameter detail::given_table(const char* layer, const Shape& sizes, const Tensor& weight, bool freeze) {
  check<AssertedError<ShapeError>>(weight.shape() == sizes, [&] {
    return std::string(layer) + ": expected a _weight of shape " + sizes.str() + ", got " + weight.shape().str();
  });
  return Parameter(weight, !freeze);
}
void detail::reset_table(const Tensor& weight, std::optional<std::int64_t> padding_row) {
  init::normal_(weight);
  if (padding_row) weight.detach()[*padding_row].zero_();
}

Embedding::Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, const EmbeddingOptions& o)
    : num_embeddings(num_embeddings),
      embedding_dim(embedding_dim),
      padding_idx(detail::padding_row("Embedding", o.padding_idx, num_embeddings)),
      max_norm(o.max_norm),
      norm_type(o.norm_type),
      scale_grad_by_freq(o.scale_grad_by_freq),
      sparse(o.sparse) {
  if (o._weight) {
    weight = detail::given_table("Embedding", {num_embeddings, embedding_dim}, o._weight, o._freeze);
    return;
  }
  weight = empty({num_embeddings, embedding_dim}, {.dtype = o.dtype, .device = o.device});
  reset_parameters();
}

Ref<Embedding> Embedding::from_pretrained(const Tensor& embeddings, bool freeze, const EmbeddingOptions& o) {
  return detail::from_table<Embedding>(embeddings, freeze, o);
}

void Embedding::reset_parameters() { detail::reset_table(weight, padding_idx); }

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

// Embedding: rows of a learned table, by index.
#pragma once
#include "neura/core/device_scope.h"
#include "neura/nn/module.h"

namespace neura::nn {

struct EmbeddingOptions {
  std::optional<std::int64_t> padding_idx = {};  // this row is initialised to 0 and gets no gradient
  std::optional<Number> max_norm = {};
  Number norm_type = 2.0;
  bool scale_grad_by_freq = false;
  bool sparse = false;
  Tensor _weight = {};   // this table in the place of a drawn one,
  bool _freeze = false;  // without gradient
  Device device = default_device();
  std::optional<DType> dtype = {};
  NEURA_ARGUMENTS(padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight, _freeze, device, dtype)
};
struct Embedding final : Module {  // indices [*] -> [*, embedding_dim]
  NEURA_INIT(Embedding, std::int64_t num_embeddings, std::int64_t embedding_dim, const EmbeddingOptions& = {});
  explicit Embedding(Blank) {}
  // From an existing table [num_embeddings, embedding_dim]; frozen: without gradient.
  static Ref<Embedding> from_pretrained(const Tensor& embeddings, bool freeze = true, const EmbeddingOptions& = {});
  Tensor forward(const Tensor& input) const;
  void reset_parameters();  // standard normal
  std::string extra_repr() const override;

  std::int64_t num_embeddings = 0, embedding_dim = 0;
  std::optional<std::int64_t> padding_idx;
  std::optional<Number> max_norm;
  Number norm_type = 2.0;
  bool scale_grad_by_freq = false, sparse = false;
  Parameter weight;
  NEURA_LAYER(Embedding, num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse,
              weight)
  NEURA_FORWARD("input")
};

}  // namespace neura::nn

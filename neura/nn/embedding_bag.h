// EmbeddingBag: sums, means or maxima of rows of a learned table.
#pragma once
#include "neura/core/device_scope.h"
#include "neura/nn/module.h"

namespace neura::nn {

struct EmbeddingBagOptions {
  std::optional<Number> max_norm = {};
  Number norm_type = 2.0;
  bool scale_grad_by_freq = false;
  std::string mode = "mean";  // or "sum", "max"
  bool sparse = false;
  Tensor _weight = {};  // this table in the place of a drawn one
  bool include_last_offset = false;
  std::optional<std::int64_t> padding_idx = {};  // this row does not count in its bags
  Device device = default_device();
  std::optional<DType> dtype = {};
  NEURA_ARGUMENTS(max_norm, norm_type, scale_grad_by_freq, mode, sparse, _weight, include_last_offset, padding_idx,
                  device, dtype)
};
struct EmbeddingBag final : Module {  // indices [bags, n], or a vector of indices with offsets -> [bags, embedding_dim]
  NEURA_INIT(EmbeddingBag, std::int64_t num_embeddings, std::int64_t embedding_dim, const EmbeddingBagOptions& = {});
  explicit EmbeddingBag(Blank) {}
  // From an existing table [num_embeddings, embedding_dim]; frozen: without gradient.
  static Ref<EmbeddingBag> from_pretrained(const Tensor& embeddings, bool freeze = true,
                                           const EmbeddingBagOptions& = {});
  Tensor forward(const Tensor& input, const Tensor& offsets = {}, const Tensor& per_sample_weights = {}) const;
  void reset_parameters();  // standard normal; 0 in the row of padding_idx
  std::string extra_repr() const override;

  std::int64_t num_embeddings = 0, embedding_dim = 0;
  std::optional<Number> max_norm;
  Number norm_type = 2.0;
  bool scale_grad_by_freq = false;
  std::string mode = "mean";
  bool sparse = false, include_last_offset = false;
  std::optional<std::int64_t> padding_idx;
  Parameter weight;
  NEURA_LAYER(EmbeddingBag, num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, mode, sparse,
              include_last_offset, padding_idx, weight)
  NEURA_FORWARD("input", arg{"offsets"} = none, arg{"per_sample_weights"} = none)
};

}  // namespace neura::nn

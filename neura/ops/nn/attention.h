// Scaled dot-product attention.
#pragma once
#include <optional>

#include "neura/core/tensor.h"

namespace neura {

struct AttentionOptions {
  Tensor attn_mask = {};             // broadcasts to [..., L, S]: bool (true: attend) or floating (added to the scores)
  double dropout_p = 0;              // always applied: pass 0 outside of training
  bool is_causal = false;            // query i sees keys up to i; excludes attn_mask
  std::optional<double> scale = {};  // of the scores; default 1 / sqrt(E)
  bool enable_gqa = false;  // key and value may have fewer heads (dimension -3), each shared by several of query
};
// softmax(query keyᵀ scale + mask) value, of query [..., L, E], key [..., S, E], value [..., S, V] -> [..., L, V]. A
// row whose mask hides every key gives zeros.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& = {});

}  // namespace neura

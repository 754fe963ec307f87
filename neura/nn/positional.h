// Sinusoidal positional encoding: the position in a sequence (Vaswani et al., 2017, section 3.5).
#pragma once
#include "neura/core/device_scope.h"
#include "neura/nn/module.h"

namespace neura::nn {

struct PositionalEncodingOptions {
  double dropout = 0.1;         // of the sum
  std::int64_t max_len = 5000;  // of the longest sequence
  bool batch_first = false;     // [N, L, d_model] instead of [L, N, d_model]
  Device device = default_device();
  std::optional<DType> dtype = {};
  NEURA_ARGUMENTS(dropout, max_len, batch_first, device, dtype)
};
// Adds sin(t / 10000^(2i / d_model)) to channel 2i of the t-th element, and the cosine to channel 2i + 1.
struct PositionalEncoding final : Module {
  NEURA_INIT(explicit PositionalEncoding, std::int64_t d_model, const PositionalEncodingOptions& = {});
  explicit PositionalEncoding(Blank) : PositionalEncoding(1, {.max_len = 1}) {}
  Tensor forward(const Tensor& input) const;
  std::string extra_repr() const override;

  std::int64_t d_model, max_len;
  double p;  // of dropout
  bool batch_first;
  Buffer pe;  // [max_len, 1, d_model], or [1, max_len, d_model] if batch_first
  NEURA_LAYER(PositionalEncoding, d_model, max_len, p, batch_first, pe)
  NEURA_FORWARD("input")
};

}  // namespace neura::nn

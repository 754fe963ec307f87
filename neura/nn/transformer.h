// Transformer layers (Vaswani et al., 2017) and stacks of them. Sequences are [L, N, d_model], or [N, L, d_model] if
// batch_first; masks as MultiheadAttention takes them.
#pragma once
#include "neura/core/device_scope.h"
#include "neura/nn/attention.h"
#include "neura/nn/container.h"
#include "neura/nn/dropout.h"
#include "neura/nn/norm.h"

namespace neura::nn {

struct Activation : std::string {  // "relu" or "gelu"; Python may give the function
  using std::string::string;
  Activation(std::string s) : std::string(std::move(s)) {}
};
struct TransformerLayerOptions {
  std::int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  Activation activation = "relu";
  double layer_norm_eps = 1e-5;
  bool batch_first = false;
  bool norm_first = false;  // pre-norm: normalises the input of each block, not its output
  bool bias = true;
  Device device = default_device();
  std::optional<DType> dtype = {};
  NEURA_ARGUMENTS(dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype)
};
struct TransformerEncoderLayer final : Module {
  NEURA_INIT(TransformerEncoderLayer, std::int64_t d_model, std::int64_t nhead, const TransformerLayerOptions& = {});
  explicit TransformerEncoderLayer(Blank) : TransformerEncoderLayer(1, 1, {.dim_feedforward = 1}) {}
  Tensor forward(const Tensor& src, const Tensor& src_mask = {}, const Tensor& src_key_padding_mask = {},
                 bool is_causal = false);

  Child<MultiheadAttention> self_attn;
  Child<Linear> linear1;
  Child<Dropout> dropout;
  Child<Linear> linear2;
  Child<LayerNorm> norm1, norm2;
  Child<Dropout> dropout1, dropout2;
  bool norm_first;
  std::string activation;
  NEURA_LAYER(TransformerEncoderLayer, self_attn, linear1, dropout, linear2, norm1, norm2, dropout1, dropout2,
              norm_first, activation)
  NEURA_FORWARD("src", arg{"src_mask"} = none, arg{"src_key_padding_mask"} = none, arg{"is_causal"} = false)
};
struct TransformerDecoderLayer final : Module {
  NEURA_INIT(TransformerDecoderLayer, std::int64_t d_model, std::int64_t nhead, const TransformerLayerOptions& = {});
  explicit TransformerDecoderLayer(Blank) : TransformerDecoderLayer(1, 1, {.dim_feedforward = 1}) {}
  Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {}, const Tensor& memory_mask = {},
                 const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {},
                 bool tgt_is_causal = false, bool memory_is_causal = false);

  Child<MultiheadAttention> self_attn, multihead_attn;
  Child<Linear> linear1;
  Child<Dropout> dropout;
  Child<Linear> linear2;
  Child<LayerNorm> norm1, norm2, norm3;
  Child<Dropout> dropout1, dropout2, dropout3;
  bool norm_first;
  std::string activation;
  NEURA_LAYER(TransformerDecoderLayer, self_attn, multihead_attn, linear1, dropout, linear2, norm1, norm2, norm3,
              dropout1, dropout2, dropout3, norm_first, activation)
  NEURA_FORWARD("tgt", "memory", arg{"tgt_mask"} = none, arg{"memory_mask"} = none, arg{"tgt_key_padding_mask"} = none,
                arg{"memory_key_padding_mask"} = none, arg{"tgt_is_causal"} = false, arg{"memory_is_causal"} = false)
};

// Layers one after the other, then the norm, if given.
struct TransformerEncoder final : Module {
  explicit TransformerEncoder(const std::vector<Ref<Module>>& layers = {}, const Ref<Module>& norm = {});
  Tensor forward(const Tensor& src, const Tensor& mask = {}, const Tensor& src_key_padding_mask = {},
                 std::optional<bool> is_causal = {});

  Child<ModuleList> layers;
  std::int64_t num_layers;
  Child<Module> norm;
  NEURA_LAYER(TransformerEncoder, layers, num_layers, norm)
  NEURA_FORWARD("src", arg{"mask"} = none, arg{"src_key_padding_mask"} = none, arg{"is_causal"} = none)
};
struct TransformerDecoder final : Module {
  explicit TransformerDecoder(const std::vector<Ref<Module>>& layers = {}, const Ref<Module>& norm = {});
  Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {}, const Tensor& memory_mask = {},
                 const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {},
                 std::optional<bool> tgt_is_causal = {}, bool memory_is_causal = false);

  Child<ModuleList> layers;
  std::int64_t num_layers;
  Child<Module> norm;
  NEURA_LAYER(TransformerDecoder, layers, num_layers, norm)
  NEURA_FORWARD("tgt", "memory", arg{"tgt_mask"} = none, arg{"memory_mask"} = none, arg{"tgt_key_padding_mask"} = none,
                arg{"memory_key_padding_mask"} = none, arg{"tgt_is_causal"} = none, arg{"memory_is_causal"} = false)
};

struct TransformerOptions : TransformerLayerOptions {
  std::int64_t num_encoder_layers = 6, num_decoder_layers = 6;
  Ref<Module> custom_encoder = {}, custom_decoder = {};
  NEURA_ARGUMENTS(num_encoder_layers, num_decoder_layers, dim_feedforward, dropout, activation, custom_encoder,
                  custom_decoder, layer_norm_eps, batch_first, norm_first, bias, device, dtype)
};
struct Transformer final : Module {  // src [S, N, d_model] and tgt [T, N, d_model] -> like tgt
  NEURA_INIT(explicit Transformer, std::int64_t d_model = 512, std::int64_t nhead = 8, const TransformerOptions& = {});
  explicit Transformer(Blank);
  Tensor forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask = {}, const Tensor& tgt_mask = {},
                 const Tensor& memory_mask = {}, const Tensor& src_key_padding_mask = {},
                 const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {},
                 std::optional<bool> src_is_causal = {}, std::optional<bool> tgt_is_causal = {},
                 bool memory_is_causal = false);
  void reset_parameters();  // Glorot's, uniform, for all matrices
  // -inf above the diagonal, 0 elsewhere: position i sees positions up to i.
  static Tensor generate_square_subsequent_mask(std::int64_t size, Device device = default_device(),
                                                std::optional<DType> dtype = {});

  Child<Module> encoder, decoder;
  std::int64_t d_model, nhead;
  bool batch_first;
  NEURA_LAYER(Transformer, encoder, decoder, d_model, nhead, batch_first)
  NEURA_FORWARD("src", "tgt", arg{"src_mask"} = none, arg{"tgt_mask"} = none, arg{"memory_mask"} = none,
                arg{"src_key_padding_mask"} = none, arg{"tgt_key_padding_mask"} = none,
                arg{"memory_key_padding_mask"} = none, arg{"src_is_causal"} = none, arg{"tgt_is_causal"} = none,
                arg{"memory_is_causal"} = false)
};

}  // namespace neura::nn

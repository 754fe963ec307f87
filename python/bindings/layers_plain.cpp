// Linear, shape, dropout, embedding and attention layers as Python classes.
#include "layers.h"

namespace neura::python {

void bind_more_layers(nb::module_&);

namespace {

void bind_linear(nb::module_& n) {
  bind_layer<nn::Linear>(n, R"(y = x weightᵀ + bias, over the last dimension.

Input [..., in_features], output [..., out_features]; weight [out_features, in_features], bias [out_features], both
uniform within 1 / sqrt(in_features) at first.

>>> neura.nn.Linear(20, 30)(neura.randn(128, 20)).shape
neura.Size([128, 30]))")
      .def(
          "reset_parameters", [](nn::Linear& m) { m.reset_parameters(); }, "Draws weight and bias again.");
  bind_layer<nn::NonDynamicallyQuantizableLinear, nn::Linear>(
      n, "Linear under the name that the projection of MultiheadAttention, out_proj, has in PyTorch.");
  bind_layer<nn::Bilinear>(n, R"(y = x1ᵀ weight x2 + bias.

Inputs [..., in1_features] and [..., in2_features], output [..., out_features]; weight [out, in1, in2], bias [out].)")
      .def(
          "reset_parameters", [](nn::Bilinear& m) { m.reset_parameters(); }, "Draws weight and bias again.");
}

void bind_shapes(nb::module_& n) {
  bind_layer<nn::Identity>(n, "Returns its input unchanged; takes and ignores any arguments.",
                           {.takes_anything = true});
  bind_layer<nn::Flatten>(n, "Flattens dimensions start_dim to end_dim into one; by default all but the first.");
  bind_layer<nn::Unflatten>(
      n, "Splits dimension dim into unflattened_size, of which one size may be -1: the inverse of Flatten.");
  bind_layer<nn::PixelShuffle>(n, "[..., C r², H, W] -> [..., C, H r, W r], r = upscale_factor.");
  bind_layer<nn::PixelUnshuffle>(
      n, "[..., C, H r, W r] -> [..., C r², H, W], r = downscale_factor: the inverse of PixelShuffle.");
  bind_layer<nn::ChannelShuffle>(
      n,
      "Channel shuffle (Zhang et al., 2018): [N, groups, C / groups, *] with the two channel dimensions transposed.");
}

void bind_dropouts(nb::module_& n) {
  bind_layer<nn::Dropout>(
      n, R"(In training, sets each element to 0 with probability p and scales the others by 1 / (1 - p).

In evaluation the input itself. inplace: write into the input. ValueError for p outside [0, 1].)");
  bind_layer<nn::Dropout1d>(n, "Dropout of whole channels of [N, C, L] or [C, L].");
  bind_layer<nn::Dropout2d>(n, "Dropout of whole channels of [N, C, H, W].");
  bind_layer<nn::Dropout3d>(n, "Dropout of whole channels of [N, C, D, H, W] or [C, D, H, W].");
  bind_layer<nn::AlphaDropout>(
      n, "Alpha dropout (Klambauer et al., 2017): keeps the mean and variance of SELU activations.");
  bind_layer<nn::FeatureAlphaDropout>(n, "AlphaDropout of whole channels.");
}

void bind_embedding(nb::module_& n) {
  bind_layer<nn::Embedding>(n, R"(Looks up learned embeddings: indices [*] -> [*, embedding_dim].

padding_idx: this row is zero at first and gets no gradient
max_norm: rows that are looked up are scaled down to this norm (of norm_type), in place
scale_grad_by_freq: gradients are divided by how often a row is looked up in one call

IndexError for a number outside the table.

>>> neura.nn.Embedding(10, 3)(neura.tensor([[1, 2], [4, 5]])).shape
neura.Size([2, 2, 3]))")
      .def(
          "reset_parameters", [](nn::Embedding& m) { m.reset_parameters(); }, "Draws the embeddings again.");
}

void bind_attention(nb::module_& n) {
  const LayerType t = bind_layer<nn::MultiheadAttention>(
      n, R"(Multi-head attention (Vaswani et al., 2017): forward(query, key, value, ...) -> (result, weights).

query [L, N, embed_dim], key [S, N, kdim], value [S, N, vdim], with N first if batch_first, or without N; the result
is like the query. Weights [N, L, S], averaged over the heads or [N, num_heads, L, S], or None without need_weights.
Masks are bool (True is hidden) or floating (added to the scores): key_padding_mask [N, S], attn_mask [L, S] or
[N * num_heads, L, S]. is_causal says that attn_mask is the causal one.

add_bias_kv, add_zero_attn: one key and value more, learned or zero. ValueError unless num_heads divides embed_dim.)");
  t.def(
      "_reset_parameters", [](nn::MultiheadAttention& m) { m.reset_parameters(); }, "Draws the parameters again.");
  property(t, "head_dim", [](nn::MultiheadAttention& m) { return m.embed_dim / m.num_heads; });
  property(t, "kdim",
           [](nn::MultiheadAttention& m) { return m.k_proj_weight ? m.k_proj_weight.size(1) : m.embed_dim; });
  property(t, "vdim",
           [](nn::MultiheadAttention& m) { return m.v_proj_weight ? m.v_proj_weight.size(1) : m.embed_dim; });
}

}  // namespace

void bind_plain_layers(nb::module_& n) {
  bind_linear(n);
  bind_shapes(n);
  bind_dropouts(n);
  bind_embedding(n);
  bind_attention(n);
}

void bind_layers(nb::module_& n) {
  bind_plain_layers(n);
  bind_activation_layers(n);
  bind_window_layers(n);
  bind_more_layers(n);
  bind_norm_layers(n);
  bind_loss_layers(n);
  bind_transformer_layers(n);
  bind_recurrent_layers(n);
}

}  // namespace neura::python

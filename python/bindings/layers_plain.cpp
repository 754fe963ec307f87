// Linear, shape, dropout, embedding and attention layers as Python classes.
#include "layers.h"

#include "neura/core/error_details.h"
#include "neura/nn/attention.h"
#include "neura/nn/dropout.h"
#include "neura/nn/embedding.h"
#include "neura/nn/linear.h"

namespace neura::python {

void bind_more_layers(nb::module_&);

namespace {

nn::LinearOptions linear_options(bool bias, AnyDevice device, AnyDType dtype) {
  return {bias, device.value_or(default_device()), dtype};
}

void bind_linear(nb::module_& n) {
  bind_layer<nn::Linear>(
      n, R"(y = x weightᵀ + bias, over the last dimension.

Input [..., in_features], output [..., out_features]; weight [out_features, in_features], bias [out_features], both
uniform within 1 / sqrt(in_features) at first.

>>> neura.nn.Linear(20, 30)(neura.randn(128, 20)).shape
neura.Size([128, 30]))",
      [](std::int64_t in, std::int64_t out, bool bias, AnyDevice device, AnyDType dtype) {
        return nn::make<nn::Linear>(in, out, linear_options(bias, device, dtype));
      },
      "in_features"_a, "out_features"_a, "bias"_a = nn::LinearOptions().bias, NEURA_PLACE)
      .def(
          "reset_parameters", [](nn::Linear& m) { m.reset_parameters(); }, "Draws weight and bias anew.");
  bind_layer<nn::NonDynamicallyQuantizableLinear, nn::Linear>(
      n, "Linear under the name that the projection of MultiheadAttention, out_proj, has in PyTorch.",
      [](std::int64_t in, std::int64_t out, bool bias, AnyDevice device, AnyDType dtype) {
        return nn::make<nn::NonDynamicallyQuantizableLinear>(in, out, linear_options(bias, device, dtype));
      },
      "in_features"_a, "out_features"_a, "bias"_a = nn::LinearOptions().bias, NEURA_PLACE);
  bind_layer<nn::Bilinear>(
      n, R"(y = x1ᵀ weight x2 + bias.

Inputs [..., in1_features] and [..., in2_features], output [..., out_features]; weight [out, in1, in2], bias [out].)",
      [](std::int64_t in1, std::int64_t in2, std::int64_t out, bool bias, AnyDevice device, AnyDType dtype) {
        return nn::make<nn::Bilinear>(in1, in2, out, linear_options(bias, device, dtype));
      },
      "in1_features"_a, "in2_features"_a, "out_features"_a, "bias"_a = nn::LinearOptions().bias, NEURA_PLACE)
      .def(
          "reset_parameters", [](nn::Bilinear& m) { m.reset_parameters(); }, "Draws weight and bias anew.");
}

void bind_shapes(nb::module_& n) {
  bind_layer<nn::Identity>(
      n, "Returns its input unchanged; takes and ignores any arguments.",
      [](nb::args, nb::kwargs) { return nn::make<nn::Identity>(); }, "args"_a, "kwargs"_a);
  bind_layer<nn::Flatten>(
      n, "Flattens dimensions start_dim to end_dim into one; by default all but the first.",
      [](int start, int end) { return nn::make<nn::Flatten>(start, end); }, "start_dim"_a = nn::Flatten().start_dim,
      "end_dim"_a = nn::Flatten().end_dim);
  bind_layer<nn::Unflatten>(
      n, "Splits dimension dim into unflattened_size, of which one size may be -1: the inverse of Flatten.",
      [](int dim, const Shape& sizes) { return nn::make<nn::Unflatten>(dim, sizes); }, "dim"_a, "unflattened_size"_a);
  bind_layer<nn::PixelShuffle>(
      n, "[..., C r², H, W] -> [..., C, H r, W r], r = upscale_factor.",
      [](std::int64_t factor) { return nn::make<nn::PixelShuffle>(factor); }, "upscale_factor"_a);
  bind_layer<nn::PixelUnshuffle>(
      n, "[..., C, H r, W r] -> [..., C r², H, W], r = downscale_factor: the inverse of PixelShuffle.",
      [](std::int64_t factor) { return nn::make<nn::PixelUnshuffle>(factor); }, "downscale_factor"_a);
  bind_layer<nn::ChannelShuffle>(
      n, "Channel shuffle (Zhang et al., 2018): [N, groups, C / groups, *] with the two channel dimensions transposed.",
      [](std::int64_t groups) { return nn::make<nn::ChannelShuffle>(groups); }, "groups"_a);
}

template <class M> void bind_dropout(nb::module_& n, const char* doc) {
  bind_layer<M>(
      n, doc, [](nn::Number p, bool inplace) { return nn::make<M>(p, inplace); }, "p"_a = M().p,
      "inplace"_a = M().inplace);
}
void bind_dropouts(nb::module_& n) {
  bind_dropout<nn::Dropout>(
      n, R"(In training, sets each element to 0 with probability p and scales the others by 1 / (1 - p).

In evaluation the input itself. inplace: write into the input. ValueError for p outside [0, 1].)");
  bind_dropout<nn::Dropout1d>(n, "Dropout of whole channels of [N, C, L] or [C, L].");
  bind_dropout<nn::Dropout2d>(n, "Dropout of whole channels of [N, C, H, W].");
  bind_dropout<nn::Dropout3d>(n, "Dropout of whole channels of [N, C, D, H, W] or [C, D, H, W].");
  bind_dropout<nn::AlphaDropout>(
      n, "Alpha dropout (Klambauer et al., 2017): keeps the mean and variance of SELU activations.");
  bind_dropout<nn::FeatureAlphaDropout>(n, "AlphaDropout of whole channels.");
}

Ref<nn::Embedding> table_of(std::int64_t count, std::int64_t width, const nn::EmbeddingOptions& o, const Tensor& weight,
                            bool freeze) {
  if (!weight) return nn::make<nn::Embedding>(count, width, o);
  check<AssertedError<ShapeError>>(weight.shape() == Shape{count, width}, [&] {
    return "Embedding: expected a _weight of shape " + Shape{count, width}.str() + ", got " + weight.shape().str();
  });
  return nn::Embedding::from_pretrained(weight, freeze, o);
}
void bind_embedding(nb::module_& n) {
  const nn::EmbeddingOptions o;
  const LayerType t = bind_layer<nn::Embedding>(
      n, R"(Looks up learned embeddings: indices [*] -> [*, embedding_dim].

padding_idx: this row is zero at first and gets no gradient
max_norm: rows that are looked up are scaled down to this norm (of norm_type), in place
scale_grad_by_freq: gradients are divided by how often a row is looked up in one call

IndexError for a number outside the table.

>>> neura.nn.Embedding(10, 3)(neura.tensor([[1, 2], [4, 5]])).shape
neura.Size([2, 2, 3]))",
      [](std::int64_t count, std::int64_t width, std::optional<std::int64_t> padding_idx,
         std::optional<nn::Number> max_norm, nn::Number norm_type, bool by_freq, bool sparse, const Tensor& weight,
         bool freeze, AnyDevice device, AnyDType dtype) {
        return table_of(count, width,
                        {padding_idx, max_norm, norm_type, by_freq, sparse, device.value_or(default_device()), dtype},
                        weight, freeze);
      },
      "num_embeddings"_a, "embedding_dim"_a, "padding_idx"_a = nb::none(), "max_norm"_a = nb::none(),
      "norm_type"_a = o.norm_type, "scale_grad_by_freq"_a = o.scale_grad_by_freq, "sparse"_a = o.sparse,
      "_weight"_a = nb::none(), "_freeze"_a = false, NEURA_PLACE);
  t.def(
      "reset_parameters", [](nn::Embedding& m) { m.reset_parameters(); }, "Initializes the embeddings anew.");
}

void bind_attention(nb::module_& n) {
  const nn::MultiheadAttentionOptions o;
  const LayerType t = bind_layer<nn::MultiheadAttention>(
      n, R"(Multi-head attention (Vaswani et al., 2017): forward(query, key, value, ...) -> (result, weights).

query [L, N, embed_dim], key [S, N, kdim], value [S, N, vdim], with N first if batch_first, or without N; the result
is like the query. Weights [N, L, S], averaged over the heads or [N, num_heads, L, S], or None without need_weights.
Masks are bool (True is hidden) or floating (added to the scores): key_padding_mask [N, S], attn_mask [L, S] or
[N * num_heads, L, S]. is_causal says that attn_mask is the causal one.

add_bias_kv, add_zero_attn: one key and value more, learned or zero. ValueError unless num_heads divides embed_dim.)",
      [](std::int64_t embed_dim, std::int64_t num_heads, double dropout, bool bias, bool add_bias_kv,
         bool add_zero_attn, std::optional<std::int64_t> kdim, std::optional<std::int64_t> vdim, bool batch_first,
         AnyDevice device, AnyDType dtype) {
        return nn::make<nn::MultiheadAttention>(
            embed_dim, num_heads,
            nn::MultiheadAttentionOptions{dropout, bias, add_bias_kv, add_zero_attn, kdim, vdim, batch_first,
                                          device.value_or(default_device()), dtype});
      },
      "embed_dim"_a, "num_heads"_a, "dropout"_a = o.dropout, "bias"_a = o.bias, "add_bias_kv"_a = o.add_bias_kv,
      "add_zero_attn"_a = o.add_zero_attn, "kdim"_a = o.kdim, "vdim"_a = o.vdim, "batch_first"_a = o.batch_first,
      NEURA_PLACE);
  t.def(
      "_reset_parameters", [](nn::MultiheadAttention& m) { m.reset_parameters(); }, "Draws the parameters anew.");
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

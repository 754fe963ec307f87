#include "neura/nn/transformer.h"

#include <limits>

#include "neura/core/checked_int.h"
#include "neura/nn/init.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/shape/shape.h"

namespace neura::nn {

NEURA_LAYER_BODY(TransformerEncoderLayer)
NEURA_LAYER_BODY(TransformerDecoderLayer)
NEURA_LAYER_BODY(TransformerEncoder)
NEURA_LAYER_BODY(TransformerDecoder)
NEURA_LAYER_BODY(Transformer)

namespace {

using Named = std::vector<std::pair<std::string, Value>>;

Ref<MultiheadAttention> attention(std::int64_t d_model, std::int64_t heads, const TransformerLayerOptions& o) {
  return make<MultiheadAttention>(
      d_model, heads,
      MultiheadAttentionOptions{
          .dropout = o.dropout, .bias = o.bias, .batch_first = o.batch_first, .device = o.device, .dtype = o.dtype});
}
Ref<Linear> projection(std::int64_t in, std::int64_t out, const TransformerLayerOptions& o) {
  return make<Linear>(in, out, LinearOptions{o.bias, o.device, o.dtype});
}
Ref<LayerNorm> normalisation(std::int64_t d_model, const TransformerLayerOptions& o) {
  return make<LayerNorm>(
      Dims{d_model}, LayerNormOptions{.eps = o.layer_norm_eps, .bias = o.bias, .device = o.device, .dtype = o.dtype});
}
Ref<Module> shared(const Ref<Module>& m) { return m; }
Ref<Module> final_norm(std::int64_t d_model, const TransformerLayerOptions& o) { return normalisation(d_model, o); }
Ref<Dropout> drop(const TransformerLayerOptions& o) { return make<Dropout>(o.dropout); }

std::string known_activation(const char* layer, const std::string& name) {
  check<ValueError>(name == "relu" || name == "gelu",
                    [&] { return std::string(layer) + ": expected the activation relu or gelu, got " + name; });
  return name;
}
Tensor activated(const std::string& name, const Tensor& x) { return name == "gelu" ? gelu(x) : relu(x); }

Tensor attend(const Child<MultiheadAttention>& a, const Tensor& x, const Tensor& memory, const Tensor& mask,
              const Tensor& padding, bool causal) {
  return std::get<0>(a(x, memory, memory, padding, false, mask, true, causal));
}

Tensor call_of(const char* what, Module* m, std::vector<Value> positional, Named named) {
  check<ValueError>(m, [&] { return std::string(what) + ": expected a module, got none"; });
  return unbox<Tensor>(m->call(Args{std::move(positional), std::move(named)}));
}
Tensor normalised(const Child<Module>& norm, const Tensor& x) {
  return norm.get() ? call_of("norm", norm.get(), {x}, {}) : x;
}
// Copies of the references: a layer of another language may change the list meanwhile.
std::vector<Ref<Module>> layers_of(const char* op, const Child<ModuleList>& layers) {
  check<ValueError>(layers.get(), [&] { return std::string(op) + ": expected a ModuleList as layers, got none"; });
  std::vector<Ref<Module>> all;
  for (const Ref<Module>& layer : *layers.get()) all.push_back(layer);
  return all;
}

}  // namespace

TransformerEncoderLayer::TransformerEncoderLayer(std::int64_t d_model, std::int64_t nhead,
                                                 const TransformerLayerOptions& o)
    : self_attn(attention(d_model, nhead, o)),
      linear1(projection(d_model, o.dim_feedforward, o)),
      dropout(drop(o)),
      linear2(projection(o.dim_feedforward, d_model, o)),
      norm1(normalisation(d_model, o)),
      norm2(normalisation(d_model, o)),
      dropout1(drop(o)),
      dropout2(drop(o)),
      norm_first(o.norm_first),
      activation(known_activation("TransformerEncoderLayer", o.activation)) {}

Tensor TransformerEncoderLayer::forward(const Tensor& src, const Tensor& src_mask, const Tensor& src_key_padding_mask,
                                        bool is_causal) {
  auto attended = [&](const Tensor& x) {
    return dropout1(attend(self_attn, x, x, src_mask, src_key_padding_mask, is_causal));
  };
  auto fed = [&](const Tensor& x) { return dropout2(linear2(dropout(activated(activation, linear1(x))))); };
  if (!norm_first) {
    const Tensor x = norm1(src + attended(src));
    return norm2(x + fed(x));
  }
  const Tensor x = src + attended(norm1(src));
  return x + fed(norm2(x));
}

TransformerDecoderLayer::TransformerDecoderLayer(std::int64_t d_model, std::int64_t nhead,
                                                 const TransformerLayerOptions& o)
    : self_attn(attention(d_model, nhead, o)),
      multihead_attn(attention(d_model, nhead, o)),
      linear1(projection(d_model, o.dim_feedforward, o)),
      dropout(drop(o)),
      linear2(projection(o.dim_feedforward, d_model, o)),
      norm1(normalisation(d_model, o)),
      norm2(normalisation(d_model, o)),
      norm3(normalisation(d_model, o)),
      dropout1(drop(o)),
      dropout2(drop(o)),
      dropout3(drop(o)),
      norm_first(o.norm_first),
      activation(known_activation("TransformerDecoderLayer", o.activation)) {}

Tensor TransformerDecoderLayer::forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask,
                                        const Tensor& memory_mask, const Tensor& tgt_key_padding_mask,
                                        const Tensor& memory_key_padding_mask, bool tgt_is_causal,
                                        bool memory_is_causal) {
  auto own = [&](const Tensor& x) {
    return dropout1(attend(self_attn, x, x, tgt_mask, tgt_key_padding_mask, tgt_is_causal));
  };
  auto other = [&](const Tensor& x) {
    return dropout2(attend(multihead_attn, x, memory, memory_mask, memory_key_padding_mask, memory_is_causal));
  };
  auto fed = [&](const Tensor& x) { return dropout3(linear2(dropout(activated(activation, linear1(x))))); };
  if (!norm_first) {
    const Tensor x = norm1(tgt + own(tgt)), y = norm2(x + other(x));
    return norm3(y + fed(y));
  }
  const Tensor x = tgt + own(norm1(tgt)), y = x + other(norm2(x));
  return y + fed(norm3(y));
}

TransformerEncoder::TransformerEncoder(const std::vector<Ref<Module>>& list, const Ref<Module>& norm)
    : layers(make<ModuleList>(list)), num_layers(std::int64_t(list.size())) {
  if (norm) this->norm.set(norm);
}

Tensor TransformerEncoder::forward(const Tensor& src, const Tensor& mask, const Tensor& src_key_padding_mask,
                                   std::optional<bool> is_causal) {
  Tensor x = src;
  for (const Ref<Module>& layer : layers_of("TransformerEncoder", layers))
    x = call_of(
        "layers", layer.get(), {x},
        {{"src_mask", mask}, {"is_causal", is_causal.value_or(false)}, {"src_key_padding_mask", src_key_padding_mask}});
  return normalised(norm, x);
}

TransformerDecoder::TransformerDecoder(const std::vector<Ref<Module>>& list, const Ref<Module>& norm)
    : layers(make<ModuleList>(list)), num_layers(std::int64_t(list.size())) {
  if (norm) this->norm.set(norm);
}

Tensor TransformerDecoder::forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask,
                                   const Tensor& memory_mask, const Tensor& tgt_key_padding_mask,
                                   const Tensor& memory_key_padding_mask, std::optional<bool> tgt_is_causal,
                                   bool memory_is_causal) {
  Tensor x = tgt;
  for (const Ref<Module>& layer : layers_of("TransformerDecoder", layers))
    x = call_of("layers", layer.get(), {x, memory},
                {{"tgt_mask", tgt_mask},
                 {"memory_mask", memory_mask},
                 {"tgt_key_padding_mask", tgt_key_padding_mask},
                 {"memory_key_padding_mask", memory_key_padding_mask},
                 {"tgt_is_causal", tgt_is_causal.value_or(false)},
                 {"memory_is_causal", memory_is_causal}});
  return normalised(norm, x);
}

Transformer::Transformer(std::int64_t d_model, std::int64_t nhead, const TransformerOptions& o)
    : d_model(d_model), nhead(nhead), batch_first(o.batch_first) {
  std::vector<Ref<Module>> encoders, decoders;
  constexpr std::size_t parameters = 26;  // of a decoder's layer
  check_room("Transformer", std::max(o.num_encoder_layers, o.num_decoder_layers), parameters * kTensorBytes);
  for (std::int64_t i = 0; !o.custom_encoder && i < o.num_encoder_layers; ++i)
    encoders.push_back(make<TransformerEncoderLayer>(d_model, nhead, o));
  for (std::int64_t i = 0; !o.custom_decoder && i < o.num_decoder_layers; ++i)
    decoders.push_back(make<TransformerDecoderLayer>(d_model, nhead, o));
  encoder.set(o.custom_encoder ? o.custom_encoder : shared(make<TransformerEncoder>(encoders, final_norm(d_model, o))));
  decoder.set(o.custom_decoder ? o.custom_decoder : shared(make<TransformerDecoder>(decoders, final_norm(d_model, o))));
  reset_parameters();
}
Transformer::Transformer(Blank) : Transformer(1, 1, {{.dim_feedforward = 1}, 0, 0}) {}

void Transformer::reset_parameters() {
  for (const Tensor& p : parameters())
    if (p.dim() > 1) init::xavier_uniform_(p);
}

Tensor Transformer::forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask, const Tensor& tgt_mask,
                            const Tensor& memory_mask, const Tensor& src_key_padding_mask,
                            const Tensor& tgt_key_padding_mask, const Tensor& memory_key_padding_mask,
                            std::optional<bool> src_is_causal, std::optional<bool> tgt_is_causal,
                            bool memory_is_causal) {
  const int batch = batch_first ? 0 : 1;
  check<ShapeError>(
      src.dim() == tgt.dim() && (src.dim() == 2 || (src.dim() == 3 && src.size(batch) == tgt.size(batch))), [&] {
        return "Transformer: expected src and tgt of 2 dimensions, or of 3 with as many samples, got " +
               src.shape().str() + " and " + tgt.shape().str();
      });
  check<ShapeError>(src.size(-1) == d_model && tgt.size(-1) == d_model, [&] {
    return "Transformer: expected src and tgt of width " + std::to_string(d_model) + ", got " + src.shape().str() +
           " and " + tgt.shape().str();
  });
  const Tensor memory =
      call_of("encoder", encoder.get(), {src},
              {{"mask", src_mask}, {"src_key_padding_mask", src_key_padding_mask}, {"is_causal", box(src_is_causal)}});
  return call_of("decoder", decoder.get(), {tgt, memory},
                 {{"tgt_mask", tgt_mask},
                  {"memory_mask", memory_mask},
                  {"tgt_key_padding_mask", tgt_key_padding_mask},
                  {"memory_key_padding_mask", memory_key_padding_mask},
                  {"tgt_is_causal", box(tgt_is_causal)},
                  {"memory_is_causal", memory_is_causal}});
}

Tensor Transformer::generate_square_subsequent_mask(std::int64_t size, Device device, std::optional<DType> dtype) {
  return triu(full({size, size}, -std::numeric_limits<double>::infinity(),
                   {.dtype = dtype ? *dtype : default_dtype(), .device = device}),
              1);
}

}  // namespace neura::nn

#include "neura/models/vision_transformer.h"

#include <cmath>

#include "neura/core/error.h"
#include "neura/nn/activation.h"
#include "neura/nn/init.h"
#include "neura/nn/linear.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"

namespace neura::models {
namespace {

using nn::make, nn::Sequential;

constexpr double kEps = 1e-6, kPlaces = 0.02;  // of norms; deviation of the first places

Ref<Sequential> mlp_of(const VisionTransformerOptions& o) {
  auto mlp = make<Sequential>(nn::Linear(o.hidden_dim, o.mlp_dim), nn::GELU(), nn::Dropout(o.dropout),
                              nn::Linear(o.mlp_dim, o.hidden_dim), nn::Dropout(o.dropout));
  for (const Ref<nn::Module>& m : *mlp)
    if (const auto* linear = m->as<nn::Linear>()) {
      nn::init::xavier_uniform_(linear->weight);
      nn::init::normal_(linear->bias, 0, 1e-6);
    }
  return mlp;
}

Ref<nn::LayerNorm> norm_of(const VisionTransformerOptions& o) {
  return make<nn::LayerNorm>(Shape{o.hidden_dim}, nn::LayerNormOptions{.eps = kEps});
}

Ref<Sequential> heads_of(const VisionTransformerOptions& o) {
  std::vector<std::pair<std::string, Ref<nn::Module>>> parts;
  std::int64_t width = o.hidden_dim;
  if (o.representation_size) {
    auto before = make<nn::Linear>(width, *o.representation_size);
    nn::init::trunc_normal_(before->weight, 0, std::sqrt(1 / double(width)));
    nn::init::zeros_(before->bias);
    parts.emplace_back("pre_logits", before);
    parts.emplace_back("act", make<nn::Tanh>());
    width = *o.representation_size;
  }
  auto head = make<nn::Linear>(width, o.num_classes);
  nn::init::zeros_(head->weight);
  nn::init::zeros_(head->bias);
  parts.emplace_back("head", head);
  return make<Sequential>(parts);
}

Ref<VisionTransformer> sized(VisionTransformerOptions o, std::int64_t patch, std::int64_t layers, std::int64_t heads,
                             std::int64_t hidden) {
  o.patch_size = patch, o.num_layers = layers, o.num_heads = heads, o.hidden_dim = hidden, o.mlp_dim = 4 * hidden;
  return make<VisionTransformer>(o);
}

}  // namespace

NEURA_LAYER_BODY(EncoderBlock)
NEURA_LAYER_BODY(Encoder)
NEURA_LAYER_BODY(VisionTransformer)

EncoderBlock::EncoderBlock(const VisionTransformerOptions& o)
    : ln_1(norm_of(o)),
      self_attention(make<nn::MultiheadAttention>(
          o.hidden_dim, o.num_heads,
          nn::MultiheadAttentionOptions{.dropout = o.attention_dropout, .batch_first = true})),
      dropout(make<nn::Dropout>(o.dropout)),
      ln_2(norm_of(o)),
      mlp(mlp_of(o)) {}

Tensor EncoderBlock::forward(const Tensor& input) {
  const Tensor normed = ln_1(input);
  const Tensor seen = std::get<0>(self_attention(normed, normed, normed, Tensor(), false));
  const Tensor x = dropout(seen) + input;
  return x + mlp(ln_2(x));
}

Encoder::Encoder(std::int64_t seq_length, const VisionTransformerOptions& o)
    : pos_embedding(nn::init::normal_(empty({1, seq_length, o.hidden_dim}), 0, kPlaces)),
      dropout(make<nn::Dropout>(o.dropout)),
      ln(norm_of(o)) {
  std::vector<std::pair<std::string, Ref<nn::Module>>> blocks;
  for (std::int64_t i = 0; i < o.num_layers; ++i)
    blocks.emplace_back("encoder_layer_" + std::to_string(i), make<EncoderBlock>(o));
  layers = make<Sequential>(blocks);
}

Tensor Encoder::forward(const Tensor& input) { return ln(layers(dropout(input + pos_embedding))); }

VisionTransformer::VisionTransformer(const VisionTransformerOptions& o)
    : image_size(o.image_size), class_token(zeros({1, 1, o.hidden_dim})) {
  check<ValueError>(o.patch_size > 0 && image_size % o.patch_size == 0, [&] {
    return "VisionTransformer: expected patch_size to divide image_size, got " + std::to_string(o.patch_size) +
           " and " + std::to_string(image_size);
  });
  const std::int64_t side = image_size / o.patch_size;
  conv_proj = make<nn::Conv2d>(3, o.hidden_dim, o.patch_size, nn::ConvOptions{.stride = o.patch_size});
  nn::init::trunc_normal_(conv_proj->weight, 0, std::sqrt(1 / double(3 * o.patch_size * o.patch_size)));
  nn::init::zeros_(conv_proj->bias);
  encoder = make<Encoder>(side * side + 1, o);
  heads = heads_of(o);
}

Tensor VisionTransformer::forward(const Tensor& x) {
  check<ShapeError>(x.dim() == 4 && x.size(2) == image_size && x.size(3) == image_size, [&] {
    const std::string size = std::to_string(image_size);
    return "VisionTransformer: expected pictures [N, 3, " + size + ", " + size + "], got " + x.shape().str();
  });
  const Tensor patches = flatten(conv_proj(x), 2).transpose(1, 2);  // [N, patches, hidden_dim]
  const Tensor first = class_token.expand({x.size(0), 1, class_token.size(2)});
  return heads(encoder(cat({first, patches}, 1)).select(1, 0));
}

Ref<VisionTransformer> vit_b_16(VisionTransformerOptions o) { return sized(o, 16, 12, 12, 768); }
Ref<VisionTransformer> vit_b_32(VisionTransformerOptions o) { return sized(o, 32, 12, 12, 768); }
Ref<VisionTransformer> vit_l_16(VisionTransformerOptions o) { return sized(o, 16, 24, 16, 1024); }
Ref<VisionTransformer> vit_l_32(VisionTransformerOptions o) { return sized(o, 32, 24, 16, 1024); }
Ref<VisionTransformer> vit_h_14(VisionTransformerOptions o) { return sized(o, 14, 32, 16, 1280); }
Ref<VisionTransformer> vit_tiny(VisionTransformerOptions o) { return sized(o, o.patch_size, 12, 3, 192); }

}  // namespace neura::models

// Vision transformers (Dosovitskiy et al., 2020), by torchvision's names.
#pragma once
#include <optional>

#include "neura/nn/attention.h"
#include "neura/nn/container.h"
#include "neura/nn/conv.h"
#include "neura/nn/dropout.h"
#include "neura/nn/norm.h"

namespace neura::models {

struct VisionTransformerOptions {
  std::int64_t image_size = 224, patch_size = 16, num_layers = 12, num_heads = 12, hidden_dim = 768, mlp_dim = 3072;
  double dropout = 0, attention_dropout = 0;
  std::int64_t num_classes = 1000;
  std::optional<std::int64_t> representation_size = {};  // a linear layer and tanh before the last one
};

// Attention and an MLP, each after a norm and with a way around: [N, L, hidden_dim] -> the same.
struct EncoderBlock final : nn::Module {
  explicit EncoderBlock(const VisionTransformerOptions&);
  explicit EncoderBlock(nn::Blank) {}
  Tensor forward(const Tensor& input);

  nn::Child<nn::LayerNorm> ln_1;
  nn::Child<nn::MultiheadAttention> self_attention;
  nn::Child<nn::Dropout> dropout;
  nn::Child<nn::LayerNorm> ln_2;
  nn::Child<nn::Sequential> mlp;
  NEURA_LAYER(EncoderBlock, ln_1, self_attention, dropout, ln_2, mlp)
  NEURA_FORWARD("input")
};
// Places added to tokens, the blocks, a norm: [N, L, hidden_dim] -> the same.
struct Encoder final : nn::Module {
  Encoder(std::int64_t seq_length, const VisionTransformerOptions&);
  explicit Encoder(nn::Blank) {}
  Tensor forward(const Tensor& input);

  nn::Parameter pos_embedding;  // [1, seq_length, hidden_dim]
  nn::Child<nn::Dropout> dropout;
  nn::Child<nn::Sequential> layers;
  nn::Child<nn::LayerNorm> ln;
  NEURA_LAYER(Encoder, pos_embedding, dropout, layers, ln)
  NEURA_FORWARD("input")
};
// Pictures [N, 3, image_size, image_size] to scores [N, num_classes]. ValueError unless patch_size divides image_size;
// ShapeError for pictures of another size.
struct VisionTransformer final : nn::Module {
  explicit VisionTransformer(const VisionTransformerOptions& = {});
  Tensor forward(const Tensor& x);

  std::int64_t image_size = 0;
  nn::Parameter class_token;  // [1, 1, hidden_dim]
  nn::Child<nn::Conv2d> conv_proj;
  nn::Child<Encoder> encoder;
  nn::Child<nn::Sequential> heads;
  NEURA_LAYER(VisionTransformer, image_size, class_token, conv_proj, encoder, heads)
  NEURA_FORWARD("x")
};
// Sizes except for image_size are the name's.
Ref<VisionTransformer> vit_b_16(VisionTransformerOptions = {});
Ref<VisionTransformer> vit_b_32(VisionTransformerOptions = {});
Ref<VisionTransformer> vit_l_16(VisionTransformerOptions = {});
Ref<VisionTransformer> vit_l_32(VisionTransformerOptions = {});
Ref<VisionTransformer> vit_h_14(VisionTransformerOptions = {});
// 12 layers of width 192 and 3 heads (Touvron et al., 2020), and patches as the options say: for small pictures.
Ref<VisionTransformer> vit_tiny(VisionTransformerOptions = {});

}  // namespace neura::models

// Language models: GPT-2 (Radford et al., 2019), by the names of Hugging Face's transformers, and one of an LSTM.
// Numbers of tokens [N, T] to scores of the next ones, [N, T, vocab_size].
#pragma once
#include <optional>

#include "neura/nn/container.h"
#include "neura/nn/dropout.h"
#include "neura/nn/embedding.h"
#include "neura/nn/linear.h"
#include "neura/nn/norm.h"
#include "neura/nn/recurrent.h"

namespace neura::models {

struct Gpt2Options {  // by the words of Hugging Face's config.json
  std::int64_t vocab_size = 50257, n_positions = 1024, n_embd = 768, n_layer = 12, n_head = 12;
  std::optional<std::int64_t> n_inner = {};      // width inside the MLPs: 4 n_embd
  std::string activation_function = "gelu_new";  // or "gelu_pytorch_tanh", the same; or "gelu"
  double resid_pdrop = 0.1, embd_pdrop = 0.1, attn_pdrop = 0.1;
  double layer_norm_epsilon = 1e-5, initializer_range = 0.02;
};

// A linear map whose weight is [inputs, outputs]: [.., nx] -> [.., nf].
struct Conv1D final : nn::Module {
  Conv1D(std::int64_t nf, std::int64_t nx, double std = 0.02);
  explicit Conv1D(nn::Blank) {}
  Tensor forward(const Tensor& x) const;

  nn::Parameter weight, bias;  // [nx, nf], [nf]
  NEURA_LAYER(Conv1D, weight, bias)
  NEURA_FORWARD("x")
};
struct Gpt2Attention final : nn::Module {
  explicit Gpt2Attention(const Gpt2Options&);
  explicit Gpt2Attention(nn::Blank) {}
  Tensor forward(const Tensor& x);

  std::int64_t heads = 1;
  double dropout = 0;
  nn::Child<Conv1D> c_attn, c_proj;
  nn::Child<nn::Dropout> resid_dropout;
  NEURA_LAYER(Gpt2Attention, heads, dropout, c_attn, c_proj, resid_dropout)
  NEURA_FORWARD("x")
};
struct Gpt2MLP final : nn::Module {
  explicit Gpt2MLP(const Gpt2Options&);
  explicit Gpt2MLP(nn::Blank) {}
  Tensor forward(const Tensor& x);

  std::string approximate;  // of gelu
  nn::Child<Conv1D> c_fc, c_proj;
  nn::Child<nn::Dropout> dropout;
  NEURA_LAYER(Gpt2MLP, approximate, c_fc, c_proj, dropout)
  NEURA_FORWARD("x")
};
struct Gpt2Block final : nn::Module {
  explicit Gpt2Block(const Gpt2Options&);
  explicit Gpt2Block(nn::Blank) {}
  Tensor forward(const Tensor& x);

  nn::Child<nn::LayerNorm> ln_1;
  nn::Child<Gpt2Attention> attn;
  nn::Child<nn::LayerNorm> ln_2;
  nn::Child<Gpt2MLP> mlp;
  NEURA_LAYER(Gpt2Block, ln_1, attn, ln_2, mlp)
  NEURA_FORWARD("x")
};
// To hidden states [N, T, n_embd]. ValueError unless n_head divides n_embd, and for more than n_positions tokens.
struct GPT2Model final : nn::Module {
  explicit GPT2Model(const Gpt2Options& = {});
  Tensor forward(const Tensor& input_ids);

  nn::Child<nn::Embedding> wte, wpe;
  nn::Child<nn::Dropout> drop;
  nn::Child<nn::Sequential> h;
  nn::Child<nn::LayerNorm> ln_f;
  NEURA_LAYER(GPT2Model, wte, wpe, drop, h, ln_f)
  NEURA_FORWARD("input_ids")
};
struct GPT2LMHeadModel final : nn::Module {  // the last layer's weight is the embedding's
  explicit GPT2LMHeadModel(const Gpt2Options& = {});
  Tensor forward(const Tensor& input_ids);

  nn::Child<GPT2Model> transformer;
  nn::Child<nn::Linear> lm_head;
  NEURA_LAYER(GPT2LMHeadModel, transformer, lm_head)
  NEURA_FORWARD("input_ids")
};
Ref<GPT2LMHeadModel> gpt2(const Gpt2Options& = {});  // of 12 blocks, 768 wide

struct LstmLanguageOptions {
  std::int64_t vocab_size, width = 128, num_layers = 2;  // width: of a token; the LSTM has twice as many inside
  double dropout = 0.1;
};
struct LSTMLanguageModel final : nn::Module {
  explicit LSTMLanguageModel(const LstmLanguageOptions&);
  explicit LSTMLanguageModel(nn::Blank) {}
  Tensor forward(const Tensor& ids);

  nn::Child<nn::Embedding> tokens;
  nn::Child<nn::LSTM> lstm;
  nn::Child<nn::Dropout> drop;
  nn::Child<nn::Linear> head;
  NEURA_LAYER(LSTMLanguageModel, tokens, lstm, drop, head)
  NEURA_FORWARD("ids")
};

// The names of published files as those of the networks here: GPT-2's begin with "h.0" and hold masks, torchvision's
// vision transformers call the MLP's layers linear_1 and linear_2. Other names stay.
nn::StateDict published_names(const nn::StateDict&);

}  // namespace neura::models

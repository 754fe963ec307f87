#include "neura/models/language.h"

#include <cmath>

#include "neura/core/error.h"
#include "neura/nn/init.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/attention.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/shape/join.h"

namespace neura::models {
namespace {

using nn::make;

// Of layers whose results are added to the sum of all blocks.
double last_deviation(const Gpt2Options& o) { return o.initializer_range / std::sqrt(2 * double(o.n_layer)); }

std::int64_t inside(const Gpt2Options& o) { return o.n_inner.value_or(4 * o.n_embd); }

Ref<nn::LayerNorm> norm_of(const Gpt2Options& o) {
  return make<nn::LayerNorm>(Shape{o.n_embd}, nn::LayerNormOptions{.eps = o.layer_norm_epsilon});
}

std::string replaced(std::string text, const std::string& old, const std::string& by) {
  const std::size_t at = text.find(old);
  return at == std::string::npos ? text : text.replace(at, old.size(), by);
}

}  // namespace

NEURA_LAYER_BODY(Conv1D)
NEURA_LAYER_BODY(Gpt2Attention)
NEURA_LAYER_BODY(Gpt2MLP)
NEURA_LAYER_BODY(Gpt2Block)
NEURA_LAYER_BODY(GPT2Model)
NEURA_LAYER_BODY(GPT2LMHeadModel)
NEURA_LAYER_BODY(LSTMLanguageModel)

Conv1D::Conv1D(std::int64_t nf, std::int64_t nx, double std)
    : weight(nn::init::normal_(empty({nx, nf}), 0, std)), bias(zeros({nf})) {}

Tensor Conv1D::forward(const Tensor& x) const {
  Shape shape = x.shape();
  shape.back() = weight.size(1);
  return addmm(bias, x.reshape({-1, weight.size(0)}), weight).reshape(shape);
}

Gpt2Attention::Gpt2Attention(const Gpt2Options& o)
    : heads(o.n_head),
      dropout(o.attn_pdrop),
      c_attn(make<Conv1D>(3 * o.n_embd, o.n_embd, o.initializer_range)),
      c_proj(make<Conv1D>(o.n_embd, o.n_embd, last_deviation(o))),
      resid_dropout(make<nn::Dropout>(o.resid_pdrop)) {}

Tensor Gpt2Attention::forward(const Tensor& x) {
  const std::int64_t n = x.size(0), t = x.size(1), width = x.size(2);
  const Tensor all = c_attn(x).reshape({n, t, 3, heads, width / heads});
  const auto part = [&](std::int64_t i) { return all.select(2, i).transpose(1, 2); };  // [N, heads, T, width / heads]
  const Tensor y = scaled_dot_product_attention(part(0), part(1), part(2),
                                                {.dropout_p = is_training() ? dropout : 0, .is_causal = true});
  return resid_dropout(c_proj(y.transpose(1, 2).reshape({n, t, width})));
}

Gpt2MLP::Gpt2MLP(const Gpt2Options& o)
    : approximate(o.activation_function == "gelu" ? "none" : "tanh"),
      c_fc(make<Conv1D>(inside(o), o.n_embd, o.initializer_range)),
      c_proj(make<Conv1D>(o.n_embd, inside(o), last_deviation(o))),
      dropout(make<nn::Dropout>(o.resid_pdrop)) {}

Tensor Gpt2MLP::forward(const Tensor& x) { return dropout(c_proj(gelu(c_fc(x), {approximate.c_str()}))); }

Gpt2Block::Gpt2Block(const Gpt2Options& o)
    : ln_1(norm_of(o)), attn(make<Gpt2Attention>(o)), ln_2(norm_of(o)), mlp(make<Gpt2MLP>(o)) {}

Tensor Gpt2Block::forward(const Tensor& x) {
  const Tensor y = x + attn(ln_1(x));
  return y + mlp(ln_2(y));
}

GPT2Model::GPT2Model(const Gpt2Options& o) {
  check<ValueError>(o.n_head > 0 && o.n_embd % o.n_head == 0, [&] {
    return "GPT2Model: expected n_head to divide n_embd, got " + std::to_string(o.n_head) + " and " +
           std::to_string(o.n_embd);
  });
  const std::string& f = o.activation_function;
  check<ValueError>(f == "gelu_new" || f == "gelu_pytorch_tanh" || f == "gelu", [&] {
    return "GPT2Model: expected activation_function \"gelu_new\", \"gelu_pytorch_tanh\" or \"gelu\", got \"" + f + '"';
  });
  wte = make<nn::Embedding>(o.vocab_size, o.n_embd);
  wpe = make<nn::Embedding>(o.n_positions, o.n_embd);
  drop = make<nn::Dropout>(o.embd_pdrop);
  h = make<nn::Sequential>();
  for (std::int64_t i = 0; i < o.n_layer; ++i) h->append(make<Gpt2Block>(o));
  ln_f = norm_of(o);
  nn::init::normal_(wte->weight, 0, o.initializer_range);
  nn::init::normal_(wpe->weight, 0, o.initializer_range);
}

Tensor GPT2Model::forward(const Tensor& input_ids) {
  const std::int64_t length = input_ids.size(-1), most = wpe->num_embeddings;
  check<ValueError>(length <= most, [&] {
    return "GPT2Model: expected at most " + std::to_string(most) + " tokens, got " + std::to_string(length);
  });
  const Tensor places = arange(length, {.dtype = int64, .device = input_ids.device()});
  return ln_f(h(drop(wte(input_ids) + wpe(places))));
}

GPT2LMHeadModel::GPT2LMHeadModel(const Gpt2Options& o)
    : transformer(make<GPT2Model>(o)),
      lm_head(make<nn::Linear>(o.n_embd, o.vocab_size, nn::LinearOptions{.bias = false})) {
  lm_head->weight = transformer->wte->weight;
}

Tensor GPT2LMHeadModel::forward(const Tensor& input_ids) { return lm_head(transformer(input_ids)); }

Ref<GPT2LMHeadModel> gpt2(const Gpt2Options& o) { return make<GPT2LMHeadModel>(o); }

LSTMLanguageModel::LSTMLanguageModel(const LstmLanguageOptions& o)
    : tokens(make<nn::Embedding>(o.vocab_size, o.width)),
      lstm(make<nn::LSTM>(
          o.width, 2 * o.width,
          nn::RNNOptions{
              .num_layers = o.num_layers, .batch_first = true, .dropout = o.num_layers > 1 ? o.dropout : 0})),
      drop(make<nn::Dropout>(o.dropout)),
      head(make<nn::Linear>(2 * o.width, o.vocab_size)) {}

Tensor LSTMLanguageModel::forward(const Tensor& ids) { return head(drop(lstm(tokens(ids)).first)); }

nn::StateDict published_names(const nn::StateDict& published) {
  const bool bare = published.contains("wte.weight");
  nn::StateDict out;
  for (const auto& [name, tensor] : published) {
    if (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias")) continue;
    std::string here = replaced(replaced(name, ".mlp.linear_1.", ".mlp.0."), ".mlp.linear_2.", ".mlp.3.");
    if (bare && !here.starts_with("lm_head.")) here = "transformer." + here;
    out.set(here, tensor);
  }
  const std::string tied = "transformer.wte.weight";
  if (out.contains(tied) && !out.contains("lm_head.weight")) out.set("lm_head.weight", out.at(tied));
  return out;
}

}  // namespace neura::models

#include "cli/zoo.h"

#include "neura/nn/activation.h"
#include "neura/nn/conv.h"
#include "neura/nn/dropout.h"
#include "neura/nn/embedding.h"
#include "neura/nn/init.h"
#include "neura/nn/linear.h"
#include "neura/nn/norm.h"
#include "neura/nn/pool.h"
#include "neura/nn/recurrent.h"
#include "neura/nn/transformer.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"

namespace neura::cli {
namespace {

constexpr double kFirstDeviation = 0.02;  // of GPT's embeddings

// Two convolutions, and what goes around them.
struct ResidualBlock final : nn::Module {
  ResidualBlock(std::int64_t in, std::int64_t out, std::int64_t stride)
      : conv1(in, out, 3, {.stride = stride, .padding = 1, .bias = false}),
        bn1(out),
        conv2(out, out, 3, {.padding = 1, .bias = false}),
        bn2(out) {
    if (stride == 1 && in == out) return;
    downsample.append(nn::Conv2d(in, out, 1, {.stride = stride, .bias = false}));
    downsample.append(nn::BatchNorm2d(out));
  }
  Tensor forward(const Tensor& x) {
    const Tensor y = bn2(conv2(relu(bn1(conv1(x)))));
    return relu(y + (downsample.empty() ? x : downsample(x)));
  }
  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  nn::Sequential downsample;
  NEURA_MODULE(ResidualBlock, conv1, bn1, conv2, bn2, downsample)
};

struct LstmLanguage final : nn::Module {
  explicit LstmLanguage(const LanguageOptions& o)
      : tokens(o.vocabulary, o.width),
        lstm(o.width, 2 * o.width,
             {.num_layers = o.layers, .batch_first = true, .dropout = o.layers > 1 ? o.dropout : 0}),
        drop(o.dropout),
        head(2 * o.width, o.vocabulary) {}
  Tensor forward(const Tensor& ids) { return head(drop(lstm(tokens(ids)).first)); }
  nn::Embedding tokens;
  nn::LSTM lstm;
  nn::Dropout drop;
  nn::Linear head;
  NEURA_MODULE(LstmLanguage, tokens, lstm, drop, head)
};

std::vector<Ref<nn::Module>> blocks_of(const LanguageOptions& o) {
  std::vector<Ref<nn::Module>> all;
  for (std::int64_t i = 0; i < o.layers; ++i)
    all.push_back(nn::make<nn::TransformerEncoderLayer>(o.width, o.heads,
                                                        nn::TransformerLayerOptions{.dim_feedforward = 4 * o.width,
                                                                                    .dropout = o.dropout,
                                                                                    .activation = "gelu",
                                                                                    .batch_first = true,
                                                                                    .norm_first = true}));
  return all;
}

struct Gpt final : nn::Module {
  explicit Gpt(const LanguageOptions& o)
      : tokens(o.vocabulary, o.width),
        positions(o.context, o.width),
        drop(o.dropout),
        blocks(blocks_of(o), nn::make<nn::LayerNorm>(Shape{o.width})),
        head(o.width, o.vocabulary, {.bias = false}) {
    nn::init::normal_(tokens.weight, 0, kFirstDeviation);
    nn::init::normal_(positions.weight, 0, kFirstDeviation);
  }
  Tensor forward(const Tensor& ids) {
    const std::int64_t length = ids.size(1);
    const Tensor places = arange(length, {.dtype = int64, .device = ids.device()});
    const Tensor mask = nn::Transformer::generate_square_subsequent_mask(length, ids.device());
    return head(blocks(drop(tokens(ids) + positions(places)), mask, Tensor(), std::optional<bool>(true)));
  }
  nn::Embedding tokens, positions;
  nn::Dropout drop;
  nn::TransformerEncoder blocks;
  nn::Linear head;
  NEURA_MODULE(Gpt, tokens, positions, drop, blocks, head)
};

}  // namespace

Ref<nn::Sequential> make_mlp(const MlpOptions& o) {
  auto net = nn::make<nn::Sequential>(nn::Flatten());
  std::int64_t width = o.inputs;
  for (std::int64_t i = 0; i < o.layers; ++i, width = o.hidden) {
    net->append(nn::Linear(width, o.hidden));
    net->append(nn::ReLU());
    net->append(nn::Dropout(o.dropout));
  }
  net->append(nn::Linear(width, o.outputs));
  return net;
}

Ref<nn::Sequential> make_lenet(std::int64_t size, std::int64_t classes) {
  const std::int64_t side = (size / 2 - 4) / 2;
  return nn::make<nn::Sequential>(nn::Conv2d(3, 6, 5, {.padding = 2}), nn::ReLU(), nn::MaxPool2d(2),
                                  nn::Conv2d(6, 16, 5), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(),
                                  nn::Linear(16 * side * side, 120), nn::ReLU(), nn::Linear(120, 84), nn::ReLU(),
                                  nn::Linear(84, classes));
}

Ref<nn::Sequential> make_resnet18(std::int64_t classes) {
  auto net =
      nn::make<nn::Sequential>(nn::Conv2d(3, 64, 3, {.padding = 1, .bias = false}), nn::BatchNorm2d(64), nn::ReLU());
  std::int64_t in = 64;
  for (const std::int64_t out : {64, 128, 256, 512}) {
    net->append(ResidualBlock(in, out, in == out ? 1 : 2));
    net->append(ResidualBlock(out, out, 1));
    in = out;
  }
  net->append(nn::AdaptiveAvgPool2d(1));
  net->append(nn::Flatten());
  net->append(nn::Linear(512, classes));
  return net;
}

Ref<nn::Sequential> make_lstm(const LanguageOptions& o) { return nn::make<nn::Sequential>(LstmLanguage(o)); }
Ref<nn::Sequential> make_gpt(const LanguageOptions& o) { return nn::make<nn::Sequential>(Gpt(o)); }

}  // namespace neura::cli

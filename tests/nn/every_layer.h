// Every layer and loss, and a batch for each: what holds for all of them is tested through this list.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "neura/nn/nn.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {

struct LayerCase {
  std::string name;
  std::function<Ref<nn::Module>()> make;
  std::function<std::vector<Tensor>(std::int64_t n)> batch;  // n samples, on the cpu
};

namespace layers {

using namespace nn;

// Numbers between 0.2 and 0.8, which every loss takes; whole numbers from `first` on, `bound` different ones.
inline Tensor some(const Shape& s, std::uint64_t seed = 1) {
  return sample(s, float32, {.low = 0.2, .high = 0.8, .seed = seed});
}
inline Tensor whole(const Shape& s, std::int64_t bound, std::int64_t first = 0) {
  std::int64_t i = 0;
  return from_loop(s, int64, [&](const Shape&) { return first + i++ % bound; });
}
inline Tensor signs(const Shape& s) {
  std::int64_t i = 0;
  return from_loop(s, float32, [&](const Shape&) { return i++ % 2 ? 1.0 : -1.0; });
}

template <class M, class... A> LayerCase on(const char* name, const Shape& sample_size, A... a) {
  return {name, [=] { return Ref<Module>(make<M>(a...)); },
          [sample_size](std::int64_t n) {
            Shape s{n};
            for (const std::int64_t size : sample_size) s.push_back(size);
            return std::vector<Tensor>{some(s)};
          }};
}
#define ON(Name, sample_size, ...) on<Name>(#Name, Shape sample_size __VA_OPT__(, ) __VA_ARGS__)
using Batch = std::vector<Tensor>;
#define WITH(Name, arguments, ...)                                                                             \
  LayerCase {                                                                                                  \
#Name, [] { return Ref<Module>(make<Name> arguments); }, [](std::int64_t n) { return Batch{__VA_ARGS__}; } \
  }

inline void add_plain(std::vector<LayerCase>& all) {
#define ACTIVATION(Name, function) all.push_back(on<Name>(#Name, Shape{3, 4}));
#define ACTIVATION_INPLACE(Name, function) ACTIVATION(Name, function)
#define ACTIVATION_WITH(Name, function, fields) ACTIVATION(Name, function)
#define ACTIVATION_INPLACE_WITH(Name, function, fields) ACTIVATION(Name, function)
#include "neura/nn/activations.def"
#undef ACTIVATION
#undef ACTIVATION_INPLACE
#undef ACTIVATION_WITH
#undef ACTIVATION_INPLACE_WITH
  for (const LayerCase& c : {ON(GELU, ({3})),
                             ON(GLU, ({4})),
                             ON(Threshold, ({3}), 0.1, 20.0),
                             WITH(PReLU, (PReluOptions{.num_parameters = 3}), some({n, 3, 2})),
                             ON(RReLU, ({3})),
                             ON(Softmax, ({3}), 1),
                             ON(LogSoftmax, ({3}), 1),
                             ON(Softmin, ({3}), 1),
                             ON(Softmax2d, ({3, 2, 2})),
                             ON(Dropout, ({3})),
                             ON(Dropout1d, ({3, 2})),
                             ON(Dropout2d, ({3, 2, 2})),
                             ON(Dropout3d, ({3, 2, 2, 2})),
                             ON(AlphaDropout, ({3})),
                             ON(FeatureAlphaDropout, ({3, 2})),
                             ON(Linear, ({4}), 4, 3),
                             ON(Identity, ({4})),
                             ON(Flatten, ({2, 3})),
                             ON(PixelShuffle, ({4, 2, 2}), 2),
                             ON(PixelUnshuffle, ({1, 4, 4}), 2),
                             ON(ChannelShuffle, ({4, 2, 2}), 2),
                             ON(LocalResponseNorm, ({4, 3, 3}), 2),
                             ON(CrossMapLRN2d, ({4, 3, 3}), 2)})
    all.push_back(c);
}
template <class M> LayerCase padding(const char* name, int dims) {
  Shape s{2};
  for (int k = 0; k < dims; ++k) s.push_back(4);
  return on<M>(name, s, Dims(1));
}
template <class M> LayerCase constant(const char* name, int dims) {
  LayerCase c = padding<ZeroPad1d>(name, dims);
  c.make = [] { return Ref<Module>(make<M>(Dims(1), 2.0)); };
  return c;
}
#define IN_DIMS(rank, ...)                                                                                       \
  for (const LayerCase& c :                                                                                      \
       {ON(Conv##rank##d, ({2, __VA_ARGS__}), 2, 3, 2), ON(ConvTranspose##rank##d, ({2, __VA_ARGS__}), 2, 3, 2), \
        ON(MaxPool##rank##d, ({2, __VA_ARGS__}), 2), ON(AvgPool##rank##d, ({2, __VA_ARGS__}), 2),                \
        ON(LPPool##rank##d, ({2, __VA_ARGS__}), 2, 2), ON(AdaptiveAvgPool##rank##d, ({2, __VA_ARGS__}), 2),      \
        ON(AdaptiveMaxPool##rank##d, ({2, __VA_ARGS__}), 2), ON(BatchNorm##rank##d, ({2, __VA_ARGS__}), 2),      \
        ON(InstanceNorm##rank##d, ({2, __VA_ARGS__}), 2), padding<ZeroPad##rank##d>("ZeroPad" #rank "d", rank),  \
        padding<ReflectionPad##rank##d>("ReflectionPad" #rank "d", rank),                                        \
        padding<ReplicationPad##rank##d>("ReplicationPad" #rank "d", rank),                                      \
        padding<CircularPad##rank##d>("CircularPad" #rank "d", rank),                                            \
        constant<ConstantPad##rank##d>("ConstantPad" #rank "d", rank)})                                          \
    all.push_back(c);
inline void add_spatial(std::vector<LayerCase>& all) {
  IN_DIMS(1, 4)
  IN_DIMS(2, 4, 4)
  IN_DIMS(3, 4, 4, 4)
  for (const LayerCase& c :
       {WITH(BatchNorm2d, (2, BatchNormOptions{.momentum = std::nullopt}), some({n, 2, 3, 3})),
        ON(GroupNorm, ({4, 3}), 2, 4), ON(LayerNorm, ({3}), Dims(3)), ON(RMSNorm, ({3}), Dims(3)),
        WITH(MaxUnpool1d, (2), some({n, 1, 2}), whole({n, 1, 2}, 2)),
        WITH(MaxUnpool2d, (2), some({n, 1, 1, 2}), whole({n, 1, 1, 2}, 2)),
        WITH(MaxUnpool3d, (2), some({n, 1, 1, 1, 2}), whole({n, 1, 1, 1, 2}, 2)),
        WITH(FractionalMaxPool2d, (2, FractionalMaxPoolOptions{.output_size = 2}), some({n, 1, 4, 4})),
        WITH(FractionalMaxPool3d, (2, FractionalMaxPoolOptions{.output_size = 2}), some({n, 1, 4, 4, 4})),
        WITH(Upsample, (UpsampleOptions{.scale_factor = {2}}), some({n, 2, 3})),
        WITH(UpsamplingNearest2d, (PerDim(4)), some({n, 2, 3, 3})),
        WITH(UpsamplingBilinear2d, (PerDim(4)), some({n, 2, 3, 3})), WITH(Unfold, (2), some({n, 2, 3, 3})),
        WITH(Fold, (3, 2), some({n, 4, 4}))})
    all.push_back(c);
}
inline TransformerLayerOptions tiny() { return {.dim_feedforward = 3}; }
inline void add_networks(std::vector<LayerCase>& all) {
  for (const LayerCase& c : {
           WITH(Bilinear, (2, 3, 2), some({n, 2}), some({n, 3}, 2)),
           WITH(Embedding, (5, 2), whole({n, 3}, 5)),
           WITH(EmbeddingBag, (5, 2), whole({n, 3}, 5)),
           WITH(RNN, (2, 3), some({3, n, 2})),
           WITH(GRU, (2, 3), some({3, n, 2})),
           WITH(LSTM, (2, 3), some({3, n, 2})),
           WITH(RNNCell, (2, 3), some({n, 2})),
           WITH(GRUCell, (2, 3), some({n, 2})),
           WITH(LSTMCell, (2, 3), some({n, 2})),
           WITH(MultiheadAttention, (4, 2), some({3, n, 4}), some({2, n, 4}, 2), some({2, n, 4}, 3)),
           WITH(TransformerEncoderLayer, (4, 2, tiny()), some({3, n, 4})),
           WITH(TransformerDecoderLayer, (4, 2, tiny()), some({3, n, 4}), some({2, n, 4}, 2)),
           WITH(Transformer, (4, 2, TransformerOptions{tiny(), 1, 1}), some({3, n, 4}), some({2, n, 4}, 2)),
           WITH(PositionalEncoding, (4, PositionalEncodingOptions{.max_len = 5}), some({3, n, 4})),
           WITH(CosineSimilarity, (), some({n, 3}), some({n, 3}, 2)),
           WITH(PairwiseDistance, (), some({n, 3}), some({n, 3}, 2)),
           WITH(AdaptiveLogSoftmaxWithLoss, (4, 6, std::vector<std::int64_t>{2, 4}), some({n, 4}), whole({n}, 6)),
           WITH(CTCLoss, (), some({4, n, 3}), whole({n, 2}, 2, 1), whole({n}, 1, 4), whole({n}, 1, 2)),
       })
    all.push_back(c);
}
inline Batch batch_of_loss(const std::string& name, std::int64_t n) {
  const Tensor x = some({n, 3}), y = some({n, 3}, 2);
  if (name == "CrossEntropyLoss" || name == "NLLLoss" || name == "MultiMarginLoss") return {x, whole({n}, 3)};
  if (name == "MultiLabelMarginLoss") return {x, whole({n, 3}, 4, -1)};
  if (name == "HingeEmbeddingLoss" || name == "SoftMarginLoss") return {x, signs({n, 3})};
  if (name == "MarginRankingLoss") return {some({n}), some({n}, 2), signs({n})};
  if (name == "CosineEmbeddingLoss") return {x, y, signs({n})};
  if (name == "GaussianNLLLoss" || name == "TripletMarginLoss") return {x, y, some({n, 3}, 3)};
  return {x, y};
}
inline void add_losses(std::vector<LayerCase>& all) {
#define LOSS(Name, ...) \
  all.push_back(        \
      {#Name, [] { return Ref<Module>(make<Name>()); }, [](std::int64_t n) { return batch_of_loss(#Name, n); }});
#define LOSS3(Name, ...) LOSS(Name, __VA_ARGS__)
#include "neura/nn/losses.def"
}
#undef ON
#undef WITH
#undef IN_DIMS
}  // namespace layers

inline std::vector<LayerCase> layer_cases() {
  std::vector<LayerCase> all;
  layers::add_plain(all), layers::add_spatial(all), layers::add_networks(all), layers::add_losses(all);
  return all;
}

// Results of a layer in a list, and those of them that have a derivative.
inline void flatten_into(const nn::Value& v, std::vector<Tensor>& out) {
  if (const Tensor* t = v.get<Tensor>()) out.push_back(*t);
  else if (const nn::List* l = v.get<nn::List>())
    for (const nn::Value& e : l->items) flatten_into(e, out);
}
inline std::vector<Tensor> results_of(nn::Module& layer, const std::vector<Tensor>& batch) {
  nn::Args args;
  for (const Tensor& t : batch) args.positional.emplace_back(t);
  std::vector<Tensor> out;
  flatten_into(layer.call(args), out);
  return out;
}
inline std::vector<Tensor> differentiable_of(const std::vector<Tensor>& all) {
  std::vector<Tensor> some;
  for (const Tensor& t : all)
    if (t && t.requires_grad()) some.push_back(t);
  return some;
}

}  // namespace neura::test

// Every layer against PyTorch's stored module cases: results, gradients of inputs and parameters, state afterwards.
#include "tests/support/conformance.h"

#include <gtest/gtest.h>

#include "neura/autograd/autograd.h"
#include "neura/nn/nn.h"

namespace neura::nn {
namespace {

using Stored = test::Value;

struct Arguments {  // of a constructor
  const Stored &positional, &named;
  const Stored& at(int i, const char* name) const {
    return std::size_t(i) < positional.items.size() ? positional.items[std::size_t(i)] : named[name];
  }
  std::int64_t integer(int i, const char* name, std::int64_t fallback = 0) const {
    return at(i, name) ? at(i, name).scalar.integer() : fallback;
  }
  double number(int i, const char* name, double fallback = 0) const {
    return at(i, name) ? at(i, name).scalar.real() : fallback;
  }
  bool flag(int i, const char* name, bool fallback) const {
    return at(i, name) ? at(i, name).scalar.integer() != 0 : fallback;
  }
  Tensor tensor(int i, const char* name) const { return at(i, name).data; }
  PerDim dims(int i, const char* name, PerDim fallback = {}) const {
    const Stored& v = at(i, name);
    if (!v) return fallback;
    if (v.is_number()) return v.scalar.integer();
    PerDim out;
    for (const Stored& e : v.items) out.push_back(e ? e.scalar.integer() : kKeepSize);
    return out;
  }
  Reduction reduction(int i = -1) const {
    const Stored& v = i >= 0 ? at(i, "reduction") : named["reduction"];
    return v && v.word != "batchmean" ? to_reduction(v.word) : Reduction::mean;
  }
};
using Make = Ref<Module> (*)(const Arguments&);

template <class M> Ref<Module> plain(const Arguments&) { return make<M>(); }
template <class M> Ref<Module> one_number(const Arguments& a) {
  return a.positional.items.empty() && a.named.items.empty() ? make<M>() : make<M>(a.number(0, "alpha"));
}
template <class M> Ref<Module> softmax_like(const Arguments& a) { return make<M>(int(a.integer(0, "dim"))); }
template <class M> Ref<Module> conv(const Arguments& a) {
  ConvOptions o{.stride = a.dims(3, "stride", 1),
                .dilation = a.dims(5, "dilation", 1),
                .groups = a.integer(6, "groups", 1),
                .bias = a.flag(7, "bias", true)};
  const Stored& padding = a.at(4, "padding");
  if (padding) o.padding = padding.kind == Stored::text ? Padding(padding.word) : Padding(Shape(a.dims(4, "padding")));
  if (a.named["padding_mode"]) o.padding_mode = a.named["padding_mode"].word;
  return make<M>(a.integer(0, "in_channels"), a.integer(1, "out_channels"), a.dims(2, "kernel_size"), o);
}
template <class M> Ref<Module> conv_transpose(const Arguments& a) {
  return make<M>(a.integer(0, "in_channels"), a.integer(1, "out_channels"), a.dims(2, "kernel_size"));
}
template <class M> Ref<Module> max_pool(const Arguments& a) {
  return make<M>(a.dims(0, "kernel_size"), MaxPoolOptions{.stride = a.dims(1, "stride"),
                                                          .padding = a.dims(2, "padding", 0),
                                                          .return_indices = a.flag(9, "return_indices", false)});
}
template <class M> Ref<Module> avg_pool(const Arguments& a) {
  AvgPoolOptions o{.stride = a.dims(1, "stride"), .padding = a.dims(2, "padding", 0)};
  if (a.named["divisor_override"]) o.divisor_override = a.integer(9, "divisor_override");
  return make<M>(a.dims(0, "kernel_size"), o);
}
template <class M> Ref<Module> lp_pool(const Arguments& a) {
  return make<M>(a.number(0, "norm_type"), a.dims(1, "kernel_size"), LpPoolOptions{.stride = a.dims(2, "stride")});
}
template <class M> Ref<Module> recurrent(const Arguments& a) {
  RNNOptions o{.num_layers = a.integer(2, "num_layers", 1),
               .bias = a.flag(-1, "bias", true),
               .batch_first = a.flag(-1, "batch_first", false),
               .dropout = a.number(-1, "dropout", 0),
               .bidirectional = a.flag(-1, "bidirectional", false),
               .proj_size = a.integer(-1, "proj_size", 0)};
  if (a.named["nonlinearity"]) o.nonlinearity = a.named["nonlinearity"].word;
  return make<M>(a.integer(0, "input_size"), a.integer(1, "hidden_size"), o);
}
template <class M> Ref<Module> cell(const Arguments& a) {
  RNNCellOptions o{.bias = a.flag(2, "bias", true)};
  if (a.named["nonlinearity"]) o.nonlinearity = a.named["nonlinearity"].word;
  return make<M>(a.integer(0, "input_size"), a.integer(1, "hidden_size"), o);
}
TransformerLayerOptions layer_options(const Arguments& a) {
  return {.dim_feedforward = a.integer(2, "dim_feedforward"),
          .dropout = a.number(3, "dropout"),
          .batch_first = a.flag(9, "batch_first", false),
          .norm_first = a.flag(9, "norm_first", false),
          .bias = a.flag(9, "bias", true)};
}
template <class M> Ref<Module> transformer_layer(const Arguments& a) {
  return make<M>(a.integer(0, "d_model"), a.integer(1, "nhead"), layer_options(a));
}
template <class M> Ref<Module> adaptive(const Arguments& a) { return make<M>(a.dims(0, "output_size")); }
template <class M> Ref<Module> batch_norm(const Arguments& a) {
  BatchNormOptions o{.eps = a.number(1, "eps", 1e-5),
                     .affine = a.flag(3, "affine", true),
                     .track_running_stats = a.flag(4, "track_running_stats", true)};
  if (a.positional.items.size() > 2) {
    if (const Stored& m = a.positional.items[2]) o.momentum = m.scalar.real();
    else o.momentum = std::nullopt;
  }
  return make<M>(a.integer(0, "num_features"), o);
}
template <class M> Ref<Module> instance_norm(const Arguments& a) {
  return make<M>(a.integer(0, "num_features"),
                 InstanceNormOptions{.eps = a.number(1, "eps"), .momentum = a.number(2, "m")});
}
template <class M> Ref<Module> pad_like(const Arguments& a) { return make<M>(Dims(Shape(a.dims(0, "padding")))); }
template <class M> Ref<Module> constant_pad(const Arguments& a) {
  return make<M>(Dims(Shape(a.dims(0, "padding"))), a.number(1, "value"));
}
template <class M, class O> Ref<Module> loss(const Arguments& a) {
  O o;
  if constexpr (requires { o.weight; }) o.weight = a.tensor(99, "weight");
  if constexpr (requires { o.margin; }) o.margin = a.number(99, "margin", o.margin);
  if constexpr (requires { o.full; }) o.full = a.flag(99, "full", o.full);
  if constexpr (requires { o.log_input; }) o.log_input = a.flag(99, "log_input", o.log_input);
  if constexpr (requires { o.log_target; }) {
    o.log_target = a.flag(99, "log_target", false);
    o.batchmean = a.named["reduction"] && a.named["reduction"].word == "batchmean";
  }
  if constexpr (std::is_same_v<M, MultiMarginLoss>) o.p = int(a.integer(99, "p", 1));
  o.reduction = a.reduction();
  return make<M>(o);
}

#define LOSS(Name, ...) {#Name, loss<Name, Name##Options>},
#define LOSS3(Name, ...) {#Name, loss<Name, Name##Options>},
const std::vector<std::pair<std::string, Make>> kLayers = {
#include "neura/nn/losses.def"
    {"Linear",
     [](const Arguments& a) -> Ref<Module> {
       return make<Linear>(a.integer(0, "in"), a.integer(1, "out"), LinearOptions{.bias = a.flag(2, "bias", true)});
     }},
    {"ReLU", plain<ReLU>},
    {"ReLU6", plain<ReLU6>},
    {"SELU", plain<SELU>},
    {"SiLU", plain<SiLU>},
    {"Mish", plain<Mish>},
    {"Sigmoid", plain<Sigmoid>},
    {"Tanh", plain<Tanh>},
    {"Softsign", plain<Softsign>},
    {"Tanhshrink", plain<Tanhshrink>},
    {"LogSigmoid", plain<LogSigmoid>},
    {"Hardswish", plain<Hardswish>},
    {"Hardtanh", plain<Hardtanh>},
    {"Softmax2d", plain<Softmax2d>},
    {"PReLU", plain<PReLU>},
    {"LeakyReLU", one_number<LeakyReLU>},
    {"ELU", one_number<ELU>},
    {"CELU", one_number<CELU>},
    {"Hardshrink", one_number<Hardshrink>},
    {"Softshrink", one_number<Softshrink>},
    {"Softplus",
     [](const Arguments& a) -> Ref<Module> {
       return make<Softplus>(a.number(0, "beta", 1), a.number(1, "threshold", 20));
     }},
    {"Threshold",
     [](const Arguments& a) -> Ref<Module> { return make<Threshold>(a.number(0, "t"), a.number(1, "v")); }},
    {"GELU", [](const Arguments&) -> Ref<Module> { return make<GELU>(); }},
    {"GLU", [](const Arguments& a) -> Ref<Module> { return make<GLU>(int(a.integer(0, "dim", -1))); }},
    {"Bilinear",
     [](const Arguments& a) -> Ref<Module> {
       return make<Bilinear>(a.integer(0, "in1"), a.integer(1, "in2"), a.integer(2, "out"),
                             LinearOptions{.bias = a.flag(3, "bias", true)});
     }},
    {"Softmax", softmax_like<Softmax>},
    {"LogSoftmax", softmax_like<LogSoftmax>},
    {"Softmin", softmax_like<Softmin>},
    {"Conv1d", conv<Conv1d>},
    {"Conv2d", conv<Conv2d>},
    {"Conv3d", conv<Conv3d>},
    {"ConvTranspose1d", conv_transpose<ConvTranspose1d>},
    {"ConvTranspose2d", conv_transpose<ConvTranspose2d>},
    {"ConvTranspose3d", conv_transpose<ConvTranspose3d>},
    {"MaxPool1d", max_pool<MaxPool1d>},
    {"MaxPool2d", max_pool<MaxPool2d>},
    {"MaxPool3d", max_pool<MaxPool3d>},
    {"AvgPool1d", avg_pool<AvgPool1d>},
    {"AvgPool2d", avg_pool<AvgPool2d>},
    {"AvgPool3d", avg_pool<AvgPool3d>},
    {"AdaptiveAvgPool1d", adaptive<AdaptiveAvgPool1d>},
    {"AdaptiveAvgPool2d", adaptive<AdaptiveAvgPool2d>},
    {"AdaptiveAvgPool3d", adaptive<AdaptiveAvgPool3d>},
    {"AdaptiveMaxPool1d", adaptive<AdaptiveMaxPool1d>},
    {"AdaptiveMaxPool2d", adaptive<AdaptiveMaxPool2d>},
    {"AdaptiveMaxPool3d", adaptive<AdaptiveMaxPool3d>},
    {"BatchNorm1d", batch_norm<BatchNorm1d>},
    {"BatchNorm2d", batch_norm<BatchNorm2d>},
    {"BatchNorm3d", batch_norm<BatchNorm3d>},
    {"InstanceNorm1d", instance_norm<InstanceNorm1d>},
    {"InstanceNorm2d", instance_norm<InstanceNorm2d>},
    {"InstanceNorm3d", instance_norm<InstanceNorm3d>},
    {"LayerNorm",
     [](const Arguments& a) -> Ref<Module> {
       return make<LayerNorm>(Dims(Shape(a.dims(0, "s"))),
                              LayerNormOptions{.eps = a.number(1, "eps"),
                                               .elementwise_affine = a.flag(2, "elementwise_affine", true),
                                               .bias = a.flag(3, "bias", true)});
     }},
    {"RMSNorm",
     [](const Arguments& a) -> Ref<Module> {
       return make<RMSNorm>(Dims(Shape(a.dims(0, "s"))),
                            RmsNormOptions{.eps = a.number(1, "eps"), .elementwise_affine = a.flag(2, "e", true)});
     }},
    {"GroupNorm",
     [](const Arguments& a) -> Ref<Module> {
       return make<GroupNorm>(a.integer(0, "g"), a.integer(1, "c"),
                              GroupNormOptions{.eps = a.number(2, "eps"), .affine = a.flag(3, "affine", true)});
     }},
    {"LocalResponseNorm",
     [](const Arguments& a) -> Ref<Module> {
       return make<LocalResponseNorm>(a.integer(0, "size"), a.number(1, "alpha", 1e-4), a.number(2, "beta", 0.75),
                                      a.number(3, "k", 1));
     }},
    {"CTCLoss",
     [](const Arguments& a) -> Ref<Module> { return make<CTCLoss>(CtcLossOptions{.reduction = a.reduction()}); }},
    {"Embedding",
     [](const Arguments& a) -> Ref<Module> {
       return make<Embedding>(a.integer(0, "num_embeddings"), a.integer(1, "embedding_dim"));
     }},
    {"ZeroPad1d", pad_like<ZeroPad1d>},
    {"ZeroPad2d", pad_like<ZeroPad2d>},
    {"ZeroPad3d", pad_like<ZeroPad3d>},
    {"ReflectionPad1d", pad_like<ReflectionPad1d>},
    {"ReflectionPad2d", pad_like<ReflectionPad2d>},
    {"ReflectionPad3d", pad_like<ReflectionPad3d>},
    {"ReplicationPad1d", pad_like<ReplicationPad1d>},
    {"ReplicationPad2d", pad_like<ReplicationPad2d>},
    {"ReplicationPad3d", pad_like<ReplicationPad3d>},
    {"CircularPad1d", pad_like<CircularPad1d>},
    {"CircularPad2d", pad_like<CircularPad2d>},
    {"CircularPad3d", pad_like<CircularPad3d>},
    {"ConstantPad1d", constant_pad<ConstantPad1d>},
    {"ConstantPad2d", constant_pad<ConstantPad2d>},
    {"ConstantPad3d", constant_pad<ConstantPad3d>},
    {"LPPool1d", lp_pool<LPPool1d>},
    {"LPPool2d", lp_pool<LPPool2d>},
    {"LPPool3d", lp_pool<LPPool3d>},
    {"TransformerEncoderLayer", transformer_layer<TransformerEncoderLayer>},
    {"TransformerDecoderLayer", transformer_layer<TransformerDecoderLayer>},
    {"Transformer",
     [](const Arguments& a) -> Ref<Module> {
       return make<Transformer>(a.integer(0, "d_model"), a.integer(1, "nhead"),
                                TransformerOptions{layer_options(a), a.integer(9, "num_encoder_layers"),
                                                   a.integer(9, "num_decoder_layers")});
     }},
    {"RNN", recurrent<RNN>},
    {"GRU", recurrent<GRU>},
    {"LSTM", recurrent<LSTM>},
    {"RNNCell", cell<RNNCell>},
    {"GRUCell", cell<GRUCell>},
    {"LSTMCell", cell<LSTMCell>},
    {"MultiheadAttention",
     [](const Arguments& a) -> Ref<Module> {
       return make<MultiheadAttention>(a.integer(0, "embed_dim"), a.integer(1, "num_heads"),
                                       MultiheadAttentionOptions{.bias = a.flag(9, "bias", true),
                                                                 .add_bias_kv = a.flag(9, "add_bias_kv", false),
                                                                 .add_zero_attn = a.flag(9, "add_zero_attn", false),
                                                                 .batch_first = a.flag(9, "batch_first", false)});
     }},
};
#undef LOSS
#undef LOSS3

nn::Value boxed(const Stored& v, std::vector<Tensor>& leaves) {
  switch (v.kind) {
    case Stored::boolean:
      return v.scalar.integer() != 0;
    case Stored::integer:
      return v.scalar.integer();
    case Stored::real:
      return v.scalar.real();
    case Stored::text:
      return v.word;
    case Stored::tensor: {
      if (!v.grad) return v.data;
      leaves.push_back(v.data.detach().requires_grad_());
      return leaves.back();
    }
    default: {
      List l;
      for (const Stored& e : v.items) l.items.push_back(boxed(e, leaves));
      return v.items.empty() ? nn::Value() : nn::Value(std::move(l));
    }
  }
}

void flat(const nn::Value& v, std::vector<Tensor>& out) {
  if (const Tensor* t = v.get<Tensor>()) out.push_back(*t);
  else if (const List* l = v.get<List>())
    for (const nn::Value& e : l->items) flat(e, out);
}
void flat(const Stored& v, std::vector<Tensor>& out) {
  if (v.kind == Stored::tensor) out.push_back(v.data);
  for (const Stored& e : v.items) flat(e, out);
}

void judge(const Stored& c, Make make_layer) {
  const Ref<Module> m = make_layer({c["ctor_args"], c["ctor_kwargs"]});
  m->float64();
  StateDict state;
  for (std::size_t i = 0; i < c["state"].keys.size(); ++i) state.append(c["state"].keys[i], c["state"].items[i].data);
  m->load_state_dict(state);
  EXPECT_EQ(m->state_dict().keys(), state.keys());
  m->train(c["training"].scalar.integer() != 0);

  std::vector<Tensor> leaves, got, want;
  Args args;
  for (const Stored& v : c["args"].items) args.positional.push_back(boxed(v, leaves));
  for (std::size_t i = 0; i < c["kwargs"].keys.size(); ++i)
    args.named.emplace_back(c["kwargs"].keys[i], boxed(c["kwargs"].items[i], leaves));
  flat(m->call(args), got), flat(c["output"], want);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    test::expect_close(got[i].detach(), want[i], test::tolerance(want[i].dtype()));

  if (c["cotangents"]) {
    std::vector<Tensor> outputs, inputs = leaves, cotangents;
    for (const Tensor& t : got)
      if (t.requires_grad()) outputs.push_back(t);
    for (const Stored& v : c["cotangents"].items) cotangents.push_back(v.data);
    const auto named = m->named_parameters();
    for (const auto& [name, p] : named) inputs.push_back(p);
    const auto grads = grad(outputs, inputs, cotangents, {.allow_unused = true});
    auto compare = [&](const Tensor& g, const Stored& v, const std::string& name) {
      if (!v) return;
      SCOPED_TRACE("gradient of " + name);
      if (!g) ADD_FAILURE() << "missing";
      else test::expect_close(g, v.data, test::tolerance(v.data.dtype()).times(10));
    };
    for (std::size_t i = 0; i < leaves.size(); ++i) compare(grads[i], c["grads"].items[i], std::to_string(i));
    for (std::size_t i = 0; i < named.size(); ++i)
      compare(grads[leaves.size() + i], c["param_grads"][named[i].first], named[i].first);
  }
  for (std::size_t i = 0; i < c["state_after"].keys.size(); ++i)
    test::expect_close(m->state_dict().at(c["state_after"].keys[i]), c["state_after"].items[i].data);
}

// What holds for every layer, whatever it computes.
void judge_rules(const Stored& c, Make make_layer) {
  const Ref<Module> m = make_layer({c["ctor_args"], c["ctor_kwargs"]});
  for (const auto& [name, t] : m->named_parameters()) {
    EXPECT_TRUE(t.requires_grad() && t.is_leaf()) << name;
    EXPECT_EQ(t.dtype(), default_dtype()) << name;
    EXPECT_EQ(t.device(), m->device()) << name;
    EXPECT_TRUE(m->get_parameter(name).is_same(t)) << name;
    Tensor(t).set_grad(Tensor::empty(t.spec()).fill_(1));
  }
  m->zero_grad();
  for (const auto& [name, t] : m->named_parameters()) EXPECT_FALSE(t.grad().defined()) << name;
  const Ref<Module> copy = m->clone();
  EXPECT_EQ(copy->str(), m->str());
  EXPECT_EQ(m->str().rfind(m->type_name() + "(", 0), 0u);
  for (const auto& [name, t] : copy->named_parameters()) t.detach().fill_(2);
  copy->load_state_dict(m->state_dict());
  for (const auto& [name, t] : copy->named_parameters()) test::expect_same(t.detach(), m->get_parameter(name).detach());
  m->to(m->device(), DType::float64).eval();
  for (const auto& child : m->modules()) EXPECT_FALSE(child->is_training());
  for (const Tensor& t : m->buffers()) EXPECT_TRUE(t.dtype() == DType::float64 || t.dtype() == DType::int64);
}

class StoredLayer : public testing::TestWithParam<std::pair<std::string, Make>> {};
TEST_P(StoredLayer, AnswersLikeTorch) {
  const auto names = test::conformance_names("modules");
  if (std::find(names.begin(), names.end(), GetParam().first) == names.end()) GTEST_SKIP() << "nothing is stored";
  const auto cases = test::read_cases(GetParam().first, "modules");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i) + " " + cases[i]["desc"].word);
    try {
      judge(cases[i], GetParam().second);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
}
TEST_P(StoredLayer, FollowsTheCommonRules) {
  const auto names = test::conformance_names("modules");
  if (std::find(names.begin(), names.end(), GetParam().first) == names.end()) GTEST_SKIP() << "nothing is stored";
  for (const Stored& c : test::read_cases(GetParam().first, "modules")) judge_rules(c, GetParam().second);
}
INSTANTIATE_TEST_SUITE_P(Table, StoredLayer, testing::ValuesIn(kLayers), [](const auto& i) { return i.param.first; });

}  // namespace
}  // namespace neura::nn

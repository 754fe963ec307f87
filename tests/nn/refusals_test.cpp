// What layers, containers and their helpers refuse: every place that raises an error and that no other test reaches.
#include "tests/support/refusals.h"

#include "neura/neura.h"
#include "neura/nn/packed_sequence.h"
#include "neura/nn/pool_composed.h"
#include "neura/nn/transformer.h"

namespace neura::nn {
namespace {

using neura::test::expect_refusals;

Tensor f(const Shape& s) { return ones(s); }
Tensor whole(const Shape& s) { return zeros(s, {.dtype = int64}); }

TEST(RefusalsOfLayers, Convolutions) {
  expect_refusals<ValueError>({{"Conv2d: expected padding in numbers", [] { Conv2d(1, 1, 3, {.padding = "some"}); }},
                               {"Conv2d: expected padding_mode", [] { Conv2d(1, 1, 3, {.padding_mode = "some"}); }},
                               {"Conv2d: expected stride 1", [] { Conv2d(1, 1, 3, {.stride = 2, .padding = "same"}); }},
                               {"ConvTranspose2d: expected an output_size", [] {
                                  ConvTranspose2d(1, 1, 3).forward(f({1, 1, 4, 4}), Shape{9, 9});
                                }}});
  expect_refusals<ShapeError>({{"Conv2d: expected stride of 1 or 2 numbers",
                                [] {
                                  Conv2d(1, 1, 3, {.stride = {1, 1, 1}});
                                }},
                               {"ConvTranspose2d: expected output_size",
                                [] {
                                  ConvTranspose2d(1, 1, 3).forward(f({1, 1, 4, 4}), Shape{6});
                                }},
                               {"ConvTranspose2d: expected an input", [] {
                                  ConvTranspose2d(1, 1, 3).forward(f({4}), Shape{6, 6});
                                }}});
}
TEST(RefusalsOfLayers, OtherLayers) {
  expect_refusals<ValueError>(
      {{"GroupNorm: expected num_channels divisible", [] { GroupNorm(3, 4); }},
       {"MultiheadAttention: expected embed_dim divisible", [] { MultiheadAttention(5, 2); }},
       {"Pad2d: expected 1 or 4 amounts",
        [] {
          ZeroPad2d(Dims{1, 2, 3});
        }},
       {"Embedding: expected a padding_idx", [] { Embedding(3, 2, {.padding_idx = 3}); }},
       {"FractionalMaxPool2d: expected either", [] { FractionalMaxPool2d(2, {}); }},
       {"FractionalMaxPool2d: expected an output_ratio", [] { FractionalMaxPool2d(2, {.output_ratio = {1.5}}); }},
       {"FractionalMaxPool2d: expected one output_ratio or 2, got 3",
        [] {
          FractionalMaxPool2d(2, {.output_ratio = {0.5, 0.5, 0.5}});
        }},
       {"RNN: expected sizes", [] { RNN(3, 0); }},
       {"TransformerEncoderLayer: expected the activation",
        [] { TransformerEncoderLayer(4, 2, {.activation = "tanh"}); }},
       {"multi_head_attention: expected attn_mask with is_causal", [] {
          MultiheadAttention m(4, 2);
          const Tensor q = f({3, 4});
          m.forward(q, q, q, {}, true, {}, true, true);
        }}});
  expect_refusals<ShapeError>({{"Softmax2d: expected an input",
                                [] {
                                  Softmax2d().forward(f({2, 2}));
                                }},
                               {"BatchNorm2d: expected an input of 4",
                                [] {
                                  BatchNorm2d(2).forward(f({2, 2}));
                                }},
                               {"from_pretrained: expected a table", [] { Embedding::from_pretrained(f({3})); }},
                               {"from_pretrained: expected a table", [] { EmbeddingBag::from_pretrained(f({3})); }},
                               {"RNNCell: expected input of 1 or 2", [] { RNNCell(3, 4).forward(f({})); }},
                               {"multi_head_attention: expected query, key and value",
                                [] {
                                  MultiheadAttention m(4, 2);
                                  m.forward(f({3, 4}), f({2, 3, 4}), f({2, 3, 4}));
                                }},
                               {"multi_head_attention: expected a query of width 4",
                                [] {
                                  MultiheadAttention m(4, 2);
                                  m.forward(f({3, 5}), f({3, 4}), f({3, 4}));
                                }},
                               {"Transformer: expected src and tgt", [] {
                                  Transformer m(4, 2, {{.dim_feedforward = 4}, 1, 1});
                                  m.forward(f({2, 4}), f({2, 1, 4}));
                                }}});
}
TEST(RefusalsOfLayers, Containers) {
  expect_refusals<ValueError>(
      {{"ModuleList: expected a module", [] { ModuleList().append(Ref<Module>()); }},
       {"ModuleList: expected a module", [] { ModuleList(Linear(1, 1)).set(0, Ref<Module>()); }},
       {"ModuleDict: expected a module", [] { ModuleDict().insert("a", Ref<Module>()); }}});
  expect_refusals<IndexError>(
      {{"ParameterList: ", [] { ParameterList()[0]; }},
       {"state dict: expected a key", [] { StateDict().at("weight"); }},
       {"get_parameter: expected a parameter", [] { Linear(1, 1, {.bias = false}).get_parameter("bias"); }}});
  expect_refusals<DTypeError>({{"to: expected a floating or complex dtype", [] { Linear(1, 1).to(int64); }}});
}
TEST(RefusalsOfLayers, Parameters) {
  const Tensor leaf = f({2}).requires_grad_();
  expect_refusals<ValueError>(
      {{"set_data: expected two tensors", [&] { set_data(leaf, {}); }},
       {"set_data: expected a tensor of its own", [] { set_data(f({4}).narrow(0, 0, 2), f({2})); }},
       {"vector_to_parameters: expected a vector of 2", [&] { utils::vector_to_parameters(f({3}), {leaf}); }},
       {"trunc_normal_: expected std", [] { init::trunc_normal_(f({2}), 0, 0); }},
       {"dirac_: expected a first size",
        [] {
          init::dirac_(f({3, 1, 3}), 2);
        }},
       {"constant_: expected a tensor", [] { init::ones_({}); }}});
  expect_refusals<AutogradError>({{"set_data: expected a leaf", [&] { set_data(leaf * 2, f({2})); }}});
  expect_refusals<DTypeError>(
      {{"set_data: expected a floating or complex dtype", [&] { set_data(leaf, whole({2})); }}});
}
TEST(RefusalsOfLayers, PackedSequences) {
  using namespace utils::rnn;
  expect_refusals<ShapeError>(
      {{"unpad_sequence: expected a padded tensor", [] { unpad_sequence(f({3}), tensor({1})); }},
       {"pad_packed_sequence: expected 2 unsorted_indices", [] {
          PackedSequence p = pack_padded_sequence(f({3, 2, 1}), tensor({3, 1}));
          p.unsorted_indices = tensor({0});
          pad_packed_sequence(p);
        }}});
}

}  // namespace
}  // namespace neura::nn

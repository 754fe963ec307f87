// Transformer layers as Python classes.
#include "layers.h"

#include "neura/core/checked_int.h"
#include "neura/nn/positional.h"
#include "neura/nn/transformer.h"

namespace neura::python {
namespace {

using Integer = std::int64_t;

// 'relu', 'gelu', or one of the two functions.
std::string activation_of(const char* layer, nb::handle h) {
  if (PyUnicode_Check(h.ptr())) return nb::cast<std::string>(h);
  const nb::object name = nb::getattr(h, "__name__", nb::none());
  std::string text = PyUnicode_Check(name.ptr()) ? nb::cast<std::string>(name) : "";
  check<NotImplementedError>(text == "relu" || text == "gelu", [&] {
    return std::string(layer) + ": expected the activation 'relu', 'gelu' or one of these functions, got another " +
           Py_TYPE(h.ptr())->tp_name + "; write a layer of your own for it";
  });
  return text;
}

constexpr const char* kLayerArguments = R"(

d_model: the width of the sequences; nhead: heads of attention; dim_feedforward: the width in between
activation: 'relu', 'gelu' or one of these functions
batch_first: [N, L, d_model] instead of [L, N, d_model]
norm_first: normalise what goes into a part, not what comes out)";

template <class M> void bind_block(nb::module_& n, const char* doc) {
  const nn::TransformerLayerOptions o;
  bind_layer<M>(
      n, (std::string(doc) + kLayerArguments).c_str(),
      [](Integer d_model, Integer nhead, Integer dim_feedforward, double dropout, nb::handle activation, double eps,
         bool batch_first, bool norm_first, bool bias, AnyDevice device, AnyDType dtype) {
        return nn::make<M>(
            d_model, nhead,
            nn::TransformerLayerOptions{dim_feedforward, dropout, activation_of(M::class_name(), activation), eps,
                                        batch_first, norm_first, bias, device.value_or(default_device()), dtype});
      },
      "d_model"_a, "nhead"_a, "dim_feedforward"_a = o.dim_feedforward, "dropout"_a = o.dropout,
      "activation"_a = o.activation, "layer_norm_eps"_a = o.layer_norm_eps, "batch_first"_a = o.batch_first,
      "norm_first"_a = o.norm_first, "bias"_a = o.bias, NEURA_PLACE);
}

std::vector<Ref<nn::Module>> copies(const Ref<nn::Module>& layer, Integer count) {
  check<ValueError>(count >= 0,
                    [&] { return "Transformer: expected a number of layers from 0 up, got " + std::to_string(count); });
  check_room("Transformer", count, kTensorBytes);
  const nb::object deepcopy = nb::module_::import_("copy").attr("deepcopy"), one = nb::cast(layer);
  std::vector<Ref<nn::Module>> out;
  for (Integer i = 0; i < count; ++i) out.push_back(nb::cast<Ref<nn::Module>>(deepcopy(one)));
  return out;
}

void bind_stacks(nb::module_& n) {
  bind_layer<nn::TransformerEncoder>(
      n, R"(num_layers copies of encoder_layer, one after the other, and norm at the end.

forward(src, mask=None, src_key_padding_mask=None, is_causal=None); masks as MultiheadAttention takes them.)",
      [](const Ref<nn::Module>& layer, Integer count, const Ref<nn::Module>& norm, bool, bool) {
        return nn::make<nn::TransformerEncoder>(copies(layer, count), norm);
      },
      "encoder_layer"_a, "num_layers"_a, "norm"_a = nb::none(), "enable_nested_tensor"_a = true, "mask_check"_a = true);
  bind_layer<nn::TransformerDecoder>(
      n, R"(num_layers copies of decoder_layer, one after the other, and norm at the end.

forward(tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None).)",
      [](const Ref<nn::Module>& layer, Integer count, const Ref<nn::Module>& norm) {
        return nn::make<nn::TransformerDecoder>(copies(layer, count), norm);
      },
      "decoder_layer"_a, "num_layers"_a, "norm"_a = nb::none());
}

void bind_whole(nb::module_& n) {
  const nn::TransformerOptions given;
  const LayerType t = bind_layer<nn::Transformer>(
      n,
      (std::string("Encoder and decoder (Vaswani et al., 2017): forward(src, tgt, ...) -> like tgt.") + kLayerArguments)
          .c_str(),
      [](Integer d_model, Integer nhead, Integer encoders, Integer decoders, Integer dim_feedforward, double dropout,
         nb::handle activation, const Ref<nn::Module>& encoder, const Ref<nn::Module>& decoder, double eps,
         bool batch_first, bool norm_first, bool bias, AnyDevice device, AnyDType dtype) {
        const nn::TransformerLayerOptions o{
            dim_feedforward, dropout, activation_of("Transformer", activation), eps,  batch_first,
            norm_first,      bias,    device.value_or(default_device()),        dtype};
        return nn::make<nn::Transformer>(d_model, nhead,
                                         nn::TransformerOptions{o, encoders, decoders, encoder, decoder});
      },
      "d_model"_a = 512, "nhead"_a = 8, "num_encoder_layers"_a = given.num_encoder_layers,
      "num_decoder_layers"_a = given.num_decoder_layers, "dim_feedforward"_a = given.dim_feedforward,
      "dropout"_a = given.dropout, "activation"_a = given.activation, "custom_encoder"_a = nb::none(),
      "custom_decoder"_a = nb::none(), "layer_norm_eps"_a = given.layer_norm_eps, "batch_first"_a = given.batch_first,
      "norm_first"_a = given.norm_first, "bias"_a = given.bias, NEURA_PLACE);
  const nb::object f = nb::cpp_function(
      [](Integer size, AnyDevice device, AnyDType dtype) {
        return nn::Transformer::generate_square_subsequent_mask(size, device.value_or(default_device()), dtype);
      },
      nb::name("generate_square_subsequent_mask"), "sz"_a, NEURA_PLACE,
      "The causal mask: -inf above the diagonal, 0 elsewhere, so that position i attends to positions up to i.");
  nb::handle(reinterpret_cast<PyObject*>(t.type)).attr("generate_square_subsequent_mask") =
      nb::steal(PyStaticMethod_New(f.ptr()));
}

void bind_positions(nb::module_& n) {
  const nn::PositionalEncodingOptions o;
  bind_layer<nn::PositionalEncoding>(
      n, R"(Adds sinusoidal positional encodings (Vaswani et al., 2017), then applies dropout.

forward(input) -> like input: [L, N, d_model], or [N, L, d_model] if batch_first; L at most max_len.
Channel 2i of element t gets sin(t / 10000^(2i / d_model)), channel 2i + 1 the cosine: the buffer `pe`.)",
      [](Integer d_model, double dropout, Integer max_len, bool batch_first, AnyDevice device, AnyDType dtype) {
        return nn::make<nn::PositionalEncoding>(
            d_model,
            nn::PositionalEncodingOptions{dropout, max_len, batch_first, device.value_or(default_device()), dtype});
      },
      "d_model"_a, "dropout"_a = o.dropout, "max_len"_a = o.max_len, "batch_first"_a = o.batch_first, NEURA_PLACE);
}

}  // namespace

void bind_transformer_layers(nb::module_& n) {
  bind_block<nn::TransformerEncoderLayer>(
      n, "Self-attention, then two linear layers: forward(src, src_mask=None, src_key_padding_mask=None, ...).");
  bind_block<nn::TransformerDecoderLayer>(
      n, "Self-attention, cross-attention to memory, then two linear layers: forward(tgt, memory, ...).");
  bind_stacks(n);
  bind_positions(n);
  bind_whole(n);
}

}  // namespace neura::python

// Transformer layers as Python classes.
#include "layers.h"

#include "neura/core/checked_int.h"

namespace neura::python {
namespace {

using Integer = std::int64_t;

constexpr const char* kLayerArguments = R"(

d_model: the width of the sequences; nhead: heads of attention; dim_feedforward: the width in between
activation: 'relu', 'gelu' or one of these functions
batch_first: [N, L, d_model] instead of [L, N, d_model]
norm_first: normalise what goes into a part, not what comes out)";

template <class M> void bind_block(nb::module_& n, const char* doc) {
  bind_layer<M>(n, (std::string(doc) + kLayerArguments).c_str());
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
  bind_layer<nn::TransformerEncoder>(n, R"(num_layers copies of encoder_layer, one after the other, and norm at the end.

forward(src, mask=None, src_key_padding_mask=None, is_causal=None); masks as MultiheadAttention takes them.)",
                                     "encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True",
                                     [](const Ref<nn::Module>& layer, Integer count, const Ref<nn::Module>& norm, bool,
                                        bool) { return nn::make<nn::TransformerEncoder>(copies(layer, count), norm); });
  bind_layer<nn::TransformerDecoder>(n, R"(num_layers copies of decoder_layer, one after the other, and norm at the end.

forward(tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None).)",
                                     "decoder_layer, num_layers, norm=None",
                                     [](const Ref<nn::Module>& layer, Integer count, const Ref<nn::Module>& norm) {
                                       return nn::make<nn::TransformerDecoder>(copies(layer, count), norm);
                                     });
}

void bind_whole(nb::module_& n) {
  const LayerType t = bind_layer<nn::Transformer>(
      n,
      (std::string("Encoder and decoder (Vaswani et al., 2017): forward(src, tgt, ...) -> like tgt.") + kLayerArguments)
          .c_str());
  const nb::object f = nb::cpp_function(
      [](Integer size, std::optional<Device> device, std::optional<DType> dtype) {
        return nn::Transformer::generate_square_subsequent_mask(size, device.value_or(default_device()), dtype);
      },
      nb::name("generate_square_subsequent_mask"), "sz"_a, "device"_a = nb::none(), "dtype"_a = nb::none(),
      "The causal mask: -inf above the diagonal, 0 elsewhere, so that position i attends to positions up to i.");
  watch_function(f.ptr());
  nb::handle(reinterpret_cast<PyObject*>(t.type)).attr("generate_square_subsequent_mask") =
      nb::steal(PyStaticMethod_New(f.ptr()));
}

void bind_positions(nb::module_& n) {
  bind_layer<nn::PositionalEncoding>(
      n, R"(Adds sinusoidal positional encodings (Vaswani et al., 2017), then applies dropout.

forward(input) -> like input: [L, N, d_model], or [N, L, d_model] if batch_first; L at most max_len.
Channel 2i of element t gets sin(t / 10000^(2i / d_model)), channel 2i + 1 the cosine: the buffer `pe`.)");
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

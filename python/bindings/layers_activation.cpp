// Activation layers as Python classes.
#include "layers.h"

#include "neura/nn/activation.h"
#include "neura/op/row.h"

namespace neura::python {
namespace {

struct Field {  // a number with its default
  const char* name;
  double fallback;
  nb::arg_v argument() const { return nb::arg(name) = fallback; }
};
template <class> using Number = nn::Number;

// A layer has its row's text.
std::string text_of(const char* function) {
  return std::string(find_row(function)->text) + "\n\nInput and output: any shape, floating.";
}

template <class M, class O, class... F> void bind(nb::module_& n, const char* function, F... f) {
  bind_layer<M>(
      n, text_of(function).c_str(), [](Number<F>... v) { return nn::make<M>(O{v...}); }, f.argument()...);
}
template <class M, class O, class... F> void bind_inplace(nb::module_& n, const char* function, F... f) {
  const std::string all = text_of(function) + "\ninplace: write the result into the input.";
  bind_layer<M>(
      n, all.c_str(),
      [](Number<F>... v, bool inplace) {
        return nn::make<M>(O{v..., inplace});
      },
      f.argument()..., "inplace"_a = false);
}

void bind_table(nb::module_& n) {
#define FIELD(name, function) \
  , Field { #name, function##_options().name }
#define ACTIVATION(Name, function) bind<nn::Name, nn::Name##Options>(n, #function);
#define ACTIVATION_WITH(Name, function, fields) bind<nn::Name, nn::Name##Options>(n, #function fields);
#define ACTIVATION_INPLACE(Name, function) bind_inplace<nn::Name, nn::Name##Options>(n, #function);
#define ACTIVATION_INPLACE_WITH(Name, function, fields) bind_inplace<nn::Name, nn::Name##Options>(n, #function fields);
#include "neura/nn/activations.def"
#undef FIELD
#undef ACTIVATION
#undef ACTIVATION_WITH
#undef ACTIVATION_INPLACE
#undef ACTIVATION_INPLACE_WITH
}

template <class M> void bind_softmax(nb::module_& n, const char* doc) {
  bind_layer<M>(
      n, doc, [](std::optional<int> dim) { return nn::make<M>(dim); }, "dim"_a = nb::none());
}

void bind_others(nb::module_& n) {
  const nn::PReluOptions prelu;
  const nn::RReLU rrelu;
  bind_layer<nn::GELU>(
      n,
      "GELU (Hendrycks and Gimpel, 2016): x * Phi(x), Phi the standard normal CDF; approximate='tanh': its tanh "
      "approximation.\n\nInput and output: any shape, floating.",
      [](std::string approximate) { return nn::make<nn::GELU>(std::move(approximate)); },
      "approximate"_a = nn::GELU().approximate);
  bind_layer<nn::GLU>(
      n,
      "Gated linear unit (Dauphin et al., 2017): a * sigmoid(b), a and b the first and second half of the input along "
      "dim.",
      [](int dim) { return nn::make<nn::GLU>(dim); }, "dim"_a = nn::GLU().dim);
  bind_layer<nn::Threshold>(
      n, "x where x > threshold, else value.\n\nInput and output: any shape.",
      [](nn::Number threshold, nn::Number value, bool inplace) {
        return nn::make<nn::Threshold>(threshold, value, inplace);
      },
      "threshold"_a, "value"_a, "inplace"_a = false);
  bind_layer<nn::PReLU>(
      n,
      "PReLU (He et al., 2015): x for x > 0, else weight * x, with a learned weight.\n\nnum_parameters: 1, or the "
      "number of channels (dimension 1 of the input)\ninit: the initial weight",
      [](std::int64_t count, double init, AnyDevice device, AnyDType dtype) {
        return nn::make<nn::PReLU>(nn::PReluOptions{count, init, device.value_or(default_device()), dtype});
      },
      "num_parameters"_a = prelu.num_parameters, "init"_a = prelu.init, NEURA_PLACE);
  bind_layer<nn::RReLU>(
      n,
      "Randomized leaky ReLU (Xu et al., 2015): x for x > 0, else a * x, with a drawn from [lower, upper) in training "
      "and (lower + upper) / 2 in evaluation.\n\nInput and output: any shape, floating.",
      [](nn::Number lower, nn::Number upper, bool inplace) { return nn::make<nn::RReLU>(lower, upper, inplace); },
      "lower"_a = rrelu.lower, "upper"_a = rrelu.upper, "inplace"_a = rrelu.inplace);
  bind_softmax<nn::Softmax>(n, "exp(x) / sum(exp(x)) along dim: values in [0, 1] that sum to 1.");
  bind_softmax<nn::LogSoftmax>(n, "log(softmax(x)) along dim, computed without overflow.");
  bind_softmax<nn::Softmin>(n, "Softmax of -x, along dim.");
  bind_layer<nn::Softmax2d>(n, "Softmax over the channels of [N, C, H, W] or [C, H, W].",
                            [] { return nn::make<nn::Softmax2d>(); });
}

}  // namespace

void bind_activation_layers(nb::module_& n) {
  bind_table(n);
  bind_others(n);
}

}  // namespace neura::python

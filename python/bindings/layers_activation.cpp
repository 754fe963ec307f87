// Activation layers as Python classes.
#include "layers.h"

#include "neura/op/row.h"

namespace neura::python {
namespace {

// A layer has its row's text.
std::string text_of(const char* function) {
  return std::string(find_row(function)->text) + "\n\nInput and output: any shape, floating.";
}

constexpr const char* kInplace = "\ninplace: write the result into the input.";

void bind_table(nb::module_& n) {
#define ACTIVATION(Name, function) bind_layer<nn::Name>(n, text_of(#function).c_str());
#define ACTIVATION_INPLACE(Name, function) bind_layer<nn::Name>(n, (text_of(#function) + kInplace).c_str());
#define ACTIVATION_WITH(Name, function, fields) ACTIVATION(Name, function)
#define ACTIVATION_INPLACE_WITH(Name, function, fields) ACTIVATION_INPLACE(Name, function)
#include "neura/nn/activations.def"
#undef ACTIVATION
#undef ACTIVATION_WITH
#undef ACTIVATION_INPLACE
#undef ACTIVATION_INPLACE_WITH
}

void bind_others(nb::module_& n) {
  bind_layer<nn::GELU>(
      n,
      "GELU (Hendrycks and Gimpel, 2016): x * Phi(x), Phi the standard normal CDF; approximate='tanh': its tanh "
      "approximation.\n\nInput and output: any shape, floating.");
  bind_layer<nn::GLU>(
      n,
      "Gated linear unit (Dauphin et al., 2017): a * sigmoid(b), a and b the first and second half of the input along "
      "dim.");
  bind_layer<nn::Threshold>(n, "x where x > threshold, else value.\n\nInput and output: any shape.");
  bind_layer<nn::PReLU>(
      n,
      "PReLU (He et al., 2015): x for x > 0, else weight * x, with a learned weight.\n\nnum_parameters: 1, or the "
      "number of channels (dimension 1 of the input)\ninit: the initial weight");
  bind_layer<nn::RReLU>(
      n,
      "Randomized leaky ReLU (Xu et al., 2015): x for x > 0, else a * x, with a drawn from [lower, upper) in training "
      "and (lower + upper) / 2 in evaluation.\n\nInput and output: any shape, floating.");
  bind_layer<nn::Softmax>(n, "exp(x) / sum(exp(x)) along dim: values in [0, 1] that sum to 1.");
  bind_layer<nn::LogSoftmax>(n, "log(softmax(x)) along dim, computed without overflow.");
  bind_layer<nn::Softmin>(n, "Softmax of -x, along dim.");
  bind_layer<nn::Softmax2d>(n, "Softmax over the channels of [N, C, H, W] or [C, H, W].");
}

}  // namespace

void bind_activation_layers(nb::module_& n) {
  bind_table(n);
  bind_others(n);
}

}  // namespace neura::python

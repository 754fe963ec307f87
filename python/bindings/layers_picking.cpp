// EmbeddingBag, FractionalMaxPool2d and 3d, AdaptiveLogSoftmaxWithLoss; the function embedding_bag.
#include "layers.h"

#include "neura/ops/nn/embedding_bag.h"

namespace neura::python {

void bind_more_layers(nb::module_&);
void bind_more_functions(const Names&);

namespace {

using T = const Tensor&;
using Count = std::optional<std::int64_t>;
using Size = std::optional<double>;

void bind_bag(nb::module_& n) {
  bind_layer<nn::EmbeddingBag>(n, R"(Sums, means or maxima of embeddings: indices [bags, n] -> [bags, embedding_dim].

Bags of different sizes come as one vector, with the offsets at which they begin. An empty bag gives zeros.

mode: 'mean', 'sum' or 'max'; 'sum' takes per_sample_weights, a factor for each number
padding_idx: this row is left out of its bags
include_last_offset: the last offset is where the last bag ends
max_norm, norm_type, scale_grad_by_freq: as in Embedding

IndexError for a number outside the table.

>>> bags = neura.nn.EmbeddingBag(10, 3, mode='sum')
>>> bags(neura.tensor([1, 2, 4, 5, 4]), neura.tensor([0, 3])).shape
neura.Size([2, 3]))")
      .def(
          "reset_parameters", [](nn::EmbeddingBag& m) { m.reset_parameters(); },
          "Draws the embeddings again; the row of padding_idx is zero.");
}

template <class M> void bind_fractional(nb::module_& n, const char* samples) {
  const std::string doc =
      std::string(
          "The largest value under each window; windows begin at fractional steps, which are drawn "
          "at each call.\n\noutput_size or output_ratio: of the spatial dimensions, or the fraction "
          "of the input's, in (0, 1)\nreturn_indices: the result is (values, indices)\n"
          "_random_samples: where windows begin, ") +
      samples + " in [0, 1).";
  const LayerType t = bind_layer<M>(n, doc.c_str());
  property(t, "output_ratio", [](M& m) -> nb::object {
    if (!m.output_ratio) return nb::none();
    nb::list l;
    for (const double f : *m.output_ratio) l.append(f);
    return nb::tuple(l);
  });
}

void bind_adaptive_softmax(nb::module_& n) {
  bind_layer<nn::AdaptiveLogSoftmaxWithLoss>(
      n, R"(Adaptive softmax (Grave et al., 2017) for many classes: forward(input, target) -> (output, loss).

Classes are numbered from frequent to rare, and cut into clusters before those of cutoffs. The head scores the classes
of the first one and the other clusters, each of which scores its own classes only where it is needed (Grave et al.,
2017). input [N, in_features] and target [N], or both without N; output: the logarithm of each target's probability;
loss: the mean of their negatives.

div_value: cluster i sees the input in in_features / div_value ** (i + 1) numbers; head_bias: of the first layer.
IndexError for a class outside [0, n_classes), ValueError for cutoffs that do not rise within it.

>>> m = neura.nn.AdaptiveLogSoftmaxWithLoss(8, 100, [10, 40])
>>> m(neura.ones(3, 8), neura.tensor([2, 30, 99])).output.shape
neura.Size([3]))")
      .def(
          "log_prob", [](nn::AdaptiveLogSoftmaxWithLoss& m, T input) { return m.log_prob(input); }, "input"_a,
          "The log-probabilities of all classes, [N, n_classes].")
      .def(
          "predict", [](nn::AdaptiveLogSoftmaxWithLoss& m, T input) { return m.predict(input); }, "input"_a,
          "The most probable class of each row of input [N, in_features]: log_prob(input).argmax(1), with less work.")
      .def(
          "reset_parameters", [](nn::AdaptiveLogSoftmaxWithLoss& m) { m.reset_parameters(); },
          "Draws the parameters again.");
}

}  // namespace

void bind_more_layers(nb::module_& n) {
  bind_bag(n);
  bind_adaptive_softmax(n);
  bind_fractional<nn::FractionalMaxPool2d>(n, "[N, C, 2]");
  bind_fractional<nn::FractionalMaxPool3d>(n, "[N, C, 3]");
}

void bind_more_functions(const Names& n) {
  const EmbeddingBagOptions o;
  nb::module_(n.functions)
      .def(
          "embedding_bag",
          [](T x, T w, T offsets, Size max_norm, double type, bool by_freq, const std::string& mode, bool sparse,
             T weights, bool last, Count padding) {
            const bool swapped =
                is_floating(x.dtype()) && is_integral(w.dtype());  // the order of PyTorch's first versions
            if (swapped &&
                PyErr_WarnEx(PyExc_UserWarning, "embedding_bag: expected (input, weight), got them swapped", 1))
              throw nb::python_error();
            return embedding_bag(swapped ? w : x, swapped ? x : w, offsets,
                                 {{padding, max_norm, type, by_freq, sparse}, mode, weights, last});
          },
          "Sums, means or maxima of rows of weight [num_embeddings, embedding_dim]: indices [bags, n], or a vector of "
          "indices with the offsets at which bags begin -> [bags, embedding_dim]. See neura.nn.EmbeddingBag.",
          "input"_a, "weight"_a, "offsets"_a = nb::none(), "max_norm"_a = nb::none(), "norm_type"_a = o.table.norm_type,
          "scale_grad_by_freq"_a = o.table.scale_grad_by_freq, "mode"_a = std::string(o.mode),
          "sparse"_a = o.table.sparse, "per_sample_weights"_a = nb::none(),
          "include_last_offset"_a = o.include_last_offset, "padding_idx"_a = nb::none());
}

}  // namespace neura::python

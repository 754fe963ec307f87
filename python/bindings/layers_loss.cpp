// Losses and distances as Python classes.
#include <nanobind/stl/string_view.h>

#include "layers.h"

#include "neura/core/reduction.h"
#include "neura/surface/loss_arguments.h"

namespace neura::python {
namespace {

// Its word 'batchmean' is a member of its own in C++.
void bind_reduction(const LayerType& t) {
  const nb::object set = nb::cpp_function(
      [](nn::KLDivLoss& m, std::string_view word) {
        m.batchmean = word == "batchmean";
        m.reduction = m.batchmean ? Reduction::mean : to_reduction(word);
      },
      nb::name("reduction"), nb::is_method());
  property(
      t, "reduction", [](nn::KLDivLoss& m) { return m.batchmean ? "batchmean" : kReductions[int(m.reduction)]; }, set);
}
struct Keywords {};  // what follows is given by name alone

template <class M, class O, class... A> void bind_as(nb::module_& n, const char* text, const std::string& list) {
  const LayerType t = bind_layer<M>(n, text, list.c_str(), [](typename A::Argument... v) {
    surface::LossGiven<O> given;
    (A::put(given, v), ...);
    return nn::make<M>(given.finish());
  });
  if constexpr (std::is_same_v<M, nn::KLDivLoss>) bind_reduction(t);
}
template <class M, class O, class... A> void bind_loss(nb::module_& n, const char* text, A... a) {
  bind_as<M, O, A...>(n, text, surface::loss_arguments(a...));
}
template <class M, class O, class... A> void bind_loss(nb::module_& n, const char* text, Keywords, A... a) {
  bind_as<M, O, A...>(n, text, "*, " + surface::loss_arguments(a...));
}

void bind_table(nb::module_& n) {
#define FIELD(name) \
  , surface::LossField<&O::name> { #name }
#define HIDDEN(name)
#define SIZE_AVERAGE , surface::LossSizeAverage()
#define REDUCE , surface::LossReduce()
#define KEYWORDS , Keywords()
#define LOSS(Name, function, Taken, arguments, text) \
  {                                                  \
    using O = Taken;                                 \
    bind_loss<nn::Name, O>(n, text arguments);       \
  }
#define LOSS3(Name, function, a, b, c, Taken, arguments, text) \
  {                                                            \
    using O = Taken;                                           \
    bind_loss<nn::Name, O>(n, text arguments);                 \
  }
#include "neura/nn/losses.def"
}

void bind_of_sequences(nb::module_& n) {
  const LayerType t = bind_layer<nn::CTCLoss>(
      n,
      R"(Connectionist temporal classification: forward(log_probs, targets, input_lengths, target_lengths).

-log of the probability that log_probs [T, N, C] (or [T, C]), logarithms as log_softmax makes them, spell the targets:
repeated classes count once, the class `blank` not at all. targets: integers [N, S], or all in a row. The lengths,
tensors or lists, say how many times of T and how many labels each sample has.

reduction: 'none', 'sum', or 'mean', of the losses divided by the lengths of their targets; zero_infinity: 0 and no
gradient where log_probs are too short for their target. IndexError for a label outside [0, C), ValueError for lengths
that do not fit.

>>> loss = neura.nn.CTCLoss()
>>> log_probs = neura.zeros(4, 1, 3).log_softmax(2)
>>> loss(log_probs, neura.tensor([[1, 2]]), [4], [2])
tensor(0.8432))");
  const nb::object set = nb::cpp_function([](nn::CTCLoss& m, std::int64_t blank) { m.blank_class = blank; },
                                          nb::name("blank"), nb::is_method());
  property(
      t, "blank", [](nn::CTCLoss& m) { return m.blank_class; }, set);
}

void bind_distances(nb::module_& n) {
  bind_layer<nn::CosineSimilarity>(n, "Cosine similarity x1 · x2 / max(|x1| |x2|, eps) along dim.");
  bind_layer<nn::PairwiseDistance>(n, "The p-norm of x1 - x2 + eps over the last dimension.");
}

}  // namespace

void bind_loss_layers(nb::module_& n) {
  bind_table(n);
  bind_of_sequences(n);
  bind_distances(n);
}

}  // namespace neura::python

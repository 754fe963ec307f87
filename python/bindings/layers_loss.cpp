// Losses and distances as Python classes.
#include "layers.h"

#include "neura/nn/loss.h"
#include "reduction.h"

namespace neura::python {
namespace {

using T = const Tensor&;
using Integer = std::int64_t;
#define NEURA_OLD "size_average"_a = nb::none(), "reduce"_a = nb::none()

template <class M, class O> void bind_plain(nb::module_& n, const char* doc) {
  bind_layer<M>(
      n, doc, [](Flag average, Flag reduce, Word word) { return nn::make<M>(O{reduction_of(average, reduce, word)}); },
      NEURA_OLD, NEURA_REDUCTION);
}
template <class M, class O> void bind_weighted(nb::module_& n, const char* doc) {
  bind_layer<M>(
      n, doc,
      [](T weight, Flag average, Flag reduce, Word word) {
        return nn::make<M>(O{weight, reduction_of(average, reduce, word)});
      },
      "weight"_a = nb::none(), NEURA_OLD, NEURA_REDUCTION);
}
template <class M, class O> void bind_margin(nb::module_& n, const char* doc) {
  bind_layer<M>(
      n, doc,
      [](double m, Flag average, Flag reduce, Word word) {
        return nn::make<M>(O{m, reduction_of(average, reduce, word)});
      },
      "margin"_a = O().margin, NEURA_OLD, NEURA_REDUCTION);
}

void bind_of_pairs(nb::module_& n) {
  const nn::PoissonNLLLossOptions poisson;
  const nn::GaussianNLLLossOptions gaussian;
  bind_plain<nn::L1Loss, nn::L1LossOptions>(n, "|input - target|.\n\nreduction: 'none', 'mean' or 'sum'.");
  bind_plain<nn::MSELoss, nn::MSELossOptions>(n, "(input - target)².\n\nreduction: 'none', 'mean' or 'sum'.");
  bind_layer<nn::SmoothL1Loss>(
      n, "Smooth L1 loss: d² / (2 beta) where d = |input - target| < beta, else d - beta / 2.",
      [](Flag average, Flag reduce, Word word, double beta) {
        return nn::make<nn::SmoothL1Loss>(nn::SmoothL1LossOptions{reduction_of(average, reduce, word), beta});
      },
      NEURA_OLD, NEURA_REDUCTION, "beta"_a = nn::SmoothL1LossOptions().beta);
  bind_layer<nn::HuberLoss>(
      n, "Huber loss: d² / 2 where d = |input - target| < delta, else delta * (d - delta / 2).",
      [](Word word, double delta) {
        return nn::make<nn::HuberLoss>(nn::HuberLossOptions{to_reduction(word), delta});
      },
      NEURA_REDUCTION, "delta"_a = nn::HuberLossOptions().delta);
  bind_layer<nn::PoissonNLLLoss>(
      n,
      R"(Poisson NLL: exp(input) - target * input, or without log_input, input - target * log(input + eps).

full: adds Stirling's approximation of log(target!) where target > 1.)",
      [](bool log_input, bool full, Flag average, double eps, Flag reduce, Word word) {
        return nn::make<nn::PoissonNLLLoss>(
            nn::PoissonNLLLossOptions{log_input, full, eps, reduction_of(average, reduce, word)});
      },
      "log_input"_a = poisson.log_input, "full"_a = poisson.full, "size_average"_a = nb::none(), "eps"_a = poisson.eps,
      "reduce"_a = nb::none(), NEURA_REDUCTION);
  bind_layer<nn::GaussianNLLLoss>(
      n,
      R"(Gaussian NLL: (log(var) + (input - target)² / var) / 2, with var at least eps: forward(input, target, var).

full: adds log(2 pi) / 2.)",
      [](bool full, double eps, Word word) {
        return nn::make<nn::GaussianNLLLoss>(nn::GaussianNLLLossOptions{full, eps, to_reduction(word)});
      },
      nb::kw_only(), "full"_a = gaussian.full, "eps"_a = gaussian.eps, NEURA_REDUCTION);
  bind_margin<nn::HingeEmbeddingLoss, nn::HingeEmbeddingLossOptions>(
      n, "input where target is 1, max(0, margin - input) where it is -1.");
  bind_plain<nn::SoftMarginLoss, nn::SoftMarginLossOptions>(
      n, "Logistic loss: log(1 + exp(-target * input)), target 1 or -1.");
  bind_plain<nn::MultiLabelMarginLoss, nn::MultiLabelMarginLossOptions>(
      n,
      "Multi-label hinge loss: max(0, 1 - input[t] + input[i]) for each target class t and each other class i; targets "
      "[C] or [N, C] end at the first -1.");
}

void bind_divergence(nb::module_& n) {
  const LayerType t = bind_layer<nn::KLDivLoss>(
      n, R"(Kullback-Leibler divergence target * (log(target) - input), input log-probabilities; log_target: target too.

reduction: 'none', 'mean', 'sum', or 'batchmean', the sum over the first size, which is the divergence itself.)",
      [](Flag average, Flag reduce, Word word, bool log_target) {
        const Word wanted = reduction_word(average, reduce, word);
        const bool batch = wanted == "batchmean";
        return nn::make<nn::KLDivLoss>(
            nn::KLDivLossOptions{batch ? Reduction::mean : to_reduction(wanted), log_target, batch});
      },
      NEURA_OLD, NEURA_REDUCTION, "log_target"_a = nn::KLDivLossOptions().log_target);
  const nb::object set = nb::cpp_function(
      [](nn::KLDivLoss& m, Word word) {
        m.batchmean = word == "batchmean";
        m.reduction = m.batchmean ? Reduction::mean : to_reduction(word);
      },
      nb::is_method());
  property(
      t, "reduction",
      [](nn::KLDivLoss& m) {
        return m.batchmean ? std::string("batchmean") : nn::unbox<std::string>(nn::box(m.reduction));
      },
      set);
}

void bind_of_classes(nb::module_& n) {
  const nn::CrossEntropyLossOptions classes;
  bind_layer<nn::CrossEntropyLoss>(
      n, R"(Cross entropy of logits: -log_softmax(input)[target], the loss of a classifier.

input: scores [C], [N, C] or [N, C, d1, ...]; target: classes [], [N] or [N, d1, ...], or probabilities of the input's
shape. weight [C]: of each class; ignore_index: this class counts nothing; label_smoothing: this part of each target is
spread over all classes. IndexError for a class outside [0, C).

>>> loss = neura.nn.CrossEntropyLoss()
>>> loss(neura.tensor([[2.0, 0.0]]), neura.tensor([0]))
tensor(0.1269))",
      [](T weight, Flag average, Integer ignore, Flag reduce, Word word, double smoothing) {
        return nn::make<nn::CrossEntropyLoss>(
            nn::CrossEntropyLossOptions{weight, ignore, reduction_of(average, reduce, word), smoothing});
      },
      "weight"_a = nb::none(), "size_average"_a = nb::none(), "ignore_index"_a = classes.ignore_index,
      "reduce"_a = nb::none(), NEURA_REDUCTION, "label_smoothing"_a = classes.label_smoothing);
  bind_layer<nn::NLLLoss>(
      n, "Negative log likelihood: -input[target] of log-probabilities and class indices; see CrossEntropyLoss.",
      [](T weight, Flag average, Integer ignore, Flag reduce, Word word) {
        return nn::make<nn::NLLLoss>(nn::NLLLossOptions{weight, ignore, reduction_of(average, reduce, word)});
      },
      "weight"_a = nb::none(), "size_average"_a = nb::none(), "ignore_index"_a = nn::NLLLossOptions().ignore_index,
      "reduce"_a = nb::none(), NEURA_REDUCTION);
  bind_weighted<nn::BCELoss, nn::BCELossOptions>(n,
                                                 "Binary cross entropy of probabilities: -(target * log(input) + (1 - "
                                                 "target) * log(1 - input)); logarithms are clamped to at least -100.");
  bind_layer<nn::BCEWithLogitsLoss>(
      n, "BCELoss of sigmoid(input), computed without overflow. pos_weight multiplies the loss of positive targets.",
      [](T weight, Flag average, Flag reduce, Word word, T positive) {
        return nn::make<nn::BCEWithLogitsLoss>(
            nn::BCEWithLogitsLossOptions{weight, reduction_of(average, reduce, word), positive});
      },
      "weight"_a = nb::none(), NEURA_OLD, NEURA_REDUCTION, "pos_weight"_a = nb::none());
  bind_layer<nn::MultiMarginLoss>(
      n,
      "Multi-class hinge loss: max(0, margin - input[target] + input[i])^p, the mean over the other classes i. p: 1 or "
      "2.",
      [](int p, double margin, T weight, Flag average, Flag reduce, Word word) {
        return nn::make<nn::MultiMarginLoss>(
            nn::MultiMarginLossOptions{p, margin, weight, reduction_of(average, reduce, word)});
      },
      "p"_a = nn::MultiMarginLossOptions().p, "margin"_a = nn::MultiMarginLossOptions().margin, "weight"_a = nb::none(),
      NEURA_OLD, NEURA_REDUCTION);
  bind_weighted<nn::MultiLabelSoftMarginLoss, nn::MultiLabelSoftMarginLossOptions>(
      n, "BCEWithLogitsLoss of each class, the mean over the classes of [N, C].");
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
tensor(0.8432))",
      [](Integer blank, Word word, bool zero_infinity) {
        return nn::make<nn::CTCLoss>(CtcLossOptions{blank, to_reduction(word), zero_infinity});
      },
      "blank"_a = CtcLossOptions().blank, NEURA_REDUCTION, "zero_infinity"_a = CtcLossOptions().zero_infinity);
  const nb::object set =
      nb::cpp_function([](nn::CTCLoss& m, Integer blank) { m.blank_class = blank; }, nb::is_method());
  property(
      t, "blank", [](nn::CTCLoss& m) { return m.blank_class; }, set);
}

void bind_of_triples(nb::module_& n) {
  const nn::TripletMarginLossOptions triplet;
  bind_margin<nn::MarginRankingLoss, nn::MarginRankingLossOptions>(
      n, "max(0, -target (input1 - input2) + margin): input1 is to be larger where target is 1, smaller where -1.");
  bind_margin<nn::CosineEmbeddingLoss, nn::CosineEmbeddingLossOptions>(
      n, "1 - cos(input1, input2) where target is 1, max(0, cos - margin) where it is -1.");
  bind_layer<nn::TripletMarginLoss>(
      n, R"(Triplet loss: max(0, |anchor - positive| - |anchor - negative| + margin), with the p-norm.

swap: the distance of positive and negative counts where it is smaller than that of anchor and negative.)",
      [](double margin, double p, double eps, bool swap, Flag average, Flag reduce, Word word) {
        return nn::make<nn::TripletMarginLoss>(
            nn::TripletMarginLossOptions{margin, p, eps, swap, reduction_of(average, reduce, word)});
      },
      "margin"_a = triplet.margin, "p"_a = triplet.p, "eps"_a = triplet.eps, "swap"_a = triplet.swap, NEURA_OLD,
      NEURA_REDUCTION);
  bind_layer<nn::CosineSimilarity>(
      n, "Cosine similarity x1 · x2 / max(|x1| |x2|, eps) along dim.",
      [](int dim, double eps) { return nn::make<nn::CosineSimilarity>(dim, eps); }, "dim"_a = 1, "eps"_a = 1e-8);
  bind_layer<nn::PairwiseDistance>(
      n, "The p-norm of x1 - x2 + eps over the last dimension.",
      [](double p, double eps, bool keepdim) { return nn::make<nn::PairwiseDistance>(p, eps, keepdim); }, "p"_a = 2.0,
      "eps"_a = 1e-6, "keepdim"_a = false);
}

}  // namespace

void bind_loss_layers(nb::module_& n) {
  bind_of_pairs(n);
  bind_divergence(n);
  bind_of_classes(n);
  bind_of_sequences(n);
  bind_of_triples(n);
}

}  // namespace neura::python

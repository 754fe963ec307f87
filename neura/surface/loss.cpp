// neura.nn.functional: losses and distances.
#include "neura/ops/loss/loss.h"

#include "neura/ops/create/create.h"
#include "neura/ops/loss/ctc_loss.h"
#include "neura/ops/nn/norm.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/surface/list.h"
#include "neura/surface/reduction.h"

namespace neura::surface {
namespace {

using T = const Tensor&;
using Flag = std::optional<bool>;
using Word = std::string_view;

template <Tensor (*f)(T, T, ReductionOptions)> Tensor of_two(T x, T y, Flag average, Flag reduce, Word r) {
  return f(x, y, {reduction_of(average, reduce, r)});
}
template <Tensor (*f)(T, T, ReductionOptions, T)> Tensor weighted(T x, T y, Flag average, Flag reduce, Word r, T w) {
  return f(x, y, {reduction_of(average, reduce, r)}, w);
}

void add_classes(const List& s) {
  s.add(
      "cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', "
      "label_smoothing=0)",
      [](T x, T y, T w, Flag average, std::int64_t ignore, Flag reduce, Word r, double smoothing) {
        return cross_entropy(x, y, {w, ignore, reduction_of(average, reduce, r), smoothing});
      },
      function,
      "Cross entropy of logits: -log_softmax(input)[target]; input [C], [N, C] or [N, C, d1, ...], target class "
      "indices, or probabilities of the input's shape. See neura.nn.CrossEntropyLoss.");
  s.add(
      "nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean')",
      [](T x, T y, T w, Flag average, std::int64_t ignore, Flag reduce, Word r) {
        return nll_loss(x, y, {w, ignore, reduction_of(average, reduce, r)});
      },
      function,
      "Negative log likelihood: -input[target] of log-probabilities and class indices. See neura.nn.NLLLoss.");
  s.add(
      "binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction='mean')",
      [](T x, T y, T w, Flag average, Flag reduce, Word r) {
        return binary_cross_entropy(x, y, {w, reduction_of(average, reduce, r)});
      },
      function, "Binary cross entropy of probabilities: -(target * log(input) + (1 - target) * log(1 - input)).");
  s.add(
      "binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction='mean', "
      "pos_weight=None)",
      [](T x, T y, T w, Flag average, Flag reduce, Word r, T positive) {
        return binary_cross_entropy_with_logits(x, y, {w, reduction_of(average, reduce, r), positive});
      },
      function,
      "Binary cross entropy of sigmoid(input), computed without overflow; pos_weight multiplies the loss of positive "
      "targets.");
  s.add(
      "multi_margin_loss(input, target, p=1, margin=1, weight=None, size_average=None, reduce=None, reduction='mean')",
      [](T x, T y, int p, double margin, T w, Flag average, Flag reduce, Word r) {
        return multi_margin_loss(x, y, {p, margin, w, reduction_of(average, reduce, r)});
      },
      function,
      "Multi-class hinge loss: max(0, margin - input[target] + input[i])^p, the mean over the other classes i.");
  s.add(
      "multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction='mean')",
      [](T x, T y, T w, Flag average, Flag reduce, Word r) {
        return multilabel_soft_margin_loss(x, y, {w, reduction_of(average, reduce, r)});
      },
      function, "binary_cross_entropy_with_logits of each class, the mean over the classes.");
  s.add("multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction='mean')",
        &of_two<multilabel_margin_loss>, function,
        "Multi-label hinge loss: max(0, 1 - input[t] + input[i]) for each target class t and each other class i; "
        "targets end at the first -1.");
}

void add_sequences(const List& s) {
  const char* text =
      "Connectionist temporal classification (Graves et al., 2006): -log p(targets | log_probs [T, N, C]); lengths are "
      "tensors or lists. See neura.nn.CTCLoss.";
  const char* signature =
      "ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction='mean', zero_infinity=False)";
  s.add(
      signature,
      [](T x, T targets, T times, T labels, std::int64_t blank, Word r, bool zero_infinity) {
        return ctc_loss(x, targets, times, labels, {blank, to_reduction(r), zero_infinity});
      },
      function, text);
  s.add(
      signature,
      [](T x, T targets, const Integers& times, const Integers& labels, std::int64_t blank, Word r, bool zero) {
        return ctc_loss(x, targets, tensor(times), tensor(labels), {blank, to_reduction(r), zero});
      },
      function);
}

void add_pairs(const List& s) {
  const char* pair = "(input, target, size_average=None, reduce=None, reduction='mean', weight=None)";
  s.add((std::string("mse_loss") + pair).c_str(), &weighted<mse_loss>, function,
        "Squared error: (input - target)^2; reduction 'none', 'mean' or 'sum'.");
  s.add((std::string("l1_loss") + pair).c_str(), &weighted<l1_loss>, function,
        "Absolute error: |input - target|; reduction 'none', 'mean' or 'sum'.");
  s.add("soft_margin_loss(input, target, size_average=None, reduce=None, reduction='mean')", &of_two<soft_margin_loss>,
        function, "Logistic loss: log(1 + exp(-target * input)), target 1 or -1.");
  s.add(
      "smooth_l1_loss(input, target, size_average=None, reduce=None, reduction='mean', beta=1)",
      [](T x, T y, Flag average, Flag reduce, Word r, double beta) {
        return smooth_l1_loss(x, y, {reduction_of(average, reduce, r), beta});
      },
      function, "Smooth L1 loss: d^2 / (2 beta) where d = |input - target| < beta, else d - beta / 2.");
  s.add(
      "huber_loss(input, target, reduction='mean', delta=1, weight=None)",
      [](T x, T y, Word r, double delta, T w) {
        return huber_loss(x, y, {to_reduction(r), delta, w});
      },
      function, "Huber loss: d^2 / 2 where d = |input - target| < delta, else delta * (d - delta / 2).");
  s.add(
      "kl_div(input, target, size_average=None, reduce=None, reduction='mean', log_target=False)",
      [](T x, T y, Flag average, Flag reduce, Word word, bool log_target) {
        const Word r = reduction_word(average, reduce, word);
        if (r == "batchmean") return kl_div(x, y, {.log_target = log_target, .batchmean = true});
        return kl_div(x, y, {to_reduction(r), log_target});
      },
      function,
      "Kullback-Leibler divergence: target * (log(target) - input), input log-probabilities; reduction 'batchmean' "
      "gives the divergence itself.");
  s.add(
      "hinge_embedding_loss(input, target, margin=1, size_average=None, reduce=None, reduction='mean')",
      [](T x, T y, double margin, Flag average, Flag reduce, Word r) {
        return hinge_embedding_loss(x, y, {margin, reduction_of(average, reduce, r)});
      },
      function, "input where target is 1, max(0, margin - input) where it is -1.");
}

void add_likelihoods(const List& s) {
  s.add(
      "poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, "
      "reduction='mean')",
      [](T x, T y, bool log_input, bool full, Flag average, double eps, Flag reduce, Word r) {
        return poisson_nll_loss(x, y, {log_input, full, eps, reduction_of(average, reduce, r)});
      },
      function,
      "Poisson negative log likelihood: exp(input) - target * input, or without log_input, input - target * log(input "
      "+ eps).");
  const char* gaussian = "gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction='mean')";
  s.add(
      gaussian,
      [](T x, T y, T var, bool full, double eps, Word r) {
        return gaussian_nll_loss(x, y, var, {full, eps, to_reduction(r)});
      },
      function,
      "Gaussian negative log likelihood: (log(var) + (input - target)^2 / var) / 2; var, a tensor or a number, is at "
      "least eps.");
  s.add(
      gaussian,
      [](T x, T y, double var, bool full, double eps, Word r) {
        check<ValueError>(var >= 0, [] { return std::string("gaussian_nll_loss: expected var not to be negative"); });
        return gaussian_nll_loss(x, y, full_like(x, var), {full, eps, to_reduction(r)});
      },
      function);
}

void add_triples(const List& s) {
  s.add(
      "margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction='mean')",
      [](T a, T b, T y, double margin, Flag average, Flag reduce, Word r) {
        return margin_ranking_loss(a, b, y, {margin, reduction_of(average, reduce, r)});
      },
      function, "max(0, -target (input1 - input2) + margin).");
  s.add(
      "cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction='mean')",
      [](T a, T b, T y, double margin, Flag average, Flag reduce, Word r) {
        return cosine_embedding_loss(a, b, y, {margin, reduction_of(average, reduce, r)});
      },
      function, "1 - cos(input1, input2) where target is 1, max(0, cos - margin) where it is -1.");
  s.add(
      "triplet_margin_loss(anchor, positive, negative, margin=1, p=2, eps=1e-6, swap=False, size_average=None, "
      "reduce=None, reduction='mean')",
      [](T a, T p, T q, double margin, double power, double eps, bool swap, Flag average, Flag reduce, Word r) {
        return triplet_margin_loss(a, p, q, {margin, power, eps, swap, reduction_of(average, reduce, r)});
      },
      function, "Triplet loss: max(0, |anchor - positive| - |anchor - negative| + margin), with the p-norm.");
  s.add("cosine_similarity(x1, x2, dim=1, eps=1e-8)", &cosine_similarity, function,
        "The cosine of the angle between x1 and x2 along dim.")
      .also("neura");
  s.add("pairwise_distance(x1, x2, p=2, eps=1e-6, keepdim=False)", &pairwise_distance, function,
        "The p-norm of x1 - x2 + eps over the last dimension.")
      .also("neura");
  s.add("normalize(input, p=2, dim=1, eps=1e-12)", &normalize, function | out,
        "input / max(norm, eps), norm the p-norm along dim.");
}

}  // namespace

void add_loss(std::deque<Function>& all) {
  const List s(all, "functional");
  add_classes(s);
  add_sequences(s);
  add_pairs(s);
  add_likelihoods(s);
  add_triples(s);
}

}  // namespace neura::surface

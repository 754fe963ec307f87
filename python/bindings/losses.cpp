// neura.nn.functional: losses and distances.
#include "network.h"
#include "neura/ops/ctc_loss.h"
#include "reduction.h"

namespace neura::python {
namespace {

using T = const Tensor&;
#define OLD "size_average"_a = nb::none(), "reduce"_a = nb::none()
#define REDUCTION NEURA_REDUCTION

template <Tensor (*f)(T, T, ReductionOptions)> void of_two(const Functions& n, const char* name) {
  n.function(
      name, [](T x, T y, Flag average, Flag reduce, Word r) { return f(x, y, {reduction_of(average, reduce, r)}); },
      "input"_a, "target"_a, OLD, REDUCTION);
}
void bind_classes(const Functions& n) {
  n.function(
      "cross_entropy",
      [](T x, T y, T w, Flag average, std::int64_t ignore, Flag reduce, Word r, double smoothing) {
        return cross_entropy(x, y, {w, ignore, reduction_of(average, reduce, r), smoothing});
      },
      "input"_a, "target"_a, "weight"_a = nb::none(), "size_average"_a = nb::none(), "ignore_index"_a = -100,
      "reduce"_a = nb::none(), REDUCTION, "label_smoothing"_a = 0.0);
  n.function(
      "nll_loss",
      [](T x, T y, T w, Flag average, std::int64_t ignore, Flag reduce, Word r) {
        return nll_loss(x, y, {w, ignore, reduction_of(average, reduce, r)});
      },
      "input"_a, "target"_a, "weight"_a = nb::none(), "size_average"_a = nb::none(), "ignore_index"_a = -100,
      "reduce"_a = nb::none(), REDUCTION);
  n.function(
      "binary_cross_entropy",
      [](T x, T y, T w, Flag average, Flag reduce, Word r) {
        return binary_cross_entropy(x, y, {w, reduction_of(average, reduce, r)});
      },
      "input"_a, "target"_a, "weight"_a = nb::none(), OLD, REDUCTION);
  n.function(
      "binary_cross_entropy_with_logits",
      [](T x, T y, T w, Flag average, Flag reduce, Word r, T positive) {
        return binary_cross_entropy_with_logits(x, y, {w, reduction_of(average, reduce, r), positive});
      },
      "input"_a, "target"_a, "weight"_a = nb::none(), OLD, REDUCTION, "pos_weight"_a = nb::none());
  n.function(
      "multi_margin_loss",
      [](T x, T y, int p, double margin, T w, Flag average, Flag reduce, Word r) {
        return multi_margin_loss(x, y, {p, margin, w, reduction_of(average, reduce, r)});
      },
      "input"_a, "target"_a, "p"_a = 1, "margin"_a = 1.0, "weight"_a = nb::none(), OLD, REDUCTION);
  n.function(
      "multilabel_soft_margin_loss",
      [](T x, T y, T w, Flag average, Flag reduce, Word r) {
        return multilabel_soft_margin_loss(x, y, {w, reduction_of(average, reduce, r)});
      },
      "input"_a, "target"_a, "weight"_a = nb::none(), OLD, REDUCTION);
}
Tensor lengths_of(nb::handle h, const char* what) {
  if (is_tensor(h.ptr())) return tensor_in(h.ptr());
  std::vector<std::int64_t> numbers;
  if (!to_integers(h.ptr(), numbers))
    throw nb::type_error((std::string("ctc_loss: expected ") + what + " to be a tensor or a list of integers").c_str());
  return tensor(numbers);
}
void bind_sequences(const Functions& n) {
  n.function(
      "ctc_loss",
      [](T x, T targets, nb::handle times, nb::handle labels, std::int64_t blank, Word r, bool zero_infinity) {
        return ctc_loss(x, targets, lengths_of(times, "input_lengths"), lengths_of(labels, "target_lengths"),
                        {blank, to_reduction(r), zero_infinity});
      },
      "log_probs"_a, "targets"_a, "input_lengths"_a, "target_lengths"_a, "blank"_a = 0, REDUCTION,
      "zero_infinity"_a = false);
}
template <Tensor (*f)(T, T, ReductionOptions, T)> void weighted(const Functions& n, const char* name) {
  n.function(
      name,
      [](T x, T y, Flag average, Flag reduce, Word r, T w) { return f(x, y, {reduction_of(average, reduce, r)}, w); },
      "input"_a, "target"_a, OLD, REDUCTION, "weight"_a = nb::none());
}
void bind_pairs(const Functions& n) {
  weighted<mse_loss>(n, "mse_loss"), weighted<l1_loss>(n, "l1_loss");
  of_two<soft_margin_loss>(n, "soft_margin_loss");
  of_two<multilabel_margin_loss>(n, "multilabel_margin_loss");
  n.function(
      "smooth_l1_loss",
      [](T x, T y, Flag average, Flag reduce, Word r, double beta) {
        return smooth_l1_loss(x, y, {reduction_of(average, reduce, r), beta});
      },
      "input"_a, "target"_a, OLD, REDUCTION, "beta"_a = 1.0);
  n.function(
      "huber_loss",
      [](T x, T y, Word r, double delta, T w) {
        return huber_loss(x, y, {to_reduction(r), delta, w});
      },
      "input"_a, "target"_a, REDUCTION, "delta"_a = 1.0, "weight"_a = nb::none());
  n.function(
      "kl_div",
      [](T x, T y, Flag average, Flag reduce, Word word, bool log_target) {
        const Word r = word_of(average, reduce, word);
        if (r == "batchmean") return kl_div(x, y, {.log_target = log_target, .batchmean = true});
        return kl_div(x, y, {to_reduction(r), log_target});
      },
      "input"_a, "target"_a, OLD, REDUCTION, "log_target"_a = false);
  n.function(
      "poisson_nll_loss",
      [](T x, T y, bool log_input, bool full, Flag average, double eps, Flag reduce, Word r) {
        return poisson_nll_loss(x, y, {log_input, full, eps, reduction_of(average, reduce, r)});
      },
      "input"_a, "target"_a, "log_input"_a = true, "full"_a = false, "size_average"_a = nb::none(), "eps"_a = 1e-8,
      "reduce"_a = nb::none(), REDUCTION);
  n.function(
      "gaussian_nll_loss",
      [](T x, T y, T var, bool full, double eps, Word r) {
        return gaussian_nll_loss(x, y, var, {full, eps, to_reduction(r)});
      },
      "input"_a, "target"_a, "var"_a, "full"_a = false, "eps"_a = 1e-6, REDUCTION);
  n.function(
      "gaussian_nll_loss",
      [](T x, T y, double var, bool full, double eps, Word r) {
        check<ValueError>(var >= 0, [] { return std::string("gaussian_nll_loss: expected var not to be negative"); });
        return gaussian_nll_loss(x, y, full_like(x, var), {full, eps, to_reduction(r)});
      },
      "input"_a, "target"_a, "var"_a, "full"_a = false, "eps"_a = 1e-6, REDUCTION);
  n.function(
      "hinge_embedding_loss",
      [](T x, T y, double margin, Flag average, Flag reduce, Word r) {
        return hinge_embedding_loss(x, y, {margin, reduction_of(average, reduce, r)});
      },
      "input"_a, "target"_a, "margin"_a = 1.0, OLD, REDUCTION);
}
void bind_triples(const Functions& n) {
  n.function(
      "margin_ranking_loss",
      [](T a, T b, T y, double margin, Flag average, Flag reduce, Word r) {
        return margin_ranking_loss(a, b, y, {margin, reduction_of(average, reduce, r)});
      },
      "input1"_a, "input2"_a, "target"_a, "margin"_a = 0.0, OLD, REDUCTION);
  n.function(
      "cosine_embedding_loss",
      [](T a, T b, T y, double margin, Flag average, Flag reduce, Word r) {
        return cosine_embedding_loss(a, b, y, {margin, reduction_of(average, reduce, r)});
      },
      "input1"_a, "input2"_a, "target"_a, "margin"_a = 0.0, OLD, REDUCTION);
  n.function(
      "triplet_margin_loss",
      [](T a, T p, T q, double margin, double power, double eps, bool swap, Flag average, Flag reduce, Word r) {
        return triplet_margin_loss(a, p, q, {margin, power, eps, swap, reduction_of(average, reduce, r)});
      },
      "anchor"_a, "positive"_a, "negative"_a, "margin"_a = 1.0, "p"_a = 2.0, "eps"_a = 1e-6, "swap"_a = false, OLD,
      REDUCTION);
  n.function("cosine_similarity", &cosine_similarity, "x1"_a, "x2"_a, "dim"_a = 1, "eps"_a = 1e-8);
  n.function("pairwise_distance", &pairwise_distance, "x1"_a, "x2"_a, "p"_a = 2.0, "eps"_a = 1e-6, "keepdim"_a = false);
  n.function("normalize", &normalize, "input"_a, "p"_a = 2.0, "dim"_a = 1, "eps"_a = 1e-12);
}

}  // namespace

void bind_losses(const Names& names) {
  const Functions n{names};
  bind_classes(n);
  bind_sequences(n);
  bind_pairs(n);
  bind_triples(n);
}

}  // namespace neura::python

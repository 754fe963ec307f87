// neura.nn.functional: losses and distances.
#include "common.h"

#include <nanobind/stl/string_view.h>

namespace neura::python {
namespace {

using T = const Tensor&;
using Word = std::string_view;
// The older arguments size_average and reduce, which torch still takes: None, or refused.
#define REDUCTION "reduction"_a = "mean"

template <Tensor (*f)(T, T, ReductionOptions)> void of_two(const Names& n, const char* name) {
  n.function(
      name, [](T x, T y, Word r) { return f(x, y, {to_reduction(r)}); }, "input"_a, "target"_a, nb::kw_only(),
      REDUCTION);
}
void bind_classes(const Names& n) {
  n.function(
      "cross_entropy",
      [](T x, T y, T w, std::int64_t ignore, Word r, double smoothing) {
        return cross_entropy(x, y, {w, ignore, to_reduction(r), smoothing});
      },
      "input"_a, "target"_a, "weight"_a = nb::none(), nb::kw_only(), "ignore_index"_a = -100, REDUCTION,
      "label_smoothing"_a = 0.0);
  n.function(
      "nll_loss",
      [](T x, T y, T w, std::int64_t ignore, Word r) {
        return nll_loss(x, y, {w, ignore, to_reduction(r)});
      },
      "input"_a, "target"_a, "weight"_a = nb::none(), nb::kw_only(), "ignore_index"_a = -100, REDUCTION);
  n.function(
      "binary_cross_entropy",
      [](T x, T y, T w, Word r) {
        return binary_cross_entropy(x, y, {w, to_reduction(r)});
      },
      "input"_a, "target"_a, "weight"_a = nb::none(), nb::kw_only(), REDUCTION);
  n.function(
      "binary_cross_entropy_with_logits",
      [](T x, T y, T w, Word r, T positive) {
        return binary_cross_entropy_with_logits(x, y, {w, to_reduction(r), positive});
      },
      "input"_a, "target"_a, "weight"_a = nb::none(), nb::kw_only(), REDUCTION, "pos_weight"_a = nb::none());
  n.function(
      "multi_margin_loss",
      [](T x, T y, int p, double margin, T w, Word r) {
        return multi_margin_loss(x, y, {p, margin, w, to_reduction(r)});
      },
      "input"_a, "target"_a, "p"_a = 1, "margin"_a = 1.0, "weight"_a = nb::none(), nb::kw_only(), REDUCTION);
  n.function(
      "multilabel_soft_margin_loss",
      [](T x, T y, T w, Word r) {
        return multilabel_soft_margin_loss(x, y, {w, to_reduction(r)});
      },
      "input"_a, "target"_a, "weight"_a = nb::none(), nb::kw_only(), REDUCTION);
}
Tensor squared(T x, T y, ReductionOptions o) { return mse_loss(x, y, o); }
Tensor absolute_difference(T x, T y, ReductionOptions o) { return l1_loss(x, y, o); }
void bind_pairs(const Names& n) {
  of_two<squared>(n, "mse_loss"), of_two<absolute_difference>(n, "l1_loss"),
      of_two<soft_margin_loss>(n, "soft_margin_loss");
  of_two<multilabel_margin_loss>(n, "multilabel_margin_loss");
  n.function(
      "smooth_l1_loss",
      [](T x, T y, Word r, double beta) {
        return smooth_l1_loss(x, y, {to_reduction(r), beta});
      },
      "input"_a, "target"_a, nb::kw_only(), REDUCTION, "beta"_a = 1.0);
  n.function(
      "huber_loss",
      [](T x, T y, Word r, double delta, T w) {
        return huber_loss(x, y, {to_reduction(r), delta, w});
      },
      "input"_a, "target"_a, REDUCTION, "delta"_a = 1.0, "weight"_a = nb::none());
  n.function(
      "kl_div",
      [](T x, T y, Word r, bool log_target) {
        if (r == "batchmean") return kl_div(x, y, {.log_target = log_target, .batchmean = true});
        return kl_div(x, y, {to_reduction(r), log_target});
      },
      "input"_a, "target"_a, nb::kw_only(), REDUCTION, "log_target"_a = false);
  n.function(
      "poisson_nll_loss",
      [](T x, T y, bool log_input, bool full, double eps, Word r) {
        return poisson_nll_loss(x, y, {log_input, full, eps, to_reduction(r)});
      },
      "input"_a, "target"_a, "log_input"_a = true, "full"_a = false, nb::kw_only(), "eps"_a = 1e-8, REDUCTION);
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
      [](T x, T y, double margin, Word r) {
        return hinge_embedding_loss(x, y, {margin, to_reduction(r)});
      },
      "input"_a, "target"_a, "margin"_a = 1.0, nb::kw_only(), REDUCTION);
}
void bind_triples(const Names& n) {
  n.function(
      "margin_ranking_loss",
      [](T a, T b, T y, double margin, Word r) {
        return margin_ranking_loss(a, b, y, {margin, to_reduction(r)});
      },
      "input1"_a, "input2"_a, "target"_a, "margin"_a = 0.0, nb::kw_only(), REDUCTION);
  n.function(
      "cosine_embedding_loss",
      [](T a, T b, T y, double margin, Word r) {
        return cosine_embedding_loss(a, b, y, {margin, to_reduction(r)});
      },
      "input1"_a, "input2"_a, "target"_a, "margin"_a = 0.0, nb::kw_only(), REDUCTION);
  n.function(
      "triplet_margin_loss",
      [](T a, T p, T q, double margin, double power, double eps, bool swap, Word r) {
        return triplet_margin_loss(a, p, q, {margin, power, eps, swap, to_reduction(r)});
      },
      "anchor"_a, "positive"_a, "negative"_a, "margin"_a = 1.0, "p"_a = 2.0, "eps"_a = 1e-6, "swap"_a = false,
      nb::kw_only(), REDUCTION);
  n.function("cosine_similarity", &cosine_similarity, "x1"_a, "x2"_a, "dim"_a = 1, "eps"_a = 1e-8);
  n.function("pairwise_distance", &pairwise_distance, "x1"_a, "x2"_a, "p"_a = 2.0, "eps"_a = 1e-6, "keepdim"_a = false);
  n.function("normalize", &normalize, "input"_a, "p"_a = 2.0, "dim"_a = 1, "eps"_a = 1e-12);
}

}  // namespace

void bind_losses(const Names& n) {
  bind_classes(n);
  bind_pairs(n);
  bind_triples(n);
}

}  // namespace neura::python

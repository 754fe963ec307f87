// Reductions, scans and softmax.
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/to.h"
#include "neura/ops/linalg/linalg.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/scan.h"
#include "neura/ops/sort/sort.h"
#include "neura/surface/list.h"

namespace neura::surface {
namespace {

using T = const Tensor&;
using D = std::optional<DType>;
using Reduction = Tensor (*)(T, const Dims&, bool);

// dim=() reduces nothing: which elements are not zero?
template <Reduction f> Tensor truth_of(T x, const std::optional<Dims>& dim, bool keepdim) {
  if (!dim || !dim->empty()) return f(x, dim.value_or(Dims()), keepdim);
  const Tensor y = ne(x, Scalar(0));
  return x.dtype() == DType::uint8 ? y.to(DType::uint8) : y;
}
void add_sums(const List& s) {
  s.add("all(input, dim=None, keepdim=False)", &truth_of<all>, both | out | direct,
        "True if all elements (or all along dim) are nonzero: bool. True for an empty tensor.");
  s.add("any(input, dim=None, keepdim=False)", &truth_of<any>, both | out | direct,
        "True if any element (or any along dim) is nonzero: bool. False for an empty tensor.");
}

void add_table(const List& s) {
#include "neura/surface/entries.h"
#include "neura/tables/functions/reduce.def"
#include "neura/tables/functions/softmax.def"
#include "neura/tables/functions/end.h"
}

template <auto f> auto spread(T x, const Dims& dim, std::optional<double> correction, bool keepdim) {
  return f(x, dim, correction.value_or(1), keepdim);
}
Tensors pair(const MomentsResult& r) { return {r.spread, r.mean}; }
Tensors var_mean_of(T x, const Dims& d, double c, bool k) { return pair(var_mean(x, d, c, k)); }
Tensors std_mean_of(T x, const Dims& d, double c, bool k) { return pair(std_mean(x, d, c, k)); }
// correction, and the older unbiased
template <auto f> void add_spread(const List& s, const std::string& name, Forms forms, const char* text) {
  s.add((name + "(input, unbiased)").c_str(), [](T x, bool unbiased) { return f(x, {}, unbiased ? 1 : 0, false); },
        forms, text);
  s.add((name + "(input, dim?, unbiased, keepdim=False)").c_str(),
        [](T x, const Dims& d, bool unbiased, bool k) { return f(x, d, unbiased ? 1 : 0, k); }, forms);
  s.add((name + "(input, dim=None, *, correction=None, keepdim=False)").c_str(), &spread<f>, forms);
}
void add_moments(const List& s) {
  add_spread<var>(
      s, "var", both | out,
      "The variance of all elements or along dim: the sum of squared deviations over n - correction (default 1).");
  add_spread<neura::std>(
      s, "std", both | out,
      "The standard deviation of all elements or along dim: the root of var, over n - correction (default 1).");
  add_spread<var_mean_of>(s, "var_mean", both, "The variance and the mean, as (var, mean).");
  add_spread<std_mean_of>(s, "std_mean", both, "The standard deviation and the mean, as (std, mean).");
}

template <Tensor (*whole)(T), MaxResult (*along)(T, int, bool), Tensor (*between)(const Operand&, const Operand&)>
void add_extreme(const List& s, const std::string& name, const char* text) {
  s.add((name + "(input)").c_str(), whole, both | out, text);
  s.add((name + "(input, dim, keepdim=False)").c_str(),
        [](T x, int dim, bool keepdim) { return values_indices(along(x, dim, keepdim)); }, both | out);
  s.add((name + "(input, other)").c_str(), [](T x, T y) { return between(x, y); }, both | out);
}
void add_extremes(const List& s) {
  add_extreme<max, max, maximum>(s, "max",
                                 "The largest element; with dim, (values, indices) along it; with another tensor, the "
                                 "larger of both.");
  add_extreme<min, min, minimum>(s, "min",
                                 "The smallest element; with dim, (values, indices) along it; with another tensor, the "
                                 "smaller of both.");
  s.add(
      "aminmax(input, *, dim=None, keepdim=False)",
      [](T x, std::optional<int> dim, bool keepdim) {
        const MinMaxResult r = aminmax(x, dim, keepdim);
        return Named{"aminmax", {"min", "max"}, {r.min, r.max}};
      },
      both | out, "The smallest and the largest element, as (min, max).");
}

// A scan in place has no other dtype than its tensor's.
template <Tensor (*scan)(T, int, D)> void scan_over(const char* op, Tensor& x, int dim, D dtype) {
  check<DTypeError>(!dtype || *dtype == x.dtype(), [&] {
    return std::string(op) + ": expected dtype to be the tensor's " + name(x.dtype()) + ", got " + name(*dtype);
  });
  write_over(op, x, scan(readable(x), dim, x.dtype()));
}
void add_scans(const List& s) {
  s.add(
       "cumsum(input, dim, *, dtype=None)", [](T x, int dim, D d) { return cumsum(x, dim, d); }, both | out | direct,
       "The cumulative sum along dim.")
      .writes([](Tensor& x, int dim, D d) { scan_over<cumsum>("cumsum_", x, dim, d); });
  s.add(
       "cumprod(input, dim, *, dtype=None)", [](T x, int dim, D d) { return cumprod(x, dim, d); }, both | out | direct,
       "The cumulative product along dim.")
      .writes([](Tensor& x, int dim, D d) { scan_over<cumprod>("cumprod_", x, dim, d); });
  s.add(
      "cummax(input, dim)", [](T x, int dim) { return values_indices(cummax(x, dim)); }, both | out,
      "The cumulative maximum along dim, as (values, indices).");
  s.add(
      "cummin(input, dim)", [](T x, int dim) { return values_indices(cummin(x, dim)); }, both | out,
      "The cumulative minimum along dim, as (values, indices).");
  s.add("trapezoid(y, x, *, dim=-1)", overload<T, T, int>(&trapezoid), function,
        "The integral along dim by the trapezoidal rule, over points x or with steps dx.");
  s.add("trapezoid(y, *, dx=1, dim=-1)", overload<T, double, int>(&trapezoid), function);
  s.alias("trapz", "trapezoid");
  s.add("cumulative_trapezoid(y, x, *, dim=-1)", overload<T, T, int>(&cumulative_trapezoid), function,
        "The cumulative integral along dim by the trapezoidal rule, over points x or with steps dx.");
  s.add("cumulative_trapezoid(y, *, dx=1, dim=-1)", overload<T, double, int>(&cumulative_trapezoid), function);
}

Tensor norm_by_name(T x, const std::optional<std::string>& p, const Dims& dim, bool keepdim, D d) {
  if (p == "nuc") return linalg::nuclear_norm(d ? to(x, *d) : x, dim.empty() ? Dims{-2, -1} : dim, keepdim);
  check<ValueError>(!p || p == "fro", [&] { return "norm: expected 'fro', 'nuc' or a number, got '" + *p + "'"; });
  return norm(x, 2, dim, keepdim, d);
}
void add_norms(const List& s) {
  s.add("norm(input, p='fro', dim=None, keepdim=False, dtype=None)", &norm_by_name, both | out,
        "The p-norm of all elements or along dim; 'fro' is p = 2, 'nuc' the sum of singular values.");
  s.add(
      "norm(input, p, dim=None, keepdim=False, dtype=None)",
      [](T x, double p, const Dims& dim, bool k, D d) { return norm(x, p, dim, k, d); }, both | out);
}

}  // namespace

void add_reduce(std::deque<Function>& all) {
  const List s(all, "");
  add_table(s);
  add_sums(s);
  add_moments(s);
  add_extremes(s);
  add_scans(s);
  add_norms(s);
}

}  // namespace neura::surface

// Reductions, scans and softmax.
#include "common.h"

#include "neura/ops/linalg.h"

namespace neura::python {
namespace {

using D = ::std::optional<DType>;
using C = ::std::optional<double>;

template <Tensor (*f)(const Tensor&, const Dims&, bool, D)> void with_dtype(const Names& n, const char* name) {
  n.both(
      name, [](const Tensor& x, const Dims& dim, bool keepdim, D d) { return f(x, dim, keepdim, d); }, "input"_a,
      "dim"_a = nb::none(), "keepdim"_a = false, nb::kw_only(), "dtype"_a = nb::none());
}
template <Tensor (*f)(const Tensor&, const Dims&, bool)> void plain(const Names& n, const char* name) {
  n.both(
      name, [](const Tensor& x, const Dims& dim, bool keepdim) { return f(x, dim, keepdim); }, "input"_a,
      "dim"_a = nb::none(), "keepdim"_a = false);
}
// dim=() reduces nothing: which elements are not zero?
template <Tensor (*f)(const Tensor&, const Dims&, bool)> void truth_of(const Names& n, const char* name) {
  n.both(
      name,
      [](const Tensor& x, const std::optional<Dims>& dim, bool keepdim) {
        if (!dim || !dim->empty()) return f(x, dim.value_or(Dims()), keepdim);
        const Tensor y = ne(x, Scalar(0));
        return x.dtype() == DType::uint8 ? y.to(DType::uint8) : y;
      },
      "input"_a, "dim"_a = nb::none(), "keepdim"_a = false);
}
// correction, and the older unbiased
template <auto f, class R> void spread(const Names& n, const char* name) {
  n.both(
      name, [](const Tensor& x, bool unbiased) -> R { return f(x, {}, unbiased ? 1 : 0, false); }, "input"_a,
      "unbiased"_a);
  n.both(
      name,
      [](const Tensor& x, const Dims& dim, bool unbiased, bool keepdim) -> R {
        return f(x, dim, unbiased ? 1 : 0, keepdim);
      },
      "input"_a, "dim"_a.none(), "unbiased"_a, "keepdim"_a = false);
  n.both(
      name,
      [](const Tensor& x, const Dims& dim, C correction, bool keepdim) -> R {
        return f(x, dim, correction.value_or(1), keepdim);
      },
      "input"_a, "dim"_a = nb::none(), nb::kw_only(), "correction"_a = nb::none(), "keepdim"_a = false);
}
nb::object var_mean_of(const Tensor& x, const Dims& d, double c, bool k) {
  const MomentsResult r = var_mean(x, d, c, k);
  return nb::make_tuple(r.first, r.mean);
}
nb::object std_mean_of(const Tensor& x, const Dims& d, double c, bool k) {
  const MomentsResult r = std_mean(x, d, c, k);
  return nb::make_tuple(r.first, r.mean);
}
template <Tensor (*whole)(const Tensor&), MaxResult (*along)(const Tensor&, int, bool),
          Tensor (*between)(const Operand&, const Operand&)>
void extreme(const Names& n, const char* name) {
  n.both(
      name, [](const Tensor& x) { return whole(x); }, "input"_a);
  n.both(
      name,
      [name](const Tensor& x, int dim, bool keepdim) {
        const MaxResult r = along(x, dim, keepdim);
        return named_pair(name, "values", "indices", r.values, r.indices);
      },
      "input"_a, "dim"_a, "keepdim"_a = false);
  n.both(
      name, [](const Tensor& x, const Tensor& y) { return between(x, y); }, "input"_a, "other"_a);
}
double order(nb::handle p) {
  double d = 2;
  if (p.is_none()) return d;
  if (PyUnicode_Check(p.ptr())) {
    const std::string text = nb::cast<std::string>(p);
    check<ValueError>(text == "fro", [&] { return "norm: expected 'fro', 'nuc' or a number, got '" + text + "'"; });
    return d;
  }
  if (!nb::try_cast<double>(p, d)) throw nb::type_error("norm: expected a number, 'fro' or 'nuc' for p");
  return d;
}

void bind_scans(const Names& n) {
  n.both(
      "cumsum", [](const Tensor& x, int dim, D d) { return cumsum(x, dim, d); }, "input"_a, "dim"_a, nb::kw_only(),
      "dtype"_a = nb::none());
  n.both(
      "cumprod", [](const Tensor& x, int dim, D d) { return cumprod(x, dim, d); }, "input"_a, "dim"_a, nb::kw_only(),
      "dtype"_a = nb::none());
  n.both("logcumsumexp", &logcumsumexp, "input"_a, "dim"_a);
  n.both(
      "cummax",
      [](const Tensor& x, int dim) {
        const CumulativeResult r = cummax(x, dim);
        return named_pair("cummax", "values", "indices", r.values, r.indices);
      },
      "input"_a, "dim"_a);
  n.both(
      "cummin",
      [](const Tensor& x, int dim) {
        const CumulativeResult r = cummin(x, dim);
        return named_pair("cummin", "values", "indices", r.values, r.indices);
      },
      "input"_a, "dim"_a);
  n.both("diff", &diff, "input"_a, "n"_a = 1, "dim"_a = -1, "prepend"_a = nb::none(), "append"_a = nb::none());
  for (const char* name : {"trapezoid", "trapz"}) {
    n.function(name, nb::overload_cast<const Tensor&, const Tensor&, int>(&trapezoid), "y"_a, "x"_a, nb::kw_only(),
               "dim"_a = -1);
    n.function(name, nb::overload_cast<const Tensor&, double, int>(&trapezoid), "y"_a, nb::kw_only(), "dx"_a = 1.0,
               "dim"_a = -1);
  }
  n.function("cumulative_trapezoid", nb::overload_cast<const Tensor&, const Tensor&, int>(&cumulative_trapezoid), "y"_a,
             "x"_a, nb::kw_only(), "dim"_a = -1);
  n.function("cumulative_trapezoid", nb::overload_cast<const Tensor&, double, int>(&cumulative_trapezoid), "y"_a,
             nb::kw_only(), "dx"_a = 1.0, "dim"_a = -1);
  n.both(
      "softmax", [](const Tensor& x, int dim, D d) { return softmax(x, dim, d); }, "input"_a, "dim"_a,
      "dtype"_a = nb::none());
  n.both(
      "log_softmax", [](const Tensor& x, int dim, D d) { return log_softmax(x, dim, d); }, "input"_a, "dim"_a,
      "dtype"_a = nb::none());
}
void bind_norms(const Names& n) {
  n.both(
      "norm",
      [](const Tensor& x, nb::handle p, const Dims& dim, bool keepdim, D d) {
        if (PyUnicode_Check(p.ptr()) && PyUnicode_CompareWithASCIIString(p.ptr(), "nuc") == 0)
          return linalg::nuclear_norm(d ? to(x, *d) : x, dim.empty() ? Dims{-2, -1} : dim, keepdim);
        return norm(x, order(p), dim, keepdim, d);
      },
      "input"_a, "p"_a.none() = nb::str("fro"), "dim"_a = nb::none(), "keepdim"_a = false, "dtype"_a = nb::none());
  n.function(
      "_vector_norm",
      [](const Tensor& x, double ord, const Dims& dim, bool keepdim, D d) {
        return vector_norm(x, ord, dim, keepdim, d);
      },
      "x"_a, "ord"_a = 2.0, "dim"_a = nb::none(), "keepdim"_a = false, nb::kw_only(), "dtype"_a = nb::none());
  n.both("dist", &dist, "input"_a, "other"_a, "p"_a = 2.0);
  n.both("renorm", &renorm, "input"_a, "p"_a, "dim"_a, "maxnorm"_a);
}

}  // namespace

void bind_reduce(const Names& n) {
  with_dtype<sum>(n, "sum"), with_dtype<nansum>(n, "nansum"), with_dtype<mean>(n, "mean");
  with_dtype<nanmean>(n, "nanmean"), with_dtype<prod>(n, "prod");
  plain<amax>(n, "amax"), plain<amin>(n, "amin"), truth_of<any>(n, "any"), truth_of<all>(n, "all");
  n.both(
      "logsumexp", [](const Tensor& x, const Dims& dim, bool keepdim) { return logsumexp(x, dim, keepdim); }, "input"_a,
      "dim"_a, "keepdim"_a = false);
  n.both("count_nonzero", &count_nonzero, "input"_a, "dim"_a = nb::none());
  n.both("trace", &trace, "input"_a);
  spread<var, Tensor>(n, "var"), spread<neura::std, Tensor>(n, "std");
  spread<var_mean_of, nb::object>(n, "var_mean"), spread<std_mean_of, nb::object>(n, "std_mean");
  extreme<max, max, maximum>(n, "max"), extreme<min, min, minimum>(n, "min");
  n.both("argmax", &argmax, "input"_a, "dim"_a = nb::none(), "keepdim"_a = false);
  n.both("argmin", &argmin, "input"_a, "dim"_a = nb::none(), "keepdim"_a = false);
  n.both(
      "aminmax",
      [](const Tensor& x, std::optional<int> dim, bool keepdim) {
        const MinMaxResult r = aminmax(x, dim, keepdim);
        return named_pair("aminmax", "min", "max", r.min, r.max);
      },
      "input"_a, nb::kw_only(), "dim"_a = nb::none(), "keepdim"_a = false);
  bind_scans(n);
  bind_norms(n);
}

}  // namespace neura::python

// From a row's functor to its Row object. Included by the sources that define rows (define_table.h).
#pragma once
#include <algorithm>

#include "neura/backend/families.h"
#include "neura/backend/number/prelude.h"
#include "neura/op/pointwise/pointwise.h"
#include "neura/ops/pointwise/composed.h"

namespace neura::plain {
using namespace type_rules;
#include "neura/backend/number/numbers.h"
#include "neura/backend/number/row.h"
#include "neura/op/pointwise/variable.h"
#include "neura/tables/slopes.h"
#include "neura/tables/special_slopes.h"

// What differs where a tensor may be complex: known only when it is called.
inline Variable sgn_slope(const Variable& g, const Variable& x, const Variable& y) {
  if (!x.is_complex()) return Constant{0};
  const Variable r = abs(x), radial = real(g / x);
  return where(r == Constant{0}, Constant{0}, g / r - radial * y);
}
inline Variable angle_slope(const Variable& g, const Variable& x) {
  if (!x.is_complex()) return Constant{0};
  const Variable r = abs(x), turned(neura::mul(x.tensor, std::complex<double>(0, 1)));
  return where(r == Constant{0}, Constant{0}, turned * (g / (r * r)));
}
inline Variable real_slope(const Variable& g, const Variable&) { return g; }
inline Variable silu_slope(const Variable& g, const Variable& x) {
  if (!x.is_complex()) return silu_slope<Variable>(g, x);
  const Variable s = Constant{1} / (Constant{1} + exp(-x));
  return g * (s * (Constant{1} + x * (Constant{1} - s)));
}

template <template <class> class R, int K> Tensor slope_of_tensors(const Tensor* t, const double* attributes) {
  const R<Variable> r(attributes);
  const auto v = [&](int i) { return Variable(t[i]); };
  Variable d;
  if constexpr (R<Probe>::arity == 1) d = r.template slope<K>(v(0), v(1), v(2));
  else if constexpr (R<Probe>::arity == 2) d = r.template slope<K>(v(0), v(1), v(2), v(3));
  else d = r.template slope<K>(v(0), v(1), v(2), v(3), v(4));
  if (d.tensor) return d.tensor;
  Tensor all = Tensor::empty(Spec::dense(t[0].dtype(), t[0].shape(), t[0].device()));
  return all.fill_(d.constant);
}
template <template <class> class R, int K> constexpr Slope make_slope() {
  constexpr Probe p = probe<R, K>();
  Slope s;
  if constexpr (!kOnlyPrograms && !p.none) {
    s.exists = true, s.passes = p.is_g, s.reads_g = p.reads() & 1;
    s.reads = static_cast<std::uint16_t>((p.reads() >> 1 & 7) | (p.reads() >> 4 & 1) << 8);
    s.exact = &slope_of_tensors<R, K>;
  }
  return s;
}
template <template <class> class R>
inline constexpr Slope slopes_of[3] = {make_slope<R, 0>(), make_slope<R, 1>(), make_slope<R, 2>()};

template <template <class> class R> constexpr Row make_row(const char* name, const char* formula, const char* text,
                                                           const AttributeList& attributes,
                                                           const AttributeLimits* limits, Family family, unsigned slot,
                                                           const void* (*own)(const Backend&), const Row* derivatives) {
  using P = R<Probe>;
  constexpr int cost = std::clamp<int>(value_probe<R>().cost, 1, 255);
  Row r;
  r.name = name[0] == '_' ? name + 1 : name;
  r.kind = Row::pointwise, r.inputs = P::arity, r.types = P::kind, r.cost = cost;
  r.family = family, r.slot = static_cast<std::uint16_t>(slot), r.own = own;
  r.slopes = slopes_of<R>, r.derivatives = derivatives;
  r.attributes = attributes, r.limits = limits, r.formula = formula, r.text = text;
  r.op_bytes = static_cast<std::uint16_t>(attributes.count * sizeof(double));  // a record keeps them for the derivative
  constexpr bool any = make_slope<R, 0>().exists || make_slope<R, 1>().exists || make_slope<R, 2>().exists;
  if constexpr (any && (P::kind.accepted & (floating | complexes)) != 0)
    r.differentiable = true, r.gradient = &pointwise_gradient;
  return r;
}

// The slope of a row as an operation of its own.
template <template <class> class R>
constexpr Row make_slope_row(const Row* of, int operand, const char* name, const AttributeList& attributes) {
  constexpr int cost = std::clamp<int>(value_probe<R>().cost, 1, 255);
  Row r;
  r.name = name[0] == '_' ? name + 1 : name;
  r.kind = Row::slope, r.inputs = R<Probe>::arity + 2, r.cost = cost;
  r.of = of, r.operand = static_cast<std::uint8_t>(operand);
  r.attributes = attributes.with("of_complex", 0);
  r.op_bytes = static_cast<std::uint16_t>(r.attributes.count * sizeof(double));
  return r;
}

}  // namespace neura::plain

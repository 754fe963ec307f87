#include "neura/sparse/rules.h"

#include <initializer_list>
#include <string>

#include "neura/op/attributes.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/struct_operations.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/scan.h"

namespace neura::sparse {
namespace {

// The call, of the values instead.
Tensor of_values(const Call& c, const Tensor& t) {
  const Tensor v = values_of(t);
  Operand in = v;
  Tensor out;
  Call inner{c.row, c.op, &in, 1, &out};
  apply(inner);
  return out;
}
Tensor linear(const Call& c) { return with_values(operand(c, 0), of_values(c, operand(c, 0))); }
Tensor converted(const Call& c) {
  return attribute(c, "keep_order")[0] ? linear(c) : Tensor();  // else the result has to be contiguous
}
Tensor element(const Call& c) {  // f(0) = 0, but f(a + b) is not f(a) + f(b)
  const Tensor x = operand(c, 0), t = layout(x) == Layout::coo ? coalesce(x) : x;
  return with_values(t, of_values(c, t));
}
Tensor moved(const Call& c) {
  const Tensor t = operand(c, 0), v = of_values(c, t);
  Pattern p = pattern(t);
  p.first = to(p.first, v.device());
  if (p.second) p.second = to(p.second, v.device());
  return assemble(p, v, t.shape());
}
Tensor nothing(const Call& c) {  // in place
  const Tensor& t = c.out[0];
  const Options o{.dtype = t.dtype(), .device = t.device()};
  if (layout(t) == Layout::csr || layout(t) == Layout::csc) return empty(t.shape(), layout(t), o);
  if (layout(t) != Layout::coo) return {};
  Tensor made = empty(t.shape(), Layout::coo, o);
  return resize_(made, t.shape(), sparse_dim(t), dense_dim(t), true);
}
Tensor copied(const Call& c) {
  const Tensor self = operand(c, 0), from = operand(c, 1);
  if (!parts_if(self)) return to_dense(from);
  if (!parts_if(from) || self.shape() != from.shape()) return {};
  if (layout(self) != layout(from)) return {};
  const Tensor there = to(to(from, self.dtype()), self.device());
  Pattern p = pattern(there);  // nothing of it is shared
  p.first = p.first.clone();
  if (p.second) p.second = p.second.clone();
  return assemble(p, values_of(there).clone(), there.shape());
}
Tensor permute(const Call& c) {
  const std::vector<std::int64_t> dims = attribute(c, "dims");
  return permuted(operand(c, 0), Shape(dims.data(), dims.size()));
}
Tensor reshape(const Call& c) {
  const std::vector<std::int64_t> to = attribute(c, "to");
  return reshaped(operand(c, 0), Shape(to.data(), to.size()));
}
Tensor slice(const Call& c) {  // a copy, as select gives
  const Tensor t = operand(c, 0);
  const Tensor index = arange(attribute(c, "start")[0], attribute(c, "end")[0], attribute(c, "step")[0],
                              {.dtype = DType::int64, .device = t.device()});
  return index_select(t, int(attribute(c, "dim")[0]), index);
}
Tensor select_one(const Call& c) {
  return selected(operand(c, 0), int(attribute(c, "dim")[0]), attribute(c, "index")[0]);
}
Tensor select_index(const Call& c) {
  const Tensor index = operand(c, 1);
  return parts_if(index) ? Tensor() : index_select(operand(c, 0), int(attribute(c, "dim")[0]), index);
}
Tensor join(const Call& c) {
  std::vector<Tensor> l;
  for (int i = 0; i < c.inputs; ++i) l.push_back(operand(c, i));
  for (const Tensor& t : l)
    if (layout(t) != Layout::coo) return {};
  return cat(l, int(attribute(c, "dim")[0]));
}
Tensor total(const Call& c) {
  const Tensor t = operand(c, 0);
  const auto mask = unsigned(attribute(c, "dims")[0]);
  Dims dims;
  for (int d = 0; d < t.dim(); ++d)
    if (mask >> d & 1) dims.push_back(d);
  if (dims.size() == t.dim()) dims = {};
  return to(sparse::sum(t, dims, attribute(c, "keepdim")[0]), DType(attribute(c, "result")[0]));
}
// any and all of all elements, as a number. What is not stored is false.
Tensor truth(const Call& c) {
  const Tensor t = operand(c, 0);
  const auto mask = unsigned(attribute(c, "dims")[0]);
  if ((mask && mask != (1u << t.dim()) - 1) || attribute(c, "keepdim")[0]) return {};
  const Tensor v = values_of(layout(t) == Layout::coo ? coalesce(t) : t);
  const bool every = c.row == &operations::all();
  if (every && v.numel() < t.numel())
    return zeros({}, {.dtype = DType(attribute(c, "result")[0]), .device = t.device()});
  return every ? all(v) : any(v);
}

// Which rows take a sparse operand. By the rows themselves: a program's own operation may have any name.
const Rules& all_rules() {
  static const auto& all = *[] {
    auto* made = new Rules;
    const auto add = [&](Rule rule, std::initializer_list<const Row*> of) {
      for (const Row* row : of) made->emplace(row, rule);
    };
    add(linear, {&rows::neg, &rows::deg2rad, &rows::rad2deg, &rows::conj_physical, &rows::_real_part,
                 &operations::lazy_clone()});
    add(element, {&rows::abs,
                  &rows::sgn,
                  &rows::sign,
                  &rows::_square,
                  &rows::expm1,
                  &rows::log1p,
                  &rows::sqrt,
                  &rows::sin,
                  &rows::asin,
                  &rows::tan,
                  &rows::atan,
                  &rows::sinh,
                  &rows::tanh,
                  &rows::atanh,
                  &rows::asinh,
                  &rows::erf,
                  &rows::erfinv,
                  &rows::ceil,
                  &rows::floor,
                  &rows::trunc,
                  &rows::frac,
                  &rows::_round,
                  &rows::_round_decimals,
                  &rows::relu,
                  &rows::relu6,
                  &rows::leaky_relu,
                  &rows::isnan,
                  &rows::isinf,
                  &rows::isposinf,
                  &rows::isneginf,
                  &rows::signbit,
                  &rows::_nan_to_num,
                  &rows::angle});
    add(converted, {&operations::to()});
    add(moved, {&operations::to_device()});
    add(nothing, {&operations::zero()});
    add(copied, {&operations::copy()});
    add(permute, {&operations::permute()});
    add(reshape, {&operations::view()});
    add(slice, {&operations::slice()});
    add(select_one, {&operations::select()});
    add(select_index, {&operations::index_select()});
    add(join, {&operations::cat()});
    add(total, {&operations::sum()});
    add(truth, {&operations::any(), &operations::all()});
    add_arithmetic(*made), add_products(*made);
    return made;
  }();
  return all;
}

}  // namespace

Rule find_rule(const Row& row) {
  const auto at = all_rules().find(&row);
  return at == all_rules().end() ? nullptr : at->second;
}

bool Sparse::take(Call& c) const {
  const Rule rule = c.row->outputs == 1 ? find_rule(*c.row) : nullptr;
  if (!rule) return false;
  Tensor made = rule(c);
  if (!made) return false;
  if (c.destination == Destination::fresh) return c.out[0] = std::move(made), true;
  Tensor& out = c.out[0];
  if (made.is_same(out)) return true;
  if (!parts_if(out) && parts_if(made)) return false;
  if (!parts_if(out)) return copy_(out, made), true;
  if (!parts_if(made) || made.shape() != out.shape()) return false;
  return overwrite(c.row->name, out, made), true;
}

Tensor cumulative(const Tensor& count) { return cumsum(count, 0) - count; }

std::vector<std::int64_t> attribute(const Call& c, const char* name) {
  const Attributes a = Attributes::of(*c.row, c.op);
  const Attributes::Field* f = a.find(name);
  NEURA_ASSERT(f);
  if (f->kind != Attributes::Kind::group) return {f->whole};
  std::vector<std::int64_t> list;
  for (std::size_t k = 1; k <= f->fields; ++k) list.push_back(f[k].whole);
  return list;
}

}  // namespace neura::sparse

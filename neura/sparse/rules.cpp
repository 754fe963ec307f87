#include "neura/sparse/rules.h"

#include <string>

#include "neura/op/attributes.h"
#include "neura/op/pointwise/rows.h"
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
  return layout(self) == layout(from) ? to(to(from, self.dtype()), self.device()) : Tensor();
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
  const bool every = std::string_view(c.row->name) == "all";
  if (every && v.numel() < t.numel())
    return zeros({}, {.dtype = DType(attribute(c, "result")[0]), .device = t.device()});
  return every ? all(v) : any(v);
}

constexpr std::string_view kLinear[] = {"neg", "lazy_clone", "deg2rad", "rad2deg", "conj_physical", "real_part"};
constexpr std::string_view kElement[] = {
    "abs",   "sgn",      "sign",     "square",  "expm1",          "log1p",    "sqrt",  "sin",        "asin",
    "tan",   "atan",     "sinh",     "tanh",    "atanh",          "asinh",    "erf",   "erfinv",     "ceil",
    "floor", "trunc",    "frac",     "round",   "round_decimals", "relu",     "relu6", "leaky_relu", "isnan",
    "isinf", "isposinf", "isneginf", "signbit", "nan_to_num",     "positive", "angle"};

template <std::size_t n> bool has(const std::string_view (&list)[n], std::string_view name) {
  return std::find(list, list + n, name) != list + n;
}

}  // namespace

Rule find_rule(const char* row) {
  std::string_view name = row;
  if (name.starts_with("_")) name.remove_prefix(1);
  if (Rule r = arithmetic_rule(name)) return r;
  if (Rule r = product_rule(name)) return r;
  if (has(kLinear, name)) return linear;
  if (has(kElement, name)) return element;
  if (name == "to") return converted;
  if (name == "to_device") return moved;
  if (name == "zero") return nothing;
  if (name == "copy") return copied;
  if (name == "permute") return permute;
  if (name == "view") return reshape;
  if (name == "slice") return slice;
  if (name == "select") return select_one;
  if (name == "index_select") return select_index;
  if (name == "cat") return join;
  if (name == "sum") return total;
  if (name == "any" || name == "all") return truth;
  return nullptr;
}

bool Sparse::take(Call& c) const {
  const Rule rule = c.row->outputs == 1 ? find_rule(c.row->name) : nullptr;
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

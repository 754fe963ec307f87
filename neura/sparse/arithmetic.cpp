// Sums and products, element by element.
#include <string>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/sort/sort.h"
#include "neura/sparse/rules.h"

namespace neura::sparse {
namespace {

void check_same(const char* op, const Tensor& a, const Tensor& b) {
  check<ShapeError>(a.shape() == b.shape() && sparse_sizes(a) == sparse_sizes(b), [&] {
    return std::string(op) + ": expected sparse tensors of one size and the same sparse dimensions, got " +
           a.spec().str() + " and " + b.spec().str();
  });
}
bool same_indices(const Tensor& a, const Tensor& b) {
  const Pattern &p = pattern(a), &q = pattern(b);
  return p.layout == q.layout && p.first.is_same(q.first) && p.second.is_same(q.second) &&
         parts(a, "add").data.shape() == parts(b, "add").data.shape();
}
// Back into the layout of `like`, which two coo operands had.
Tensor like_first(const Tensor& made, const Tensor& like) {
  const Pattern& p = pattern(like);
  if (!p.by_block()) return to_layout(made, p.layout);
  const Tensor& v = parts(like, "add").data;
  return to_layout(made, p.layout, Shape{v.size(1), v.size(2)});
}

Tensor add_sparse(const Tensor& a, const Tensor& b, bool subtract) {
  check_same(subtract ? "sub" : "add", a, b);
  const Tensor second = subtract ? neg(values_of(b)) : values_of(b);
  if (same_indices(a, b)) return with_values(a, values_of(a) + second);
  const Tensor x = to_coo(a), y = to_coo(with_values(b, second));
  const DType d = promote(a.dtype(), b.dtype());
  const Pattern both{Layout::coo, false, neura::cat({pattern(x).first, pattern(y).first}, 1), {}};
  const Tensor made = assemble(both, neura::cat({to(values_of(x), d), to(values_of(y), d)}), a.shape());
  const bool ordered = pattern(x).coalesced && pattern(y).coalesced;
  return like_first(ordered ? coalesce(made) : made, a);
}
// In place where `into` is given: only what the sparse tensor stores is touched.
Tensor add_dense(const Tensor& dense, const Tensor& t, bool subtract, Tensor* into = nullptr) {
  Tensor v = flat_values(t, values_of(t));
  if (subtract) v = neg(v);
  const DType d = into ? into->dtype() : promote(dense.dtype(), t.dtype());
  Shape flat{sparse_sizes(t).numel()};
  for (std::int64_t n : dense_sizes(t)) flat.push_back(n);
  if (into) {
    Tensor rows = view(*into, flat);
    return index_add_(rows, 0, keys(t), to(v, d)), *into;
  }
  return reshape(index_add(to(reshape(dense, flat), d), 0, keys(t), to(v, d)), t.shape());
}

// What the dense `b`, broadcast, has at the elements of `a`, of the sizes of its values. Undefined where a would grow.
Tensor broadcast_at(const Tensor& b, const Tensor& a) {
  const Shape sizes = sparse_sizes(a), all = a.shape();
  if (b.dim() > all.size()) return {};
  Tensor rest = b;
  while (rest.dim() < all.size()) rest = unsqueeze(rest, 0);
  for (int d = 0; d < all.size(); ++d)
    if (rest.size(d) != 1 && rest.size(d) != all[d]) return {};
  if (rest.shape() == all) return values_at(rest, a);
  const Tensor places = coordinates(keys(a), sizes);
  Tensor key = zeros({places.size(1)}, {.dtype = DType::int64, .device = a.device()});
  Shape flat{1};
  for (int d = 0; d < all.size(); ++d) {
    if (d >= sizes.size()) flat.push_back(rest.size(d));
    else if (flat[0] *= rest.size(d); rest.size(d) != 1) key = key * Scalar(rest.size(d)) + select(places, 0, d);
  }
  const Tensor taken = neura::index_select(reshape(rest, flat), 0, key);
  if (!pattern(a).by_block()) return taken;
  Shape blocks = parts(a, "mul").data.shape();
  for (int d = 3; d < blocks.size(); ++d) blocks[d] = taken.size(d - 2);
  return reshape(taken, blocks);
}

Tensor mul_sparse(const Tensor& a, const Tensor& b) {
  check_same("mul", a, b);
  if (same_indices(a, b) && (pattern(a).layout != Layout::coo || pattern(a).coalesced))
    return with_values(a, values_of(a) * values_of(b));
  const Tensor x = coalesce(to_coo(a)), y = coalesce(to_coo(b));
  const Tensor k = keys(x), known = keys(y);
  const std::int64_t last = known.numel() - 1;
  const Tensor found = last < 0 ? zeros({0}, {.dtype = DType::int64, .device = a.device()}) : [&] {
    const Tensor place = minimum(searchsorted(known, k), Scalar(last));
    return flatten(nonzero(neura::index_select(known, 0, place) == k));
  }();
  const Tensor index = neura::index_select(pattern(x).first, 1, found);
  const Tensor other = last < 0 ? found : searchsorted(known, neura::index_select(k, 0, found));
  const Tensor v = neura::index_select(values_of(x), 0, found) * neura::index_select(values_of(y), 0, other);
  return like_first(assemble({Layout::coo, true, index, {}}, v, a.shape()), a);
}

}  // namespace

Tensor mul(const Tensor& a, const Operand& b) {
  if (!b.is_tensor()) return with_values(a, neura::mul(values_of(a), b));
  const Tensor other(Ref<TensorImpl>::share(b.tensor));
  if (parts_if(other)) return mul_sparse(a, other);
  if (!other.dim()) return with_values(a, neura::mul(values_of(a), other));
  const Tensor factor = broadcast_at(other, a);
  return factor ? with_values(a, neura::mul(values_of(a), factor)) : factor;
}

namespace {

Tensor rule_add(const Call& c, bool subtract) {
  const Tensor a = operand(c, 0), b = operand(c, 1);
  if (!a || !b) return {};
  const bool first = parts_if(a), second = parts_if(b);
  if (first && second) return add_sparse(a, b, subtract);
  const Tensor &dense = first ? b : a, &t = first ? a : b;
  if (dense.shape() != t.shape()) {
    if (!dense.dim()) return {};
    return subtract ? to_dense(a) - to_dense(b) : to_dense(a) + to_dense(b);
  }
  if (c.destination == Destination::in_place && !first && dense.is_contiguous() &&
      promote(dense.dtype(), t.dtype()) == dense.dtype())
    return add_dense(dense, t, subtract, c.out);
  return first && subtract ? add_dense(neg(dense), t, false) : add_dense(dense, t, subtract);
}
Tensor rule_add(const Call& c) { return rule_add(c, false); }
Tensor rule_sub(const Call& c) { return rule_add(c, true); }
Tensor rule_mul(const Call& c) {
  const Tensor a = operand(c, 0), b = operand(c, 1);
  return parts_if(a) ? mul(a, c.in[1]) : mul(b, c.in[0]);
}
// The row on the values, where zero divided (or raised) stays zero.
Tensor rule_div(const Call& c) {
  const Tensor a = operand(c, 0), b = operand(c, 1);
  if (!parts_if(a) || parts_if(b)) return {};
  const Tensor by = b && b.dim() ? broadcast_at(b, a) : b;
  if (b && !by) return {};
  const Tensor v = values_of(a);
  Operand in[] = {v, by ? Operand(by) : c.in[1]};
  Tensor out;
  Call inner{c.row, c.op, in, 2, &out};
  apply(inner);
  return with_values(a, out);
}
Tensor rule_rounded(const Call& c) {  // not linear: of sums, not of what is added
  const Tensor a = operand(c, 0);
  if (!parts_if(a)) return {};
  if (pattern(a).layout != Layout::coo || pattern(a).coalesced) return rule_div(c);
  const Tensor ordered = coalesce(a);
  Operand in[] = {ordered, c.in[1]};
  return rule_div({c.row, c.op, in, 2, c.out});
}
Tensor rule_pow(const Call& c) {
  const Operand& by = c.in[1];
  return by.is_scalar() && by.scalar.category() != Category::complex && by.scalar.real() > 0 ? rule_rounded(c)
                                                                                             : Tensor();
}

}  // namespace

void add_arithmetic(Rules& all) {
  all[&rows::add] = rule_add, all[&rows::sub] = rule_sub, all[&rows::mul] = rule_mul, all[&rows::div] = rule_div;
  for (const Row* row : {&rows::floor_divide, &rows::div_floor, &rows::div_trunc}) all[row] = rule_rounded;
  all[&rows::pow] = rule_pow;
}

}  // namespace neura::sparse

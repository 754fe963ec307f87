// Derivatives of writes that reduce. The same formulas serve vectors of indices and grids of them.
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index_ops.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

struct ReducingWrite {
  const WriteAttributes& a;
  const Tensor &index, &self, &source, &result;

  Tensor gathered(const Tensor& x) const {
    return a.grid ? apply(Gather{a.dim}, x, index) : apply(IndexSelect{a.dim}, x, index);
  }
  Tensor sum_into(const Tensor& base, const Tensor& x) const {
    return write_at({a.dim, {ScatterReduce::add}, a.grid, {}}, base, index, x);
  }
  Tensor repeated(const Tensor& base, const Tensor& x) const { return write_at(a, base, index, x); }
  Tensor cleared(const Tensor& x) const {  // zero where something was written
    return write_at({a.dim, {ScatterReduce::copy}, a.grid, {}}, x, index, zeros_like(source));
  }
  Tensor number(const Tensor& mask) const { return mask.to(self.dtype()); }
};

void prod(const ReducingWrite& r, const Tensor& g, Tensor& to_self, Tensor& to_source) {
  // The gradient of self is the product of what was written to it: repeated() / self, with ones for the zeros of self.
  const Tensor self = masked_fill(r.self, eq(r.self, 0), 1);
  to_self = div(mul(g, r.repeated(self, r.source)), self);
  const Tensor zero = eq(r.source, 0);
  const Tensor zeros = r.gathered(r.sum_into(zeros_like(r.self), r.number(zero)));
  const Tensor single = logical_and(eq(zeros, 1), zero);
  const Tensor others = r.repeated(r.self, masked_fill(r.source, single, 1));
  to_source =
      where(single, r.gathered(mul(g, others)), div(r.gathered(mul(g, r.result)), masked_fill(r.source, zero, 1)));
}

void extremum(const ReducingWrite& r, const Tensor& g, Tensor& to_self, Tensor& to_source) {
  const Tensor self_is = r.number(eq(r.self, r.result)), source_is = r.number(eq(r.source, r.gathered(r.result)));
  const Tensor base = r.a.put.include_self ? self_is : r.cleared(self_is);
  const Tensor share = div(g, r.sum_into(base, source_is));  // those that tie share
  to_self = mul(self_is, share);
  to_source = mul(source_is, r.gathered(share));
}

}  // namespace

void reduce_gradient(const WriteAttributes& a, Gradient& g) {
  using In = WriteAttributes::In;
  const ReducingWrite r{a, g.input(In::index), g.input(In::input), g.input(In::source), g.output()};
  Tensor to_self, to_source;
  if (a.put.mode == ScatterReduce::prod) {
    prod(r, g.g[0], to_self, to_source);
  } else if (a.put.mode == ScatterReduce::amax || a.put.mode == ScatterReduce::amin) {
    extremum(r, g.g[0], to_self, to_source);
  } else {
    Tensor share = g.g[0];
    if (a.put.mode == ScatterReduce::mean) {
      const Tensor count = r.sum_into(full_like(r.self, a.put.include_self ? 1 : 0), ones_like(r.source));
      share = div(share, masked_fill(count, eq(count, 0), 1));
    }
    to_self = share, to_source = r.gathered(share);
  }
  if (g.needs(In::input)) g.result[In::input] = a.put.include_self ? to_self : r.cleared(to_self);
  if (!g.needs(In::source)) return;
  const Shape sizes = g.meta[In::source]->sizes();
  g.result[In::source] = to_source.shape() == sizes ? to_source : reshape(to_source, sizes);
}

}  // namespace neura

#include "neura/autograd/forward_ad.h"

#include <string>

#include "neura/core/state.h"
#include "neura/op/call_error.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index_ops.h"
#include "neura/ops/shape/strided.h"
#include "neura/ops/shape/view.h"

namespace neura {

struct DualLevel::Dual final : Handle {
  Tensor tangent;
  bool is_batch() const override { return false; }
  bool has_tangent() const override { return tangent.defined(); }
  Tensor copy(const TensorImpl* self) const override {
    return again(self, clone(value), tangent ? clone(tangent) : tangent);
  }
  Tensor detached(const TensorImpl* self) const override { return again(self, detach_all(value), {}); }
  Tensor again(const TensorImpl* self, Tensor v, Tensor t) const {
    auto h = std::make_unique<Dual>(*this);
    h->value = std::move(v), h->tangent = std::move(t);
    return wrap(std::move(h), self->spec);
  }
};

Tensor DualLevel::pair(Tensor primal, Tensor tangent) const {
  const Spec spec = primal.spec();
  auto h = std::make_unique<Dual>();
  h->level = number(), h->value = std::move(primal), h->tangent = std::move(tangent);
  return wrap(std::move(h), spec);
}
Tensor DualLevel::make(const Tensor& primal, const Tensor& tangent) const {
  check<DTypeError>(differentiable(primal.dtype()), [&] {
    return "make_dual: expected a primal of a floating or complex dtype, got " + primal.spec().str();
  });
  check<ShapeError>(primal.spec().same_shape(tangent.spec()), [&] {
    return "make_dual: expected a tangent of the primal's shape " + primal.shape().str() + ", got " +
           tangent.shape().str();
  });
  check<DTypeError>(primal.dtype() == tangent.dtype(), [&] {
    return "make_dual: expected primal and tangent of one dtype, got " + primal.spec().str() + " and " +
           tangent.spec().str();
  });
  const auto* h = handle_as<Dual>(primal.impl());
  check<ValueError>(!h || !h->tangent, [] {
    return "make_dual: expected a primal without a tangent at this level, got one that has one; unpack_dual() it first";
  });
  return pair(h ? h->value : primal, tangent);
}
Tensor DualLevel::primal(const Tensor& t) const {
  const auto* h = handle_of(t.impl());
  return h ? h->value : t;
}
Tensor DualLevel::tangent(const Tensor& t) const { return tangent_of(t.impl()); }
Tensor DualLevel::tangent_of(const TensorImpl* t) const {
  const auto* h = handle_as<Dual>(t);
  if (!h || h->tangent || !t->base) return h ? h->tangent : Tensor();
  const auto* root = handle_as<Dual>(t->base);
  if (!root || !root->tangent) return {};
  return neura::apply(AsStrided{root->value.spec(), h->value.spec()}, root->tangent);
}

bool DualLevel::spreads(const Call& c) const {
  for (int i = 0; i < c.inputs; ++i)
    if (c.in[i].is_tensor() && tangent_of(c.in[i].tensor)) return true;
  return false;
}

void DualLevel::run(Call& c) {
  DualCall d(*this, c);
  const Row& row = *c.row;
  const bool moves = d.moves() && row.types.result_type != ResultType::as_bool;
  if (c.destination != Destination::fresh && !(moves || tangent_of(c.out[0].impl()))) {
    d.out[0] = primal(c.out[0]);
    std::vector<Operand> operands(c.in, c.in + c.inputs);
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (d.in[i]) operands[i] = Operand(d.in[i]);
    Call inner{&row, c.op, operands.data(), c.inputs, d.out, c.destination, c.generator};
    apply(inner);
    return written(c);
  }
  if (!moves) d.primal();
  else if (row.kind == Row::slope) d.slope();
  else if (row.kind == Row::pointwise) d.pointwise();
  else if (row.is_linear && !row.written_inputs) d.linear();
  else if (row.addend >= 0) d.sum_of_parts(row.addend);
  else if (row.is_overwrite) d.copies();
  else if (is_linear_write(row, c.op)) d.writes();
  else d.by_gradient();
  if (c.destination != Destination::fresh) return write(c, d);
  for (int k = 0; k < row.outputs; ++k) {
    if (!d.out[k]) continue;
    const bool view = row.kind == Row::view && d.out[k].impl()->storage == d.in[0].impl()->storage;
    c.out[k] = row.kind == Row::slope && handle_of(d.out[k].impl()) ? d.out[k] : pair(d.out[k], d.moved[k]);
    if (view && handle_of(c.in[0].tensor)) set_base(c.out[k], c.in[0].tensor);
  }
}

// In place: the value was computed apart; now both parts are overwritten in place.
void DualLevel::write(Call& c, DualCall& d) {
  if (c.destination == Destination::out)
    throw AutogradError(std::string(c.row->name) +
                        ": expected no tangents with out=, got some; use the form that returns a new tensor");
  auto* h = handle_as<Dual>(c.out[0].impl());
  check<InplaceError>(h, [&] {
    return in_place_name(c.row->name) +
           ": expected the tensor that is written to be of this forward-mode level, got "
           "one made outside; use the form that returns a new tensor";
  });
  TensorImpl* root = c.out[0].impl()->base;
  Tensor tangent = tangent_of(c.out[0].impl());
  if (!tangent) {
    auto* top = root ? handle_as<Dual>(root) : h;
    top->tangent = zeros_like(top->value);
    tangent = tangent_of(c.out[0].impl());
  }
  copy_(h->value, d.out[0]);
  if (d.moved[0]) copy_(tangent, d.moved[0]);
  else zero_(tangent);
  written(c);
}

}  // namespace neura

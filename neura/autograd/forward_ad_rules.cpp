// The tangents of calls.
#include <string>

#include "neura/autograd/autograd.h"
#include "neura/autograd/forward_ad.h"
#include "neura/core/state.h"
#include "neura/op/call_error.h"
#include "neura/op/pointwise/pointwise.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/product/matmul_ops.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

void add_up(Tensor& sum, Tensor part) { sum = sum ? add(sum, part) : std::move(part); }

// True if the inner computation has to be differentiable: then kernels of slopes cannot be used.
bool is_followed(const Tensor& t) { return t && is_grad_enabled() && (t.requires_grad() || has_derivative_beneath(t)); }
bool is_followed(const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors)
    if (is_followed(t)) return true;
  return false;
}

}  // namespace

DualCall::DualCall(DualLevel& l, Call& c) : level(l), call(c) {
  for (int i = 0; i < c.inputs; ++i) {
    const Tensor t = c.in[i].is_tensor() ? Tensor(Ref<TensorImpl>::share(c.in[i].tensor)) : Tensor();
    in.push_back(t ? l.primal(t) : t), tangent.push_back(t ? l.tangent_of(t.impl()) : t);
  }
}
bool DualCall::moves() const {
  for (const Tensor& t : tangent)
    if (t) return true;
  return false;
}

void DualCall::primal() {
  std::vector<Operand> operands(call.in, call.in + call.inputs);
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (in[i]) operands[i] = Operand(in[i]);
  Call inner{call.row, call.op, operands.data(), call.inputs, out, Destination::fresh, call.generator};
  apply(inner);
}
Tensor DualCall::once(const Row& row, const void* op, const std::vector<Tensor>& operands, int result) const {
  std::vector<Operand> list(operands.begin(), operands.end());
  Tensor results[kMaxOutputs];
  Call inner{&row, op, list.data(), int(list.size()), results};
  apply(inner);
  return results[result];
}

void DualCall::pointwise() {
  const Row& row = *call.row;
  bool plain = true;  // the derivative is a factor, the same for a tangent as for a gradient
  for (const Tensor& t : in) plain &= !t || !is_complex(t.dtype());
  if (!plain && (row.types.makes_real() || row.types.own_conjugate)) return by_gradient();
  primal();
  const Tensor& y = out[0];
  if (!differentiable(y.dtype())) return;
  const auto* attributes = static_cast<const double*>(call.op);
  Tensor operands[kMaxRowInputs];
  for (int i = 0; i < row.inputs; ++i) {
    operands[i] = in[std::size_t(i)];
    if (!operands[i] && call.in[i].is_scalar())
      operands[i] =
          number_of(call.in[i].scalar, row.types.mask_first && i == 0 ? DType::boolean : y.dtype(), y.device());
  }
  for (int k = 0; k < row.inputs; ++k) {
    const Slope& slope = row.slopes[k];
    const Tensor& t = tangent[std::size_t(k)];
    if (!t || !slope.exists) continue;
    const Tensor g = to(expand(t, y.shape()), y.dtype());
    if (slope.passes) {
      add_up(moved[0], g);
      continue;
    }
    if (is_followed(in) || is_followed(tangent) || !plain) {
      const Tensor turned = conj(g);
      add_up(moved[0], conj(to(expand(exact_slope(row, k, turned, operands, y, attributes), y.shape()), y.dtype())));
      continue;
    }
    std::vector<Tensor> all(std::size_t(row.inputs) + 2);
    all[0] = contiguous(g);
    for (int i = 0; i < row.inputs; ++i)
      if (slope.reads >> i & 1) all[std::size_t(i) + 1] = operands[i];
    if (slope.reads >> 8 & 1) all.back() = y;
    double own[5] = {};
    if (attributes) std::copy_n(attributes, row.attributes.count, own);
    add_up(moved[0], once(row.derivatives[k], own, all));
  }
}

// The derivative of a row as the row's own formula, of this level's tensors: calls of ordinary rows.
void DualCall::slope() {
  const Row& row = *call.row->of;
  Tensor operands[kMaxRowInputs], result;
  const auto given = [&](int i) {
    return call.in[i].is_tensor() ? Tensor(Ref<TensorImpl>::share(call.in[i].tensor)) : Tensor();
  };
  for (int i = 0; i < row.inputs; ++i) operands[i] = given(i + 1);
  const DualLevel::Scope inside(level);
  out[0] = exact_slope(row, call.row->operand, given(0), operands, given(row.inputs + 1),
                       static_cast<const double*>(call.op));
}

void DualCall::linear() {
  primal();
  const Row& row = *call.row;
  if (!differentiable(out[0].dtype())) return;
  if (row.group) {  // a list: linear in all of them together
    std::vector<Tensor> all = tangent;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!all[i]) all[i] = zeros_like(in[i]);
    moved[0] = once(row, call.op, all);
    return;
  }
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (!tangent[k]) continue;
    std::vector<Tensor> part = in;
    part[k] = tangent[k];
    add_up(moved[0], once(row, call.op, part));
  }
}

void DualCall::sum_of_parts(int addend) {
  primal();
  const auto at = std::size_t(addend);
  const bool is_addmm = call.row == &row_of<AddmmOp>;
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (!tangent[k] || k == at) continue;
    std::vector<Tensor> part = in;
    part[k] = tangent[k], part[at] = {};
    add_up(moved[0], once(*call.row, call.op, part));
  }
  if (!tangent[at]) return;
  const Tensor& y = out[0];
  Tensor t = tangent[at];
  if (is_addmm) {
    t = mul(t, static_cast<const AddmmOp*>(call.op)->beta);
  } else if (const int d = call.row->addend_dim; d >= 0) {
    Shape sizes = Shape::filled(y.dim(), 1);
    sizes[d] = y.size(d), t = reshape(t, sizes);
  }
  add_up(moved[0], expand(t, y.shape()));
}

void DualCall::copies() {
  primal();
  if (tangent.size() > 1 && tangent.back()) moved[0] = expand(to(tangent.back(), out[0].dtype()), out[0].shape());
}

// Where two values are written to one place, the tangent of that which stays: a gradient reaches both.
void DualCall::writes() {
  primal();
  if (!differentiable(out[0].dtype())) return;
  std::vector<Tensor> operands = in;
  for (const std::size_t k : {0, 2})
    if (in[k]) operands[k] = tangent[k] ? tangent[k] : zeros_like(in[k]);
  moved[0] = once(*call.row, call.op, operands);
}

void DualCall::by_gradient() {
  const Row& row = *call.row;
  const bool followed = is_followed(in) || is_followed(tangent);
  if (!row.differentiable && row.kind != Row::pointwise) {
    primal();
    for (int k = 0; k < row.outputs; ++k)
      if (out[k] && differentiable(out[k].dtype()))
        throw NotImplementedError(std::string(row.name) + ": has no derivative; detach() what goes through it");
    return;
  }
  const EnableGrad recording;
  std::vector<Tensor> leaves, directions, ys, incoming;
  std::vector<int> of;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!in[i] || !tangent[i]) continue;
    in[i] = own_leaf(in[i]);
    leaves.push_back(in[i]), directions.push_back(tangent[i]);
  }
  primal();
  for (int k = 0; k < row.outputs; ++k) {
    if (!out[k] || !out[k].requires_grad()) continue;
    ys.push_back(out[k]), of.push_back(k);
    incoming.push_back(own_leaf(zeros_like(out[k].detach())));
  }
  if (ys.empty()) return;
  const std::vector<Tensor> back = grad(ys, leaves, incoming, {.create_graph = true, .allow_unused = true});
  std::vector<Tensor> outputs, along;
  for (std::size_t i = 0; i < back.size(); ++i)
    if (back[i] && back[i].requires_grad()) outputs.push_back(back[i]), along.push_back(directions[i]);
  if (!outputs.empty()) {
    const std::vector<Tensor> found =
        grad(outputs, incoming, along, {.retain_graph = true, .create_graph = followed, .allow_unused = true});
    for (std::size_t k = 0; k < found.size(); ++k) moved[of[k]] = found[k];
  }
  if (!followed)
    for (Tensor& y : out) y = y ? y.detach() : y;
}

}  // namespace neura

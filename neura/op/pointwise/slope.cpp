// The derivatives of pointwise rows: one kernel for each operand or, where they are differentiated again, the same as
// operations.
#include "neura/core/parallel.h"
#include "neura/core/pending.h"
#include "neura/op/border.h"
#include "neura/op/extension_call.h"
#include "neura/op/launch.h"
#include "neura/op/pointwise/pointwise.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"

namespace neura {
namespace {

// What a slope's kernel gets: (g, operands, result), those that it does not read null.
struct SlopeOperands {
  const TensorImpl* read[kMaxPlan - 1];
  DType wanted[kMaxPlan - 1];
  DType result, computed;
  int count;

  SlopeOperands(const Call& call, const Row& row, bool of_complex) : count(call.inputs) {
    const DType incoming = call.in[0].tensor->spec.dtype;
    result = row.types.makes_real() && of_complex ? to_complex(incoming) : incoming;
    computed = accumulation(result);
    const DType natural = row.types.makes_real() ? to_real(computed) : computed;
    for (int i = 0; i < count; ++i) {
      wanted[i] = i == 0 || i == count - 1 ? natural : row.types.mask_first && i == 1 ? DType::boolean : computed;
      read[i] = call.in[i].is_tensor() ? call.in[i].tensor : nullptr;
    }
    if (!row.slopes[call.row->operand].reads_g) read[0] = nullptr;
  }
  // Small and contiguous: one line, nothing to plan.
  bool flat(const Spec& like, int cost, std::int64_t padded) const {
    if (!like.device.is_cpu() || !like.contiguous || !like.numel || like.numel * cost > kSerial || result != computed)
      return false;
    for (int i = 0; i < count; ++i) {
      if (!read[i]) continue;
      const Spec& s = read[i]->spec;
      if (!s.contiguous || s.dtype != wanted[i] || !s.same_shape(like) || !room(read[i], padded)) return false;
    }
    return true;
  }
};

SlopeOperands operands_of(const Call& call) {
  const Row& row = *call.row->of;
  return {call, row, static_cast<const double*>(call.op)[row.attributes.count] != 0};
}
Spec spec_of(const SlopeOperands& operands, const Spec& like) {
  Spec spec = Spec::dense(operands.result, like.sizes(), like.device);
  if (!like.contiguous && like.dense()) std::copy(like.strides, like.strides + like.rank, spec.strides), spec.finish();
  return spec;
}
}  // namespace

Spec infer_slope(const Call& call) { return spec_of(operands_of(call), call.in[0].tensor->spec); }

void run_slope(Call& call) {
  const Row& row = *call.row->of;
  const auto* attributes = static_cast<const double*>(call.op);
  const SlopeOperands operands = operands_of(call);
  const Spec& like = call.in[0].tensor->spec;
  LineFn* const fn = row.kernel(quick_backend(like.device)).slope[call.row->operand][int(operands.computed)];
  NEURA_ASSERT(fn);
  const std::int64_t padded = padded_to(like.numel, operands.computed);
  if (operands.flat(like, row.cost, padded)) {
    TensorImpl* y = TensorImpl::make(like, Storage::make(std::size_t(padded * size_of(operands.result)), like.device));
    y->storage->bytes = std::size_t(like.numel * size_of(operands.result));
    y->spec.offset = 0, y->spec.dtype = operands.result;
    Line line{y->data(), {}, std::size_t(padded), attributes};
    for (int i = 0; i < operands.count; ++i) line.in[i] = operands.read[i] ? operands.read[i]->data() : nullptr;
    fn(line);
    call.out[0] = Tensor(Ref<TensorImpl>::adopt(y));
    return;
  }
  if (is_extended(call)) [[unlikely]]
    return apply_extended(call);
  const Spec spec = spec_of(operands, like);
  if (launches_later(call, &spec, spec.device)) return;
  Tensor y = Tensor::empty(spec);
  View in[kMaxPlan - 1];
  for (int i = 0; i < operands.count; ++i)
    if (operands.read[i]) settled(operands.read[i]), in[i] = {operands.read[i]->data(), &operands.read[i]->spec};
  const View out{y.impl()->data(), &y.spec()};
  const Plan plan = make_plan(out, operands.computed, in, operands.wanted, operands.count);
  if (is_registered(spec.device)) run_registered_row(*call.row, spec.device, plan, fn, attributes);
  else execute_row(row, spec.device, plan, fn, attributes);
  call.out[0] = std::move(y);
}

namespace {

// One slope as one call: (g, operands, result) -> the gradient of operand k, before it is fitted.
Tensor apply_slope(const Gradient& g, int k) {
  const Row& row = *g.row;
  const Slope& slope = row.slopes[k];
  Operand in[kMaxPlan - 1];
  in[0] = g.g[0];  // also where the kernel does not read it: sizes and dtype are those of the result
  for (int i = 0; i < row.inputs; ++i)
    if (slope.reads >> i & 1) in[i + 1] = g.input(i);
  if (slope.reads >> 8 & 1) in[row.inputs + 1] = g.output();
  double attributes[5] = {};
  std::copy_n(static_cast<const double*>(g.op), row.attributes.count, attributes);
  attributes[row.attributes.count] = is_complex(g.meta[k]->dtype);
  Tensor result;
  Call call{&row.derivatives[k], attributes, in, row.inputs + 2, &result};
  apply(call);
  return result;
}

Tensor exact_slope(const Gradient& g, int k) {
  const Slope& slope = g.row->slopes[k];
  Tensor operands[kMaxRowInputs];
  for (int i = 0; i < g.row->inputs; ++i)
    if (slope.reads >> i & 1) operands[i] = g.input(i);
  return exact_slope(*g.row, k, g.g[0], operands, slope.reads >> 8 & 1 ? g.output() : Tensor(),
                     static_cast<const double*>(g.op));
}

}  // namespace

Tensor exact_slope(const Row& row, int k, const Tensor& g, const Tensor* operands, const Tensor& y,
                   const double* attributes) {
  const Slope& slope = row.slopes[k];
  Tensor all[kMaxPlan - 1];
  const bool wrap = is_complex(g.dtype()) && !row.types.own_conjugate;  // of a real operand among complex ones too
  all[0] = wrap ? conj(g) : g;
  const DType result = g.dtype();
  for (int i = 0; i < row.inputs; ++i) {
    all[i + 1] = slope.reads >> i & 1 ? operands[i] : all[0];
    if (!(slope.reads >> i & 1) || (row.types.mask_first && i == 0)) continue;
    // As the kernel has it: the logarithm of a float32 operand among float64 ones is one of float64.
    const DType d = all[i + 1].dtype();
    all[i + 1] = to(all[i + 1], row.types.makes_real() && is_complex(d) ? to_complex(result) : result);
  }
  all[row.inputs + 1] = slope.reads >> 8 & 1 ? y : all[0];
  Tensor d = slope.exact(all, attributes);
  return wrap ? conj(d) : d;
}

void pointwise_gradient(Gradient& g) {
  for (int i = 0; i < g.row->inputs; ++i) {
    if (!g.needs(i)) continue;
    const Slope& slope = g.row->slopes[i];
    if (!slope.exists) continue;
    if (slope.passes) g.result[i] = g.g[0];
    else g.result[i] = g.create_graph ? exact_slope(g, i) : apply_slope(g, i);
  }
}

}  // namespace neura

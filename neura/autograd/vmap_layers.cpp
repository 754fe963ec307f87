// vmap of layers: normalisation, embeddings, dropout and random numbers.
#include "neura/autograd/vmap_rules.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/norm_common.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

bool wants(const Attributes& a, const char* name, int skip = 0) {
  for (const Attributes::Field& f : a.fields())
    if (f.name == name && skip-- == 0) return f.whole != 0;
  return false;
}
std::int64_t whole(const Attributes& a, const char* name) {
  for (const Attributes::Field& f : a.fields())
    if (f.name == name) return f.whole;
  return 0;
}

}  // namespace

// Rows of all samples are normalised in one call; if weight or bias differ between samples, the definition runs.
void batched_layer_norm(BatchCall& b) {
  if (b.call.destination != Destination::fresh) return loop_over_samples(b);
  if (b.any_of({NormOperands::In::weight, NormOperands::In::bias})) return b.define();
  const BatchedAttributes op(b, kDim);
  b.lay_out();
  b.finish(b.row(), const_cast<BatchedAttributes&>(op).get());
}

// Of the parameters, a sum over the rows of each sample.
void batched_layer_norm_backward(BatchCall& b) {
  using In = RowNormBackwardOperands::In;
  const Attributes a = Attributes::of(b.row(), b.call.op);
  for (const int i : {In::grad_output, In::input, In::mean, In::rstd}) b.batch(i);
  const Tensor &g = b.in[In::grad_output], &x = b.in[In::input], &mean = b.in[In::mean], &rstd = b.in[In::rstd];
  Tensor scaled = g;  // weights of their own are factors of what comes in
  if (Tensor& w = b.in[In::weight]; b.any_of({In::weight}))
    b.pad(In::weight, b.rank(In::grad_output)), scaled = mul(scaled, w), w = {};
  b.lay_out();
  const auto first = int(whole(a, "first")) + 1;
  Dims rows;
  for (int d = 1; d < first; ++d) rows.push_back(d);
  const auto summed = [&](const Tensor& t, const Tensor& like) {
    return to(rows.empty() ? t : sum(t, rows), like.dtype());
  };
  BatchedAttributes op(b, kDim);
  std::vector<Operand> operands(b.in.begin(), b.in.end());
  scaled = contiguous(scaled), operands[In::grad_output] = Operand(scaled);
  Tensor out[kMaxOutputs];
  Call inner{&b.row(), op.get(), operands.data(), b.call.inputs, out};
  apply(inner);
  const Tensor none = zeros({b.size(), 0}, {.dtype = x.dtype(), .device = x.device()});
  b.set_result(0, wants(a, "needs_x") ? out[0] : none);
  const Tensor wide = to(g, rstd.dtype());
  const Tensor d = mean ? sub(to(x, rstd.dtype()), mean) : to(x, rstd.dtype());
  b.set_result(1, wants(a, "needs_w") ? summed(mul(wide, mul(d, rstd)), out[1]) : none);
  b.set_result(2, wants(a, "needs_b") ? summed(wide, out[2]) : none);
}

void batched_group_norm(BatchCall& b) {
  using In = NormOperands::In;
  if (b.call.destination == Destination::fresh && b.any_of({In::weight, In::bias})) return b.define();
  if (b.call.destination != Destination::fresh) return loop_over_samples(b);
  b.lay_out();
  const Tensor x = contiguous(fold(b.in[In::input], 0));
  Operand operands[] = {x, b.in[In::weight], b.in[In::bias]};
  Tensor out[kMaxOutputs];
  Call inner{&b.row(), b.call.op, operands, In::count, out};
  apply(inner);
  for (int k = 0; k < 3; ++k) b.set_result(k, unfold_batch(out[k], 0, b.size()));
}

// Samples have statistics of their own: their channels are concatenated. In evaluation too.
void batched_batch_norm(BatchCall& b) {
  using In = BatchNormOperands::In;
  for (const int i : {In::running_mean, In::running_var})
    if (b.row().writes_input(i) && b.in[std::size_t(i)] && !b.batched[std::size_t(i)])
      throw InplaceError(
          "batch_norm: expected running statistics that are batched inside vmap, got ones that all samples share, "
          "which cannot be moved; use track_running_stats=False, eval() or another norm");
  b.batch_all();
  const Tensor x = contiguous(fold(b.in[In::input], 1));
  Tensor rest[In::count];
  Operand operands[In::count] = {x};
  for (int i = In::weight; i < In::count; ++i) {
    const auto k = std::size_t(i);
    if (!b.in[k]) continue;
    rest[i] = contiguous(reshape(b.in[k], {-1}));
    operands[i] = Operand(rest[i]);
  }
  Tensor out[kMaxOutputs];
  Call inner{&b.row(), b.call.op, operands, In::count, out};
  apply(inner);
  for (int i : {3, 4})  // statistics that were mapped along another dimension than the first moved in a copy
    if (Tensor& t = b.in[std::size_t(i)]; t && b.row().writes_input(i) && !t.is_contiguous())
      copy_(t, reshape(rest[i], t.shape()));
  b.set_result(0, unfold_batch(out[0], 1, b.size()));
  for (int k = 1; k < 3; ++k) b.set_result(k, reshape(out[k], {b.size(), out[k].numel() / b.size()}));
}

// Samples are channels side by side here too.
void batched_channel_norm_backward(BatchCall& b) {
  using In = NormBackwardOperands::In;
  b.batch_all();
  Tensor folded[In::count], out[3];
  Operand operands[In::count];
  for (int i = 0; i < In::count; ++i) {
    const Tensor& t = b.in[std::size_t(i)];
    if (!t) continue;
    folded[i] = contiguous(b.rank(i) > 1 ? fold(t, 1) : reshape(t, {-1}));
    operands[i] = Operand(folded[i]);
  }
  Call inner{&b.row(), b.call.op, operands, In::count, out};
  apply(inner);
  const bool wanted = out[0].numel() || !folded[In::input].numel();
  b.set_result(0, wanted ? unfold_batch(out[0], 1, b.size()) : reshape(out[0], {b.size(), 0}));
  for (int k = 1; k < 3; ++k) b.set_result(k, reshape(out[k], {b.size(), out[k].numel() / b.size()}));
}

Tensor in_one_table(const Tensor& indices, std::int64_t rows) {
  if (indices.device().is_cpu() && indices.numel()) {
    const auto range = aminmax(innermost(indices));
    const auto low = range.min.item<std::int64_t>(), high = range.max.item<std::int64_t>();
    check<IndexError>(low >= 0 && high < rows, [&] {
      return "vmap: expected indices from 0 to " + std::to_string(rows - 1) + ", got " +
             std::to_string(low < 0 ? low : high);
    });
  }
  Shape sizes = Shape::filled(indices.dim(), 1);
  sizes[0] = indices.size(0);
  const Tensor first = mul(arange(indices.size(0), {.dtype = DType::int64, .device = indices.device()}), rows);
  return add(indices, reshape(first, sizes));
}

void batched_embedding(BatchCall& b) {
  const Attributes a = Attributes::of(b.row(), b.call.op);
  if (!b.any_of({1})) return b.lay_out(), b.finish(b.row(), b.call.op);
  if (whole(a, "padding_idx") >= 0 || wants(a, "by_frequency")) return loop_over_samples(b);
  b.batch_all();
  const Tensor at = in_one_table(b.in[0], b.spec(1).shape[0]), table = contiguous(fold(b.in[1], 0));
  b.set_result(0, b.beneath(b.row(), b.call.op, {contiguous(at), table}));
}
void batched_embedding_backward(BatchCall& b) {
  const Attributes a = Attributes::of(b.row(), b.call.op);
  if (whole(a, "padding_idx") >= 0 || wants(a, "by_frequency")) return loop_over_samples(b);
  b.batch_all(), b.lay_out();
  const std::int64_t rows = whole(a, "rows");
  const Tensor at = contiguous(in_one_table(b.in[1], rows));
  OpMemory op(b.row(), b.call.op);
  Attributes::parse("rows=" + std::to_string(rows * b.size()) + ", padding_idx=-1, by_frequency=false")
      .write_to(b.row(), op.get());
  b.set_result(0, unfold_batch(b.beneath(b.row(), op.get(), {b.in[0], at}), 0, b.size()));
}

// (g, q, k, v, mask, y, sums) -> gradients of q, k, v: kernels take any number of dimensions in front.
void batched_attention_backward(BatchCall& b) {
  for (const int i : {0, 1, 2, 3, 5, 6}) b.batch(i);
  b.pad(4, b.rank(1));
  b.lay_out();
  b.finish(b.row(), b.call.op);
}

// (g, ...) -> gradient of the scores: what comes in is a factor of it, one for all or one for each target.
void batched_loss_backward(BatchCall& b) {
  for (std::size_t i = 1; i < b.in.size(); ++i)
    if (b.batched[i]) return loop_over_samples(b);
  const Tensor& g = b.in[0];
  std::vector<Tensor> operands = b.in;
  operands[0] = ones({b.spec(0).shape, std::size_t(b.rank(0))}, {.dtype = g.dtype(), .device = g.device()});
  const Tensor unit = b.beneath(b.row(), b.call.op, operands);
  Shape sizes = g.shape();
  if (sizes.size() == unit.dim()) sizes.insert(unit.dim() > 1 ? 2 : 1, 1);  // the classes
  while (sizes.size() <= unit.dim()) sizes.push_back(1);
  b.set_result(0, mul(reshape(g, sizes), unit));
}

// Numbers that belong to the whole batch: one call, whose derivative draws them again the same way.
void batched_dropout(BatchCall& b) { b.batch_all(), b.lay_out(), b.finish(b.row(), b.call.op); }
void batched_random(BatchCall& b) {
  if (!b.in[0]) return loop_over_samples(b);
  b.batch_all(), b.lay_out(), b.finish(b.row(), b.call.op);
}

}  // namespace neura

// vmap of views with sizes of their own, of windows, and of indices.
#include "neura/autograd/vmap_rules.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/index/index_ops.h"
#include "neura/ops/shape/strided.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

Shape sizes_of(const Attributes& a) {  // its first list
  Shape sizes;
  std::size_t i = 0;
  while (a.fields()[i].kind != Attributes::Kind::group) ++i;
  for (std::size_t k = 1; k <= a.fields()[i].fields; ++k) sizes.push_back(a.fields()[i + k].whole);
  return sizes;
}
void give_view(BatchCall& b, const Tensor& y) {
  b.set_result(0, y);
  if (y.impl()->storage == b.in[0].impl()->storage) b.level.join(b.call.out[0], b.call.in[0].tensor);
}

// The window of every sample, one stride of the batch apart.
Spec in_front(const Spec& s, std::int64_t size, std::int64_t stride) {
  Spec y = s;
  Shape sizes = s.sizes();
  sizes.insert(0, size);
  y.rank = std::uint8_t(sizes.size());
  std::copy(sizes.begin(), sizes.end(), y.shape);
  std::copy(s.strides, s.strides + s.rank, y.strides + 1), y.strides[0] = stride;
  y.finish();
  return y;
}

}  // namespace

void batched_expand(BatchCall& b) {
  Shape to = sizes_of(Attributes::of(b.row(), b.call.op));
  b.pad(0, to.size());
  to.insert(0, b.size());
  give_view(b, expand(b.in[0], to));
}
void batched_view(BatchCall& b) {
  Shape to = sizes_of(Attributes::of(b.row(), b.call.op));
  to.insert(0, b.size());
  give_view(b, reshape(b.in[0], to));
}

void batched_strided(BatchCall& b) {
  const auto& op = *static_cast<const AsStrided*>(b.call.op);  // all four have these attributes
  if (op.base.overlaps()) return loop_over_samples(b);
  b.batch_all();
  const bool is_view = b.row().kind == Row::view;
  const Tensor& x = b.in[0];
  const bool as_it_lies =
      b.spec(0).same_shape(op.base) && std::equal(op.base.strides, op.base.strides + op.base.rank, b.spec(0).strides);
  if (is_view && !as_it_lies) return loop_over_samples(b);
  const std::int64_t apart = is_view ? x.spec().strides[0] : std::max<std::int64_t>(op.base.span(), op.base.numel);
  const AsStrided all{in_front(op.base, b.size(), apart), in_front(op.view, b.size(), apart)};
  b.finish(b.row(), &all);
}

void batched_index_select(BatchCall& b) {
  const auto& op = *static_cast<const IndexSelect*>(b.call.op);
  if (!b.any_of({1}) && b.rank(0)) {
    BatchedAttributes edited(b, kDim);
    return b.lay_out(), b.finish(b.row(), edited.get());
  }
  if (!b.rank(0) || !b.rank(1) || b.call.destination != Destination::fresh) return loop_over_samples(b);
  b.batch_all();
  Shape sizes = b.in[0].shape(), along = Shape::filled(sizes.size(), 1);
  along[0] = b.size(), along[op.dim + 1] = sizes[op.dim + 1] = b.spec(1).numel;
  b.set_result(0, apply(Gather{op.dim + 1}, contiguous(b.in[0]), contiguous(expand(reshape(b.in[1], along), sizes))));
}

namespace {

using In = WriteAttributes::In;

// Indices of each sample's own: what is written is concatenated, rows in front.
void write_in_one_table(BatchCall& b, WriteAttributes op) {
  b.batch_all();
  const auto rows_first = [&](const Tensor& t) { return contiguous(fold(movedim(t, op.dim + 1, 1), 0)); };
  const int dim = op.dim;
  const Tensor& input = b.in[In::input];
  Shape sizes = input ? b.spec(In::input).sizes() : op.size;
  const std::int64_t rows = sizes[dim];
  const Tensor source = rows_first(b.in[In::source]), at = reshape(in_one_table(b.in[In::index], rows), {-1});
  const Tensor base = input ? rows_first(input) : Tensor();
  sizes.erase(dim), sizes.insert(0, rows * b.size());
  op.dim = 0;
  if (!input) op.size = sizes;
  const Tensor y = b.beneath(b.row(), &op, {base, contiguous(at), source});
  b.write_result(movedim(unfold_batch(y, 0, b.size()), 1, dim + 1));
}

}  // namespace

void batched_index_write(BatchCall& b) {
  const auto& op = *static_cast<const WriteAttributes*>(b.call.op);
  const Tensor& input = b.in[In::input];
  const unsigned edits = input ? kDim : kDim | kSize;
  if (op.grid) return shift(b, edits);
  const bool bare = !b.rank(In::source) || (input && !b.rank(In::input)) || !b.rank(In::index);
  if (bare) return loop_over_samples(b);
  if (b.any_of({In::index})) return write_in_one_table(b, op);
  b.batch(In::input), b.batch(In::source), b.lay_out();
  BatchedAttributes edited(b, edits);
  b.finish(b.row(), edited.get());
}

}  // namespace neura

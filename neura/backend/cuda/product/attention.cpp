// Which kernels compute an attention: cuDNN's on tensor cores, or own ones, of any size, layout and mask. Both write
// the same sums, so that one may compute the gradient of the other's result.
#include "neura/backend/cuda/product/attention.h"

namespace neura::cuda {
namespace {
Failed compute(int index, const AttentionCall& c) {
  const OnDevice on(index);
  bool known;
  if (Failed f = attention_by_cudnn(index, c, &known)) return f;
  return known ? launched(index) : attention_by_tiles(index, c);
}

AttentionSupport supports(const Spec& q, const Spec&, const Spec& v, bool, const AttentionShape&) {
  constexpr DTypeSet taken = bit(DType::float32) | dtypes::halves;
  const bool narrow = q.shape[q.rank - 1] <= kAttentionWidth && v.shape[v.rank - 1] <= kAttentionWidth;
  return bit(q.dtype) & taken && narrow ? AttentionSupport::with_sums : AttentionSupport::none;
}
void forward(Context& c, View q, View k, View v, View mask, const AttentionShape& shape, View y, View sums) {
  c.fail(compute(c.device.index, {q, k, v, mask, y, sums, {}, {}, {}, {}, shape}));
}
void backward(Context& c, View g, View q, View k, View v, View mask, View y, View sums, const AttentionShape& shape,
              View gq, View gk, View gv) {
  c.fail(compute(c.device.index, {q, k, v, mask, y, sums, g, gq, gk, gv, shape}));
}

}  // namespace

const attention_kernels* attention() {
  static constexpr attention_kernels table{.supports = supports, .forward = forward, .backward = backward};
  return &table;
}

}  // namespace neura::cuda

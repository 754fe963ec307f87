// Which kernels compute an attention: own ones, of any layout and mask.
#include "neura/backend/cuda/attention.h"

namespace neura::cuda {

AttentionUse attends(const Spec& q, const Spec&, const Spec& v, bool, const AttentionShape&) {
  constexpr DTypeSet taken = bit(DType::float32) | dtypes::halves;
  const bool narrow = q.shape[q.rank - 1] <= kAttentionWidth && v.shape[v.rank - 1] <= kAttentionWidth;
  return bit(q.dtype) & taken && narrow ? AttentionUse::kept : AttentionUse::composed;
}
void attention(Context& c, View q, View k, View v, View mask, const AttentionShape& shape, View y, View sums) {
  const OnDevice on(c.device.index);
  c.fail(attention_by_tiles(c.device.index, {q, k, v, mask, y, sums, {}, {}, {}, {}, shape}));
}
void attention_backward(Context& c, View g, View q, View k, View v, View mask, View y, View sums,
                        const AttentionShape& shape, View gq, View gk, View gv) {
  const OnDevice on(c.device.index);
  c.fail(attention_by_tiles(c.device.index, {q, k, v, mask, y, sums, g, gq, gk, gv, shape}));
}

}  // namespace neura::cuda

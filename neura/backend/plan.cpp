#include "neura/backend/plan.h"

#include <algorithm>

namespace neura {

Plan make_plan(const View& out, DType out_wanted, const View* in, const DType* wanted, int inputs) {
  Plan p;
  const Spec& o = *out.spec;
  p.operands = inputs + 1, p.numel = o.numel;
  p.data[0] = out.data, p.dtype[0] = o.dtype, p.wanted[0] = out_wanted;
  int order[kMaxRank], rank = 0;
  for (int d = 0; d < o.rank; ++d) {  // insertion: stable_sort would allocate
    if (o.shape[d] == 1) continue;
    int at = rank++;
    for (; at > 0 && o.strides[order[at - 1]] < o.strides[d]; --at) order[at] = order[at - 1];
    order[at] = d;
  }
  for (int k = 0; k <= inputs; ++k) {  // strides in bytes; zero where operand k broadcasts
    if (k) {
      p.data[k] = in[k - 1].data, p.wanted[k] = wanted[k - 1];
      p.dtype[k] = in[k - 1].data ? in[k - 1].spec->dtype : wanted[k - 1];
      if (in[k - 1].data && in[k - 1].spec->device != o.device) p.host |= 1u << k;
    }
    const Spec& s = k && p.data[k] ? *in[k - 1].spec : o;
    const std::int64_t size = p.data[k] ? size_of(p.dtype[k]) : 0;
    for (int i = 0; i < rank; ++i) {
      const int j = order[i] - (o.rank - s.rank);
      p.strides[i][k] = j < 0 || s.shape[j] == 1 ? 0 : s.strides[j] * size;
    }
  }
  for (int i = 0; i < rank; ++i) {
    const std::int64_t n = o.shape[order[i]], *here = p.strides[i];
    bool merges = p.rank > 0;  // with the dimension outside it
    for (int k = 0; k <= inputs && merges; ++k) merges = p.strides[p.rank - 1][k] == here[k] * n;
    if (merges) p.shape[p.rank - 1] *= n;
    else p.shape[p.rank++] = n;
    if (i != p.rank - 1) std::copy(here, here + inputs + 1, p.strides[p.rank - 1]);
  }
  if (!p.rank) {  // one element
    p.rank = 1, p.shape[0] = 1;
    for (int k = 0; k <= inputs; ++k) p.strides[0][k] = size_of(p.dtype[k]);
  }
  return p;
}

}  // namespace neura

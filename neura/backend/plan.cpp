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
  const auto stride = [&](int k, int d) -> std::int64_t {  // bytes; zero where operand k broadcasts
    if (!p.data[k]) return 0;
    const Spec& s = k ? *in[k - 1].spec : o;
    const int j = d - (o.rank - s.rank);
    return j < 0 || s.shape[j] == 1 ? 0 : s.strides[j] * size_of(s.dtype);
  };
  for (int k = 1; k <= inputs; ++k) {
    p.data[k] = in[k - 1].data, p.wanted[k] = wanted[k - 1];
    p.dtype[k] = in[k - 1].data ? in[k - 1].spec->dtype : wanted[k - 1];
    if (in[k - 1].data && in[k - 1].spec->device != o.device) p.host |= 1u << k;
  }
  for (int i = 0; i < rank; ++i) {
    const int d = order[i];
    std::int64_t* here = p.strides[p.rank];
    for (int k = 0; k <= inputs; ++k) here[k] = stride(k, d);
    bool merges = p.rank > 0;  // with the dimension outside it
    for (int k = 0; k <= inputs && merges; ++k) merges = p.strides[p.rank - 1][k] == here[k] * o.shape[d];
    if (merges) {
      p.shape[p.rank - 1] *= o.shape[d];
      std::copy(here, here + inputs + 1, p.strides[p.rank - 1]);
    } else {
      p.shape[p.rank++] = o.shape[d];
    }
  }
  if (!p.rank) {  // one element
    p.rank = 1, p.shape[0] = 1;
    for (int k = 0; k <= inputs; ++k) p.strides[0][k] = size_of(p.dtype[k]);
  }
  return p;
}

}  // namespace neura

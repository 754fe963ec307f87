// Whether windows of one tensor have elements in common.
#include <algorithm>

#include "neura/autograd/incoming_gradients.h"

namespace neura {
namespace {

struct Range {  // of indices, along each dimension of the base
  std::int64_t first[kMaxRank], last[kMaxRank];
};
// False where the window's dimensions are not those of the base, each alone and maybe with steps.
bool range_of(const Spec& base, const Spec& window, Range& r) {
  int order[kMaxRank];
  for (int d = 0; d < base.rank; ++d) order[d] = d;
  std::sort(order, order + base.rank, [&](int a, int b) { return base.strides[a] > base.strides[b]; });
  std::int64_t at = window.offset - base.offset;
  bool taken[kMaxRank] = {};
  for (int i = 0; i < base.rank; ++i) {
    const int d = order[i];
    r.first[d] = r.last[d] = 0;
    if (base.shape[d] == 1) continue;
    if (base.strides[d] <= 0) return false;
    r.first[d] = r.last[d] = at / base.strides[d], at %= base.strides[d];
  }
  for (int k = 0; k < window.rank; ++k) {
    if (window.shape[k] == 1) continue;
    const auto along = std::find_if(order, order + base.rank,
                                    [&](int d) { return base.shape[d] > 1 && base.strides[d] <= window.strides[k]; });
    if (along == order + base.rank || taken[*along] || window.strides[k] % base.strides[*along]) return false;
    taken[*along] = true;
    r.last[*along] += (window.shape[k] - 1) * (window.strides[k] / base.strides[*along]);
  }
  for (int d = 0; d < base.rank; ++d)
    if (r.last[d] >= base.shape[d]) return false;
  return true;
}

}  // namespace

bool Windows::add(unsigned output, const Spec& base, const Spec& window) {
  if (all_.empty() || output != output_) return false;
  Range mine, other;
  const bool apart =
      base.dense() && range_of(base, window, mine) && std::all_of(all_.begin(), all_.end(), [&](const Spec& w) {
        if (!range_of(base, w, other)) return false;
        for (int d = 0; d < base.rank; ++d)
          if (mine.last[d] < other.first[d] || other.last[d] < mine.first[d]) return true;
        return false;
      });
  if (all_.size() < kMost) all_.push_back(window);
  else all_.clear();
  return apart;
}

}  // namespace neura

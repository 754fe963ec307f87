// Families of kernels that this back end does not have yet.
#include "neura/backend/cuda/absent.h"
#include "neura/backend/cuda/execute.h"
#include "neura/backend/kernels/embedding.h"
#include "neura/backend/kernels/index.h"
#include "neura/backend/kernels/join.h"
#include "neura/backend/kernels/loss.h"
#include "neura/backend/kernels/norm.h"
#include "neura/backend/kernels/scan.h"
#include "neura/backend/kernels/sort.h"

namespace neura::cuda {
namespace {
void copy(Context& c, View from, View to) { c.fail(assign(to, from)); }
}  // namespace

const scan_kernels* scan() {
  static constexpr scan_kernels table{
      .cumulate = absent, .recurrence = absent, .shift = absent, .extreme = absent, .logcumsumexp = absent};
  return &table;
}
const sort_kernels* sort() {
  static constexpr sort_kernels table{.rank = absent, .rows = absent, .search = absent};
  return &table;
}
const index_kernels* index() {
  static constexpr index_kernels table{.select = absent,
                                       .write = absent,
                                       .gather = absent,
                                       .scatter = absent,
                                       .linear = absent,
                                       .count_nonzero = absent,
                                       .nonzero = absent};
  return &table;
}
const join_kernels* join() {
  static constexpr join_kernels table{.copy = copy, .triangle = absent};
  return &table;
}
const norm_kernels* norm() {
  static constexpr norm_kernels table{.layer_norm = absent,
                                      .layer_norm_backward = absent,
                                      .rms_norm = absent,
                                      .rms_norm_backward = absent,
                                      .group_norm = absent,
                                      .group_norm_backward = absent,
                                      .batch_norm = absent,
                                      .batch_norm_backward = absent};
  return &table;
}
const loss_kernels* loss() {
  static constexpr loss_kernels table{.cross_entropy = absent,
                                      .cross_entropy_backward = absent,
                                      .nll_loss = absent,
                                      .nll_loss_backward = absent,
                                      .element_loss = absent,
                                      .element_loss_backward = absent};
  return &table;
}
const embedding_kernels* embedding() {
  static constexpr embedding_kernels table{
      .embedding = absent, .embedding_backward = absent, .one_hot = absent, .renormalize = absent};
  return &table;
}

}  // namespace neura::cuda

// Families of kernels that this back end does not have yet.
#include "neura/backend/cuda/absent.h"
#include "neura/backend/kernels/embedding.h"

namespace neura::cuda {
const embedding_kernels* embedding() {
  static constexpr embedding_kernels table{
      .embedding = absent, .embedding_backward = absent, .one_hot = absent, .renormalize = absent};
  return &table;
}

}  // namespace neura::cuda

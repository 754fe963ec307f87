// Factorisations on CUDA: not there yet.
#include "neura/backend/kernels/linalg.h"

#include "neura/backend/cuda/failure.h"

namespace neura::cuda {
namespace {

template <class... A> void refuse(Context& c, A...) {
  c.fail(fail(DeviceFailure::absent,
              "expected matrices on the cpu, got them on cuda, which has no such kernel yet; "
              "move them with .to(\"cpu\")"));
}

}  // namespace

const linalg_kernels* linalg() {
  static constexpr linalg_kernels kernels{
      .lu = &refuse<View, View, View>,
      .permutation = &refuse<View, View>,
      .solve = &refuse<View, View, View, View, View>,
      .inverse = &refuse<View, View, View>,
      .determinant = &refuse<View, View, View, View>,
      .cholesky = &refuse<bool, View, View, View>,
      .triangular = &refuse<bool, bool, View, View, View>,
      .householder = &refuse<View, View, View>,
      .reflect = &refuse<View, View, View>,
      .qr = &refuse<View, View, View>,
      .eigh = &refuse<bool, View, View, View>,
      .eig = &refuse<View, View, View>,
      .svd = &refuse<View, View, View, View>,
      .ldl = &refuse<bool, View, View, View>,
      .ldl_solve = &refuse<bool, View, View, View, View>,
  };
  return &kernels;
}

}  // namespace neura::cuda

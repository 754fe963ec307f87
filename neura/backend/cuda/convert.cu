// From any dtype and layout to any other: the identity, in the number in which the result's dtype is computed.
#include "neura/backend/cuda/execute.h"
#include "neura/backend/cuda/pointwise.cuh"

namespace neura::cuda {
namespace {

template <class N> struct Identity {
  using R = N;
  static constexpr int inputs = 1;
  static constexpr unsigned reads = 1;
  template <int> using In = N;
  __device__ explicit Identity(const double*) {}
  __device__ N operator()(N x) const { return x; }
};

}  // namespace

LineFn* conversion_to(DType d) {
  switch (d) {
#define TO(dtype)    \
  case DType::dtype: \
    return &launch<Identity<typename NumberOf<DType::dtype>::type>>;
    // clang-format off
      TO(boolean) TO(uint8) TO(int8) TO(int16) TO(int32) TO(int64) TO(float64) TO(complex64) TO(complex128)
    // clang-format on
#undef TO
        default :  // the narrow floats are stored from float32
                   return &launch<Identity<float>>;
  }
}

}  // namespace neura::cuda

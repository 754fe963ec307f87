// From any dtype and layout to any other: the identity, in the number in which the result's dtype is computed.
#include "neura/backend/cuda/pointwise/execute.h"
#include "neura/backend/cuda/pointwise/pointwise.cuh"

namespace neura::cuda {
#include "neura/backend/number/convert.h"
namespace {

template <class N> struct Identity {
  using R = N;
  static constexpr int inputs = 1;
  static constexpr unsigned reads = 1;
  template <int> using In = N;
  __device__ explicit Identity(const double*) {}
  __device__ N operator()(N x) const { return x; }
};

using Copy = Identity<float>;
constexpr DenseKernel between_floats[] = {dense_kernel<Copy, float, BFloat16>(),
                                          dense_kernel<Copy, BFloat16, float>(),
                                          dense_kernel<Copy, float, Half>(),
                                          dense_kernel<Copy, Half, float>(),
                                          {}};

}  // namespace
template <> constexpr const DenseKernel* kDense<Copy> = between_floats;
namespace {

// From floats, all of which a double holds, and real parts.
template <class N> struct Whole {
  using R = N;
  static constexpr int inputs = 1;
  static constexpr unsigned reads = 1;
  template <int> using In = double;
  __device__ explicit Whole(const double*) {}
  __device__ N operator()(double x) const { return number_from<N>(converted<memory_of<N>>(x)); }
};
struct Truth {  // of a complex number
  using R = Bool;
  static constexpr int inputs = 1;
  static constexpr unsigned reads = 1;
  template <int> using In = complex<double>;
  __device__ explicit Truth(const double*) {}
  __device__ Bool operator()(complex<double> x) const { return converted<Bool>(x); }
};

LineFn* whole_number(DType d) {
  switch (d) {
#define TO(dtype)    \
  case DType::dtype: \
    return &launch<Whole<typename NumberOf<DType::dtype>::type>>;
    // clang-format off
    TO(uint8) TO(int8) TO(int16) TO(int32) TO(int64)
    // clang-format on
#undef TO
        default : return nullptr;
  }
}

}  // namespace

LineFn* conversion_to(DType d, DType from) {
  if (neura::is_complex(from) && d == DType::boolean) return &launch<Truth>;
  if (differentiable(from))
    if (LineFn* const fn = whole_number(d)) return fn;
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

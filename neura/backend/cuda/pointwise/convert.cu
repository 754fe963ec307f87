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
// The same of an unsigned dtype in which nothing is computed: as the 64 bits that are stored.
template <class To> struct WholeUnsigned {
  using N = typename NumberOf<DType::int64>::type;
  using R = N;
  static constexpr int inputs = 1;
  static constexpr unsigned reads = 1;
  template <int> using In = double;
  __device__ explicit WholeUnsigned(const double*) {}
  __device__ N operator()(double x) const { return number_from<N>(std::int64_t(converted<To>(x))); }
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
#undef TO
#define TO(dtype)    \
  case DType::dtype: \
    return &launch<WholeUnsigned<std::dtype##_t>>;
    TO(uint16) TO(uint32) TO(uint64)
    // clang-format on
#undef TO
            default : return nullptr;
  }
}

}  // namespace

LineFn* conversion_to(DType d, DType from) {
  if (neura::is_complex(from) && d == DType::boolean) return &launch<Truth>;
  if (differentiable(from) || from == DType::float8_e4m3 || from == DType::float8_e5m2)
    if (LineFn* const fn = whole_number(d)) return fn;
  switch (d) {
#define TO(dtype)    \
  case DType::dtype: \
    return &launch<Identity<typename NumberOf<DType::dtype>::type>>;
    // clang-format off
      TO(boolean) TO(uint8) TO(int8) TO(int16) TO(int32) TO(int64) TO(float64) TO(complex64) TO(complex128)
    // clang-format on
#undef TO
        case DType::uint16 : case DType::uint32 : case DType::uint64
        : return &launch<Identity<typename NumberOf<DType::int64>::type>>;  // stored by their low bits
    default:                                                                // the narrow floats are stored from float32
      return &launch<Identity<float>>;
  }
}

}  // namespace neura::cuda

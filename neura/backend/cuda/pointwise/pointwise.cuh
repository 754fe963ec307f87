// The one pointwise kernel: a row's formula for one number, over operands of any dtype and stride. Operands that are
// dense are moved in packs of 16 bytes a thread; all others are found by their strides.
#pragma once
#include "neura/backend/cuda/pointwise/busy.cuh"
#include "neura/backend/cuda/runtime/launch.h"

namespace neura::cuda {

static_assert(kThreads == kGridThreads);  // what grid_over counts with

// What a kernel computes: the row's value, or one of its slopes. `reads` has a bit for each input.
template <template <class> class Row, class N> struct Value {
  using R = typename Row<N>::R;
  using First = typename Row<N>::First;
  static constexpr int inputs = Row<N>::arity;
  static constexpr unsigned reads = (1u << inputs) - 1;
  template <int I> using In = std::conditional_t<Row<N>::kind.mask_first && I == 0, First, N>;
  Row<N> row;
  __device__ explicit Value(const double* attributes) : row(attributes) {}
  template <class... A> __device__ R operator()(A... a) const { return row(a...); }
};
template <template <class> class Row, int K, class N> struct Slope {
  using G = typename Row<N>::R;
  using R = N;
  using First = typename Row<N>::First;
  static constexpr int arity = Row<N>::arity, inputs = arity + 2;
  static constexpr Probe seen = probe<Row, K>();
  // g, the operands, the result
  static constexpr unsigned reads = (seen.reads() & ((2u << arity) - 1)) | (seen.reads() & 16 ? 1u << (arity + 1) : 0u);
  static constexpr bool wrap = is_complex<N> && !Row<N>::kind.own_conjugate;
  template <int I> using In =
      std::conditional_t<I == 0 || I == arity + 1, G, std::conditional_t<Row<N>::kind.mask_first && I == 1, First, N>>;
  Row<N> row;
  __device__ explicit Slope(const double* attributes) : row(attributes) {}
  template <class... A> __device__ N operator()(G g, A... a) const {
    if constexpr (wrap) return conj(row.template slope<K>(conj(g), a...));
    else return row.template slope<K>(g, a...);
  }
};

template <class Op, int I> __device__ const char* place(const Operands& o) {
  return o.immediate >> (I + 1) & 1 ? o.value[I + 1] : o.data[I + 1];
}
template <class Op, int I> __device__ auto one(const Operands& o, std::int64_t offset) {
  using N = typename Op::template In<I>;
  if constexpr (!(Op::reads >> I & 1)) return N(0_c);
  else return number_from<N>(load_one<memory_of<N>>(place<Op, I>(o) + offset, o.dtype[I + 1]));
}
template <class Op, int... I>
__device__ void strided_one(const Operands& o, const Op& op, std::uint32_t i, Indices<I...>) {
  std::int64_t at[sizeof...(I) + 1] = {};
#pragma unroll 1
  for (int d = o.rank - 1; d >= 0; --d) {
    const std::uint32_t q = d ? quotient(i, o.size[d]) : 0, r = i - q * o.size[d].divisor;
    at[0] += std::int64_t(r) * o.strides[d][0];
    ((at[I + 1] += std::int64_t(r) * o.strides[d][I + 1]), ...);
    i = q;
  }
  store_one(o.data[0] + at[0], o.dtype[0], memory_from(op(one<Op, I>(o, at[I + 1])...)));
}
template <class Op> __global__ void __launch_bounds__(kThreads) pointwise(const __grid_constant__ Operands o) {
  const Op op(o.attributes);
#pragma unroll 1
  for (int k = 0; k < kStridedItems; ++k) {
    const std::uint32_t i = (blockIdx.x * kStridedItems + k) * kThreads + threadIdx.x;
    if (i < o.numel) strided_one(o, op, i, typename UpTo<Op::inputs>::type());
  }
}

// Rows whose arithmetic takes longer than moving their operands, see BUSY in tables/kinds.h.
template <template <class> class Row> constexpr bool kBusy = false;
template <class Op> constexpr const DenseKernel* kDense = nullptr;
template <class Op> constexpr DenseKernel busy_kernels[] = {
    dense_kernel<Op, float, float>(), dense_kernel<Op, BFloat16, BFloat16>(), dense_kernel<Op, Half, Half>(), {}};
template <template <class> class Row>
requires kBusy<Row>
constexpr const DenseKernel* kDense<Value<Row, float>> = busy_kernels<Value<Row, float>>;
template <template <class> class Row>
requires kBusy<Row>
constexpr const DenseKernel* kDense<Slope<Row, 0, float>> = busy_kernels<Slope<Row, 0, float>>;

template <class Op, int... I> constexpr PointwiseKernels kernels_of(Indices<I...>) {
  return {&pointwise<Op>,
          &flat<Op>,
          Op::inputs,
          kFlatPack<Op>,
          kTwice<Op>,
          Op::reads,
          {DTypeOf<memory_of<typename Op::R>>::value, DTypeOf<memory_in<Op, I>>::value...},
          kDense<Op>};
}
template <class Op> void launch(const Line& line) {
  static constexpr PointwiseKernels kernels = kernels_of<Op>(typename UpTo<Op::inputs>::type());
  start_pointwise(static_cast<const Launch&>(line), kernels);
}

}  // namespace neura::cuda

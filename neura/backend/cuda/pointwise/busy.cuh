// The kernel of flat.cuh without branches, for busy rows: rows that compute for longer than a device takes to move
// their operands: all operands are From, none repeats, and the result is To.
#pragma once
#include "neura/backend/cuda/pointwise/flat.cuh"

namespace neura::cuda {

template <class Op, class From, class To, int V, int... I>
__device__ void dense_pack(const FlatOperands& o, const Op& op, std::uint32_t i, Indices<I...>) {
  float in[sizeof...(I)][V] = {}, y[V];
  ((Op::reads >> I & 1 ? load_as<From, V>(in[I], o.data[I + 1], i) : void()), ...);
#pragma unroll
  for (int k = 0; k < V; ++k) y[k] = op(in[I][k]...);
  store_as<To, V>(y, o.data[0], i);
}
template <class From, class To> constexpr int kDensePack = 16 / (sizeof(From) < sizeof(To) ? sizeof(From) : sizeof(To));
template <class Op, class From, class To> __global__ void __launch_bounds__(kThreads)
    dense(const __grid_constant__ FlatOperands o) {
  using All = typename UpTo<Op::inputs>::type;
  constexpr int V = kDensePack<From, To>;
  const Op op(o.attributes);
  std::uint32_t i = (blockIdx.x * kThreads + threadIdx.x) * V;
  if (i + V <= o.numel) return dense_pack<Op, From, To, V>(o, op, i, All());
#pragma unroll 1
  for (; i < o.numel; ++i) dense_pack<Op, From, To, 1>(o, op, i, All());
}
template <class Op, class From, class To> constexpr DenseKernel dense_kernel() {
  return {DTypeOf<From>::value, DTypeOf<To>::value, kDensePack<From, To>, &dense<Op, From, To>};
}

}  // namespace neura::cuda

// The one pointwise kernel: a row's formula for one number, over operands of any dtype and stride. Operands that lie
// densely are moved in packs of up to 32 bytes a thread; all others are found by their strides.
#pragma once
#include <cstring>

#include "neura/backend/cuda/memory.cuh"
#include "neura/backend/cuda/operands.h"

namespace neura::cuda {

constexpr int kItems = 4;  // of a thread, where operands are not dense

template <int...> struct Indices {};
template <int n, int... I> struct UpTo : UpTo<n - 1, n - 1, I...> {};
template <int... I> struct UpTo<0, I...> { using type = Indices<I...>; };

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
  for (int k = 0; k < kItems; ++k) {
    const std::uint32_t i = (blockIdx.x * kItems + k) * kThreads + threadIdx.x;
    if (i < o.numel) strided_one(o, op, i, typename UpTo<Op::inputs>::type());
  }
}

// The same where everything lies densely, in the dtype of the computation or as a half: whole packs, no calls, few
// registers, so that enough of them are in flight to fill the memory's bandwidth.
struct FlatOperands {
  std::uint32_t numel;
  std::uint8_t single;  // bit k: all elements are one in memory, or a number of this launch
  std::uint8_t immediate, row, column;
  Division inner;  // elements of the inner dimension, where a row or column repeats
  DType dtype[kMaxPlan];
  char* data[kMaxPlan];
  alignas(16) char value[kMaxPlan][16];
  double attributes[4];
};
template <class Op, int I, int V> struct Column {
  using N = typename Op::template In<I>;
  memory_of<N> v[V];
  __device__ void load(const FlatOperands& o, std::uint32_t i) {
    if constexpr (Op::reads >> I & 1) {
      if (o.single >> (I + 1) & 1) {
        const char* p = o.immediate >> (I + 1) & 1 ? o.value[I + 1] : o.data[I + 1];
        const auto value = load_simple<memory_of<N>>(p, o.dtype[I + 1], 0);
#pragma unroll
        for (int k = 0; k < V; ++k) v[k] = value;
      } else if (o.column >> (I + 1) & 1) {
        const auto value = load_simple<memory_of<N>>(o.data[I + 1], o.dtype[I + 1], quotient(i, o.inner));
#pragma unroll
        for (int k = 0; k < V; ++k) v[k] = value;
      } else {
        if (o.row >> (I + 1) & 1) i -= quotient(i, o.inner) * o.inner.divisor;
        load_pack(v, o.data[I + 1], o.dtype[I + 1], i);
      }
    }
  }
  __device__ N operator[](int k) const {
    if constexpr (Op::reads >> I & 1) return number_from<N>(v[k]);
    else return N(0_c);
  }
};
template <class Op, int V, class... C>
__device__ void compute(const FlatOperands& o, const Op& op, std::uint32_t i, const C&... columns) {
  memory_of<typename Op::R> result[V];
#pragma unroll
  for (int k = 0; k < V; ++k) result[k] = memory_from(op(columns[k]...));
  if (i + V <= o.numel) return store_pack(result, o.data[0], o.dtype[0], i);
#pragma unroll
  for (int k = 0; k < V; ++k)
    if (i + k < o.numel) store_simple(o.data[0], o.dtype[0], i + k, result[k]);
}
template <class Op, int V, class... C>
__device__ void flat_part(const FlatOperands& o, const Op& op, std::uint32_t i, C... columns) {
  if (i >= o.numel) return;
  (columns.load(o, i), ...);  // reads up to a pack beyond the end, which is inside the allocator's block
  compute<Op, V>(o, op, i, columns...);
}
template <class Op, int V, int... I>
__device__ void flat_pack(const FlatOperands& o, const Op& op, std::uint32_t i, Indices<I...>) {
  flat_part<Op, V>(o, op, i, Column<Op, I, V>()...);
}
template <class Op> __global__ void __launch_bounds__(kThreads) flat(const __grid_constant__ FlatOperands o) {
  constexpr int V = kPack<memory_of<typename Op::template In<Op::inputs - 1>>>;
  flat_pack<Op, V>(o, Op(o.attributes), (blockIdx.x * kThreads + threadIdx.x) * V, typename UpTo<Op::inputs>::type());
}

template <class E> bool is_simple(DType d) {
  return d == DTypeOf<E>::value || (is_same<E, float> && (d == DType::float16 || d == DType::bfloat16));
}
template <class Op, int... I> bool are_simple(const Operands& o, Indices<I...>) {
  return is_simple<memory_of<typename Op::R>>(o.dtype[0]) &&
         (... && (!(Op::reads >> I & 1) || is_simple<memory_of<typename Op::template In<I>>>(o.dtype[I + 1])));
}
template <class Op> void launch(const Line& line) {
  const auto& l = static_cast<const Launch&>(line);
  const Operands& o = l.operands;
  constexpr std::uint32_t pack = kPack<memory_of<typename Op::template In<Op::inputs - 1>>>;
  const bool repeats = o.row | o.column;
  if (!o.flat || (repeats && o.size[1].divisor % pack) || !are_simple<Op>(o, typename UpTo<Op::inputs>::type())) {
    constexpr std::uint32_t per_block = kThreads * kItems;
    return pointwise<Op><<<(o.numel + per_block - 1) / per_block, kThreads, 0, l.stream>>>(o);
  }
  FlatOperands f;
  for (int k = 0; k <= Op::inputs; ++k) {
    f.dtype[k] = o.dtype[k], f.data[k] = o.data[k];
    if (o.immediate >> k & 1) std::memcpy(f.value[k], o.value[k], sizeof f.value[k]);
  }
  f.row = o.row, f.column = o.column;
  if (repeats) f.inner = o.size[1];
  f.numel = o.numel, f.single = o.single | o.immediate, f.immediate = o.immediate;
  std::memcpy(f.attributes, o.attributes, sizeof f.attributes);
  constexpr std::uint32_t per_block = kThreads * pack;
  flat<Op><<<(o.numel + per_block - 1) / per_block, kThreads, 0, l.stream>>>(f);
}

// All kernels of one row; only those dtypes that its class computes in, and slopes that exist and are not g itself.
template <template <class> class Row, int K, int D> constexpr void fill_slope(RowKernel& k) {
  constexpr Probe s = probe<Row, K>();
  if constexpr (!s.none && !s.is_g) k.slope[K][D] = &launch<Slope<Row, K, typename NumberOf<DType(D)>::type>>;
}
template <template <class> class Row, int D = 0> constexpr void fill(RowKernel& k) {
  if constexpr (D < kDTypes) {
    if constexpr (Row<Probe>::kind.has_kernel(DType(D))) {
      k.value[D] = &launch<Value<Row, typename NumberOf<DType(D)>::type>>;
      if constexpr (differentiable(DType(D)))
        fill_slope<Row, 0, D>(k), fill_slope<Row, 1, D>(k), fill_slope<Row, 2, D>(k);
    }
    fill<Row, D + 1>(k);
  }
}
template <template <class> class Row> constexpr RowKernel make_kernel() {
  RowKernel k{};
  fill<Row>(k);
  return k;
}
template <template <class> class Row> inline constexpr RowKernel kernel_of = make_kernel<Row>();

}  // namespace neura::cuda

// One unit of one row in one step of a recurrence, and back.
#pragma once
#include "neura/backend/cuda/pointwise/numbers.cuh"
#include "neura/backend/cuda/recurrent/recurrent.h"

namespace neura::cuda {

enum class CellKind { simple, gru, lstm };
template <CellKind C> constexpr int kGates = C == CellKind::lstm ? 4 : C == CellKind::gru ? 3 : 1;
template <CellKind C> constexpr int kKept = C == CellKind::lstm ? 5 : C == CellKind::gru ? 4 : 0;

template <class N> __device__ N logistic(N x) { return N(1) / (N(1) + exp(-x)); }

// sums: of a gru r, z, what x gives to n, what h gives to n; else of each gate. h is the state before, c becomes the
// next. Gives the next h.
template <CellKind C, class N> __device__ N cell_forward(const N (&sums)[4], N h, N& c, bool relu, N (&kept)[5]) {
  if constexpr (C == CellKind::simple) {
    return relu ? (sums[0] < N(0) ? N(0) : sums[0]) : tanh(sums[0]);
  } else if constexpr (C == CellKind::gru) {
    const N r = logistic(sums[0]), z = logistic(sums[1]), n = tanh(sums[2] + r * sums[3]);
    kept[0] = r, kept[1] = z, kept[2] = n, kept[3] = sums[3];
    return n + z * (h - n);
  } else {
    const N i = logistic(sums[0]), f = logistic(sums[1]), g = tanh(sums[2]), o = logistic(sums[3]);
    c = f * c + i * g;
    kept[0] = i, kept[1] = f, kept[2] = g, kept[3] = o, kept[4] = c;
    return o * tanh(c);
  }
}

// d: gradient of the next h; y is that h, h and c the states before. gc becomes the gradient of the c before. g: like
// sums above. Gives what reaches the h before without the product.
template <CellKind C, class N>
__device__ N cell_backward(N d, N& gc, N y, N h, N c, bool relu, const N (&kept)[5], N (&g)[4]) {
  if constexpr (C == CellKind::simple) {
    g[0] = relu ? (y > N(0) ? d : N(0)) : d * (N(1) - y * y);
    return N(0);
  } else if constexpr (C == CellKind::gru) {
    const N r = kept[0], z = kept[1], n = kept[2];
    g[1] = d * (h - n) * z * (N(1) - z);
    g[2] = d * (N(1) - z) * (N(1) - n * n);
    g[3] = g[2] * r;
    g[0] = g[2] * kept[3] * r * (N(1) - r);
    return d * z;
  } else {
    const N i = kept[0], f = kept[1], u = kept[2], o = kept[3], t = tanh(kept[4]);
    const N all = gc + d * o * (N(1) - t * t);
    g[0] = all * u * i * (N(1) - i);
    g[1] = all * c * f * (N(1) - f);
    g[2] = all * i * (N(1) - u * u);
    g[3] = d * t * o * (N(1) - o);
    gc = all * f;
    return N(0);
  }
}

inline CellKind kind_of(RecurrentCell c) {
  return c == RecurrentCell::lstm ? CellKind::lstm : c == RecurrentCell::gru ? CellKind::gru : CellKind::simple;
}

}  // namespace neura::cuda

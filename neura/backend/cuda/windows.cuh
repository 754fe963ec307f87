// Windows that slide over three spatial dimensions, as pooling and convolutions have them on a device.
#pragma once
#include <algorithm>

#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/cuda/runtime/memory.cuh"

namespace neura::cuda::windows {

using std::int64_t;

constexpr int64_t kMostSize = int64_t{1} << 29;     // of a dimension with its padding: coordinates are of 32 bits
constexpr int64_t kMostResults = int64_t{1} << 30;  // of one launch

struct Grid {  // of the input's or the results' spatial dimensions
  Division plane, slice, row;
};
struct Windows {
  int in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];
  Division by_stride[3];
  Grid x, y;  // of in, of out
};
struct Place {
  int at[3];
};

__device__ inline std::uint32_t split(const Grid& g, std::uint32_t i, std::uint32_t& image, Place& p) {
  image = quotient(i, g.plane);
  const std::uint32_t in_plane = i - image * g.plane.divisor, z = quotient(in_plane, g.slice);
  const std::uint32_t in_slice = in_plane - z * g.slice.divisor, y = quotient(in_slice, g.row);
  p = {{int(z), int(y), int(in_slice - y * g.row.divisor)}};
  return in_plane;
}
__device__ inline int lesser(int a, int b) { return a < b ? a : b; }
__device__ inline int greater(int a, int b) { return a > b ? a : b; }
__device__ inline int steps(int n, int by) { return by == 1 ? n : (n + by - 1) / by; }

struct Seen {  // windows that may see an element; none: last < first
  int first, last;
};
__device__ inline Seen seen_by(const Windows& w, int d, int at) {
  const int t = at + w.padding[d], before = t - (w.kernel[d] - 1) * w.dilation[d];  // of the first that reaches it
  if (t < 0) return {0, -1};                                                        // cropped by a negative padding
  return {before <= 0 ? 0 : int(quotient(std::uint32_t(before + w.stride[d] - 1), w.by_stride[d])),
          lesser(w.out[d] - 1, int(quotient(std::uint32_t(t), w.by_stride[d])))};
}
// The position of an element in window o of dimension d; -1: between the window's elements.
__device__ inline int inside(const Windows& w, int d, int o, int at) {
  const int distance = at + w.padding[d] - o * w.stride[d];
  if (w.dilation[d] == 1) return distance;
  const int k = distance / w.dilation[d];
  return k * w.dilation[d] == distance ? k : -1;
}

// f(window, the element's place in it) for every window that sees element e, in order.
template <class F> __device__ void each_window(const Windows& w, const Place& e, F f) {
  const Seen z = seen_by(w, 0, e.at[0]), y = seen_by(w, 1, e.at[1]), x = seen_by(w, 2, e.at[2]);
  for (int a = z.first; a <= z.last; ++a)
    for (int b = y.first; b <= y.last; ++b)
      for (int c = x.first; c <= x.last; ++c) {
        const int kz = inside(w, 0, a, e.at[0]), ky = inside(w, 1, b, e.at[1]), kx = inside(w, 2, c, e.at[2]);
        if ((kz | ky | kx) >= 0) f((a * w.out[1] + b) * w.out[2] + c, (kz * w.kernel[1] + ky) * w.kernel[2] + kx);
      }
}

inline Grid grid_of(const int64_t (&n)[3]) {
  return {division(std::uint32_t(n[0] * n[1] * n[2])), division(std::uint32_t(n[1] * n[2])),
          division(std::uint32_t(n[2]))};
}
// Of a PoolShape or a ConvShape. Without `sliding` only its sizes mean something.
template <class S> Failed windows_of(const S& s, bool sliding, Windows* w) {
  int64_t in = 1, out = 1;
  for (int d = 0; d < 3; ++d) {
    // What is of no consequence may be of any size.
    const int64_t stride = sliding && s.out[d] > 1 ? s.stride[d] : 1;
    const int64_t kernel = sliding ? s.kernel[d] : 1, dilation = kernel > 1 ? s.dilation[d] : 1;
    const int64_t padding = sliding ? s.padding[d] : 0;
    const int64_t most = std::max({s.in[d], s.out[d], kernel, stride, padding, -padding, dilation});
    if (most >= kMostSize || (kernel - 1) * dilation >= kMostSize || in * s.in[d] > kMostResults ||
        out * s.out[d] > kMostResults)
      return fail(DeviceFailure::absent,
                  "expected images of at most 2^30 elements and windows below 2^29 on cuda; move the tensor with "
                  ".to(\"cpu\")");
    in *= s.in[d], out *= s.out[d];
    w->in[d] = int(s.in[d]), w->out[d] = int(s.out[d]), w->kernel[d] = int(kernel), w->stride[d] = int(stride);
    w->padding[d] = int(padding), w->dilation[d] = int(dilation);
    w->by_stride[d] = division(std::uint32_t(stride));
  }
  w->x = grid_of(s.in), w->y = grid_of(s.out);
  return nullptr;
}
// f(the first, how many): as many as one launch may hold, of things that have `each` elements.
template <class F> void in_parts(int64_t things, int64_t each, F f) {
  const int64_t most = std::max<int64_t>(1, kMostResults / each);
  for (int64_t i = 0; i < things; i += most) f(i, std::min(most, things - i));
}
inline std::uint32_t blocks(std::uint32_t count, int lanes = 1) {
  const std::uint32_t each = std::uint32_t(kThreads / lanes);
  return (count + each - 1) / each;
}

}  // namespace neura::cuda::windows

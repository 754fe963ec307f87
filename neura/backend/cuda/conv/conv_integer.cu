// Convolutions of integers: a thread sums up one result. In 64 bits, whose lower ones are those of any narrower
// arithmetic that wraps around.
#include "neura/backend/cuda/conv/conv.h"
#include "neura/backend/cuda/runtime/stream.h"
#include "neura/backend/cuda/windows.cuh"

namespace neura::cuda {
namespace {

using namespace windows;

struct Integers : Windows {
  int64_t channels, filters, group_channels, group_filters;
  int size;  // bytes of an element
  DType dtype;
};
__device__ std::uint64_t load(const Integers& p, const char* x, int64_t i) {
  return std::uint64_t(load_one<int64_t>(x + i * p.size, p.dtype));
}
__device__ void store(const Integers& p, char* x, int64_t i, std::uint64_t v) {
  store_one<int64_t>(x + i * p.size, p.dtype, int64_t(v));
}

__global__ void __launch_bounds__(kThreads) sum_up(const __grid_constant__ Integers p, const char* x, const char* w,
                                                   const char* bias, char* y, int64_t first, std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  std::uint32_t local;
  Place o;
  split(p.y, i, local, o);
  const int64_t plane = first + local, image = plane / p.filters, filter = plane % p.filters;
  const int64_t channel = image * p.channels + filter / p.group_filters * p.group_channels;
  const int64_t in = p.x.plane.divisor, kernel = int64_t(p.kernel[0]) * p.kernel[1] * p.kernel[2];
  std::uint64_t sum = bias ? load(p, bias, filter) : 0;
  for (int k = 0; k < kernel; ++k) {
    const int at[3] = {k / (p.kernel[1] * p.kernel[2]), k / p.kernel[2] % p.kernel[1], k % p.kernel[2]};
    int64_t from = 0;
    bool there = true;
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      const int e = o.at[d] * p.stride[d] + at[d] * p.dilation[d] - p.padding[d];
      there = there && e >= 0 && e < p.in[d], from = from * p.in[d] + e;
    }
    for (int64_t c = 0; there && c < p.group_channels; ++c)
      sum += load(p, x, (channel + c) * in + from) * load(p, w, (filter * p.group_channels + c) * kernel + k);
  }
  store(p, y, first * p.y.plane.divisor + i, sum);
}
__global__ void __launch_bounds__(kThreads) sum_back(const __grid_constant__ Integers p, const char* g, const char* w,
                                                     char* x, int64_t first, std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  std::uint32_t local;
  Place e;
  split(p.x, i, local, e);
  const int64_t plane = first + local, image = plane / p.channels, channel = plane % p.channels;
  const int64_t filters = channel / p.group_channels * p.group_filters, c = channel % p.group_channels;
  const int64_t out = p.y.plane.divisor, kernel = int64_t(p.kernel[0]) * p.kernel[1] * p.kernel[2];
  std::uint64_t sum = 0;
  each_window(p, e, [&](int64_t o, int64_t k) {
    for (int64_t f = filters; f < filters + p.group_filters; ++f)
      sum += load(p, g, (image * p.filters + f) * out + o) * load(p, w, (f * p.group_channels + c) * kernel + k);
  });
  store(p, x, first * p.x.plane.divisor + i, sum);
}

Failed integers_of(const ConvShape& s, DType dtype, Integers* p) {
  p->channels = s.channels, p->filters = s.filters, p->group_channels = s.group_channels();
  p->group_filters = s.group_filters(), p->dtype = dtype, p->size = size_of(dtype);
  return windows_of(s, true, p);
}

}  // namespace

Failed convolve_integers(int index, DType dtype, const ConvShape& s, const ConvData& d) {
  Integers p;
  if (Failed f = integers_of(s, dtype, &p)) return f;
  in_parts(s.n * s.filters, s.out_size(), [&](int64_t first, int64_t n) {
    const auto count = std::uint32_t(n * s.out_size());
    sum_up<<<blocks(count), kThreads, 0, current_stream(index)>>>(p, d.image, d.filter, d.bias, d.result, first, count);
  });
  return launched(index);
}
Failed convolve_integers_back(int index, DType dtype, const ConvShape& s, const ConvData& d) {
  Integers p;
  if (Failed f = integers_of(s, dtype, &p)) return f;
  in_parts(s.n * s.channels, s.in_size(), [&](int64_t first, int64_t n) {
    const auto count = std::uint32_t(n * s.in_size());
    sum_back<<<blocks(count), kThreads, 0, current_stream(index)>>>(p, d.result, d.filter, d.image, first, count);
  });
  return launched(index);
}

}  // namespace neura::cuda

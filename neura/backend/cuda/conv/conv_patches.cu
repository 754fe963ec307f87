// The patches that windows see, of any dtype, and their sum: an element gathers over the windows that see it, in the
// cpu's order.
#include "neura/backend/cuda/conv/conv.h"
#include "neura/backend/cuda/runtime/stream.h"
#include "neura/backend/cuda/windows.cuh"

namespace neura::cuda {
namespace {

using namespace windows;

struct Patches : Windows {
  Grid k;                    // of the kernel
  Division channels, plane;  // plane: patches of one channel of an image
  PatchLayout columns;
};

template <class E> __global__ void __launch_bounds__(kThreads)
    take(const __grid_constant__ Patches p, const E* x, E* columns, std::uint32_t first, std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  const std::uint32_t local = quotient(i, p.plane), plane = first + local, in_plane = i - local * p.plane.divisor;
  std::uint32_t row, none;
  Place o, k;
  const std::uint32_t at = split(p.y, in_plane, row, o);
  split(p.k, row, none, k);
  int from = 0;
  bool inside = true;
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    const int e = o.at[d] * p.stride[d] + k.at[d] * p.dilation[d] - p.padding[d];
    inside = inside && e >= 0 && e < p.in[d], from = from * p.in[d] + e;
  }
  const std::uint32_t image = quotient(plane, p.channels), channel = plane - image * p.channels.divisor;
  E value{};
  if (inside) value = x[int64_t(plane) * p.x.plane.divisor + from];
  columns[image * p.columns.image + (int64_t(channel) * p.k.plane.divisor + row) * p.columns.row + at] = value;
}

template <class N> __global__ void __launch_bounds__(kThreads)
    add_up(const __grid_constant__ Patches p, const char* columns, DType dtype, int bytes, char* x,
           std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  std::uint32_t plane;
  Place e;
  split(p.x, i, plane, e);
  const char* const from = columns + int64_t(plane) * p.k.plane.divisor * p.y.plane.divisor * bytes;
  N sum(0.0f);
  each_window(p, e, [&](int64_t o, int64_t k) {
    sum = sum + load_simple<N>(from + (k * p.y.plane.divisor + o) * bytes, dtype, 0);
  });
  store_simple<N>(x + int64_t(i) * bytes, dtype, 0, sum);
}

Failed patches_of(const ConvShape& s, Patches* p) {
  if (Failed f = windows_of(s, true, p)) return f;
  if (s.kernel_size() * s.out_size() > kMostResults || s.n * s.channels >> 31)
    return fail(
        DeviceFailure::absent,
        "expected patches of at most 2^30 values for each of at most 2^31 channels on cuda, got windows of %lld "
        "values at %lld places; move the tensor with .to(\"cpu\")",
        static_cast<long long>(s.kernel_size()), static_cast<long long>(s.out_size()));
  p->k = grid_of(s.kernel);
  p->channels = division(std::uint32_t(s.channels)), p->plane = division(std::uint32_t(s.kernel_size() * s.out_size()));
  return nullptr;
}

}  // namespace

Failed take_patches(int index, const ConvShape& s, const char* x, char* columns, int bytes, PatchLayout layout) {
  Patches p;
  const int64_t planes = s.n * s.channels, each = s.kernel_size() * s.out_size();
  if (!planes || !each) return nullptr;
  if (Failed f = patches_of(s, &p)) return f;
  p.columns = layout;
  in_parts(planes, each, [&](int64_t first, int64_t n) {
    const auto run = [&]<class E>(E) {
      take<<<blocks(std::uint32_t(n * each)), kThreads, 0, current_stream(index)>>>(
          p, reinterpret_cast<const E*>(x), reinterpret_cast<E*>(columns), std::uint32_t(first),
          std::uint32_t(n * each));
    };
    if (bytes == 1) run(std::uint8_t());
    else if (bytes == 2) run(std::uint16_t());
    else if (bytes == 4) run(std::uint32_t());
    else if (bytes == 8) run(std::uint64_t());
    else run(uint4());
  });
  return launched(index);
}

Failed add_patches(int index, const ConvShape& s, DType dtype, const char* columns, char* x) {
  Patches p;
  const int64_t planes = s.n * s.channels, bytes = size_of(dtype), each = s.kernel_size() * s.out_size();
  if (!planes || !s.in_size()) return nullptr;
  if (Failed f = patches_of(s, &p)) return f;
  in_parts(planes, s.in_size(), [&](int64_t first, int64_t n) {
    const auto count = std::uint32_t(n * s.in_size());
    const auto run = [&]<class N>(N) {
      add_up<N><<<blocks(count), kThreads, 0, current_stream(index)>>>(
          p, columns + first * each * bytes, dtype, int(bytes), x + first * s.in_size() * bytes, count);
    };
    if (dtype == DType::float64) run(double());
    else if (dtype == DType::complex64) run(complex<float>());
    else if (dtype == DType::complex128) run(complex<double>());
    else run(float());
  });
  return launched(index);
}

}  // namespace neura::cuda

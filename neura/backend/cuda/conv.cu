// Convolutions: by cuDNN where it has a way; what it does not know of is computed by kernels of our own.
#include "neura/backend/cuda/conv.h"

#include "neura/backend/cuda/absent.h"
#include "neura/backend/cuda/memory.cuh"
#include "neura/backend/cuda/stream.h"

namespace neura::cuda {
namespace {

// y [rows, size] += the bias of each row: bias [filters] for each image.
template <class N> __global__ void __launch_bounds__(kThreads)
    add_rows(char* y, const char* bias, DType dtype, int bytes, int filters, std::int64_t size) {
  char* const row = y + std::int64_t(blockIdx.x) * size * bytes;
  const N b = load_simple<N>(bias, dtype, blockIdx.x % std::uint32_t(filters));
  for (std::int64_t i = threadIdx.x + std::int64_t(blockIdx.y) * kThreads; i < size;
       i += std::int64_t(gridDim.y) * kThreads)
    store_simple<N>(row + i * bytes, dtype, 0, load_simple<N>(row + i * bytes, dtype, 0) + b);
}
Failed add_bias(const ConvShape& s, const View& y, const View& bias, int index) {
  const std::int64_t rows = s.n * s.filters, size = s.out_size();
  const dim3 grid(unsigned(rows), unsigned(std::min<std::int64_t>(64, (size + kThreads - 1) / kThreads)));
  const auto run = [&]<class N>(N) {
    add_rows<N><<<grid, kThreads, 0, current_stream(index)>>>(y.data, bias.data, y.dtype(), size_of(y.dtype()),
                                                              int(s.filters), size);
  };
  if (y.dtype() == DType::float64) run(double());
  else run(float());
  return launched(index);
}

Failed zero(const View& v, int index) {
  if (!v.numel()) return nullptr;
  return failed(cudaMemsetAsync(v.data, 0, std::size_t(v.numel() * size_of(v.dtype())), current_stream(index)),
                "memset");
}
Failed no_way(DType d) {
  return fail(DeviceFailure::absent,
              "expected a convolution that cuDNN can do, got %s; move the operands with .to(\"cpu\")", name(d));
}

void forward(Context& c, View x, View w, View bias, View y, const ConvShape& s, Conjugated) {
  if (!y.numel()) return;
  const int index = c.device.index;
  const OnDevice on(index);
  bool biased = false;
  Failed f = nullptr;
  if (!s.patch()) f = zero(y, index);
  else if (!by_cudnn(Convolve::forward, index, y.dtype(), s, {x.data, w.data, y.data, bias.data}, &biased, &f))
    return c.fail(no_way(y.dtype()));
  if (!f && bias && !biased) f = add_bias(s, y, bias, index);
  c.fail(f ? f : launched(index));
}
void input_gradient(Context& c, View g, View w, View x, const ConvShape& s, Conjugated) {
  if (!x.numel()) return;
  const int index = c.device.index;
  const OnDevice on(index);
  bool biased;
  Failed f = nullptr;
  if (!g.numel() || !w.numel()) f = zero(x, index);
  else if (!by_cudnn(Convolve::input_gradient, index, x.dtype(), s, {x.data, w.data, g.data}, &biased, &f))
    return c.fail(no_way(x.dtype()));
  c.fail(f ? f : launched(index));
}
void weight_gradient(Context& c, View x, View g, View w, const ConvShape& s, Conjugated) {
  if (!w.numel()) return;
  const int index = c.device.index;
  const OnDevice on(index);
  bool biased;
  Failed f = nullptr;
  if (!g.numel() || !x.numel()) f = zero(w, index);
  else if (!by_cudnn(Convolve::weight_gradient, index, w.dtype(), s, {x.data, w.data, g.data}, &biased, &f))
    return c.fail(no_way(w.dtype()));
  c.fail(f ? f : launched(index));
}

}  // namespace

const conv_kernels* conv() {
  static constexpr conv_kernels table{.forward = forward,
                                      .input_gradient = input_gradient,
                                      .weight_gradient = weight_gradient,
                                      .unfold = absent,
                                      .fold = absent};
  return &table;
}

}  // namespace neura::cuda

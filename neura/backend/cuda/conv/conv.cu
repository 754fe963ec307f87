// Convolutions: by cuDNN where it has a way; what it does not know of is computed by kernels of our own.
#include "neura/backend/cuda/conv/conv.h"

#include "neura/backend/cuda/pointwise/execute.h"
#include "neura/backend/cuda/runtime/memory.cuh"
#include "neura/backend/cuda/runtime/stream.h"

namespace neura::cuda {
namespace {

// y [images, filters, size] += bias [filters].
template <class N> __global__ void __launch_bounds__(kThreads)
    add_rows(char* y, const char* bias, DType dtype, int bytes, std::uint32_t filters, std::int64_t size) {
  char* const row = y + std::int64_t(blockIdx.x) * size * bytes;
  const N b = load_simple<N>(bias, dtype, blockIdx.x % filters);
  for (std::int64_t i = std::int64_t(blockIdx.y) * kThreads + threadIdx.x; i < size; i += gridDim.y * kThreads)
    store_simple<N>(row + i * bytes, dtype, 0, load_simple<N>(row + i * bytes, dtype, 0) + b);
}
Failed add_bias(const ConvShape& s, DType dtype, char* y, const char* bias, int index) {
  const std::int64_t size = s.out_size();
  const dim3 grid(unsigned(s.n * s.filters), unsigned(std::min<std::int64_t>(64, (size + kThreads - 1) / kThreads)));
  const auto run = [&]<class N>(N) {
    add_rows<N>
        <<<grid, kThreads, 0, current_stream(index)>>>(y, bias, dtype, size_of(dtype), std::uint32_t(s.filters), size);
  };
  if (dtype == DType::float64) run(double());
  else run(float());
  return launched(index);
}

Failed zero(const View& v, int index) {
  if (!v.numel()) return nullptr;
  return failed(cudaMemsetAsync(v.data, 0, std::size_t(v.numel() * size_of(v.dtype())), current_stream(index)),
                "memset");
}
// The parts of a batch for which cuDNN can count the elements of an operand.
constexpr std::int64_t kMost = INT32_MAX;
std::int64_t images_at_once(const ConvShape& s) {
  const std::int64_t image = std::max(s.channels * s.in_size(), s.filters * s.out_size());
  return std::max<std::int64_t>(1, std::min(s.n, kMost / std::max<std::int64_t>(1, image)));
}

// The batch is not cut where the result is a sum over it.
void convolve(Convolve what, Context& c, DType dtype, const ConvShape& s, const ConvData& data, Conjugated conj) {
  const int index = c.device.index, bytes = size_of(dtype);
  const std::int64_t at_once = what == Convolve::weight_gradient ? s.n : images_at_once(s);
  for (std::int64_t first = 0; first < s.n && !c.failure; first += at_once) {
    ConvShape part = s;
    part.n = std::min(at_once, s.n - first);
    ConvData d = data;
    d.image += first * s.channels * s.in_size() * bytes, d.result += first * s.filters * s.out_size() * bytes;
    Failed f = nullptr;
    bool biased = true;
    if (bit(dtype) & dtypes::integers) {
      f = what == Convolve::forward ? convolve_integers(index, dtype, part, d)
                                    : convolve_integers_back(index, dtype, part, d);
    } else if (by_planes(what, index, dtype, part, d, &f)) {  // it has added the bias
    } else if (by_cudnn(what, index, dtype, part, d, &biased, &f)) {
      if (!f && d.bias && !biased) f = add_bias(part, dtype, d.result, d.bias, index);
    } else {
      convolve_by_products(what, c, dtype, part, d, conj);
    }
    c.fail(f);
  }
}

void forward(Context& c, View x, View w, View bias, View y, const ConvShape& s, Conjugated conj) {
  if (!y.numel()) return;
  const int index = c.device.index;
  const OnDevice on(index);
  if (s.patch()) return convolve(Convolve::forward, c, y.dtype(), s, {x.data, w.data, y.data, bias.data}, conj);
  if (!bias) return c.fail(zero(y, index));
  Spec broadcast = *y.spec;  // [filters] to [1, filters, 1, 1, 1]
  for (int d = 0; d < broadcast.rank; ++d) {
    broadcast.strides[d] = d == 1 ? 1 : 0;
    if (d != 1) broadcast.shape[d] = 1;
  }
  broadcast.finish();
  c.fail(assign(y, View{bias.data, &broadcast}));
}
void input_gradient(Context& c, View g, View w, View x, const ConvShape& s, Conjugated conj) {
  if (!x.numel()) return;
  const OnDevice on(c.device.index);
  if (!g.numel() || !w.numel()) return c.fail(zero(x, c.device.index));
  convolve(Convolve::input_gradient, c, x.dtype(), s, {x.data, w.data, g.data}, conj);
}
void weight_gradient(Context& c, View x, View g, View w, const ConvShape& s, Conjugated conj) {
  if (!w.numel()) return;
  const OnDevice on(c.device.index);
  if (!g.numel() || !x.numel()) return c.fail(zero(w, c.device.index));
  if (bit(w.dtype()) & dtypes::integers)
    return c.fail(fail(DeviceFailure::absent, "expected floating or complex numbers, got %s", name(w.dtype())));
  convolve(Convolve::weight_gradient, c, w.dtype(), s, {x.data, w.data, g.data}, conj);
}
void unfold(Context& c, View x, View columns, const ConvShape& s) {
  if (!columns.numel()) return;
  const OnDevice on(c.device.index);
  const std::int64_t out = s.out_size();
  c.fail(take_patches(c.device.index, s, x.data, columns.data, size_of(x.dtype()),
                      {s.channels * s.kernel_size() * out, out}));
}
void fold(Context& c, View columns, View x, const ConvShape& s) {
  if (!x.numel()) return;
  const OnDevice on(c.device.index);
  if (!columns.numel()) return c.fail(zero(x, c.device.index));
  c.fail(add_patches(c.device.index, s, x.dtype(), columns.data, x.data));
}

}  // namespace

const conv_kernels* conv() {
  static constexpr conv_kernels table{.forward = forward,
                                      .input_gradient = input_gradient,
                                      .weight_gradient = weight_gradient,
                                      .unfold = unfold,
                                      .fold = fold};
  return &table;
}

}  // namespace neura::cuda

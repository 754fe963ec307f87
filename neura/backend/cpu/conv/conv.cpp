// The convolution kernels of the cpu by dtype: halves by way of float, complex numbers as four real convolutions,
// integers by plain loops.
#include "neura/backend/cpu/conv/conv.h"

#include <algorithm>
#include <concepts>
#include <type_traits>

#include "neura/backend/cpu/conv/unfold.h"
#include "neura/backend/cpu/split_complex.h"
#include "neura/backend/cpu/visit.h"

namespace neura {
namespace {

// f(z, y, x of the input, place within the kernel) for the windows of result `at`, where they meet the input.
template <class F> void each_value(const ConvShape& s, int64_t at, F f) {
  const int64_t x = at % s.out[2], y = at / s.out[2] % s.out[1], z = at / s.out[2] / s.out[1];
  for (int64_t k = 0; k < s.kernel_size(); ++k) {
    const int64_t kx = k % s.kernel[2], ky = k / s.kernel[2] % s.kernel[1], kz = k / s.kernel[2] / s.kernel[1];
    const int64_t ix = x * s.stride[2] + kx * s.dilation[2] - s.padding[2];
    const int64_t iy = y * s.stride[1] + ky * s.dilation[1] - s.padding[1];
    const int64_t iz = z * s.stride[0] + kz * s.dilation[0] - s.padding[0];
    if (ix >= 0 && ix < s.in[2] && iy >= 0 && iy < s.in[1] && iz >= 0 && iz < s.in[0])
      f((iz * s.in[1] + iy) * s.in[2] + ix, k);
  }
}

// Integers wrap around: the arithmetic is unsigned, and of at least 32 bits.
template <class T> using Wrapping = std::conditional_t<(sizeof(T) < 4), unsigned, std::make_unsigned_t<T>>;

template <std::integral T> void integer_forward(const ConvShape& s, const T* x, const T* w, const T* bias, T* y) {
  using W = Wrapping<T>;
  parallel_for(s.n * s.filters, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / s.filters, o = i % s.filters, first = o / s.group_filters() * s.group_channels();
      for (int64_t at = 0; at < s.out_size(); ++at) {
        W sum = bias ? W(bias[o]) : 0;
        each_value(s, at, [&](int64_t in, int64_t k) {
          for (int64_t c = 0; c < s.group_channels(); ++c)
            sum += W(x[(n * s.channels + first + c) * s.in_size() + in]) *
                   W(w[(o * s.group_channels() + c) * s.kernel_size() + k]);
        });
        y[i * s.out_size() + at] = T(sum);
      }
    }
  });
}
template <std::integral T> void integer_input_gradient(const ConvShape& s, const T* g, const T* w, T* x) {
  using W = Wrapping<T>;
  parallel_for(s.n * s.channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / s.channels, group = i % s.channels / s.group_channels(), c = i % s.group_channels();
      T* const to = x + i * s.in_size();
      std::fill_n(to, s.in_size(), T(0));
      for (int64_t at = 0; at < s.out_size(); ++at)
        each_value(s, at, [&](int64_t in, int64_t k) {
          W sum = W(std::make_unsigned_t<T>(to[in]));
          for (int64_t f = 0; f < s.group_filters(); ++f) {
            const int64_t o = group * s.group_filters() + f;
            sum += W(g[(n * s.filters + o) * s.out_size() + at]) *
                   W(w[(o * s.group_channels() + c) * s.kernel_size() + k]);
          }
          to[in] = T(sum);
        });
    }
  });
}
template <class T> void add_to(T* sum, const T* more, int64_t n, T sign) {
  for (int64_t i = 0; i < n; ++i) sum[i] += sign * more[i];
}
// z = f(a, b) of complex operands, by a function of real arrays.
template <class T, class F> void complex_parts(Context& c, View a, View b, View z, View bias, Conjugated conj, F real) {
  const SplitComplex<T> pa(c, a, conj.first), pb(c, b, conj.second), pz(c, z, false, false);
  T* const more = c.scratch_of<T>(pz.spec.numel);
  real(pa.re, pb.re, pz.re), real(pa.im, pb.im, more), add_to(pz.re, more, pz.spec.numel, T(-1));
  real(pa.re, pb.im, pz.im), real(pa.im, pb.re, more), add_to(pz.im, more, pz.spec.numel, T(1));
  if (!bias) return pz.store(z, View(), 1, 0);
  Spec broadcast = *z.spec;  // [filters] to [1, filters, 1, 1, 1]
  for (int d = 0; d < broadcast.rank; ++d) {
    broadcast.strides[d] = d == 1 ? 1 : 0;
    if (d != 1) broadcast.shape[d] = 1;
  }
  broadcast.finish(), pz.store(z, View{bias.data, &broadcast}, 1, 1);
}

void forward(Context& c, View x, View w, View bias, View y, const ConvShape& s, Conjugated conj) {
  const auto complex = [&]<class T>() {
    complex_parts<T>(c, x, w, y, bias, conj,
                     [&](const T* a, const T* b, T* z) { conv_forward<T>(c, s, a, b, nullptr, z); });
  };
  switch (y.dtype()) {
    case DType::float32:
      return conv_forward(c, s, x.as<float>(), w.as<float>(), bias.as<float>(), y.as<float>());
    case DType::float64:
      return conv_forward(c, s, x.as<double>(), w.as<double>(), bias.as<double>(), y.as<double>());
    case DType::float16:
    case DType::bfloat16: {
      const FloatCopy fx(c, x), fw(c, w), fb(c, bias), fy(c, y, false);
      conv_forward<float>(c, s, fx.data, fw.data, fb.data, fy.data);
      return fy.store(y);
    }
    case DType::complex64:
      return complex.operator()<float>();
    case DType::complex128:
      return complex.operator()<double>();
    default:
      visit_integers(y.dtype(), [&]<class T>() { integer_forward(s, x.as<T>(), w.as<T>(), bias.as<T>(), y.as<T>()); });
  }
}
void input_gradient(Context& c, View g, View w, View x, const ConvShape& s, Conjugated conj) {
  const auto complex = [&]<class T>() {
    complex_parts<T>(c, g, w, x, View(), conj,
                     [&](const T* a, const T* b, T* z) { conv_input_gradient<T>(c, s, a, b, z); });
  };
  switch (x.dtype()) {
    case DType::float32:
      return conv_input_gradient(c, s, g.as<float>(), w.as<float>(), x.as<float>());
    case DType::float64:
      return conv_input_gradient(c, s, g.as<double>(), w.as<double>(), x.as<double>());
    case DType::float16:
    case DType::bfloat16: {
      const FloatCopy fg(c, g), fw(c, w), fx(c, x, false);
      conv_input_gradient<float>(c, s, fg.data, fw.data, fx.data);
      return fx.store(x);
    }
    case DType::complex64:
      return complex.operator()<float>();
    case DType::complex128:
      return complex.operator()<double>();
    default:
      visit_integers(x.dtype(), [&]<class T>() { integer_input_gradient(s, g.as<T>(), w.as<T>(), x.as<T>()); });
  }
}
void weight_gradient(Context& c, View x, View g, View w, const ConvShape& s, Conjugated conj) {
  const auto complex = [&]<class T>() {
    complex_parts<T>(c, x, g, w, View(), conj,
                     [&](const T* a, const T* b, T* z) { conv_weight_gradient<T>(c, s, a, b, z); });
  };
  switch (w.dtype()) {
    case DType::float32:
      return conv_weight_gradient(c, s, x.as<float>(), g.as<float>(), w.as<float>());
    case DType::float64:
      return conv_weight_gradient(c, s, x.as<double>(), g.as<double>(), w.as<double>());
    case DType::float16:
    case DType::bfloat16: {
      const FloatCopy fx(c, x), fg(c, g), fw(c, w, false);
      conv_weight_gradient<float>(c, s, fx.data, fg.data, fw.data);
      return fw.store(w);
    }
    case DType::complex64:
      return complex.operator()<float>();
    case DType::complex128:
      return complex.operator()<double>();
    default:
      return;
  }
}

template <class T> void fold_real(const ConvShape& s, const T* columns, int64_t step, T* x) {  // step: 2 of complex
  const int64_t line = s.out_size();
  parallel_for(s.n * s.channels, std::max<int64_t>(1, kSerial / (s.kernel_size() * line + 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const T* const from = columns + i * s.kernel_size() * line * step;
                   T* const to = x + i * s.in_size() * step;
                   std::fill_n(to, s.in_size() * step, T(0));
                   for (int64_t at = 0; at < line; ++at)
                     each_value(s, at, [&](int64_t in, int64_t k) {
                       for (int64_t part = 0; part < step; ++part)
                         to[in * step + part] += from[(k * line + at) * step + part];
                     });
                 }
               });
}
void fold(Context& c, View columns, View x, const ConvShape& s) {
  switch (x.dtype()) {
    case DType::float32:
      return fold_real(s, columns.as<float>(), 1, x.as<float>());
    case DType::float64:
      return fold_real(s, columns.as<double>(), 1, x.as<double>());
    case DType::complex64:
      return fold_real(s, columns.as<float>(), 2, x.as<float>());
    case DType::complex128:
      return fold_real(s, columns.as<double>(), 2, x.as<double>());
    case DType::float16:
    case DType::bfloat16: {
      const FloatCopy from(c, columns), to(c, x, false);
      fold_real(s, from.data, 1, to.data);
      return to.store(x);
    }
    default:
      return;
  }
}

}  // namespace

const conv_kernels* cpu_conv() {
  static constexpr conv_kernels kernels = {.forward = &forward,
                                           .input_gradient = &input_gradient,
                                           .weight_gradient = &weight_gradient,
                                           .unfold = &cpu_unfold,
                                           .fold = &fold};
  return &kernels;
}

}  // namespace neura

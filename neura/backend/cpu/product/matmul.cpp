// The product kernels of the cpu by dtype. Halves become float and complex numbers pairs of real matrices beforehand:
// that costs what reading the operands costs, and leaves one kernel to tune.
#include "neura/backend/kernels/matmul.h"

#include <type_traits>

#include "neura/backend/cpu/split_complex.h"
#include "neura/backend/cpu/product/gemm_batched.h"

namespace neura {
namespace {

// Of a, b, y the strides of a size of 1 may be anything, and are set to what packing prefers; init's must be 0.
template <class T> MatrixBatch<T> operand(T* data, const Spec& s, int rank) {
  MatrixBatch<T> x = matrices(data, s, rank);
  if (s.shape[s.rank - 1] == 1) x.column = 1;
  if (s.shape[s.rank - 2] == 1) x.row = x.column == 1 ? s.shape[s.rank - 1] : 1;
  return x;
}

template <class T> ProductBatch<T> product(const Spec& a, const Spec& y) {
  ProductBatch<T> p;
  p.rank = y.rank - 2;
  for (int d = 0; d < p.rank; ++d) p.batch[d] = y.shape[d];
  p.m = y.shape[y.rank - 2], p.n = y.shape[y.rank - 1], p.k = a.shape[a.rank - 1];
  return p;
}

template <class T> ProductBatch<T> plain(View a, View b, View init, View y, const Product& options) {
  ProductBatch<T> p = product<T>(*a.spec, *y.spec);
  if constexpr (std::is_integral_v<T>) {  // as torch: 0.6 is 0
    p.alpha = T(std::int64_t(options.alpha.real())), p.beta = T(std::int64_t(options.beta.real()));
  } else {
    p.alpha = T(options.alpha.real()), p.beta = T(options.beta.real());
  }
  p.a = operand<const T>(a.as<T>(), *a.spec, y.rank()), p.b = operand<const T>(b.as<T>(), *b.spec, y.rank());
  p.y = operand<T>(y.as<T>(), *y.spec, y.rank());
  if (init && options.beta != 0.0) p.init = matrices<const T>(init.as<T>(), *init.spec, y.rank());
  return p;
}

void halves(Context& c, View a, View b, View init, View y, const Product& options) {
  const FloatCopy fi(c, init), fy(c, y, false);
  if (y.dtype() != DType::bfloat16 || !multiply_bfloat16(c, plain<float>(a, b, fi.view(), fy.view(), options))) {
    const FloatCopy fa(c, a), fb(c, b);
    multiply(c, plain<float>(fa.view(), fb.view(), fi.view(), fy.view(), options));
  }
  fy.store(y);
}

template <class T> void complex_product(Context& c, View a, View b, View init, View y, const Product& options) {
  const SplitComplex<T> pa(c, a, options.conj_a), pb(c, b, options.conj_b), py(c, y, false, false);
  ProductBatch<T> p = product<T>(pa.spec, py.spec);
  const auto part = [&](const T* x, const T* w, T* to, T alpha, bool add) {
    p.a = operand<const T>(x, pa.spec, y.rank()), p.b = operand<const T>(w, pb.spec, y.rank());
    p.y = operand<T>(to, py.spec, y.rank());
    p.init = add ? matrices<const T>(to, py.spec, y.rank()) : MatrixBatch<const T>{};
    p.alpha = alpha;
    multiply(c, p);
  };
  part(pa.re, pb.re, py.re, 1, false), part(pa.im, pb.im, py.re, -1, true);
  part(pa.re, pb.im, py.im, 1, false), part(pa.im, pb.re, py.im, 1, true);
  py.store(y, init, options.alpha, options.beta);
}

void cpu_product(Context& c, View a, View b, View init, View y, const Product& options) {
  switch (y.dtype()) {
    case DType::float32:
      return multiply(c, plain<float>(a, b, init, y, options));
    case DType::float64:
      return multiply(c, plain<double>(a, b, init, y, options));
    case DType::float16:
    case DType::bfloat16:
      return halves(c, a, b, init, y, options);
    case DType::complex64:
      return complex_product<float>(c, a, b, init, y, options);
    case DType::complex128:
      return complex_product<double>(c, a, b, init, y, options);
    case DType::uint8:
      return multiply_integers(c, plain<std::uint8_t>(a, b, init, y, options));
    case DType::int8:
      return multiply_integers(c, plain<std::int8_t>(a, b, init, y, options));
    case DType::int16:
      return multiply_integers(c, plain<std::int16_t>(a, b, init, y, options));
    case DType::int32:
      return multiply_integers(c, plain<std::int32_t>(a, b, init, y, options));
    case DType::int64:
      return multiply_integers(c, plain<std::int64_t>(a, b, init, y, options));
    default:
      return;  // infer lets no other through
  }
}

}  // namespace

const matmul_kernels* cpu_matmul() {
  static constexpr matmul_kernels kernels = {.matmul = &cpu_product};
  return &kernels;
}

}  // namespace neura

#include "neura/backend/cpu/split_complex.h"

#include <algorithm>

namespace neura {
namespace {

// f(flat index in logical order, element offset in x, element offset in z), where z broadcasts to x.
template <class F> void each_element(const Spec& x, const Spec* z, F f) {
  if (!x.numel) return;
  std::int64_t index[kMaxRank] = {}, strides[kMaxRank] = {}, at = 0, other = 0;
  for (int d = 0; z && d < x.rank; ++d) {
    const int own = d - (x.rank - z->rank);
    strides[d] = own < 0 || z->shape[own] == 1 ? 0 : z->strides[own];
  }
  for (std::int64_t i = 0; i < x.numel; ++i) {
    f(i, at, other);
    for (int d = x.rank - 1; d >= 0; --d) {
      at += x.strides[d], other += strides[d];
      if (++index[d] < x.shape[d]) break;
      at -= x.strides[d] * x.shape[d], other -= strides[d] * x.shape[d], index[d] = 0;
    }
  }
}

}  // namespace

template <class T> SplitComplex<T>::SplitComplex(Context& c, View x, bool conjugate, bool load) {
  spec = Spec::dense(to_real(x.dtype()), x.spec->sizes(), x.spec->device);
  re = c.scratch_of<T>(spec.numel), im = c.scratch_of<T>(spec.numel);
  const T* const from = x.as<T>();
  const T sign = conjugate ? T(-1) : T(1);
  if (load)
    each_element(*x.spec, nullptr, [&](std::int64_t i, std::int64_t at, std::int64_t) {
      re[i] = from[2 * at], im[i] = sign * from[2 * at + 1];
    });
}

template <class T>
void SplitComplex<T>::store(View y, View init, std::complex<double> alpha, std::complex<double> beta) const {
  using C = std::complex<T>;
  const C a = C(alpha), b = C(beta);
  const bool scaled = a != C(1), added = init && b != C(0);
  const T *const other = init.as<T>(), br = b.real(), bi = b.imag(), ar = a.real(), ai = a.imag();
  T* const to = y.as<T>();
  each_element(*y.spec, added ? init.spec : nullptr, [&](std::int64_t i, std::int64_t at, std::int64_t o) {
    T r = re[i], m = im[i];
    if (scaled) {
      const T scaled_r = ar * r - ai * m;
      m = ar * m + ai * r, r = scaled_r;
    }
    if (added) {
      const T x = other[2 * o], w = other[2 * o + 1];
      r += br * x - bi * w, m += br * w + bi * x;
    }
    to[2 * at] = r, to[2 * at + 1] = m;
  });
}

template struct SplitComplex<float>;
template struct SplitComplex<double>;

}  // namespace neura

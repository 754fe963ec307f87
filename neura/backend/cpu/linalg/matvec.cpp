#include "neura/backend/cpu/linalg/matvec.h"

#include <algorithm>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/linalg/matvec.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using std::int64_t;

template <class T> using Tag = hn::CappedTag<T, 64 / sizeof(T)>;
template <class T> constexpr int64_t kLanes = int64_t(hn::MaxLanes(Tag<T>()));
constexpr int kRows = HWY_TARGET <= HWY_AVX3 ? 8 : 4;  // at a time: so many registers

template <class T, int H> HWY_INLINE void dots_of(int64_t n, const T* x, int64_t row, const T* v, T* out) {
  constexpr Tag<T> d;
  hn::Vec<Tag<T>> s[H];
  HWY_UNROLL(8)
  for (int r = 0; r < H; ++r) s[r] = hn::Zero(d);
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
    const auto y = hn::LoadU(d, v + i);
    HWY_UNROLL(8)
    for (int r = 0; r < H; ++r) s[r] = hn::MulAdd(hn::LoadU(d, x + r * row + i), y, s[r]);
  }
  HWY_UNROLL(8)
  for (int r = 0; r < H; ++r) {
    T sum = hn::GetLane(hn::SumOfLanes(d, s[r]));
    for (int64_t k = i; k < n; ++k) sum += x[r * row + k] * v[k];
    out[r] = sum;
  }
}
template <class T> void dots(int64_t rows, int64_t n, const T* x, int64_t row, const T* v, T* out) {
  int64_t k = 0;
  for (; k + kRows <= rows; k += kRows) dots_of<T, kRows>(n, x + k * row, row, v, out + k);
  for (; k < rows; ++k) dots_of<T, 1>(n, x + k * row, row, v, out + k);
}

template <class T, int H> HWY_INLINE void combine_of(int64_t n, const T* x, int64_t row, const T* c, T* y) {
  constexpr Tag<T> d;
  hn::Vec<Tag<T>> f[H];
  HWY_UNROLL(8)
  for (int r = 0; r < H; ++r) f[r] = hn::Set(d, c[r]);
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
    auto s = hn::LoadU(d, y + i);
    HWY_UNROLL(8)
    for (int r = 0; r < H; ++r) s = hn::MulAdd(f[r], hn::LoadU(d, x + r * row + i), s);
    hn::StoreU(s, d, y + i);
  }
  for (; i < n; ++i)
    for (int r = 0; r < H; ++r) y[i] += c[r] * x[r * row + i];
}
template <class T> void combine(int64_t rows, int64_t n, const T* x, int64_t row, const T* c, T* y) {
  int64_t k = 0;
  for (; k + kRows <= rows; k += kRows) combine_of<T, kRows>(n, x + k * row, row, c + k, y);
  for (; k < rows; ++k) combine_of<T, 1>(n, x + k * row, row, c + k, y);
}

// kRows rows, of which those before column `diagonal` are another's, and those up to `behind` are in the square.
template <class T>
HWY_INLINE void symmetric_rows(int64_t i, int64_t columns, const T* a, int64_t row, const T* v, T* y) {
  constexpr Tag<T> d;
  const int64_t diagonal = i / kTile * kTile, behind = diagonal + kTile;
  const T* const x = a + i * row;
  hn::Vec<Tag<T>> s[kRows], f[kRows];
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) s[r] = hn::Zero(d), f[r] = hn::Set(d, v[i + r]);
  for (int64_t k = diagonal; k < behind; k += kLanes<T>) {
    const auto u = hn::LoadU(d, v + k);
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) s[r] = hn::MulAdd(hn::LoadU(d, x + r * row + k), u, s[r]);
  }
  for (int64_t k = behind; k < columns; k += kLanes<T>) {
    const auto u = hn::LoadU(d, v + k);
    auto sum = hn::LoadU(d, y + k);
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      const auto element = hn::LoadU(d, x + r * row + k);
      s[r] = hn::MulAdd(element, u, s[r]);
      sum = hn::MulAdd(element, f[r], sum);
    }
    hn::StoreU(sum, d, y + k);
  }
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) y[i + r] += hn::GetLane(hn::SumOfLanes(d, s[r]));
}
template <class T>
void symmetric(int64_t begin, int64_t end, int64_t columns, const T* a, int64_t row, const T* v, T* y) {
  std::fill(y + begin, y + columns, T(0));
  for (int64_t i = begin; i < end; i += kRows) symmetric_rows(i, columns, a, row, v, y);
}

template <class T> constexpr MatvecKernels<T> table = {&dots<T>, &combine<T>, &symmetric<T>};
const MatvecKernels<float>* matvec_table_f32() { return &table<float>; }
const MatvecKernels<double>* matvec_table_f64() { return &table<double>; }

}  // namespace
}  // namespace HWY_NAMESPACE
#if HWY_ONCE
HWY_EXPORT(matvec_table_f32);
HWY_EXPORT(matvec_table_f64);
template <> const MatvecKernels<float>& matvec_kernels<float>() {
  static const MatvecKernels<float>* const kernels = HWY_DYNAMIC_DISPATCH(matvec_table_f32)();
  return *kernels;
}
template <> const MatvecKernels<double>& matvec_kernels<double>() {
  static const MatvecKernels<double>* const kernels = HWY_DYNAMIC_DISPATCH(matvec_table_f64)();
  return *kernels;
}
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();

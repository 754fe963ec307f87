// Lines of softmax and its gradient: what an instruction set provides.
#pragma once
#include "neura/backend/kernels/softmax.h"

namespace neura {

inline constexpr std::int64_t kSoftmaxColumns = 64;
template <class T> struct SoftmaxLines {  // [SoftmaxKind]
  void (*row[3])(const T* x, T* y, std::int64_t n);
  void (*row_backward[2])(const T* g, const T* y, T* gx, std::int64_t n);
  // n rows, `stride` apart, of at most kSoftmaxColumns columns; the buffer has n * kSoftmaxColumns elements for each
  // operand
  void (*columns[3])(const T* x, T* y, T* buffer, std::int64_t n, std::int64_t stride, std::int64_t columns);
  void (*columns_backward[2])(const T* g, const T* y, T* gx, T* buffer, std::int64_t n, std::int64_t stride,
                              std::int64_t columns);
};
template <class T> const SoftmaxLines<T>& softmax_lines();

}  // namespace neura

// What the losses do with one row of n scores, or with columns of them; one table per instruction set.
#pragma once
#include <cstdint>

#include "neura/backend/kernels/loss.h"

namespace neura {

inline constexpr std::int64_t kLossColumns = 64;
template <class T> struct LossLines {
  // The maximum of a row and log(sum(exp(x - maximum))).
  void (*log_sum)(const T* x, std::int64_t n, T* most, T* log_of_sum);
  double (*weighted)(const T* x, const T* w, T most, std::int64_t n);  // sum of w (most - x); w may be null
  // gx = a exp(x - most - l) - b w; w may be null
  void (*backward)(const T* x, const T* w, T most, T l, T a, T b, T* gx, std::int64_t n);
  // The same for columns (at most kLossColumns) of n rows, `stride` apart. buffer: n * kLossColumns
  void (*columns)(const T* x, T* buffer, std::int64_t n, std::int64_t stride, std::int64_t count, T* most, T* l);
  void (*columns_backward)(const T* x, const T* w, const T* most, const T* l, const T* a, const T* b, T* gx,
                           std::int64_t n, std::int64_t stride, std::int64_t count);
  // [ElementLoss]: sum of f(x, t); y = f(x, t); gx = (g or, where null, 1) scale df/dx
  double (*sum[6])(const T* x, const T* t, T parameter, std::int64_t n);
  void (*map[6])(const T* x, const T* t, T parameter, T* y, std::int64_t n);
  void (*slope[6])(const T* g, T scale, const T* x, const T* t, T parameter, T* gx, std::int64_t n);
  // For ctc_loss. paths: log(exp(a) + exp(b) + exp(c + pass)) + x, which is -inf where all three are.
  // shares: exp(a + b - x + loss), or 0 where a + b is -inf.
  void (*paths)(const T* a, const T* b, const T* c, const T* pass, const T* x, T* to, std::int64_t n);
  void (*shares)(const T* a, const T* b, const T* x, T loss, T* to, std::int64_t n);
};
struct LossTable {
  LossLines<float> singles;
  LossLines<double> doubles;
};
const LossTable& loss_table();
void cpu_element_loss(Context&, View x, View target, ElementLoss, double parameter, Reduction, View loss);
void cpu_element_loss_backward(Context&, View g, View x, View target, ElementLoss, double parameter, Reduction,
                               View gx);
void cpu_ctc_loss(Context&, const CtcOperands&, std::int64_t blank, View loss, View alpha);
void cpu_ctc_loss_backward(Context&, View g, const CtcOperands&, View loss, View alpha, std::int64_t blank,
                           bool zero_infinity, View gx);

template <class T> const LossLines<T>& loss_lines() {
  if constexpr (sizeof(T) == 4) return loss_table().singles;
  else return loss_table().doubles;
}

}  // namespace neura

// Kernels of the losses. x, target and weight as the operations take them: scores [N, C, inner…] (contiguous where
// there is an inner size), classes [N, inner…] of any integer dtype, weight [C] or absent. A class outside [0, C) that
// is not `ignore` is reported by fail_index.
#pragma once
#include "neura/backend/backend.h"
#include "neura/core/reduction.h"

namespace neura {

struct LossOptions {
  std::int64_t ignore = -100;
  Reduction reduction = Reduction::mean;
  double smoothing = 0;
};
enum class ElementLoss : unsigned char { mse, l1, smooth_l1, huber, bce, bce_logits };

// float32 or float64 x [T, N, C] of logarithms, classes side by side; the rest contiguous int64: targets [N, S], of
// which each sample has `labels`, and of whose T it has `times`. A label or a length that does not fit is reported by
// fail_index.
struct CtcOperands {
  View x, targets, times, labels;
};

struct loss_kernels {
  // stats, of the dtype of computation and 2 samples + 1 long: each sample's maximum, each one's logarithm of the sum,
  // and the total weight.
  Entry<void(Context&, View x, View target, View weight, const LossOptions&, View loss, View stats)> cross_entropy;
  Entry<void(Context&, View g, View x, View target, View weight, View stats, const LossOptions&, View gx)>
      cross_entropy_backward;
  Entry<void(Context&, View x, View target, View weight, const LossOptions&, View loss, View total)> nll_loss;
  Entry<void(Context&, View g, View target, View weight, View total, const LossOptions&, View gx)> nll_loss_backward;
  // Both tensors are contiguous, of one dtype and shape. Gives f(x, target); the second, g df/dx.
  Entry<void(Context&, View x, View target, ElementLoss, double parameter, Reduction, View loss)> element_loss;
  Entry<void(Context&, View g, View x, View target, ElementLoss, double parameter, Reduction, View gx)>
      element_loss_backward;
  // loss [N]; alpha [N, T, 2 S + 1]: for the gradient, the logarithm of all beginnings of paths that are in a state at
  // a time; absent: not wanted. Null: no kernel, the definition runs.
  Entry<void(Context&, const CtcOperands&, std::int64_t blank, View loss, View alpha)> ctc_loss;
  Entry<void(Context&, View g, const CtcOperands&, View loss, View alpha, std::int64_t blank, bool zero_infinity,
             View gx)>
      ctc_loss_backward;
};

}  // namespace neura

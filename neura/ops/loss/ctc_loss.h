// Connectionist temporal classification: the loss of a sequence of which only the order of its labels is known.
#pragma once
#include "neura/core/arguments.h"
#include "neura/core/reduction.h"
#include "neura/core/tensor.h"

namespace neura {

struct CtcLossOptions {
  std::int64_t blank = 0;                 // the class of the blank
  Reduction reduction = Reduction::mean;  // mean: of the losses, each divided by the length of its target
  bool zero_infinity = false;             // an infinite loss (no alignment exists) counts as 0, with a gradient of 0
  NEURA_ARGUMENTS(blank, reduction, zero_infinity)
};

// -log of the probability that `log_probs`, float32 or float64 [T, N, C] or [T, C], spell the targets: repeated classes
// count once, blanks nothing. targets: int64 or int32, [N, S], or all in a row, as long as target_lengths say;
// input_lengths and target_lengths: integers [N], or one number for [T, C]. ValueError for lengths that do not fit,
// IndexError for a label outside [0, C). As in torch, the gradient is right for log_probs that are results of
// log_softmax.
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CtcLossOptions& = {});

}  // namespace neura

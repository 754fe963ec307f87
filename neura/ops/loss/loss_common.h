// Shared by the losses.
#pragma once
#include "neura/ops/loss/loss.h"

namespace neura {

Tensor reduced(const Tensor& loss, Reduction reduction);
// Warns where the shapes differ: [N, 1] against [N] makes N x N losses, which is rarely meant. ShapeError where they do
// not broadcast.
void warn_of_sizes(const char* op, const Tensor& input, const Tensor& target);
// The same, but nothing is said of a single element, which is compared with all others.
void check_pair(const char* op, const Tensor& input, const Tensor& target);

}  // namespace neura

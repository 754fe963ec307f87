// Entries of the table of softmax that stand in a file of their own.
#pragma once
#include "neura/backend/kernels/softmax.h"

namespace neura::cuda {

void attention(Context&, View q, View k, View v, View mask, const AttentionShape&, View y);
void attention_backward(Context&, View g, View q, View k, View v, View mask, const AttentionShape&, View gq, View gk,
                        View gv);

}  // namespace neura::cuda

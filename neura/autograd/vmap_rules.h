// Batching rules of vmap, and what they share.
#pragma once
#include "neura/autograd/vmap.h"
#include "neura/op/attributes.h"

namespace neura {

// Which attributes name dimensions or sizes, and how a batch dimension in front changes them.
enum Edit : unsigned {
  kNothing = 0,
  kDim = 1,      // dim, dim1, dim2, first: plus 1
  kDims = 2,     // dims, a list: each plus 1
  kMask = 4,     // dims, a bit for each
  kPermute = 8,  // dims, a permutation
  kSize = 16,    // size, a list of sizes
  kFold = 32,    // sizes, a list: as many of the first as there are samples
};
// The attributes of a call, with a batch in front.
class BatchedAttributes {
 public:
  BatchedAttributes(const BatchCall&, unsigned edits);
  void* get() { return op_.get(); }

 private:
  OpMemory op_;
};

// The rule of one call on whole batches: all operands batched and contiguous, attributes edited. Samples without
// dimensions get one of size 1 for the call.
template <unsigned edits = kNothing> void shifted(BatchCall& b);
void shift(BatchCall& b, unsigned edits);
template <unsigned edits> void shifted(BatchCall& b) { shift(b, edits); }

// The rule that merges the batch with dimension 0 of every operand, and splits it off every result.
template <unsigned edits = kNothing> void folded(BatchCall& b);
void fold_samples(BatchCall& b, unsigned edits);
template <unsigned edits> void folded(BatchCall& b) { fold_samples(b, edits); }
Tensor fold(const Tensor& t, int into);  // [b, .., n, ..] -> [.., b * n, ..]: into counts without b
Tensor unfold_batch(const Tensor& t, int from, std::int64_t size);  // and back

// The samples' tables are concatenated: adds to each sample's indices where its table begins. IndexError beyond its
// end.
Tensor in_one_table(const Tensor& indices, std::int64_t rows);

void aligned(BatchCall& b);  // the rule of pointwise rows and their slopes: aligns operands that broadcast

void batched_expand(BatchCall&);
void batched_view(BatchCall&);
void batched_strided(BatchCall&);
void batched_matmul(BatchCall&);
void batched_addmm(BatchCall&);
void batched_linear(BatchCall&);
void batched_convolution(BatchCall&);
void batched_convolution_input(BatchCall&);
void batched_convolution_weight(BatchCall&);
void batched_layer_norm(BatchCall&);
void batched_layer_norm_backward(BatchCall&);
void batched_group_norm(BatchCall&);
void batched_batch_norm(BatchCall&);
void batched_channel_norm_backward(BatchCall&);
void batched_index_select(BatchCall&);
void batched_index_write(BatchCall&);
void batched_embedding(BatchCall&);
void batched_embedding_backward(BatchCall&);
void batched_attention_backward(BatchCall&);
void batched_loss_backward(BatchCall&);
void batched_dropout(BatchCall&);
void batched_random(BatchCall&);

}  // namespace neura

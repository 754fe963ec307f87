// The gradient of an embedding as a sparse tensor: the rows that were looked up, in the order in which they were.
#include "neura/ops/nn/embedding.h"

#include "neura/autograd/grad_mode.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/index/index.h"
#include "neura/ops/shape/view.h"
#include "neura/sparse/parts.h"

namespace neura {
namespace {

struct EmbeddingNode final : CustomNode {
  Tensor indices;  // [n]
  Shape table;
  std::int64_t padding;
  const char* name() const override { return "embedding"; }
  std::vector<Tensor> derive(std::vector<Tensor>& g, bool) override {
    if (!g[0]) return {Tensor()};
    Tensor index = indices, v = reshape(g[0], {indices.numel(), table[1]});
    if (padding >= 0) {
      const Tensor kept = flatten(nonzero(index != Scalar(padding)));
      index = index_select(index, 0, kept), v = index_select(v, 0, kept);
    }
    return {sparse::assemble({Layout::coo, false, unsqueeze(index, 0), {}}, v, table)};
  }
};

}  // namespace

Tensor sparsely_learned_embedding(const Tensor& indices, const Tensor& weight, std::int64_t padding_idx) {
  const Tensor made = embedding(indices, weight.detach());
  if (!is_grad_enabled() || !weight.requires_grad()) return made;
  auto node = Ref<EmbeddingNode>::adopt(new EmbeddingNode);
  node->indices = flatten(indices.detach()).clone(), node->table = weight.shape(), node->padding = padding_idx;
  return sparse::joined(std::move(node), weight, made);
}

}  // namespace neura

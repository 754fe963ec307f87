// The gradient of an operation by what it is defined as: the same results of other operations, differentiated.
#include "neura/autograd/autograd.h"
#include "neura/autograd/run.h"
#include "neura/core/state.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

// The operand as the definition sees it. What no derivative reads (a bias) was not saved: any value does.
Tensor operand(const Gradient& g, int i, unsigned read) {
  if (!(read >> i & 1)) return g.needs(i) ? zero_gradient(*g.meta[i]) : Tensor();
  return g.input(i);
}

}  // namespace

void gradient_by_definition(Gradient& g) {
  const Row& row = *g.row;
  unsigned read = 0;
  for (int i = 0; i < row.inputs; ++i)
    if (g.needs(i)) read |= row.reads_of(i);
  const EnableGrad recording;
  Tensor in[kMaxInputs], out[kMaxOutputs];
  std::vector<Tensor> wanted;
  for (int i = 0; i < row.inputs; ++i) {
    in[i] = operand(g, i, read);
    if (!g.needs(i)) continue;
    // Two operands may be one tensor: each has a node of its own here.
    if (g.create_graph && in[i].requires_grad()) in[i] = view(in[i], in[i].shape());
    else in[i] = in[i].detach().requires_grad_();
    wanted.push_back(in[i]);
  }
  row.define(g.op, in, row.inputs, out);
  std::vector<Tensor> outputs, incoming;
  for (int i = 0; i < row.outputs; ++i)
    if (out[i] && out[i].requires_grad() && g.g[i]) outputs.push_back(out[i]), incoming.push_back(g.g[i]);
  if (outputs.empty()) return;
  std::vector<Tensor> found = grad(outputs, wanted, incoming, {.create_graph = g.create_graph, .allow_unused = true});
  for (int i = row.inputs; i--;)
    if (g.needs(i)) g.result[i] = std::move(found.back()), found.pop_back();
}

}  // namespace neura

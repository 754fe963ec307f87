#include "neura/ops/again.h"

#include "neura/autograd/autograd.h"
#include "neura/ops/view.h"

namespace neura {

void gradient_of_composition(Gradient& g, const std::function<std::vector<Tensor>(const Tensor* in)>& compose) {
  const EnableGrad recording;
  Tensor in[kMaxInputs];
  std::vector<Tensor> wanted;
  for (int i = 0; i < g.row->inputs; ++i) {
    in[i] = g.input(i);
    if (g.needs(i)) wanted.push_back(in[i] = view(in[i], in[i].shape()));  // two operands may be one tensor
  }
  const std::vector<Tensor> all = compose(in);
  std::vector<Tensor> outputs, incoming;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i] && all[i].requires_grad() && g.g[i]) outputs.push_back(all[i]), incoming.push_back(g.g[i]);
  if (outputs.empty()) return;
  std::vector<Tensor> found = grad(outputs, wanted, incoming, {.create_graph = true, .allow_unused = true});
  for (int i = g.row->inputs; i--;)
    if (g.needs(i)) g.result[i] = std::move(found.back()), found.pop_back();
}

}  // namespace neura

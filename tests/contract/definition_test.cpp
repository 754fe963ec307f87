// Every operation that has a definition: its kernel gives what the definition gives, and so do the derivatives. Calls
// are collected from the cases of all operations, so that a new one is found without being named here.
#include <set>

#include "neura/autograd/autograd.h"
#include "neura/op/apply.h"
#include "neura/op/pointwise/rows.h"
#include "tests/contract/row_case.h"
#include "tests/contract/structs.h"
#include "tests/support/close.h"

namespace neura::test {
namespace {

// Runs each call, and its definition beside it.
struct Compared final : Interceptor {
  std::set<std::string> seen;
  void call(Call& c) override {
    const bool defined = c.row->define && c.destination == Destination::fresh && !c.row->draws_numbers;
    Tensor operands[kMaxInputs], results[kMaxOutputs];
    for (int i = 0; defined && i < c.inputs; ++i)
      if (c.in[i].is_tensor()) operands[i] = Tensor(Ref<TensorImpl>::share(c.in[i].tensor)).clone().detach();
    apply(c);
    if (!defined) return;
    const NoGrad off;
    c.row->define(c.op, operands, c.inputs, results);
    seen.insert(c.row->name);
    for (int i = 0; i < c.row->outputs; ++i) {
      if (!results[i] || !c.out[i]) continue;
      SCOPED_TRACE(std::string(c.row->name) + ", result " + std::to_string(i));
      expect_close(c.out[i].detach(), results[i], tolerance(results[i].dtype()).times(4));
    }
  }
};

std::set<std::string> compare(const StructCase& c) {
  SCOPED_TRACE(c.text);
  Inputs in;
  for (const Tensor& t : c.inputs) {
    in.push_back(t.detach().clone());
    if (differentiable(t.dtype())) in.back().requires_grad_();
  }
  Compared compared;
  std::vector<Tensor> outputs, incoming;
  for (const Tensor& y : c.f(in))
    if (y && y.requires_grad()) outputs.push_back(y), incoming.push_back(y.detach() * 0.5 + 1);
  if (!outputs.empty()) backward(outputs, incoming);
  return compared.seen;
}

TEST(Definition, IsWhatTheKernelGives) {
  std::set<std::string> seen;
  for (const StructCase& c : struct_cases()) seen.merge(compare(c)), count_case();
  for (const char* name :
       {"layer_norm", "rms_norm", "group_norm", "batch_norm", "cross_entropy", "mse_loss", "loss_backward",
        "scaled_dot_product_attention", "recurrent_layer", "ctc_loss", "grid_sample"})
    EXPECT_TRUE(seen.count(name)) << name << " stands in no case";
}

}  // namespace
}  // namespace neura::test

#include "neura/autograd/function.h"

#include <string>

#include "neura/autograd/function_node.h"
#include "neura/autograd/grad_mode.h"
#include "neura/autograd/level.h"

namespace neura {

FunctionContext::FunctionContext() = default;
FunctionContext::~FunctionContext() = default;
void FunctionContext::save_for_backward(std::vector<Tensor> tensors) { to_save_ = std::move(tensors); }
std::vector<Tensor> FunctionContext::saved_tensors() const {
  if (!node_) return to_save_;
  std::vector<Tensor> values;
  for (const SavedValue& s : saved_) values.push_back(s.get("saved_tensors", values.size(), node_));
  return values;
}

struct FunctionNode final : CustomNode {
  std::shared_ptr<Function> function;
  FunctionContext context;
  bool released = false;

  const char* name() const override { return function->name(); }
  std::vector<Tensor> derive(std::vector<Tensor>& grads, bool retain) override {
    check<AutogradError>(!released, [&] {
      return std::string(name()) +
             ": expected its saved values, but an earlier backward released them; pass retain_graph to that one";
    });
    std::vector<Tensor> result = function->backward(context, grads);
    if (!retain) released = !context.saved_.empty(), context.saved_.clear();
    return result;
  }
  void keep() {
    context.node_ = this;
    for (const Tensor& t : context.to_save_) context.saved_.emplace_back(t, this);
    context.to_save_.clear();
  }
};

std::vector<Tensor> apply_function(std::shared_ptr<Function> function, const std::vector<Tensor>& inputs) {
  const auto node = Ref<FunctionNode>::adopt(new FunctionNode);
  node->function = std::move(function);
  check_own_function(node->name(), inputs);
  const bool recorded = node->take(inputs);
  for (const Edge& e : node->edge) node->context.needs_.push_back(bool(e.node));
  CustomNode::Results r;
  {
    NoGrad off;
    r.values = node->function->forward(node->context, inputs);
  }
  if (!recorded) return std::move(r.values);
  node->give(r, inputs);
  node->keep();
  return std::move(r.values);
}

}  // namespace neura

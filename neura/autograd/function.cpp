#include "neura/autograd/function.h"

#include <string>

#include "neura/autograd/run.h"
#include "neura/core/random.h"
#include "neura/core/state.h"
#include "neura/ops/copy.h"

namespace neura {

void FunctionContext::save_for_backward(std::vector<Tensor> tensors) {
  saved_ = std::move(tensors);
  versions_.clear();
  for (const Tensor& t : saved_) versions_.push_back(t ? t.version() : 0);
}
std::vector<Tensor> FunctionContext::saved_tensors() const {
  for (std::size_t i = 0; i < saved_.size(); ++i)
    check<InplaceError>(!saved_[i] || saved_[i].version() == versions_[i], [&] {
      return "saved_tensors: expected saved tensor " + std::to_string(i) + " (" + saved_[i].spec().str() +
             ") at version " + std::to_string(versions_[i]) + ", got version " + std::to_string(saved_[i].version()) +
             "; clone() it before it is written";
    });
  return saved_;
}

struct FunctionNode final : Node {
  std::shared_ptr<Function> function;
  FunctionContext context;
  std::vector<Edge> edge;
  std::vector<Meta> metas, input_metas;
  bool released = false;

  const char* name() const override { return function->name(); }
  const Meta& meta(unsigned output) const override { return metas[output]; }
  void bury() override { delete this; }
  void backward(Run& run, Tensor* g) override {
    check<AutogradError>(!released, [&] {
      return std::string(name()) +
             ": expected its saved values, but an earlier backward released them; pass retain_graph to that one";
    });
    const std::vector<Tensor> grads(g, g + metas.size());
    std::vector<Tensor> result = function->backward(context, grads);
    check<ValueError>(result.size() == edge.size(), [&] {
      return std::string(name()) + ": expected backward to give " + std::to_string(edge.size()) +
             " gradients, one per input, got " + std::to_string(result.size());
    });
    if (!run.retain) context.saved_.clear(), released = true;
    for (std::size_t i = 0; i < edge.size(); ++i) {
      if (!run.wants(edge[i])) continue;
      if (result[i]) result[i] = fit_gradient(std::move(result[i]), input_metas[i]);
      run.deliver(*this, edge[i], std::move(result[i]));
    }
  }
};

std::vector<Tensor> apply_function(std::shared_ptr<Function> function, const std::vector<Tensor>& inputs) {
  const auto node = Ref<FunctionNode>::adopt(new FunctionNode);
  node->function = std::move(function);
  std::uint64_t sequence = state.sequence;
  bool recorded = false;
  check<ValueError>(inputs.size() <= 255, [] { return "function: expected at most 255 inputs"; });
  for (const Tensor& t : inputs) {
    node->edge.push_back(t && is_grad_enabled() && differentiable(t.dtype()) ? edge_of(t.impl()) : Edge());
    const Edge& e = node->edge.back();
    node->context.needs_.push_back(bool(e.node));
    node->input_metas.push_back(t ? Meta(t.spec()) : Meta());
    if (e.node) recorded = true, sequence = std::max(sequence, e.node->sequence);
  }
  std::vector<Tensor> outputs;
  {
    NoGrad off;
    outputs = node->function->forward(node->context, inputs);
  }
  check<NotImplementedError>(outputs.size() <= std::size_t(kMaxOutputs), [&] {
    return std::string(node->name()) + ": expected at most three results, got " + std::to_string(outputs.size()) +
           "; return one joined tensor";
  });
  if (!recorded) return outputs;
  node->edges = node->edge.data(), node->inputs = std::uint8_t(node->edge.size());
  node->sequence = state.sequence = sequence + 1;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    node->metas.push_back(Meta(outputs[i].spec()));
    for (const Tensor& t : inputs)
      if (t && t.is_same(outputs[i])) outputs[i] = outputs[i].detach();  // an input handed back is another value now
    if (differentiable(outputs[i].dtype())) adopt_history(outputs[i].impl(), Ref<Node>::share(node.get()), int(i));
  }
  return outputs;
}

namespace {

struct Checkpoint final : Function {
  std::function<std::vector<Tensor>(const std::vector<Tensor>&)> f;
  GeneratorState random;

  const char* name() const override { return "checkpoint"; }
  std::vector<Tensor> forward(FunctionContext& c, const std::vector<Tensor>& inputs) override {
    random = default_generator().state();
    c.save_for_backward(inputs);
    return f(inputs);
  }
  std::vector<Tensor> backward(FunctionContext& c, const std::vector<Tensor>& grads) override {
    struct Restore {
      GeneratorState now = default_generator().state();
      ~Restore() { default_generator().set_state(now); }
    } restore;
    default_generator().set_state(random);
    const std::vector<Tensor> saved = c.saved_tensors();
    std::vector<Tensor> inputs, wanted, outputs, g;
    EnableGrad on;
    for (std::size_t i = 0; i < saved.size(); ++i) {
      inputs.push_back(saved[i] ? saved[i].detach() : saved[i]);
      if (c.needs_input_grad(i)) wanted.push_back(inputs.back().requires_grad_());
    }
    const std::vector<Tensor> again = f(inputs);
    for (std::size_t j = 0; j < again.size(); ++j)
      if (grads[j] && again[j].requires_grad()) outputs.push_back(again[j]), g.push_back(grads[j]);
    std::vector<Tensor> result(saved.size());
    if (outputs.empty()) return result;
    // Parameters that f reads beside its inputs get their gradients here; the inputs' are handed on.
    neura::backward(outputs, g);
    for (std::size_t i = 0, k = 0; i < saved.size(); ++i)
      if (c.needs_input_grad(i)) result[i] = wanted[k++].grad();
    return result;
  }
};

}  // namespace

std::vector<Tensor> checkpoint(std::function<std::vector<Tensor>(const std::vector<Tensor>&)> f,
                               const std::vector<Tensor>& inputs) {
  auto function = std::make_shared<Checkpoint>();
  function->f = std::move(f);
  return apply_function(std::move(function), inputs);
}

}  // namespace neura

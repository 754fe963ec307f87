#include "neura/nn/backward_hook.h"

#include "neura/autograd/function.h"
#include "neura/autograd/grad_mode.h"

namespace neura::nn {

struct BackwardHookCall {
  Ref<Module> module;
  std::vector<std::pair<std::uint64_t, Module::BackwardHook>> hooks;
  std::vector<std::pair<std::uint64_t, Module::BackwardPreHook>> pre_hooks;
  std::vector<std::size_t> positions;  // of the arguments that pass through the gate, among all tensor arguments
  std::vector<std::size_t> results;    // the same of the results
  std::size_t arguments = 0, outputs = 0;
  std::vector<Tensor> grad_output;

  static std::shared_ptr<BackwardHookCall> of(Module& m) {
    if ((m.backward_hooks_.empty() && m.backward_pre_hooks_.empty()) || !is_grad_enabled()) return nullptr;
    auto c = std::make_shared<BackwardHookCall>();
    c->module = Ref<Module>::share(&m), c->hooks = m.backward_hooks_, c->pre_hooks = m.backward_pre_hooks_;
    return c;
  }
  std::vector<Tensor> run(const std::vector<Tensor>& grads) {
    std::vector<Tensor> grad_input = spread(grads, positions, arguments);
    for (const auto& [id, f] : hooks) f(*module, grad_input, grad_output);
    return pick(grad_input, positions);
  }
  std::vector<Tensor> arrive(const std::vector<Tensor>& grads) {
    grad_output = spread(grads, results, outputs);
    for (const auto& [id, f] : pre_hooks) f(*module, grad_output);
    const std::vector<Tensor> passed = pick(grad_output, results);
    if (positions.empty()) run({});  // no gradient will arrive at the arguments
    return passed;
  }
  static std::vector<Tensor> spread(const std::vector<Tensor>& some, const std::vector<std::size_t>& at,
                                    std::size_t n) {
    std::vector<Tensor> all(n);
    for (std::size_t i = 0; i < some.size(); ++i) all[at[i]] = some[i];
    return all;
  }
  static std::vector<Tensor> pick(const std::vector<Tensor>& all, const std::vector<std::size_t>& at) {
    std::vector<Tensor> some;
    for (const std::size_t i : at) some.push_back(all[i]);
    return some;
  }
};

namespace {

struct Gate : Function {  // the identity; its backward is what is done with the gradients that pass
  std::function<std::vector<Tensor>(const std::vector<Tensor>&)> pass;
  const char* name() const override { return "module_hook"; }
  std::vector<Tensor> forward(FunctionContext&, const std::vector<Tensor>& x) override {
    std::vector<Tensor> out;
    for (const Tensor& t : x) out.push_back(t.detach());
    return out;
  }
  std::vector<Tensor> backward(FunctionContext&, const std::vector<Tensor>& g) override { return pass(g); }
};

// Sends those that require a gradient through a gate.
void through(std::shared_ptr<Gate> gate, const std::vector<Tensor*>& tensors) {
  if (tensors.empty()) return;
  std::vector<Tensor> in;
  for (const Tensor* t : tensors) in.push_back(*t);
  const std::vector<Tensor> out = apply_function(std::move(gate), in);
  for (std::size_t i = 0; i < out.size(); ++i) *tensors[i] = out[i];
}

void collect(Value& v, std::vector<Tensor*>& out) {
  if (Tensor* t = v.get<Tensor>()) out.push_back(t);
  else if (List* l = v.get<List>())
    for (Value& e : l->items) collect(e, out);
}

}  // namespace

std::shared_ptr<BackwardHookCall> enter_for_backward(Module& m, Args& a) {
  auto c = BackwardHookCall::of(m);
  if (!c) return c;
  std::vector<Tensor*> all, wanted;
  for (Value& v : a.positional) collect(v, all);
  for (auto& [name, v] : a.named) collect(v, all);
  c->arguments = all.size();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (*all[i] && all[i]->requires_grad()) wanted.push_back(all[i]), c->positions.push_back(i);
  auto gate = std::make_shared<Gate>();
  gate->pass = [c](const std::vector<Tensor>& g) { return c->run(g); };
  through(std::move(gate), wanted);
  return c;
}

void leave_for_backward(const std::shared_ptr<BackwardHookCall>& c, Value& result) {
  std::vector<Tensor*> all, wanted;
  collect(result, all);
  c->outputs = all.size();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (*all[i] && all[i]->requires_grad()) wanted.push_back(all[i]), c->results.push_back(i);
  auto gate = std::make_shared<Gate>();
  gate->pass = [c](const std::vector<Tensor>& g) { return c->arrive(g); };
  through(std::move(gate), wanted);
}

}  // namespace neura::nn

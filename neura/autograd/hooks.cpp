// Leaves, their gradients, and hooks.
#include <algorithm>

#include "neura/autograd/run.h"
#include "neura/core/memory.h"

namespace neura {
namespace {

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

Edge hooked(const Tensor& t) {
  Edge e = edge_of(t.impl());
  check<AutogradError>(
      bool(e.node), [&] { return "register_hook: expected a tensor that requires a gradient, got " + t.spec().str(); });
  if (e.node->leaf && !e.node->hooks) hooked_leaves.fetch_add(1, std::memory_order_relaxed);
  e.node->hook();
  return e;
}
HookHandle handle(const Edge& e, std::uint64_t number) { return {Ref<History>::share(e.node.get()), number}; }

Leaf& leaf_of(const Tensor& t, const char* op) {
  const Edge e = edge_of(t.impl());
  check<AutogradError>(e.node && e.node->leaf, [&] {
    return std::string(op) + ": expected a leaf that requires a gradient, got " + t.spec().str();
  });
  return static_cast<Leaf&>(*e.node);
}

}  // namespace

HookHandle register_hook(const Tensor& t, std::function<Tensor(const Tensor&)> f) {
  const Edge e = hooked(t);
  const std::uint64_t number = next_number();
  e.node->hooks->before.push_back({number, {e.output, std::move(f)}});
  return handle(e, number);
}
HookHandle register_record_hook(const Tensor& t, std::function<void(Tensor*, int)> f) {
  const Edge e = hooked(t);
  const std::uint64_t number = next_number();
  e.node->hooks->after.push_back({number, std::move(f)});
  return handle(e, number);
}
HookHandle register_post_accumulate_grad_hook(const Tensor& t, std::function<void(Tensor&)> f) {
  leaf_of(t, "register_post_accumulate_grad_hook");
  const Edge e = hooked(t);
  const std::uint64_t number = next_number();
  e.node->hooks->accumulated.push_back({number, std::move(f)});
  return handle(e, number);
}

void HookHandle::remove() {
  if (!node_) return;
  Hooks* hooks = static_cast<Node&>(*node_).hooks;
  const auto drop = [&](auto& list) { std::erase_if(list, [&](auto& entry) { return entry.first == number_; }); };
  if (hooks) drop(hooks->before), drop(hooks->after), drop(hooks->accumulated);
  node_ = {};
}

Tensor& Tensor::requires_grad_(bool on) {
  check<AutogradError>(!on || differentiable(dtype()), [&] {
    return "requires_grad_: expected a floating or complex dtype, got " + spec().str() + "; convert it with .to()";
  });
  if (on == requires_grad()) return *this;
  check<AutogradError>(is_leaf(),
                       [] { return "requires_grad_: expected a leaf, got the result of an operation; use detach()"; });
  check<InplaceError>(!impl()->inference, [] {
    return "requires_grad_: expected a tensor made outside of inference mode; clone() it first";
  });
  if (on) impl()->history = new (memory::allocate(sizeof(Leaf))) Leaf(spec()), impl()->output = 0;
  else adopt_history(impl(), {}, 0);
  return *this;
}

Tensor Tensor::grad() const {
  if (!may_need_gradient(impl())) return {};
  const Edge e = edge_of(impl());
  if (!e.node || !e.node->leaf) return e.node && e.node->hooks ? e.node->hooks->retained(e.output) : Tensor();
  Leaf& leaf = static_cast<Leaf&>(*e.node);
  std::lock_guard hold(leaf.mutex);
  return leaf.grad;
}
void Tensor::set_grad(const Tensor& g) {
  if (!g && !may_need_gradient(impl())) return;
  Leaf& leaf = leaf_of(*this, "set_grad");
  check<ShapeError>(!g || g.spec().same_shape(spec()),
                    [&] { return "set_grad: expected a gradient like " + spec().str() + ", got " + g.spec().str(); });
  check<DTypeError>(!g || g.dtype() == dtype(),
                    [&] { return "set_grad: expected a gradient like " + spec().str() + ", got " + g.spec().str(); });
  std::lock_guard hold(leaf.mutex);
  leaf.grad = g;
}
void Tensor::retain_grad() {
  check<AutogradError>(requires_grad(),
                       [&] { return "retain_grad: expected a tensor that requires a gradient, got " + spec().str(); });
  if (is_leaf()) return;
  const Edge e = hooked(*this);
  if (e.node->hooks->keep.size() <= e.output) e.node->hooks->keep.resize(e.output + 1);
  if (e.node->hooks->keep[e.output]) return;
  auto kept = e.node->hooks->keep[e.output] = std::make_shared<Tensor>();
  register_hook(*this, [kept](const Tensor& g) {
    *kept = g;
    return Tensor();
  });
}

}  // namespace neura

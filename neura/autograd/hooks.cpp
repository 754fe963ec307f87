// Leaves, their gradients, and hooks.
#include <algorithm>

#include "neura/autograd/run.h"
#include "neura/core/memory.h"
#include "neura/core/wrapped.h"
#include "neura/op/pointwise/rows.h"

namespace neura {
namespace {

template <class F> HookHandle add(Hooks::List<F>& list, F hook) {
  std::erase_if(list, [](const auto& f) { return !*f; });  // those that were removed
  list.push_back(std::make_shared<F>(std::move(hook)));
  return HookHandle(list.back());
}

Hooks& hook_of(Node& n) {
  if (n.leaf && !n.hooks) hooked_leaves.fetch_add(1, std::memory_order_relaxed);
  return n.hook();
}
Edge hooked(const Tensor& t) {
  Edge e = edge_of(t.impl());
  check<AutogradError>(
      bool(e.node), [&] { return "register_hook: expected a tensor that requires a gradient, got " + t.spec().str(); });
  hook_of(*e.node);
  return e;
}

Leaf& leaf_of(const Tensor& t, const char* op) {
  const Edge e = edge_of(t.impl());
  check<AutogradError>(e.node && e.node->leaf, [&] {
    return std::string(op) + ": expected a leaf that requires a gradient, got " + t.spec().str();
  });
  return static_cast<Leaf&>(*e.node);
}

// Of a tensor that requires no gradient: the leaf that keeps .grad for it, or null.
Leaf* frozen_leaf(TensorImpl* t) {
  if (t->base) edge_of(t);  // what it was before its base was rewritten counts no more
  Node* n = static_cast<Node*>(static_cast<History*>(t->history));
  return n && n->frozen ? static_cast<Leaf*>(n) : nullptr;
}
Leaf& new_leaf(TensorImpl* t) {
  auto* leaf = new (memory::allocate(sizeof(Leaf))) Leaf(t->spec);
  t->history = leaf, t->output = 0, leaf->tensor = t;
  return *leaf;
}

}  // namespace

HookHandle register_hook(const Tensor& t, std::function<Tensor(const Tensor&)> f) {
  const Edge e = hooked(t);
  return add(e.node->hooks->before, Hooks::Before{e.output, std::move(f)});
}
HookHandle register_node_hook(Node& n, Hooks::Leave f) { return add(hook_of(n).after, std::move(f)); }
HookHandle register_node_prehook(Node& n, Hooks::Enter f) { return add(hook_of(n).enter, std::move(f)); }
HookHandle register_record_hook(const Tensor& t, std::function<void(Tensor*, int)> f) {
  const Edge e = hooked(t);
  return register_node_hook(*e.node, [f = std::move(f)](Tensor* r, int n, const Tensor*, int) { f(r, n); });
}
HookHandle register_post_accumulate_grad_hook(const Tensor& t, std::function<void(Tensor&)> f) {
  leaf_of(t, "register_post_accumulate_grad_hook");
  const Edge e = hooked(t);
  return add(e.node->hooks->accumulated, std::move(f));
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
  if (Leaf* leaf = frozen_leaf(impl()))
    leaf->frozen = false, leaf->shape = GradientSpec(spec());  // resized since, perhaps
  else if (on) new_leaf(impl());
  else leaf_of(*this, "requires_grad_").frozen = true;
  return *this;
}

Tensor Tensor::grad() const {
  const Edge e = may_need_gradient(&there()) ? edge_of(impl()) : Edge();
  if (e.node && !e.node->leaf) return e.node->hooks ? e.node->hooks->retained(e.output) : Tensor();
  Leaf* const kept = e.node ? static_cast<Leaf*>(e.node.get()) : frozen_leaf(impl());
  if (!kept) return {};
  Leaf& leaf = *kept;
  std::lock_guard hold(leaf.mutex);
  return leaf.grad;
}
void Tensor::set_grad(const Tensor& g) {
  const Edge e = may_need_gradient(&there()) ? edge_of(impl()) : Edge();
  const bool wants = bool(e.node);
  Leaf* frozen = wants ? nullptr : frozen_leaf(impl());
  if (!g && !wants && !frozen) return;
  check<ValueError>(!g || !g.is_same(*this),
                    [] { return std::string("set_grad: expected a gradient, got the tensor itself"); });
  if (wants && !e.node->leaf && (!g || e.node->hooks)) {
    if (!e.node->hooks || e.output >= e.node->hooks->keep.size() || !e.node->hooks->keep[e.output]) return;
    *e.node->hooks->keep[e.output] = g;
    return;
  }
  const bool is_new = !wants && !frozen && !is_wrapped(*this);
  Leaf* leaf = frozen || is_new ? frozen : &leaf_of(*this, "set_grad");
  check<ShapeError>(!g || g.spec().same_shape(spec()),
                    [&] { return "set_grad: expected a gradient like " + spec().str() + ", got " + g.spec().str(); });
  check<DTypeError>(!g || g.dtype() == dtype(),
                    [&] { return "set_grad: expected a gradient like " + spec().str() + ", got " + g.spec().str(); });
  check<DeviceError>(!g || g.device() == device(), [&] {
    return "set_grad: expected a gradient on " + device().str() + ", got " + g.spec().str() + "; move it with .to()";
  });
  if (is_new) leaf = &new_leaf(impl()), leaf->frozen = true;
  Tensor before = g;  // what was there is dropped after the lock: its history may run code of others
  std::lock_guard hold(leaf->mutex);
  std::swap(leaf->grad, before);
}
void Tensor::retain_grad() {
  check<AutogradError>(requires_grad(),
                       [&] { return "retain_grad: expected a tensor that requires a gradient, got " + spec().str(); });
  if (is_leaf()) return;
  const Edge e = hooked(*this);
  if (e.node->hooks->keep.size() <= e.output) e.node->hooks->keep.resize(e.output + 1);
  if (!e.node->hooks->keep[e.output]) e.node->hooks->keep[e.output] = std::make_shared<Tensor>();
}

}  // namespace neura

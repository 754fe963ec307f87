#include "neura/autograd/run.h"

#include <algorithm>
#include <string>
#include <utility>

#include "neura/autograd/anomaly.h"
#include "neura/core/state.h"
#include "neura/core/wrapped.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/shape/strided.h"

namespace neura {
namespace {

[[gnu::tls_model("initial-exec")]] constinit thread_local Counters counted{};
[[gnu::tls_model("initial-exec")]] constinit thread_local Run* running = nullptr;
std::atomic<std::uint64_t> last_backward{0};

// Hooks may add and remove hooks, themselves too: a list is walked as it was, and a function lives until it returns.
template <class F, class Call> void each(const Hooks::List<F>& list, Call&& call) {
  if (list.empty()) return;
  for (const std::shared_ptr<F>& p : Hooks::List<F>(list))
    if (const F hook = *p) call(hook);
}
void run_hooks(const Node& n, Tensor* g) {
  if (!n.hooks) return;
  each(n.hooks->before, [&](const Hooks::Before& hook) {
    Tensor& seen = g[hook.output];
    if (!seen) return;
    Tensor replaced = hook.call(seen);
    if (!replaced) return;
    check<ShapeError>(replaced.spec().same_shape(seen.spec()), [&] {
      return "hook: expected a gradient like " + seen.spec().str() + ", got " + replaced.spec().str();
    });
    seen = std::move(replaced);
  });
  for (std::size_t i = 0; i < n.hooks->keep.size(); ++i)  // retain_grad keeps what the hooks have made of it
    if (const std::shared_ptr<Tensor> kept = n.hooks->keep[i]; kept && g[i]) *kept = *kept ? add(*kept, g[i]) : g[i];
}

}  // namespace

std::atomic<int> hooked_leaves{0};
Counters& counters() { return counted; }
std::uint64_t current_backward() { return running ? running->number_ : 0; }
bool will_run(const Node& n) { return running && running->will_run(n); }

Run::Run(GradOptions o, bool leaves, bool into)
    : retain(o.retain_graph || o.create_graph),
      create_graph(o.create_graph),
      to_leaves(leaves),
      into_grad(into),
      number_(++last_backward) {}

class Run::Scope {
 public:
  explicit Scope(Run* r) : outer_(std::exchange(running, r)) {}
  Scope(const Scope&) = delete;
  ~Scope() { running = outer_; }

 private:
  Run* const outer_;
};

void add_to(Tensor& into, Tensor&& g, bool create_graph) {
  if (!into) {
    into = std::move(g);
  } else if (create_graph || is_wrapped(g)) {  // not into a tensor that represents fewer samples
    into = add(into, g);
  } else if (exclusive(into)) {
    ++counted.added_in_place, add_(into, g);
  } else if (exclusive(g)) {
    ++counted.added_in_place, add_(g, into), into = std::move(g);
  } else {
    ++counted.added, into = add(into, g);
  }
}

bool write_window(const Tensor& into, const Tensor& g, const Gradient& c, bool is_zero) {
  if (c.window.overlaps() || is_wrapped(g) ||
      !std::equal(c.base.strides, c.base.strides + c.base.rank, into.spec().strides))
    return false;
  Tensor part = apply(AsStrided{c.base, c.window}, into);
  if (is_zero) copy_(part, g);
  else add_(part, g);
  return ++counted.added_in_place, true;
}
Tensor spread(const Tensor& g, const Gradient& c) { return strided_sum(c.base, c.window, g); }

GradientSlot& Run::slot_of(Node* n) {
  if (int* at = index.find(n)) return slots[std::size_t(*at)];
  int at = int(slots.size());
  if (unused.empty()) slots.emplace_back();
  else at = unused.back(), unused.pop_back();
  index.insert(n, at);
  slots[std::size_t(at)].node = n;
  if (!n->leaf) heap.emplace_back(n->sequence, at), std::push_heap(heap.begin(), heap.end());
  return slots[std::size_t(at)];
}

void Run::deliver(const Node& from, const Edge& e, Tensor&& g, const Gradient* windowed) {
  Node* n = e.node.get();
  check<AutogradError>(n->sequence < from.sequence, [&] {
    return std::string("backward: the graph has a cycle at ") + from.name() + " -> " + n->name();
  });
  const auto hooked = n->leaf && to_leaves && n->hooks ? ahead.find(n) : ahead.end();
  if (n->leaf && to_leaves && hooked == ahead.end()) {  // at once: waiting for the end would keep every gradient twice
    if (g) static_cast<Leaf*>(n)->accumulate(std::move(g), create_graph, windowed);
  } else if (g) {
    GradientSlot& slot = slot_of(n);
    Tensor& into = slot.at(e.output);
    if (!windowed) {
      slot.windows.forget(), add_to(into, std::move(g), create_graph);
    } else if (!into) {
      slot.windows.begin(e.output, windowed->window), into = spread(g, *windowed);
    } else {
      const bool is_zero = slot.windows.add(e.output, windowed->base, windowed->window);
      if (!exclusive(into) || !write_window(into, g, *windowed, is_zero))
        add_to(into, spread(g, *windowed), create_graph);
    }
  }
  g = {};  // the next receiver of the same buffer may be its only owner now
  if (hooked == ahead.end() || --hooked->second.uses > 0) return;
  if (int* at = index.find(n)) finish_leaf(n, std::move(take(*at).few[0]));
}

void Run::finish_leaf(Node* n, Tensor g) {  // all contributions are here: hooks see the sum, as early as possible
  run_hooks(*n, &g);
  enter(*n, &g);
  Leaf* leaf = static_cast<Leaf*>(n);
  leaf->accumulate(std::move(g), create_graph);
  if (!n->hooks) return;
  each(n->hooks->accumulated, [&](const Hooks::Done& hook) { hook(leaf->grad); });
  leave(*n, nullptr, 0);
}

void Run::enter(const Node& n, Tensor* g) {
  if (!n.hooks) return;
  const int outputs = int(n.outputs());
  each(n.hooks->enter, [&](const Hooks::Enter& hook) { hook(g, outputs); });
  if (!n.hooks->after.empty()) seen.assign(g, g + outputs);
}
void Run::leave(const Node& n, Tensor* results, int count) {
  if (!n.hooks || n.hooks->after.empty()) return;
  const std::vector<Tensor> grads = std::move(seen);
  seen.clear();
  each(n.hooks->after, [&](const Hooks::Leave& hook) { hook(results, count, grads.data(), int(grads.size())); });
}

IncomingGradients Run::take(int at) {
  GradientSlot& s = slots[std::size_t(at)];
  index.erase(s.node), unused.push_back(at), s.windows.forget();
  return std::move(s.g);
}

bool Run::will_run(const Node& n) {
  if (!to_leaves) {
    const auto it = ahead.find(const_cast<Node*>(&n));
    return it != ahead.end() && it->second.needed;
  }
  if (reached_.empty()) {
    std::vector<const Node*> stack;
    const auto see = [&](const Node* at) {
      if (at && reached_.insert(at).second) stack.push_back(at);
    };
    for (const Edge& e : roots) see(e.node.get());
    while (!stack.empty()) {
      const Node* at = stack.back();
      stack.pop_back();
      for (int i = 0; i < at->inputs; ++i) see(at->edges[i].node.get());
    }
  }
  return reached_.contains(&n);
}

void Run::look_ahead() {  // sequence numbers are the topological order
  std::vector<Node*> order, stack;
  const auto see = [&](Node* n) {
    if (n && ahead.try_emplace(n).second) order.push_back(n), stack.push_back(n);
  };
  for (auto& e : roots) see(e.node.get());
  while (!stack.empty()) {
    Node* n = stack.back();
    stack.pop_back();
    for (int i = 0; i < n->inputs; ++i) {
      see(n->edges[i].node.get());
      if (n->edges[i].node) ++ahead[n->edges[i].node.get()].uses;
    }
  }
  for (auto& t : targets)
    if (auto it = ahead.find(t.edge.node.get()); it != ahead.end()) it->second.needed = true;
  std::sort(order.begin(), order.end(), [](Node* a, Node* b) { return a->sequence < b->sequence; });
  for (Node* n : order)
    for (int i = 0; i < n->inputs; ++i)
      if (n->edges[i].node && ahead[n->edges[i].node.get()].needed) ahead[n].needed = true;
}

void Run::go() {
  const Scope inside(this);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const int at = heap.back().second;
    heap.pop_back();
    Node* n = slots[std::size_t(at)].node;
    IncomingGradients g = take(at);
    ++counted.nodes;
    run_hooks(*n, g.data());
    for (Target& t : targets)
      if (t.edge.node.get() == n) t.g = g.data()[t.edge.output];
    enter(*n, g.data());
    step(n, g.data());
  }
  if (to_leaves) {
    for (auto& [n, p] : ahead)  // some contributions never came: they were zero
      if (n->leaf && n->hooks && p.uses > 0)
        if (int* at = index.find(n)) finish_leaf(n, std::move(take(*at).few[0]));
    return;
  }
  for (Target& t : targets) {
    Node* n = t.edge.node.get();
    if (!n || !n->leaf) continue;
    if (int* at = index.find(n)) t.g = slots[std::size_t(*at)].g.few[0];
  }
  for (Target& t : targets)
    if (Node* n = t.edge.node.get(); n && n->leaf && t.g && !into_grad) run_hooks(*n, &t.g);
}

void Run::step(Node* n, Tensor* g) {
  if (!(state.active & kAnomaly)) return n->backward(*this, g);
  const DerivativeScope blame(*n);
  try {
    n->backward(*this, g);
  } catch (const Error& e) {
    rethrow_with_trace(e, *n);
  }
}

void Run::accumulate_targets() {
  const Scope inside(this);
  for (Target& t : targets) {
    Node* n = t.edge.node.get();
    if (n && n->leaf && t.g) finish_leaf(n, std::move(t.g));  // of another node, retain_grad has kept it
    for (Target& same : targets)
      if (same.edge.node.get() == n) same.g = {};
  }
}

void Leaf::accumulate(Tensor&& g, bool create_graph, const Gradient* windowed) {
  if (frozen) return;  // since the graph was recorded
  Tensor before;       // dropped after the lock: its history may run code of others
  std::lock_guard hold(mutex);
  if (windowed) {
    if (grad && !may_need_gradient(grad.impl()) && write_window(grad, g, *windowed)) return;
    g = spread(g, *windowed);
  }
  if (grad) {
    if (create_graph || may_need_gradient(grad.impl()) || is_wrapped(g)) before = std::exchange(grad, add(grad, g));
    else ++counted.added_in_place, add_(grad, g);
  } else if (create_graph || exclusive(g)) {
    ++counted.stolen, grad = std::move(g);
  } else {
    // Two leaves may get the same gradient, and mostly neither is written before it is dropped.
    ++counted.copied, grad = g.is_contiguous() ? lazy_clone(g) : copy_of(g.impl());
  }
}

}  // namespace neura

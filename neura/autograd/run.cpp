#include "neura/autograd/run.h"

#include <algorithm>
#include <string>

#include "neura/ops/copy.h"
#include "neura/ops/rows.h"
#include "neura/ops/strided.h"

namespace neura {
namespace {

[[gnu::tls_model("initial-exec")]] constinit thread_local Counters counted{};

void run_hooks(const Node& n, Tensor* g) {
  if (!n.hooks) return;
  for (auto& [number, hook] : n.hooks->before) {
    if (!g[hook.output]) continue;
    Tensor replaced = hook.call(g[hook.output]);
    if (!replaced) continue;
    check<ShapeError>(replaced.spec().same_shape(g[hook.output].spec()), [&, &hook = hook] {
      return "hook: expected a gradient like " + g[hook.output].spec().str() + ", got " + replaced.spec().str();
    });
    g[hook.output] = std::move(replaced);
  }
}

}  // namespace

std::atomic<int> hooked_leaves{0};
Counters& counters() { return counted; }

void add_to(Tensor& into, Tensor&& g, bool create_graph) {
  if (!into) {
    into = std::move(g);
  } else if (create_graph) {
    into = add(into, g);
  } else if (exclusive(into)) {
    ++counted.added_in_place, add_(into, g);
  } else if (exclusive(g)) {
    ++counted.added_in_place, add_(g, into), into = std::move(g);
  } else {
    ++counted.added, into = add(into, g);
  }
}

bool write_window(const Tensor& into, const Tensor& g, const Gradient& c) {
  if (c.window.overlaps() || !std::equal(c.base.strides, c.base.strides + c.base.rank, into.spec().strides))
    return false;
  Tensor part = apply(AsStrided{c.base, c.window}, into);
  return ++counted.added_in_place, add_(part, g), true;
}
Tensor spread(const Tensor& g, const Gradient& c) { return apply(StridedSum{c.base, c.window}, g); }

Slot& Run::slot_of(Node* n) {
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
    Tensor& into = slot_of(n).g[e.output];
    if (!windowed) add_to(into, std::move(g), create_graph);
    else if (!into || !exclusive(into) || !write_window(into, g, *windowed))
      add_to(into, spread(g, *windowed), create_graph);
  }
  g = {};  // the next receiver of the same buffer may be its only owner now
  if (hooked != ahead.end() && --hooked->second.uses == 0) finish_leaf(n);
}

void Run::finish_leaf(Node* n) {  // all contributions are here: hooks see the sum, as early as possible
  int* at = index.find(n);
  if (!at) return;
  Tensor g = take(*at)[0];
  run_hooks(*n, &g);
  Leaf* leaf = static_cast<Leaf*>(n);
  leaf->accumulate(std::move(g), create_graph);
  for (auto& [number, hook] : n->hooks->accumulated) hook(leaf->grad);
}

std::array<Tensor, kMaxOutputs> Run::take(int at) {
  Slot& s = slots[std::size_t(at)];
  index.erase(s.node), unused.push_back(at);
  std::array<Tensor, kMaxOutputs> g;
  for (int i = 0; i < kMaxOutputs; ++i) g[std::size_t(i)] = std::move(s.g[i]);
  return g;
}

void Run::look_ahead(const std::vector<Edge>& roots) {  // sequence numbers are the topological order
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
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const int at = heap.back().second;
    heap.pop_back();
    Node* n = slots[std::size_t(at)].node;
    std::array<Tensor, kMaxOutputs> g = take(at);
    ++counted.nodes;
    run_hooks(*n, g.data());
    for (Target& t : targets)
      if (t.edge.node.get() == n) t.g = g[t.edge.output];
    n->backward(*this, g.data());
  }
  if (to_leaves) {
    for (auto& [n, p] : ahead)
      if (n->leaf && n->hooks && p.uses > 0) finish_leaf(n);  // some contributions never came: they were zero
    return;
  }
  for (Target& t : targets) {
    Node* n = t.edge.node.get();
    if (!n || !n->leaf) continue;
    if (int* at = index.find(n)) t.g = slots[std::size_t(*at)].g[0];
  }
  for (Target& t : targets)
    if (Node* n = t.edge.node.get(); n && n->leaf && t.g) run_hooks(*n, &t.g);
}

void Leaf::accumulate(Tensor&& g, bool create_graph, const Gradient* windowed) {
  std::lock_guard hold(mutex);
  if (windowed) {
    if (grad && !may_need_gradient(grad.impl()) && write_window(grad, g, *windowed)) return;
    g = spread(g, *windowed);
  }
  if (grad) {
    if (create_graph || may_need_gradient(grad.impl())) grad = add(grad, g);
    else ++counted.added_in_place, add_(grad, g);
  } else if (create_graph || exclusive(g)) {
    ++counted.stolen, grad = std::move(g);
  } else {
    ++counted.copied, grad = copy_of(g.impl());
  }
}

}  // namespace neura

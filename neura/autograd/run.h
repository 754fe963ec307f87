// One backward: which nodes are due, what has arrived for them, and the order in which they run.
#pragma once
#include <unordered_map>
#include <vector>

#include "neura/autograd/autograd.h"
#include "neura/autograd/slots.h"

namespace neura {

struct Run {
  const bool retain, create_graph, to_leaves;  // to_leaves: accumulate into .grad; else only `targets` are wanted
  Run(GradOptions o, bool leaves)
      : retain(o.retain_graph || o.create_graph), create_graph(o.create_graph), to_leaves(leaves) {}
  struct Ahead {
    bool needed = false;
    int uses = 0;
  };
  std::unordered_map<Node*, Ahead> ahead;  // only with targets or hooked leaves
  std::vector<Slot> slots;
  std::vector<int> unused;
  Index index;
  std::vector<std::pair<std::uint64_t, int>> heap;
  struct Target {
    Edge edge;
    Tensor g;
  };
  std::vector<Target> targets;

  bool wants(const Edge& e) const {
    if (!e.node) return false;
    if (to_leaves) return true;
    const auto it = ahead.find(e.node.get());
    return it != ahead.end() && it->second.needed;
  }
  Slot& slot_of(Node* n);
  void deliver(const Node& from, const Edge& e, Tensor&& g, const Gradient* windowed = nullptr);
  std::array<Tensor, kMaxOutputs> take(int at);
  void look_ahead(const std::vector<Edge>& roots);  // which nodes lead to a target, how often each leaf is used
  void go();

 private:
  void finish_leaf(Node* n);
};

// into += g, taking over whichever buffer nobody else sees.
void add_to(Tensor& into, Tensor&& g, bool create_graph);
// The same where g is only what a window shows; false where it cannot be done in place.
bool write_window(const Tensor& into, const Tensor& g, const Gradient& c);
Tensor spread(const Tensor& g, const Gradient& c);  // the whole that the window is a part of
extern std::atomic<int> hooked_leaves;              // while zero, backward needs no look ahead

}  // namespace neura

// One backward pass: the nodes that are ready, the gradients accumulated for them, and the order in which they run.
#pragma once
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "neura/autograd/autograd.h"
#include "neura/autograd/incoming_gradients.h"

namespace neura {

struct Run {
  const bool retain, create_graph, to_leaves;  // to_leaves: accumulate into .grad; else only `targets` are wanted
  const bool into_grad;                        // and are accumulated into their .grad at the end
  Run(GradOptions o, bool leaves, bool into = false);
  struct Ahead {
    bool needed = false;
    int uses = 0;
  };
  std::unordered_map<Node*, Ahead> ahead;  // only with targets or hooked leaves
  std::vector<Edge> roots;
  std::vector<GradientSlot> slots;
  std::vector<int> unused;
  SlotIndex index;
  std::vector<std::pair<std::uint64_t, int>> heap;
  struct Target {
    Edge edge;
    Tensor g;
  };
  std::vector<Target> targets;
  std::vector<Tensor> seen;  // what arrived at the node that runs, if a hook reads it

  bool wants(const Edge& e) const {
    if (!e.node) return false;
    if (to_leaves) return true;
    const auto it = ahead.find(e.node.get());
    return it != ahead.end() && it->second.needed;
  }
  GradientSlot& slot_of(Node* n);
  void deliver(const Node& from, const Edge& e, Tensor&& g, const Gradient* windowed = nullptr);
  IncomingGradients take(int at);
  void look_ahead();  // which nodes lead to a target, how often each leaf is used
  bool will_run(const Node&);
  void go();
  void accumulate_targets();                        // into their .grad
  void leave(const Node&, Tensor* results, int n);  // runs the hooks that get a derivative's results

 private:
  class Scope;  // while one lives, the thread runs this backward
  const std::uint64_t number_;
  std::unordered_set<const Node*> reached_;  // from the roots; filled by the first will_run()
  friend std::uint64_t current_backward();
  void enter(const Node&, Tensor* g);
  void step(Node* n, Tensor* g);
  void finish_leaf(Node* n, Tensor g);
};

std::uint64_t current_backward();  // of this thread: a number of its own for each, 0 outside
bool will_run(const Node&);        // does the backward of this thread reach the node, or has it? False outside

// Hooks of a node: called before it runs, with the gradients of its results, and after it, with those of its operands.
HookHandle register_node_prehook(Node&, Hooks::Enter);
HookHandle register_node_hook(Node&, Hooks::Leave);

// into += g, reusing whichever buffer has no other reference.
void add_to(Tensor& into, Tensor&& g, bool create_graph);
// The same where g is the gradient of a window of `into`; is_zero: `into` is zero in it. False where that cannot be
// done in place.
bool write_window(const Tensor& into, const Tensor& g, const Gradient& c, bool is_zero = false);
Tensor spread(const Tensor& g, const Gradient& c);  // the gradient of the whole base: g in the window, zero elsewhere
extern std::atomic<int> hooked_leaves;  // leaves with hooks; while there are none, backward need not look ahead

void gradient_by_definition(Gradient&);  // definition.cpp: for derivatives of derivatives, or where there is no formula

}  // namespace neura

// The record of a call: which row, which saved values, which inputs it came from. Autograd and graph read it.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "neura/core/spin_guard.h"
#include "neura/op/apply.h"
#include "neura/op/saved.h"

namespace neura {

struct Node;
struct Run;

struct Edge {
  Ref<Node> node;
  unsigned output = 0;
};

struct Saved {
  Tensor data;  // a new handle without history: the graph cannot refer to itself through it
  std::uint32_t version = 0;
  int bit = 0;  // 0-7: which operand; 8-15: which result
};

struct Hooks {
  template <class F> using List = std::vector<std::shared_ptr<F>>;  // an empty function: removed
  struct Before {
    unsigned output;
    std::function<Tensor(const Tensor&)> call;
    explicit operator bool() const { return bool(call); }
  };
  using Enter = std::function<void(Tensor* grads, int n)>;
  using Leave = std::function<void(Tensor* results, int n, const Tensor* grads, int grads_n)>;
  List<Before> before;  // see, and may replace, the gradient of an output
  List<Enter> enter;    // the same for all outputs at once
  List<Leave> after;    // the derivative ran
  using Done = std::function<void(Tensor& grad)>;
  List<Done> accumulated;                     // once per backward, for leaves
  std::vector<std::shared_ptr<Tensor>> keep;  // retain_grad, by output
  std::shared_ptr<void> user;                 // data of a host language, kept with the node
  Tensor retained(unsigned output) const { return output < keep.size() && keep[output] ? *keep[output] : Tensor(); }
};

struct Node : History {
  std::uint64_t sequence = 0;  // greater than that of every node an edge leads to: the order of backward
  Hooks* hooks = nullptr;
  Edge* edges = nullptr;
  Node* next_deferred = nullptr;
  std::uint16_t inputs = 0;
  bool leaf = false;
  bool frozen = false;            // a leaf whose tensor requires no gradient (any more): it only holds .grad and hooks
  bool wide = false;              // more than kMaxOutputs results
  std::atomic<bool> busy{false};  // held for a few loads while saved values are taken

  ~Node() override { delete hooks; }
  virtual const char* name() const = 0;
  virtual const GradientSpec& meta(unsigned output) const = 0;
  virtual void backward(Run&, Tensor* g) = 0;
  virtual void dispose() = 0;  // destructor and memory
  virtual unsigned outputs() const { return 1; }
  virtual const char* trace() const { return nullptr; }  // anomaly mode: the forward call and where it was made
  void free() final;                                     // without recursion
  Hooks& hook() { return hooks ? *hooks : *(hooks = new Hooks); }
};

struct Leaf final : Node {
  GradientSpec shape;
  std::mutex mutex;  // of grad: several threads may run backward at once
  Tensor grad;
  const TensorImpl* tensor = nullptr;  // the first tensor it belonged to; may dangle: compare it, never dereference it
  explicit Leaf(const Spec& s) : shape(s) { leaf = true; }
  const char* name() const override { return "leaf"; }
  const GradientSpec& meta(unsigned) const override { return shape; }
  void backward(Run&, Tensor*) override {}
  void dispose() override;
  void accumulate(Tensor&& g, bool create_graph, const Gradient* windowed = nullptr);
};

struct Record final : Node {  // one block: Record, edges, saved values, metas, the operation's attributes
  const Row* row;
  Saved* saved;
  GradientSpec* metas;
  void* op;
  std::uint32_t bytes;
  std::uint8_t kept;  // number of saved values
  bool released = false;
  DebugInfo* debug_info = nullptr;  // owned

  static Record* make(const Row&, const void* op, int inputs, unsigned mask);  // mask: bits of what is saved
  const char* name() const override { return row->name; }
  const GradientSpec& meta(unsigned output) const override { return metas[output]; }
  unsigned outputs() const override { return row->outputs; }
  const char* trace() const override {
    return debug_info && !debug_info->trace.empty() ? debug_info->trace.c_str() : nullptr;
  }
  void backward(Run&, Tensor* g) override;
  void dispose() override;
};

// The node that a base gets when a view of it is written in place: the gradient outside of the view passes unchanged,
// the view's part goes through `inner`.
struct CopySlices final : Node {
  Ref<Node> inner;
  Spec base, view;
  Edge edge[kMaxInputs];
  GradientSpec shape;
  const char* name() const override { return "copy_slices"; }
  const char* trace() const override { return inner->trace(); }
  const GradientSpec& meta(unsigned) const override { return shape; }
  void backward(Run&, Tensor* g) override;
  void dispose() override;
};

Spec as_pairs(const Spec&);  // a complex tensor's Spec as pairs of reals; NotImplementedError at kMaxRank dimensions
Ref<Record> window_on(Node& base, const Spec& base_spec, const Spec& view, unsigned output);  // an as_strided record

// The node a tensor's gradient flows to. For a view whose base was written in place since, a new node is made first.
Edge edge_of(TensorImpl*);
// The node of a tensor's history, if a gradient is wanted of it.
inline Node* wanted(History* h) {
  Node* n = static_cast<Node*>(h);
  return n && !n->frozen ? n : nullptr;
}
// True too often for views: their own history is not read, as another thread may be renewing it (edge_of).
inline bool may_need_gradient(const TensorImpl* t) {
  return t->base ? t->history || wanted(t->base->history) : wanted(t->history) != nullptr;
}
// The exact answer: a view whose history only holds a .grad needs no gradient.
inline bool needs_gradient(TensorImpl* t) {
  return may_need_gradient(t) && (!t->base || wanted(t->base->history) || edge_of(t).node);
}
void adopt_history(TensorImpl*, Ref<Node>, int output);

void check_in_place(const Call&);              // may the destination be written while recording?
Ref<Record> begin_record(const Call&);         // edges and saved operands; before a destination is overwritten
void finish_record(Ref<Record>, const Call&);  // saved results and the new history

}  // namespace neura

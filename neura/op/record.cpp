#include "neura/op/record.h"

#include <cstring>

#include "neura/core/memory.h"
#include "neura/core/state.h"
#include "neura/op/call_error.h"
#include "neura/op/node_name.h"
#include "neura/op/pointwise/pointwise.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/shape/strided.h"

namespace neura {
namespace operations {
const Row& view_as_real();
const Row& view_as_complex();
}  // namespace operations
namespace {

Node* node(History* h) { return static_cast<Node*>(h); }
template <class T> void destroy_and_free(T* p, std::size_t bytes) { p->~T(), memory::release(p, bytes); }

constinit std::atomic<bool> view_locks[16] = {};

}  // namespace

void Node::free() {  // the destruction of a node may drop the last reference to others: they queue up instead of
                     // nesting
  next_deferred = node(state.deferred_deletes), state.deferred_deletes = this;
  if (state.deleting) return;
  state.deleting = true;
  while (state.deferred_deletes) {
    Node* n = node(state.deferred_deletes);
    state.deferred_deletes = n->next_deferred;
    n->dispose();
  }
  state.deleting = false;
}

void Leaf::dispose() { destroy_and_free(this, sizeof(Leaf)); }
void CopySlices::dispose() { destroy_and_free(this, sizeof(CopySlices)); }
void Record::dispose() {
  for (int i = 0; i < inputs; ++i) edges[i].~Edge();
  for (int i = 0; i < kept; ++i) saved[i].~Saved();
  if (row->drop) row->drop(op);
  delete debug_info;
  destroy_and_free(this, bytes);
}

Record* Record::make(const Row& row, const void* op, int inputs, unsigned mask) {
  int kept = 0;
  for (unsigned m = mask; m; m &= m - 1) ++kept;
  const std::size_t at_saved = sizeof(Record) + std::size_t(inputs) * sizeof(Edge),
                    at_meta = at_saved + std::size_t(kept) * sizeof(Saved),
                    at_op = (at_meta + row.outputs * sizeof(GradientSpec) + 15) & ~std::size_t{15},
                    bytes = at_op + row.op_bytes;
  char* p = static_cast<char*>(memory::allocate(bytes));
  Record* r = new (p) Record;
  r->row = &row, r->kept = std::uint8_t(kept), r->bytes = std::uint32_t(bytes), r->inputs = std::uint16_t(inputs);
  r->edges = new (p + sizeof(Record)) Edge[inputs];
  r->saved = new (p + at_saved) Saved[kept];
  for (Saved* s = r->saved; mask; mask &= mask - 1) (s++)->bit = __builtin_ctz(mask);
  r->metas = new (p + at_meta) GradientSpec[row.outputs];
  r->op = p + at_op;
  if (row.copy) row.copy(r->op, op);
  else if (row.op_bytes) std::memcpy(r->op, op, row.op_bytes);
  return r;
}

// A record of a view of what `source` gives.
static Ref<Record> view_record(const Row& row, const void* op, Edge source, const Spec& result) {
  Record* r = Record::make(row, op, 1, 0);
  r->metas[0] = GradientSpec(result);
  r->sequence = state.sequence = 1 + std::max(state.sequence, source.node->sequence);
  r->edges[0] = std::move(source);
  return Ref<Record>::adopt(r);
}
Spec as_pairs(const Spec& x) {
  check<NotImplementedError>(x.rank < kMaxRank, [&] {
    return "view_as_real: expected fewer dimensions than " + std::to_string(kMaxRank) +
           " of what was written in place, got " + x.str() + "; make the view after the write";
  });
  Spec y = x;
  y.dtype = to_real(x.dtype), y.offset *= 2;
  for (int d = 0; d < y.rank; ++d) y.strides[d] *= 2;
  y.shape[y.rank] = 2, y.strides[y.rank] = 1, ++y.rank;
  y.finish();
  return y;
}
// Null where the view shows other bits, without a derivative.
Ref<Record> window_on(Node& base, const Spec& base_spec, const Spec& view, unsigned output) {
  Edge source{Ref<Node>::share(&base), output};
  const DType from = base_spec.dtype, to = view.dtype;
  if (from == to) {
    const AsStrided op{base_spec, view};
    return view_record(row_of<AsStrided>, &op, std::move(source), view);
  }
  if (is_complex(from) && to_real(from) == to) {
    const AsStrided op{as_pairs(base_spec), view};
    source = {view_record(operations::view_as_real(), &op, std::move(source), op.base), 0};
    return view_record(row_of<AsStrided>, &op, std::move(source), view);
  }
  if (is_complex(to) && to_real(to) == from) {
    const AsStrided op{base_spec, as_pairs(view)};
    source = {view_record(row_of<AsStrided>, &op, std::move(source), op.view), 0};
    return view_record(operations::view_as_complex(), &op, std::move(source), view);
  }
  return {};
}

Edge edge_of(TensorImpl* t) {
  check<ValueError>(t, [] { return "autograd: expected a tensor, got an undefined one"; });
  if (!t->base) return {Ref<Node>::share(wanted(t->history)), t->output};
  Ref<History> stale;                                                         // dropped after the lock
  SpinGuard hold(view_locks[reinterpret_cast<std::uintptr_t>(t) / 64 % 16]);  // two threads may read one view
  if (t->seen != t->base->generation) {  // the base was rewritten: the view is now a window on what the base has become
    stale = Ref<History>::adopt(t->history), t->history = nullptr;
    t->seen = t->base->generation, t->output = 0;
    if (Node* source = wanted(t->base->history))
      t->history = window_on(*source, t->base->spec, t->spec, t->base->output).leave();
  }
  return {Ref<Node>::share(wanted(t->history)), t->output};
}

void check_in_place(const Call& call) {
  TensorImpl* self = call.out[0].impl();
  TensorImpl* root = self->base ? self->base : self;
  const auto refuse = [&](const char* text) __attribute__((cold, noinline)) {
    throw InplaceError(in_place_name(call.row->name) + ": " + text);
  };
  Node* owner = wanted(root->history);
  constexpr const char* leaf =
      "expected no leaf that requires gradients; write under NoGrad or use the form that returns a new tensor";
  constexpr const char* view_of_leaf =
      "expected no view of a leaf that requires gradients; write under NoGrad or use the form that returns a new "
      "tensor";
  if (owner && owner->leaf) refuse(self->base ? view_of_leaf : leaf);
  if (!self->base) return;
  const Edge edge = edge_of(self);
  if (!owner && edge.node) refuse(edge.node->leaf ? leaf : view_of_leaf);  // a view of a constant became a leaf
  bool needed = owner;
  for (int i = 1; i < call.inputs && !needed; ++i)
    needed = call.in[i].is_tensor() && may_need_gradient(call.in[i].tensor);
  if (needed && self->locked_view)
    refuse("expected a view that may be written, got one of several made by one call; use select or slice");
  if (needed && is_complex(root->spec.dtype) && !is_complex(self->spec.dtype)) as_pairs(root->spec);
  if (owner && !edge.node)
    refuse("expected a view made while recording, got one made under NoGrad of a base with a history; make it again");
}

[[gnu::cold, gnu::noinline]] static void add_debug_info(Record& r, const Call& call) {
  r.debug_info = new DebugInfo;
  if (state.active & kAnomaly) r.debug_info->trace = trace_of(call.row->name, describe(call));
  r.debug_info->values.resize(r.kept);
}
[[gnu::cold, gnu::noinline]] static void pack(Record& r, int k) {
  if (!(state.active & kPacked)) return;
  Saved& saved = r.saved[k];
  r.debug_info->values[std::size_t(k)] = {SavedHooks::pack_by_top(saved.data), saved.data.spec()};
  saved.data = {};
}

namespace {

// What this very call is about to overwrite is copied: x.mul_(x) has a gradient.
Tensor kept_operand(const Call& call, int i) {
  const Operand& o = call.in[i];
  if (o.is_scalar()) {
    const bool condition = call.row->types.mask_first && i == 0;
    Tensor number = Tensor::empty(Spec::dense(condition ? DType::boolean : promoted(call), {}));
    o.scalar.store(number.dtype(), number.impl()->data());
    return number;
  }
  if (!o.is_tensor()) return {};
  const TensorImpl* t = o.tensor;
  const bool overwritten = call.destination != Destination::fresh && t->storage == call.out[0].impl()->storage;
  Tensor kept = overwritten ? copy_of(t) : Tensor(t->alias());
  kept.impl()->id = t->id;
  return kept;
}

template <int most> Ref<Record> begin(const Call& call) {  // of at most so many operands
  Edge edges[most];
  unsigned mask = 0;
  std::uint64_t sequence = state.sequence;
  for (int i = 0; i < call.inputs; ++i) {
    if (!call.in[i].is_tensor() || !differentiable(call.in[i].tensor->spec.dtype)) continue;
    edges[i] = edge_of(call.in[i].tensor);
    if (!edges[i].node) continue;
    mask |= call.row->reads_of(i) | 0x10000u;
    sequence = std::max(sequence, edges[i].node->sequence);
  }
  if (!mask) return {};
  Ref<Record> r = Ref<Record>::adopt(Record::make(*call.row, call.op, call.inputs, mask & 0xffff));
  r->sequence = state.sequence = sequence + 1;
  for (int i = 0; i < call.inputs; ++i) r->edges[i] = std::move(edges[i]);
  if (state.active & (kAnomaly | kPacked)) [[unlikely]]
    add_debug_info(*r, call);
  for (int k = 0; k < r->kept && r->saved[k].bit < 8; ++k) {
    Saved& saved = r->saved[k];
    saved.data = kept_operand(call, saved.bit);
    if (saved.data) saved.version = saved.data.version();
    if (r->debug_info && call.in[saved.bit].is_tensor()) [[unlikely]]
      pack(*r, k);
  }
  return r;
}

}  // namespace

Ref<Record> begin_record(const Call& call) {
  if (call.inputs <= kMaxRowInputs) return begin<kMaxRowInputs>(call);
  if (call.inputs <= kMaxInputs) return begin<kMaxInputs>(call);
  if (call.inputs > kMaxList)
    refuse<AutogradError>(call, "expected at most " + std::to_string(kMaxList) +
                                    " operands where a gradient is needed, got " + std::to_string(call.inputs) +
                                    "; call it under NoGrad");
  return begin<kMaxList>(call);
}

void adopt_history(TensorImpl* t, Ref<Node> n, int output) {
  const Ref<History> old = Ref<History>::adopt(t->history);
  t->history = n.leave(), t->output = std::uint16_t(output);
}

void finish_record(Ref<Record> r, const Call& call) {
  for (int i = 0; i < call.row->outputs; ++i) r->metas[i] = GradientSpec(call.out[i].spec());
  for (int k = 0; k < r->kept; ++k) {
    Saved& saved = r->saved[k];
    if (saved.bit < 8) continue;
    const Tensor& y = call.out[saved.bit - 8];
    saved.data = Tensor(y.impl()->alias()), saved.version = y.version();
    if (r->debug_info) [[unlikely]]
      pack(*r, k);
  }
  if (call.destination == Destination::fresh) {
    for (int i = 0; i < call.row->outputs; ++i)
      if (differentiable(call.out[i].dtype())) adopt_history(call.out[i].impl(), Ref<Node>::share(r.get()), i);
    return;
  }
  TensorImpl* self = call.out[0].impl();
  TensorImpl* root = self->base ? self->base : self;
  if (!self->base) {
    adopt_history(self, Ref<Node>::adopt(r.leave()), 0);
  } else {
    CopySlices* c = new (memory::allocate(sizeof(CopySlices))) CopySlices;
    c->edges = c->edge, c->inputs = r->inputs, c->base = root->spec, c->view = self->spec,
    c->shape = GradientSpec(root->spec);
    c->edge[0] = {Ref<Node>::share(wanted(root->history)), root->output};
    for (int i = 1; i < r->inputs; ++i) c->edge[i] = r->edges[i];
    c->sequence = state.sequence = r->sequence + 1;
    c->inner = Ref<Node>::adopt(r.leave());
    adopt_history(root, Ref<Node>::adopt(c), 0);
  }
  ++root->generation;  // every view of it, this one included, is regenerated when next asked
}

bool Tensor::requires_grad() const { return may_need_gradient(&there()) && edge_of(impl()).node; }
bool Tensor::is_leaf() const { return !requires_grad() || edge_of(impl()).node->leaf; }
const char* Tensor::grad_fn() const { return is_leaf() ? nullptr : node_name(*edge_of(impl()).node); }

const char* node_name(const Node& n) {
  const char* const name = n.name();
  if (std::strcmp(name, "to") != 0 || n.inputs != 1 || !n.edges[0].node) return name;
  const GradientSpec &from = n.edges[0].node->meta(n.edges[0].output), &to = n.meta(0);
  return from.dtype == to.dtype && from.device == to.device ? "clone" : name;
}

}  // namespace neura

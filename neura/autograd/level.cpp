#include "neura/autograd/level.h"

#include <atomic>
#include <unordered_set>

#include "neura/autograd/grad_mode.h"
#include "neura/core/state.h"
#include "neura/ops/record.h"
#include "neura/ops/view.h"

namespace neura {
namespace {

std::atomic<std::uint64_t> levels{0};

}  // namespace

Level::Level() : number_(++levels) {}
Level::~Level() = default;

Level::Handle* Level::mine(const TensorImpl* t) const {
  auto* h = dynamic_cast<Handle*>(wrapped(t));
  return h && h->level == number_ ? h : nullptr;
}

Level::Inside::Inside(Level& level) : before_(state.top) { state.top = &level, state.active |= kIntercepted; }
Level::Inside::~Inside() {
  state.top = before_;
  if (!before_) state.active &= ~std::uint32_t{kIntercepted};
}

void Level::call(Call& c) {
  bool ours = false, history = false;
  const auto see = [&](const TensorImpl* t) {
    if (!mine(t)) return;
    ours = true, history |= may_need_gradient(t);
  };
  for (int i = 0; i < c.inputs; ++i)
    if (c.in[i].is_tensor()) see(c.in[i].tensor);
  if (c.destination != Destination::fresh && c.out[0]) see(c.out[0].impl());
  if (!ours) {
    if (!c.row->draws_numbers || !draw(c)) apply(c);
    return;
  }
  const bool flags = c.row->cls.comes == Comes::as_bool && c.destination == Destination::fresh;
  const bool recorded = history && !(state.active & (kNoGrad | kInference)) && c.row->kind != Row::slope && !flags;
  if (!recorded || records_parts(c)) return run(c);
  if (c.destination == Destination::out)
    throw AutogradError(std::string(c.row->name) +
                        ": expected no gradient to be needed with out=; use the form that "
                        "returns a new tensor");
  if (c.destination == Destination::in_place) check_in_place(c);
  Ref<Record> r = begin_record(c);
  run(c);
  if (r) finish_record(std::move(r), c);
}

void Level::set_base(const Tensor& view, const TensorImpl* of) {
  TensorImpl* root = of->base ? of->base : const_cast<TensorImpl*>(of);
  TensorImpl* v = view.impl();
  v->base = Ref<TensorImpl>::share(root).leave(), v->seen = root->generation;
}

void Level::written(const Call& c) {
  TensorImpl* out = c.out[0].impl();
  out->storage->version = out->storage->version + 1, out->storage->writer = c.row, out->id = ++state.id;
}

Level* top_level() { return dynamic_cast<Level*>(state.top); }

Tensor own_leaf(const Tensor& x) {
  Level* level = top_level();
  const Tensor here = level ? level->lift(x) : x;
  if (is_grad_enabled() && here.requires_grad()) return view(here, here.shape());
  return here.detach().requires_grad_();
}

bool has_derivative_beneath(const Tensor& t) {
  for (Tensor x = t; is_wrapped(x);) {
    const Wrapped* w = wrapped(x.impl());
    if (w->has_tangent()) return true;
    x = Tensor(w->beneath());
    if (x.requires_grad()) return true;
  }
  return false;
}

bool comes_from_elsewhere(const std::vector<Tensor>& outputs, const std::vector<Tensor>& leaves) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> todo;
  const auto visit = [&](const Node* n) {
    if (n && seen.insert(n).second) todo.push_back(n);
  };
  for (const Tensor& t : leaves)
    if (const Edge e = edge_of(t.impl()); e.node && e.node->leaf) seen.insert(e.node.get());
  for (const Tensor& t : outputs) {
    if (has_derivative_beneath(t)) return true;
    visit(edge_of(t.impl()).node.get());
  }
  while (!todo.empty()) {
    const Node* n = todo.back();
    todo.pop_back();
    if (n->leaf) return true;
    for (int i = 0; i < n->inputs; ++i) visit(n->edges[i].node.get());
  }
  return false;
}

}  // namespace neura

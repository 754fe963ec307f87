#include "neura/autograd/level.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <unordered_set>

#include "neura/autograd/grad_mode.h"
#include "neura/core/extension.h"
#include "neura/core/random.h"
#include "neura/core/state.h"
#include "neura/op/record.h"
#include "neura/ops/shape/strided.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

std::atomic<std::uint64_t> levels{0};
std::atomic<std::int64_t> handles{0};  // that exist

std::vector<std::uint64_t>& open_levels() {
  thread_local std::vector<std::uint64_t> open;
  return open;
}
[[gnu::cold, noreturn]] void refuse_escaped() {
  throw AutogradError(
      "func: expected tensors of transforms that are still active, got one that left the function it belongs to; give "
      "it back as a result");
}

// Below all, once a tensor has outlived its level: its use is an error. Goes with the next level.
struct Guard final : Interceptor {
  void call(Call& c) override {
    for (int i = 0; i < c.inputs; ++i)
      if (c.in[i].is_tensor() && wrapped(c.in[i].tensor) && !extension(c.in[i].tensor)) refuse_escaped();
    apply(c);
  }
};
std::unique_ptr<Guard>& guard() {
  thread_local std::unique_ptr<Guard> one;
  return one;
}
}  // namespace

Level::Handle::Handle() { handles.fetch_add(1, std::memory_order_relaxed); }
Level::Handle::Handle(const Handle& o) : Wrapped(o), level(o.level), value(o.value) { ++handles; }
Level::Handle::~Handle() { handles.fetch_sub(1, std::memory_order_relaxed); }

Level::Level() : number_(++levels), first_id_(state.id) { open_levels().push_back(number_); }
Level::~Level() { std::erase(open_levels(), number_); }
void Level::open() {
  if (guard() && state.top == guard().get()) guard().reset();
}
void Level::closed() {
  if (!state.top && handles.load(std::memory_order_relaxed) > 0) guard() = std::make_unique<Guard>();
}

Level::Handle* Level::handle_of(const TensorImpl* t) const {
  auto* h = dynamic_cast<Handle*>(wrapped(t));
  return h && h->level == number_ ? h : nullptr;
}

Tensor Level::beneath(const Tensor& t) const {
  const Handle* h = t ? handle_of(t.impl()) : nullptr;
  return h ? h->value : t;
}

BeneathScope::BeneathScope(const Level& level) : before_(state.top) {
  state.top = level.below;
  if (!state.top) state.active &= ~std::uint32_t{kIntercepted};
}
BeneathScope::~BeneathScope() {
  Level::open();  // a guard that a transform left here belongs beneath nothing
  state.top = before_, state.active |= kIntercepted;
}

Level::Scope::Scope(Level& level) : before_(state.top) { state.top = &level, state.active |= kIntercepted; }
Level::Scope::~Scope() {
  state.top = before_;
  if (!before_) state.active &= ~std::uint32_t{kIntercepted};
}

void Level::reserve(Call& c) {
  PhiloxState* numbers = c.row->numbers(const_cast<void*>(c.op));
  if (numbers->reserved) return;
  const GeneratorState s = (c.generator ? *c.generator : default_generator()).reserve();
  numbers->seed = s.seed, numbers->offset = s.offset;
  for (Interceptor* i = this; i; i = i->below)
    if (auto* level = dynamic_cast<Level*>(i)) level->announce(c, *numbers);
  numbers->reserved = true;
}

void Level::see(const TensorImpl* t, bool& ours, bool& history) const {
  const Wrapped* w = wrapped(t);
  if (!w) return;
  const auto* h = dynamic_cast<const Handle*>(w);
  if (h && h->level == number_) ours = true, history |= may_need_gradient(t);
  else if (h && std::find(open_levels().begin(), open_levels().end(), h->level) == open_levels().end())
    refuse_escaped();
}

void Level::call(Call& c) {
  bool ours = false, history = false;
  for (int i = 0; i < c.inputs; ++i)
    if (c.in[i].is_tensor()) see(c.in[i].tensor, ours, history);
  if (c.destination != Destination::fresh && c.out[0]) {
    note_if_outside(c.out[0].impl());
    if (ours && !handle_of(c.out[0].impl()) && spreads(c)) adopt(c.out[0].impl());
    see(c.out[0].impl(), ours, history);
  }
  if (!ours) {
    if (!c.row->draws_numbers || !draw(c)) apply(c);
    return;
  }
  if (c.row->draws_numbers) reserve(c);
  const bool flags = c.row->types.result_type == ResultType::as_bool && c.destination == Destination::fresh;
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

// A write renews the number by which a tensor is older than this level.
void Level::note_if_outside(TensorImpl* t) {
  TensorImpl* root = t->base ? t->base : t;
  if (!is_inside(root) && !handle_of(root)) outside_.emplace(root, Ref<TensorImpl>::share(root));
}
bool Level::is_inside(const TensorImpl* root) const {
  constexpr std::uint64_t thread = ~std::uint64_t{0} << 40;
  return root->id > first_id_ && (root->id & thread) == (first_id_ & thread) && !outside_.count(root);
}

// Only what is unknown outside: made since this level opened, its bytes seen by itself and, at most, the view that
// is written.
void Level::adopt(TensorImpl* t) {
  TensorImpl* root = t->base ? t->base : t;
  if (!is_inside(root) || may_need_gradient(root) || !root->spec.contiguous || handle_of(root) ||
      root->storage->count.load() != (t->base ? 2u : 1u))
    return;
  const Tensor value = adopted(Tensor(root->alias()));
  const Spec before = root->spec, window = t->spec;
  const auto become = [](TensorImpl* self, const Tensor& what) {
    self->spec = what.spec();
    Ref<Storage>::drop(std::exchange(self->storage, Ref<Storage>::share(what.impl()->storage).leave()));
  };
  become(root, value);
  if (t == root) return;
  const Scope again(*this);
  become(t, neura::apply(AsStrided{before, window}, value));
  t->seen = root->generation;
}

void Level::set_base(const Tensor& view, const TensorImpl* of) {
  TensorImpl* root = of->base ? of->base : const_cast<TensorImpl*>(of);
  TensorImpl* v = view.impl();
  v->base = Ref<TensorImpl>::share(root).leave(), v->seen = root->generation;
}

void Level::written(const Call& c) {
  TensorImpl* out = c.out[0].impl();
  out->storage->count_write(c.row, out->unversioned), out->id = ++state.id;
}

Level* top_level() { return dynamic_cast<Level*>(state.top); }
Level* top_level_of(std::span<const Tensor> tensors) {
  for (Interceptor* i = state.top; i; i = i->below)
    if (auto* level = dynamic_cast<Level*>(i))
      for (const Tensor& t : tensors)
        if (level->owns(t)) return level;
  return nullptr;
}

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

void check_own_function(const char* name, const std::vector<Tensor>& inputs) {
  for (const Tensor& t : inputs) {
    bool hidden = false;
    for (Tensor x = t; is_wrapped(x); x = Tensor(wrapped(x.impl())->beneath()))
      hidden |= wrapped(x.impl())->has_tangent();
    if (t && is_grad_enabled()) hidden |= has_derivative_beneath(t);
    check<NotImplementedError>(!hidden, [&] {
      return std::string(name) +
             ": a Function inside vmap or jvp has no derivative for a transform around that one; "
             "write it of differentiable operations, or give it a jvp, a vmap or generate_vmap_rule = True";
    });
  }
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

#include "neura/nn/module.h"

#include <ostream>

#include "neura/nn/backward_hook.h"
#include "neura/nn/recursion_guard.h"
#include "neura/nn/runtime_member.h"

namespace neura::nn {

ForeignRef foreign;
Bridge bridge;

// ---- The life of a module

std::uint32_t RefCount::load(std::memory_order order) const {
  if (Module* o = owner_) return o->count.load(order);
  return object_ ? 2 : own_.load(order);  // never the last reference: the other language owns the module
}

std::uint32_t RefCount::fetch_add(std::uint32_t n, std::memory_order order) {
  if (Module* o = owner_) return o->count.fetch_add(n, order);
  if (void* object = object_) {
    for (std::uint32_t i = 0; i < n; ++i) foreign.acquire(object);
    return 2;
  }
  return own_.fetch_add(n, order);
}

std::uint32_t RefCount::fetch_sub(std::uint32_t n, std::memory_order order) {
  if (Module* o = owner_) return o->count.fetch_sub(n, order);
  if (void* object = object_) {
    for (std::uint32_t i = 0; i < n; ++i) foreign.release(object);
    return 2;
  }
  return own_.fetch_sub(n, order);
}

void RefCount::set_owner(Module* owner) {
  if (owner_ == owner) return;
  const std::uint32_t outside = own_.exchange(1) - 1;  // references taken before the owner was known
  owner_ = owner;
  if (outside) owner->count.fetch_add(outside, std::memory_order_relaxed);
}

void RefCount::transfer_to(void* object) {
  const std::uint32_t outside = own_.exchange(1);
  object_ = object;
  for (std::uint32_t i = 0; i < outside; ++i) foreign.acquire(object);
}

void Module::destroy(Module* m) {
  while (Module* owner = m->count.owner()) m = owner;
  delete m;
}

Module::Module() : count(this) {}

Module::Module(Module&& o)
    : training(o.training),
      count(this),
      added_(std::move(o.added_)),
      pre_hooks_(std::move(o.pre_hooks_)),
      hooks_(std::move(o.hooks_)),
      backward_hooks_(std::move(o.backward_hooks_)),
      backward_pre_hooks_(std::move(o.backward_pre_hooks_)),
      removed_(o.removed_),
      moved_(o.moved_),
      hooked_(o.hooked_) {
  check<ValueError>(!o.count.shared(), [&] {
    return std::string("module: expected a module that is not shared, got a shared one; make it with nn::make");
  });
}

Module::~Module() = default;

// ---- Members

void ChildSlot::set(Ref<Module> m) { module = std::move(m); }

static void empty(Member& m) {
  if (m.tensor) *m.tensor = Tensor();
  if (m.slot) m.slot->set({});
}

bool Module::visit(const Visitor& visitor) const {
  auto* self = const_cast<Module*>(this);
  int only = -1;
  bool stopped = false;
  auto listed = [&](Member& m) {
    if (only < 0 ? (removed_ | moved_) >> m.index & 1 : m.index != only) return false;
    if (m.child && !m.slot) m.child->count.set_owner(self);
    stopped = visitor(m);
    return stopped || only >= 0;
  };
  if (self->visit_members(listed)) return true;
  for (std::size_t i = 0; i < added_.size() && !stopped; ++i) {
    if (only = added_[i]->listed; only >= 0) {
      self->visit_members(listed);
    } else {
      Member m = added_[i]->member();
      stopped = visitor(m);
    }
  }
  return stopped;
}

bool Module::find(std::string_view name, const Visitor& visitor) const {
  return visit([&](Member& m) { return m.name == name && (visitor(m), true); });
}

void Module::check_name(const char* function, std::string_view name) const {
  check<ValueError>(!name.empty() && name.find('.') == name.npos, [&] {
    return std::string(function) + ": expected a name without dots, got \"" + std::string(name) + '"';
  });
  check<ValueError>(!find(name, [](Member&) {}), [&] {
    return std::string(function) + ": expected a new name, got \"" + std::string(name) + "\", which " + type_name() +
           " has already";
  });
}

void Module::add_tensor(Member::Kind kind, std::string name, const Tensor& t, bool persistent) {
  added_.push_back(std::make_unique<RuntimeMember>(std::move(name), kind, t));
  added_.back()->persistent = persistent;
  ++structure_;
}

Tensor Module::register_parameter(std::string name, const Parameter& p) {
  check_name("register_parameter", name);
  add_tensor(Member::parameter, std::move(name), p);
  return p;
}

Tensor Module::register_buffer(std::string name, const Tensor& t, bool persistent) {
  check_name("register_buffer", name);
  add_tensor(Member::buffer, std::move(name), t, persistent);
  return t;
}

Ref<Module> Module::register_module(std::string name, Ref<Module> m) {
  check_name("register_module", name);
  added_.push_back(std::make_unique<RuntimeMember>(std::move(name), Member::module, Tensor()));
  added_.back()->slot.set(m);
  ++structure_;
  return m;
}

bool Module::remove_member(std::string_view name) {
  for (std::size_t i = 0; i < added_.size(); ++i)
    if (added_[i]->name == name) {
      const auto last = std::move(added_[i]);  // destroyed only when the list is consistent again
      added_.erase(added_.begin() + std::ptrdiff_t(i));
      ++structure_;
      if (last->listed < 0) return true;
      moved_ &= ~(std::uint64_t(1) << last->listed);
      break;
    }
  return find(name, [&](Member& m) {
    removed_ |= std::uint64_t(1) << m.index;
    ++structure_;
    empty(m);
  });
}

bool Module::visit_removed(const Visitor& visitor) const {
  return const_cast<Module*>(this)->visit_members([&](Member& m) { return removed_ >> m.index & 1 && visitor(m); });
}

bool Module::restore_member(std::string_view name, Member::Kind kind) {
  return visit_removed([&](Member& m) {
    if (m.name != name || m.kind != kind) return false;
    removed_ &= ~(std::uint64_t(1) << m.index);
    moved_ |= std::uint64_t(1) << m.index;  // a member that is put back comes last, as in a dictionary
    added_.push_back(std::make_unique<RuntimeMember>(std::string(name), kind, Tensor()));
    added_.back()->listed = m.index;
    ++structure_;
    return true;
  });
}

bool Module::set_persistent(std::string_view buffer, bool on) {
  for (const auto& a : added_)
    if (a->name == buffer && a->kind == Member::buffer && a->listed < 0) return a->persistent = on, ++structure_, true;
  bool done = false;
  find(buffer, [&](Member& m) {
    if (m.type == &detail::kValueType<Buffer>) static_cast<Buffer*>(m.data)->persistent = on, done = true;
  });
  return done;
}

void Module::clear_members() {
  const auto last = std::move(added_);
  added_.clear();
  moved_ = 0;
  ++structure_;
  visit_members([](Member& m) { empty(m); });
}

// ---- Calls

void Module::update_hooked() {
  hooked_ = !pre_hooks_.empty() || !hooks_.empty() || !backward_hooks_.empty() || !backward_pre_hooks_.empty();
}

static std::uint64_t next_hook() {
  static std::atomic<std::uint64_t> id{0};
  return ++id;
}

std::uint64_t Module::register_forward_pre_hook(PreHook f) {
  pre_hooks_.emplace_back(next_hook(), std::move(f));
  update_hooked();
  return pre_hooks_.back().first;
}

std::uint64_t Module::register_forward_hook(ForwardHook f) {
  hooks_.emplace_back(next_hook(), std::move(f));
  update_hooked();
  return hooks_.back().first;
}

std::uint64_t Module::register_full_backward_hook(BackwardHook f) {
  backward_hooks_.emplace_back(next_hook(), std::move(f));
  update_hooked();
  return backward_hooks_.back().first;
}

std::uint64_t Module::register_full_backward_pre_hook(BackwardPreHook f) {
  backward_pre_hooks_.emplace_back(next_hook(), std::move(f));
  update_hooked();
  return backward_pre_hooks_.back().first;
}

bool Module::remove_hook(std::uint64_t id) {
  auto is = [id](const auto& hook) { return hook.first == id; };
  const std::size_t removed = std::erase_if(pre_hooks_, is) + std::erase_if(hooks_, is) +
                              std::erase_if(backward_hooks_, is) + std::erase_if(backward_pre_hooks_, is);
  update_hooked();
  return removed;
}

Value Module::call(Args a) {
  if (direct()) return forward_boxed(a);
  if (overrides() & kForward) return bridge.call(*this, a);
  return call_hooked(std::move(a), [this](const Args& x) { return forward_boxed(x); });
}

Value Module::call_hooked(Args a, const std::function<Value(const Args&)>& forward) {
  const auto before = pre_hooks_;  // a hook may remove itself
  for (const auto& [id, f] : before) f(*this, a);
  const auto crossing = enter_for_backward(*this, a);
  Value result = forward(a);
  const auto after = hooks_;
  for (const auto& [id, f] : after) f(*this, a, result);
  if (crossing) leave_for_backward(crossing, result);
  return result;
}

Value Module::forward_boxed(const Args&) { detail::no_forward(type_name()); }
bool Module::forward_tensor(const Tensor&, Tensor&) { return false; }
Value Module::forward_one(const Tensor& in) {
  Tensor out;
  if (forward_tensor(in, out)) return out;
  return forward_boxed(Args{{in}, {}});
}

namespace detail {
std::string_view next_name(std::string_view& names) {
  const std::size_t end = std::min(names.find(','), names.size());
  const std::string_view first = names.substr(0, end);
  names.remove_prefix(std::min(end + 1, names.size()));
  while (!names.empty() && names.front() == ' ') names.remove_prefix(1);
  return first.substr(0, first.find(' '));
}

void missing_argument(const std::string& module, const char* name, std::size_t index) {
  const std::string which = *name ? std::string("\"") + name + '"' : std::to_string(index);
  throw ArgumentError(module + ".forward: expected argument " + which + ", got none");
}
void too_many_arguments(const std::string& module, std::size_t most, std::size_t got) {
  throw ArgumentError(module + ".forward: expected at most " + std::to_string(most) + " arguments, got " +
                      std::to_string(got));
}
void unexpected_argument(const std::string& module, const Args& a, std::size_t) {
  std::string names;
  for (const auto& [name, value] : a.named) names += (names.empty() ? "\"" : ", \"") + name + '"';
  throw ArgumentError(module + ".forward: expected its own argument names once each, got " + names);
}
void no_forward(const std::string& module) {
  throw NotImplementedError(module + ": expected a module with forward, got one without; define it");
}
void not_boxable(const std::string& module) {
  throw NotImplementedError(module +
                            ".forward: expected arguments and results that hooks and containers can carry "
                            "(tensors, numbers, strings, lists), got another type");
}
void no_blank(const std::string& module) {
  throw NotImplementedError("clone: expected a default constructor, got none; give " + module +
                            " the constructor `explicit " + module + "(nn::Blank)`");
}
}  // namespace detail

// ---- Printing

std::string detail::indented(const std::string& s) {
  std::string out;
  for (char c : s) {
    out += c;
    if (c == '\n') out += "  ";
  }
  return out;
}

std::string Module::str() const {
  const RecursionGuard depth(*this);
  return overrides() & kRepr ? bridge.repr(*this) : repr();
}

std::string Module::repr() const {
  const std::uint8_t own = overrides();
  const std::string extra = own & kExtraRepr ? bridge.extra_repr(*this) : extra_repr();
  std::string lines;
  visit([&](Member& m) {
    if (m.kind == Member::module && m.child)
      lines += "\n  (" + std::string(m.name) + "): " + detail::indented(m.child->str());
  });
  const std::string name = own & kTypeName ? bridge.type_name(*this) : type_name();
  if (lines.empty() && extra.find('\n') == extra.npos) return name + '(' + extra + ')';
  return name + '(' + (extra.empty() ? extra : detail::indented('\n' + extra)) + lines + "\n)";
}

std::ostream& operator<<(std::ostream& out, const Module& m) { return out << m.str(); }

}  // namespace neura::nn

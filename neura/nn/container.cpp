#include "neura/nn/container.h"

#include <algorithm>

#include "neura/nn/recursion_guard.h"
#include "neura/nn/runtime_member.h"

namespace neura::nn {

NEURA_LAYER_BODY(ModuleList)
NEURA_LAYER_BODY(ModuleDict)
NEURA_LAYER_BODY(ParameterList)

// ---- ModuleList

std::size_t ModuleList::size() const {
  return std::size_t(std::count_if(added_.begin(), added_.end(), [](auto& a) { return a->kind == Member::module; }));
}

std::size_t ModuleList::position(std::size_t index) const {
  std::size_t at = 0;
  while (added_[at]->kind != Member::module || index-- > 0) ++at;
  return at;
}

std::size_t ModuleList::place(std::int64_t index, std::size_t bound) const {
  const std::int64_t n = std::int64_t(size()), i = index < 0 ? index + n : index;
  check<IndexError>(i >= 0 && i < std::int64_t(bound), [&] {
    return type_name() + ": expected an index within " + std::to_string(n) + " modules, got " + std::to_string(index);
  });
  return std::size_t(i);
}

Ref<Module> ModuleList::operator[](std::int64_t index) const {
  return added_[position(place(index, size()))]->slot.module;
}

void ModuleList::add_named(std::string name, Ref<Module> m) {
  check<ValueError>(bool(m), [&] { return type_name() + ": expected a module, got none"; });
  register_module(std::move(name), std::move(m));
}

void ModuleList::renumber() {
  ++structure_;
  std::size_t i = 0;
  for (const auto& a : added_)
    if (a->kind == Member::module) a->name = std::to_string(i++);
}

void ModuleList::extend(const std::vector<Ref<Module>>& modules) {
  for (const Ref<Module>& m : modules) append(m);
}

void ModuleList::insert(std::int64_t index, Ref<Module> m) {
  const std::size_t at = index == std::int64_t(size()) ? size() : place(index, size());
  add_named(std::to_string(size()), std::move(m));
  if (at + 1 == size()) return;
  std::rotate(added_.begin() + std::ptrdiff_t(position(at)), added_.end() - 1, added_.end());
  renumber();
}

void ModuleList::set(std::int64_t index, Ref<Module> m) {
  check<ValueError>(bool(m), [&] { return type_name() + ": expected a module, got none"; });
  added_[position(place(index, size()))]->slot.set(std::move(m));
}

void ModuleList::erase(std::int64_t index) {
  const std::size_t at = position(place(index, size()));
  const auto gone = std::move(added_[at]);
  added_.erase(added_.begin() + std::ptrdiff_t(at));
  renumber();
}

void ModuleList::wrong_type(const Module& got, const char* expected) {
  throw ValueError(std::string("at: expected a module of type ") + expected + ", got " + got.type_name());
}

// Equal neighbours are printed as one line: (0-3): 4 x Linear(...).
std::string ModuleList::repr() const {
  std::vector<std::string> texts;
  for (const Ref<Module>& m : *this) texts.push_back(m ? m->str() : "None");
  std::string out;
  for (std::size_t i = 0, next; i < texts.size(); i = next) {
    for (next = i + 1; next < texts.size() && texts[next] == texts[i];) ++next;
    out += "\n  (" + std::to_string(i);
    if (next > i + 1) out += '-' + std::to_string(next - 1) + "): " + std::to_string(next - i) + " x ";
    else out += "): ";
    out += detail::indented(texts[i]);
  }
  const std::string name = overrides() & kTypeName ? bridge.type_name(*this) : type_name();
  return name + '(' + out + (out.empty() ? ")" : "\n)");
}

// ---- Sequential

std::string Sequential::type_name() const { return "Sequential"; }
bool Sequential::visit_members(const Visitor&) { return false; }
Ref<Module> Sequential::blank() const { return make<Sequential>(); }
Value Sequential::forward_boxed(const Args& a) {
  return detail::call_with(*this, &Sequential::forward_any, a, std::type_identity<void(const Value&)>());
}
// One module after the other as long as each takes a tensor and gives one; boxed from there on.
bool Sequential::forward_tensor(const Tensor& in, Tensor& out) { return out = forward(in), true; }

Sequential::Sequential(const std::vector<std::pair<std::string, Ref<Module>>>& named) {
  for (const auto& [name, m] : named) add_named(name, m);
}

// The module at `i`, kept alive while it runs; null where there is a tensor.
Ref<Module> Sequential::step(std::size_t i) const {
  if (added_[i]->kind != Member::module) return {};
  check<ValueError>(bool(added_[i]->slot.module), [&] {
    return type_name() + ": expected a module \"" + added_[i]->name + "\", got none; remove it, or use nn::Identity";
  });
  return added_[i]->slot.module;
}

Tensor Sequential::forward(const Tensor& input) { return unbox<Tensor>(forward_any(input)); }

Value Sequential::forward_any(const Value& input) {
  const RecursionGuard depth(*this);
  Value v = input;
  for (std::size_t i = 0; i < added_.size(); ++i) {
    const Ref<Module> m = step(i);
    if (!m) continue;
    if (const Tensor* t = v.get<Tensor>(); t && m->direct()) v = m->forward_one(Tensor(*t));
    else v = m->call(Args{{std::move(v)}, {}});
  }
  return v;
}

// ---- ModuleDict

ModuleDict::ModuleDict(const std::vector<std::pair<std::string, Ref<Module>>>& named) {
  for (const auto& [name, m] : named) insert(name, m);
}

bool ModuleDict::contains(std::string_view key) const {
  return find(key, [](Member&) {});
}

Ref<Module> ModuleDict::operator[](std::string_view key) const {
  Ref<Module> found;
  find(key, [&](Member& m) { found = Ref<Module>::share(m.child); });
  check<IndexError>(bool(found), [&] { return "ModuleDict: expected a key it has, got \"" + std::string(key) + '"'; });
  return found;
}

void ModuleDict::insert(std::string key, Ref<Module> m) {
  check<ValueError>(bool(m), [] { return std::string("ModuleDict: expected a module, got none"); });
  register_module(std::move(key), std::move(m));
}

Ref<Module> ModuleDict::pop(std::string_view key) {
  Ref<Module> m = operator[](key);
  remove_member(key);
  return m;
}

void ModuleDict::clear() {
  for (const std::string& k : keys()) remove_member(k);
}

std::vector<std::string> ModuleDict::keys() const {
  std::vector<std::string> out;
  visit([&](Member& m) { out.emplace_back(m.name); });
  return out;
}

// ---- ParameterList

ParameterList::ParameterList(const std::vector<Parameter>& parameters) {
  for (const Parameter& p : parameters) append(p);
}

Tensor ParameterList::operator[](std::int64_t index) const {
  const auto all = named_parameters("", false, false);
  const std::int64_t n = std::int64_t(all.size()), i = index < 0 ? index + n : index;
  check<IndexError>(i >= 0 && i < n, [&] {
    return "ParameterList: expected an index within " + std::to_string(n) + " parameters, got " + std::to_string(index);
  });
  return all[std::size_t(i)].second;
}

void ParameterList::append(const Parameter& p) {
  register_parameter(std::to_string(named_parameters("", false, false).size()), p);
}

}  // namespace neura::nn

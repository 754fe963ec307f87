#include "neura/nn/state_dict.h"

#include <unordered_map>
#include <unordered_set>

#include "neura/nn/recursion_guard.h"

namespace neura::nn {

const Tensor* StateDict::find(std::string_view key) const {
  for (const auto& [name, t] : items_)
    if (name == key) return &t;
  return nullptr;
}

const Tensor& StateDict::at(std::string_view key) const {
  const Tensor* t = find(key);
  check<IndexError>(t, [&] { return "state dict: expected a key it has, got \"" + std::string(key) + '"'; });
  return *t;
}

void StateDict::set(std::string key, const Tensor& t) {
  for (auto& [name, old] : items_)
    if (name == key) {
      old = t;
      return;
    }
  append(std::move(key), t);
}

bool StateDict::erase(std::string_view key) {
  return std::erase_if(items_, [key](const auto& item) { return item.first == key; });
}

std::vector<std::string> StateDict::keys() const {
  std::vector<std::string> out;
  for (const auto& [name, t] : items_) out.push_back(name);
  return out;
}

void Module::save(StateDict& out, const std::string& prefix) const {
  const RecursionGuard depth(*this);
  for (const Member::Kind kind : {Member::parameter, Member::buffer})
    visit([&](Member& m) {
      if (m.kind == kind && *m.tensor && m.persistent) out.append(prefix + std::string(m.name), m.tensor->detach());
    });
  visit([&](Member& m) {
    if (m.child) m.child->save(out, prefix + std::string(m.name) + '.');
  });
}

StateDict Module::state_dict(const std::string& prefix) const {
  StateDict out;
  save(out, prefix);
  return out;
}

static std::string quoted(const std::vector<std::string>& keys) {
  std::string out;
  for (const std::string& k : keys) out += (out.empty() ? "\"" : ", \"") + k + '"';
  return out;
}

// May `source` be copied into `own`? As in torch, one element of shape [1] may become a tensor without dimensions.
static bool fits(const Tensor& own, const Tensor& source) {
  return own.shape() == source.shape() || (own.dim() == 0 && source.shape() == Shape{1});
}

LoadResult Module::load_state_dict(const StateDict& state, bool strict) {
  std::unordered_map<std::string_view, const Tensor*> given;
  for (const auto& [name, t] : state) given[name] = &t;
  const StateDict own = state_dict();
  std::unordered_set<std::string_view> known;
  LoadResult result;
  std::string mismatches;
  for (const auto& [name, t] : own) {
    known.insert(name);
    const auto found = given.find(name);
    if (found == given.end()) result.missing_keys.push_back(name);
    else if (!*found->second || !fits(t, *found->second)) {
      mismatches += "\n\tsize mismatch for " + name + ": expected " + t.shape().str() + ", got " +
                    (*found->second ? found->second->shape().str() : std::string("an undefined tensor"));
    } else if (is_complex(found->second->dtype()) && !is_complex(t.dtype())) {
      mismatches += "\n\tdtype mismatch for " + name + ": expected " + neura::name(t.dtype()) + ", got " +
                    neura::name(found->second->dtype());
    }
  }
  for (const auto& [name, t] : state)
    if (!known.contains(name)) result.unexpected_keys.push_back(name);

  std::string text;
  if (strict && !result.missing_keys.empty())
    text += "\n\tMissing key(s) in state_dict: " + quoted(result.missing_keys);
  if (strict && !result.unexpected_keys.empty())
    text += "\n\tUnexpected key(s) in state_dict: " + quoted(result.unexpected_keys);
  auto whole = [&] {
    return "load_state_dict: expected the keys and shapes of " + type_name() + ", got" + text + mismatches;
  };
  check<ShapeError>(mismatches.empty(), whole);
  check<ValueError>(text.empty(), whole);
  for (const auto& [name, t] : own)  // detached: no history, and the version rises
    if (const auto found = given.find(name); found != given.end())
      Tensor(t).copy_(found->second->detach().reshape(t.shape()));
  return result;
}

}  // namespace neura::nn

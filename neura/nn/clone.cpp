// clone(): a deep copy in which tensors and children that were one stay one.
#include <unordered_map>

#include "neura/nn/blank_scope.h"
#include "neura/nn/runtime_member.h"

namespace neura::nn {

struct Cloner {
  std::unordered_map<TensorImpl*, Tensor> tensors;
  std::unordered_map<const Module*, Module*> modules;

  Tensor copy(const Tensor& t) {
    if (!t) return {};
    Tensor& known = tensors[t.impl()];
    if (!known) {
      known = t.detach().clone();
      if (t.requires_grad()) known.requires_grad_();
    }
    return known;
  }

  Ref<Module> fresh(const Module& from) {
    if (const auto known = modules.find(&from); known != modules.end()) return Ref<Module>::share(known->second);
    Ref<Module> to;
    {
      BlankScope scope;
      to = from.blank();
    }
    fill(*to, from);
    return to;
  }

  static std::vector<Member> listed(const Module& m) {
    std::vector<Member> out;
    const_cast<Module&>(m).visit_members([&](Member& member) { out.push_back(member); });
    return out;
  }

  void fill(Module& to, const Module& from) {
    modules[&from] = &to;
    const std::vector<Member> old = listed(from), fresh_members = listed(to);
    NEURA_ASSERT(old.size() == fresh_members.size());
    for (std::size_t i = 0; i < old.size(); ++i) {
      const Member &a = old[i], &b = fresh_members[i];
      if (a.type && a.type->copy) a.type->copy(b.data, a.data);
      if (a.tensor) *b.tensor = copy(*a.tensor);
      if (a.slot) b.slot->set(a.child ? fresh(*a.child) : Ref<Module>());
      else if (a.child) fill(*b.child, *a.child);
    }
    to.added_.clear();
    for (const auto& a : from.added_) {
      auto& b = to.added_.emplace_back(std::make_unique<Module::RuntimeMember>(a->name, a->kind, copy(a->tensor)));
      b->persistent = a->persistent, b->listed = a->listed;
      if (a->slot.module) b->slot.set(fresh(*a->slot.module));
    }
    to.training = from.training;
    to.pre_hooks_ = from.pre_hooks_;
    to.hooks_ = from.hooks_;
    to.backward_hooks_ = from.backward_hooks_;
    to.backward_pre_hooks_ = from.backward_pre_hooks_;
    to.removed_ = from.removed_, to.moved_ = from.moved_;
    to.update_hooked();
  }
};

Ref<Module> detail::clone(const Module& m) {
  for (const Ref<Module>& part : m.modules())
    if (part->count.object()) return bridge.clone(m);
  return Cloner().fresh(m);
}
Ref<Module> Module::clone() const { return detail::clone(*this); }
Ref<Module> Module::blank() const { return make<Module>(); }

}  // namespace neura::nn

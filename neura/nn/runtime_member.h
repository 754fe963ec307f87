// A member that was added at run time, or came back. Private to module.cpp, walk.cpp and clone.cpp.
#pragma once
#include "neura/nn/module.h"

namespace neura::nn {

struct Module::RuntimeMember {
  std::string name;
  Member::Kind kind;
  Tensor tensor;
  ChildSlot slot;
  bool persistent = true;
  int listed = -1;  // refers to the listed member of this index, and holds nothing itself

  RuntimeMember(std::string n, Member::Kind k, const Tensor& t) : name(std::move(n)), kind(k), tensor(t) {}
  Member member() {
    Member m;
    m.name = name, m.kind = kind, m.persistent = persistent;
    if (kind == Member::module) m.slot = &slot, m.child = slot.module.get();
    else m.tensor = &tensor;
    return m;
  }
};

}  // namespace neura::nn

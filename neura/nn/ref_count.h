// The reference count of a module, in the form that Ref asks for. A module that is a C++ member of another is owned by
// it: references to it count on the owner. A module that another language owns is counted by that language.
#pragma once
#include "neura/core/ref.h"

namespace neura::nn {

class Module;

struct ForeignRef {  // set once by the binding of another language, before it owns a module
  void (*acquire)(void* object) = nullptr;
  void (*release)(void* object) = nullptr;
};
extern ForeignRef foreign;  // one for all libraries

class RefCount {
 public:
  explicit RefCount(Module* self) : self_(self) {}
  std::uint32_t load(std::memory_order order) const;
  std::uint32_t fetch_add(std::uint32_t n, std::memory_order order);
  std::uint32_t fetch_sub(std::uint32_t n, std::memory_order order);

  // The module is a member of `owner` by value: its references now count on the owner.
  void set_owner(Module* owner);
  Module* owner() const { return owner_; }
  bool shared() const { return own_.load(std::memory_order_relaxed) > 1 || object_; }
  // `object` takes over: the present references now count on it.
  void transfer_to(void* object);
  void* object() const { return object_; }
  void set_object(void* object) {
    object_ = object;
  }  // of a member by value: that object stands for it, and owns nothing

 private:
  Module* self_;
  std::atomic<std::uint32_t> own_{1};
  RelaxedAtomic<Module*> owner_ = nullptr;
  RelaxedAtomic<void*> object_ = nullptr;
};

}  // namespace neura::nn

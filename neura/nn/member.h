// The members of a module, listed once by NEURA_MODULE; every walk over a module reads this list.
#pragma once
#include <string_view>

#include "neura/nn/parameter.h"
#include "neura/nn/value.h"

namespace neura::nn {

struct ChildSlot {  // holds a module that may be replaced
  Ref<Module> module;
  virtual ~ChildSlot() = default;
  virtual void set(Ref<Module> m);
};

struct ValueType {  // how to read, write and print a plain member; null where its C++ type does not allow it
  Value (*get)(const void*) = nullptr;
  void (*set)(void*, const Value&) = nullptr;
  void (*copy)(void* to, const void* from) = nullptr;
};

struct Member {
  enum Kind : std::uint8_t { parameter, buffer, module, value };
  std::string_view name;
  Kind kind = value;
  bool persistent = true;     // of a buffer
  int index = -1;             // in NEURA_MODULE's list; -1 for a member added at run time
  Tensor* tensor = nullptr;   // of a parameter or buffer; may be undefined
  Module* child = nullptr;    // of a module; null for an empty slot
  ChildSlot* slot = nullptr;  // null for a module that is a C++ member by value
  void* data = nullptr;       // the C++ member itself, where it is no module and not added at run time
  const ValueType* type = nullptr;
};

// A function object that lives as long as the visit. It returns true to stop.
class Visitor {
 public:
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, Visitor>) Visitor(F&& f)
      : context_(const_cast<void*>(static_cast<const void*>(&f))), call_([](void* c, Member& m) {
          auto& g = *static_cast<std::remove_reference_t<F>*>(c);
          if constexpr (std::is_void_v<decltype(g(m))>) return g(m), false;
          else return bool(g(m));
        }) {}
  bool operator()(Member& m) const { return call_(context_, m); }

 private:
  void* context_;
  bool (*call_)(void*, Member&);
};

// A child that is typed when it can be and may be replaced by any module: block.fc1 = …
template <class X> class Child : public ChildSlot {
 public:
  Child() = default;
  Child(Ref<X> x) { set(share(x)); }
  void set(Ref<Module> m) override {
    module = std::move(m);
    typed_ = dynamic_cast<X*>(module.get());
  }
  X* get() const { return typed_; }
  X* operator->() const { return typed_; }
  template <class... A> auto operator()(const A&... a) const;  // macro.h

 private:
  static Ref<Module> share(const Ref<X>& x) { return Ref<Module>::share(x.get()); }
  X* typed_ = nullptr;
};

namespace detail {
template <class T> constexpr ValueType value_type() {
  ValueType t;
  if constexpr (Boxable<T>) {
    t.get = [](const void* p) { return box(*static_cast<const T*>(p)); };
    if constexpr (requires(const Value& v) { unbox<T>(v); })
      t.set = [](void* p, const Value& v) { *static_cast<T*>(p) = unbox<T>(v); };
  }
  if constexpr (std::is_copy_assignable_v<T>)
    t.copy = [](void* to, const void* from) { *static_cast<T*>(to) = *static_cast<const T*>(from); };
  return t;
}
template <class T> inline constexpr ValueType kValueType = value_type<T>();

template <class T> Member member(std::string_view name, int index, T& x) {
  Member m;
  m.name = name, m.index = index;
  if constexpr (std::derived_from<T, Parameter>) {
    m.kind = Member::parameter, m.tensor = &x, m.data = &x, m.type = &kValueType<T>;
  } else if constexpr (std::derived_from<T, Buffer>) {
    m.kind = Member::buffer, m.tensor = &x, m.data = &x, m.type = &kValueType<T>, m.persistent = x.persistent;
  } else if constexpr (std::same_as<T, Tensor>) {  // a buffer that is always persistent
    m.kind = Member::buffer, m.tensor = &x, m.data = &x, m.type = &kValueType<T>;
  } else if constexpr (std::derived_from<T, ChildSlot>) {
    m.kind = Member::module, m.slot = &x, m.child = x.module.get();
  } else if constexpr (std::derived_from<T, Module>) m.kind = Member::module, m.child = &x;
  else m.kind = Member::value, m.data = &x, m.type = &kValueType<T>;
  return m;
}

std::string_view next_name(std::string_view& names);  // cuts the first of "hidden, output"

template <class... T> bool visit_list(const Visitor& visit, std::string_view names, T&... x) {
  int index = 0;
  [[maybe_unused]] auto one = [&](auto& e) {
    Member m = member(next_name(names), index++, e);
    return visit(m);
  };
  return (one(x) || ...);
}
}  // namespace detail

}  // namespace neura::nn

// Modules made of modules.
//
//   nn::Sequential net(nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 10));
#pragma once
#include "neura/nn/module.h"

namespace neura::nn {

namespace detail {
// A fresh module moves to the heap; one that is shared already stays itself.
template <class M> Ref<Module> to_ref(M&& m) {
  using T = std::remove_cvref_t<M>;
  if constexpr (std::derived_from<T, Module>) {
    static_assert(!std::is_lvalue_reference_v<M>, "a module is not copyable: std::move it, or share it by nn::make");
    return make<T>(std::forward<M>(m));
  } else return m;
}
template <class M>
concept ModuleLike =
    std::derived_from<std::remove_cvref_t<M>, Module> || std::convertible_to < const std::remove_cvref_t<M>
&, Ref < Module >> ;
}  // namespace detail

// An ordered list of modules, named 0, 1, …. It has no forward: loop over it.
class ModuleList : public Module {
 public:
  template <detail::ModuleLike... M> explicit ModuleList(M&&... m) {
    (append(detail::to_ref(std::forward<M>(m))), ...);
  }
  explicit ModuleList(const std::vector<Ref<Module>>& modules) { extend(modules); }

  std::size_t size() const;
  bool empty() const { return size() == 0; }
  Ref<Module> operator[](std::int64_t index) const;  // negative counts from the back; IndexError
  template <class M> M& at(std::int64_t index) const { return as_type<M>(*operator[](index)); }
  void append(Ref<Module> m) { insert(std::int64_t(size()), std::move(m)); }
  template <class M>
  requires std::derived_from<M, Module>
  void append(M&& m) { append(detail::to_ref(std::forward<M>(m))); }
  void extend(const std::vector<Ref<Module>>&);
  void insert(std::int64_t index, Ref<Module>);  // inserts before the module at that index
  void set(std::int64_t index, Ref<Module>);
  void erase(std::int64_t index);  // the later ones move down by one
  struct Iterator {
    const ModuleList* list;
    std::int64_t index;
    Ref<Module> operator*() const { return (*list)[index]; }
    Iterator& operator++() { return ++index, *this; }
    bool operator==(const Iterator& o) const { return index == o.index; }
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, std::int64_t(size())}; }

  NEURA_LAYER(ModuleList)

 protected:
  std::string repr() const override;
  template <class M> static M& as_type(Module& m) {
    M* typed = m.as<M>();
    if (!typed) wrong_type(m, M::class_name());
    return *typed;
  }
  [[noreturn]] static void wrong_type(const Module& got, const char* expected);
  std::size_t place(std::int64_t index, std::size_t bound) const;
  std::size_t position(std::size_t index) const;  // index into added_, which may hold a subclass's tensors as well
  void add_named(std::string name, Ref<Module>);
  void renumber();
};

// Runs its modules one after the other; what one returns, tensor or not, is what the next gets.
class Sequential : public ModuleList {
 public:
  template <detail::ModuleLike... M> explicit Sequential(M&&... m) : ModuleList(std::forward<M>(m)...) {}
  explicit Sequential(const std::vector<Ref<Module>>& modules) : ModuleList(modules) {}
  // By name: Sequential({{"conv", nn::make<nn::Conv2d>(3, 8, 3)}, {"act", nn::make<nn::ReLU>()}})
  explicit Sequential(const std::vector<std::pair<std::string, Ref<Module>>>& named);
  Tensor forward(const Tensor& input);
  Value forward_any(const Value& input);  // inputs and results need not be tensors
  Value forward_one(const Tensor& input) override { return forward_any(input); }

  NEURA_LAYER(Sequential)
  NEURA_FORWARD("input")

 protected:
  std::string repr() const override { return Module::repr(); }  // NOLINT(bugprone-parent-virtual-call): no list's

 private:
  Ref<Module> step(std::size_t i) const;
};

// Modules by name, in order of insertion.
class ModuleDict : public Module {
 public:
  explicit ModuleDict(const std::vector<std::pair<std::string, Ref<Module>>>& named = {});
  std::size_t size() const { return keys().size(); }
  bool contains(std::string_view key) const;
  Ref<Module> operator[](std::string_view key) const;  // IndexError
  void insert(std::string key, Ref<Module>);           // ValueError if there is one
  Ref<Module> pop(std::string_view key);               // IndexError
  void clear();
  std::vector<std::string> keys() const;
  NamedModules items() const { return named_children(); }

  NEURA_LAYER(ModuleDict)
};

// Parameters in order, named 0, 1, ….
class ParameterList : public Module {
 public:
  explicit ParameterList(const std::vector<Parameter>& parameters = {});
  std::size_t size() const { return named_parameters("", false, false).size(); }
  Tensor operator[](std::int64_t index) const;  // negative counts from the back; IndexError
  void append(const Parameter&);

  NEURA_LAYER(ParameterList)
};

}  // namespace neura::nn

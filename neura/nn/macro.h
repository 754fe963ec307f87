// What NEURA_MODULE writes into a class. Included by module.h.
#pragma once
#include "neura/core/arguments.h"
#include "neura/nn/module.h"

namespace neura::nn {
namespace detail {
[[noreturn]] void no_blank(const std::string& module);
Ref<Module> clone(const Module&);
}  // namespace detail

template <class M> Ref<Module> make_blank() {
  if constexpr (std::is_constructible_v<M, Blank>) return make<M>(Blank());
  else if constexpr (std::is_default_constructible_v<M>) return make<M>();
  else detail::no_blank(M::class_name());
}
template <class M> Ref<M> clone_as(const M& m) { return Ref<M>::adopt(static_cast<M*>(detail::clone(m).leave())); }

template <class X> template <class... A> auto Child<X>::operator()(const A&... a) const {
  using R = std::remove_cvref_t<decltype(typed_->forward(a...))>;
  if (typed_ && typed_->direct()) [[likely]]
    return R(typed_->forward(a...));
  if (!module) detail::no_forward("an empty child");
  return unbox<R>(module->call(Args{{box(a)...}, {}}));
}

}  // namespace neura::nn

#define NEURA_MEMBERS(T, ...)                                                                             \
  using Self = T;                                                                                         \
  static const char* class_name() { return #T; }                                                          \
  template <class... A> auto operator()(const A&... a) { return ::neura::nn::invoke(*this, a...); }       \
  template <class... A> auto operator()(const A&... a) const { return ::neura::nn::invoke(*this, a...); } \
  ::neura::Ref<T> clone() const { return ::neura::nn::clone_as(*this); }                                  \
  template <class V> bool visit_list(const V& v) {                                                        \
    return ::neura::nn::detail::visit_list(v, #__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__);                   \
  }

// For networks: class and members; it defines every walk over them. Not for a local class, which cannot have templates.
#define NEURA_MODULE(T, ...)                                                                                          \
  NEURA_MEMBERS(T, __VA_ARGS__)                                                                                       \
  std::string type_name() const override { return #T; }                                                               \
  bool visit_members(const ::neura::nn::Visitor& v) override { return visit_list(v); }                                \
  ::neura::nn::Value forward_boxed(const ::neura::nn::Args& a) override { return ::neura::nn::call_boxed(*this, a); } \
  bool forward_tensor(const ::neura::Tensor& in, ::neura::Tensor& out) override {                                     \
    return ::neura::nn::call_tensor(*this, in, out);                                                                  \
  }                                                                                                                   \
  ::neura::Ref<::neura::nn::Module> blank() const override { return ::neura::nn::make_blank<T>(); }

// The same for a layer whose source file says NEURA_LAYER_BODY: headers with many layers stay cheap to include.
#define NEURA_LAYER(T, ...)                                               \
  NEURA_MEMBERS(T, __VA_ARGS__)                                           \
  std::string type_name() const override;                                 \
  bool visit_members(const ::neura::nn::Visitor&) override;               \
  ::neura::nn::Value forward_boxed(const ::neura::nn::Args&) override;    \
  bool forward_tensor(const ::neura::Tensor&, ::neura::Tensor&) override; \
  ::neura::Ref<::neura::nn::Module> blank() const override;
#define NEURA_LAYER_BODY(T)                                                                                     \
  std::string T::type_name() const { return #T; }                                                               \
  bool T::visit_members(const ::neura::nn::Visitor& v) { return visit_list(v); }                                \
  ::neura::nn::Value T::forward_boxed(const ::neura::nn::Args& a) { return ::neura::nn::call_boxed(*this, a); } \
  bool T::forward_tensor(const ::neura::Tensor& in, ::neura::Tensor& out) {                                     \
    return ::neura::nn::call_tensor(*this, in, out);                                                            \
  }                                                                                                             \
  ::neura::Ref<::neura::nn::Module> T::blank() const { return ::neura::nn::make_blank<T>(); }

// A class that differs from its base, a NEURA_LAYER, by its name and by what its constructor passes on.
#define NEURA_VARIANT(T)                                                                            \
  using Self = T;                                                                                   \
  static const char* class_name() { return #T; }                                                    \
  std::string type_name() const override { return #T; }                                             \
  ::neura::Ref<::neura::nn::Module> blank() const override { return ::neura::nn::make_blank<T>(); } \
  ::neura::Ref<T> clone() const { return ::neura::nn::clone_as(*this); }

// A constructor's declaration, which other languages read: their constructors take these arguments, under these names,
// with these defaults, and after them the fields of the options (NEURA_ARGUMENTS). `explicit`, an initialiser list and
// a body stand where they stand in any constructor:
//
//   NEURA_INIT(explicit Flatten, int start_dim = 1, int end_dim = -1) : start_dim(start_dim), end_dim(end_dim) {}
//
// `taken` is declared for its type alone.
#define NEURA_INIT(T, ...)                                           \
  static void taken(__VA_ARGS__);                                    \
  static constexpr const char* taken_text() { return #__VA_ARGS__; } \
  T(__VA_ARGS__)

// The names and defaults of forward's arguments: "input", or arg{"mask"} = none.
#define NEURA_FORWARD(...)                     \
  static auto signature() {                    \
    using ::neura::nn::arg, ::neura::nn::none; \
    return std::make_tuple(__VA_ARGS__);       \
  }

// Calls of modules: typed and direct where they can be, boxed where hooks, containers or other languages are involved.
// NEURA_FORWARD("input", arg{"mask"} = none) names what forward takes, and what it takes where nothing is given.
#pragma once
#include <functional>

#include "neura/nn/member.h"

namespace neura::nn {

struct none_t {};
[[maybe_unused]] inline constexpr none_t none{};
template <class D> struct Defaulted {
  const char* name;
  D value;
};
struct arg {
  const char* name;
  constexpr arg(const char* n) : name(n) {}
  template <class D> constexpr Defaulted<D> operator=(D d) const { return {name, d}; }
};

namespace detail {
[[noreturn]] void missing_argument(const std::string& module, const char* name, std::size_t index);
[[noreturn]] void too_many_arguments(const std::string& module, std::size_t most, std::size_t got);
[[noreturn]] void unexpected_argument(const std::string& module, const Args&, std::size_t taken);
[[noreturn]] void no_forward(const std::string& module);
[[noreturn]] void not_boxable(const std::string& module);

template <class D> constexpr Defaulted<D> named(Defaulted<D> d) { return d; }
constexpr arg named(arg a) { return a; }

// The argument i of a call, unboxed; `spec` is arg or Defaulted.
template <class T, class S> T argument(const std::string& module, const Args& a, std::size_t i, const S& spec) {
  constexpr bool has_default = requires { spec.value; };
  auto taken = [](const Value& given) {
    if constexpr (std::derived_from<T, Tensor> && !has_default)
      if (given.is_none()) wrong_type("Tensor", given);  // only where there is a default may a tensor be none
    return unbox<T>(given);
  };
  if (i < a.positional.size()) return taken(a.positional[i]);
  for (const auto& [name, value] : a.named)
    if (name == spec.name) return taken(value);
  if constexpr (requires { spec.value; }) {
    if constexpr (std::same_as<std::remove_cvref_t<decltype(spec.value)>, none_t>) return T();
    else return T(spec.value);
  } else if constexpr (is_optional<T>::value) return T();
  else missing_argument(module, spec.name, i);
}

template <class M, class F, class... A>
Value call_with(M& m, F forward, const Args& a, std::type_identity<void(A...)>) {
  constexpr std::size_t n = sizeof...(A);
  if (a.positional.size() > n) too_many_arguments(m.type_name(), n, a.positional.size());
  auto run = [&]<std::size_t... I>(std::index_sequence<I...>, const auto&... spec)->Value {
    const std::size_t known = (std::size_t(0) + ... + [&] {
      for (const auto& [name, value] : a.named)
        if (I >= a.positional.size() && name == spec.name) return std::size_t(1);
      return std::size_t(0);
    }());
    if (known != a.named.size()) unexpected_argument(m.type_name(), a, known);
    std::tuple<std::remove_cvref_t<A>...> values{argument<std::remove_cvref_t<A>>(m.type_name(), a, I, spec)...};
    using R = decltype((m.*forward)(std::get<I>(values)...));
    if constexpr (std::is_void_v<R>) return (m.*forward)(std::get<I>(values)...), Value();
    else if constexpr (Boxable<R>) return box((m.*forward)(std::get<I>(values)...));
    else not_boxable(m.type_name());
  };
  constexpr auto indices = std::make_index_sequence<n>();
  if constexpr (requires { M::signature(); }) {
    static_assert(std::tuple_size_v<decltype(M::signature())> == n, "NEURA_FORWARD names every argument of forward");
    return std::apply([&](auto... s) { return run(indices, named(s)...); }, M::signature());
  } else {
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return run(indices, ((void)I, arg(""))...); }
    (indices);
  }
}
template <class R, class C, class... A> std::type_identity<void(A...)> parameters_of(R (C::*)(A...));
template <class R, class C, class... A> std::type_identity<void(A...)> parameters_of(R (C::*)(A...) const);
template <class... A> constexpr bool boxes_all(std::type_identity<void(A...)>) {
  return (Boxable<std::remove_cvref_t<A>> && ...);
}
}  // namespace detail

template <class M> Value call_boxed(M& m, const Args& a) {
  if constexpr (requires { detail::parameters_of(&M::forward); }) {
    using A = decltype(detail::parameters_of(&M::forward));
    if constexpr (detail::boxes_all(A())) return detail::call_with(m, &M::forward, a, A());
    else detail::not_boxable(m.type_name());
  } else if constexpr (requires(const Tensor& x) { m.forward(x); }) {  // overloaded, or a template
    if (a.positional.size() != 1) detail::too_many_arguments(m.type_name(), 1, a.positional.size());
    return box(m.forward(unbox<Tensor>(a.positional[0])));
  } else detail::no_forward(m.type_name());
}

template <class M> bool call_tensor(M& m, const Tensor& in, Tensor& out) {
  if constexpr (requires {
                  { m.forward(in) } -> std::convertible_to<Tensor>;
                })
    return out = m.forward(in), true;
  else return false;
}

template <class M, class... A> auto invoke(M& m, const A&... a) {
  using R = std::remove_cvref_t<decltype(m.forward(a...))>;
  if (m.direct()) [[likely]]
    return R(m.forward(a...));
  if constexpr (Boxable<R> && (Boxable<A> && ...))
    return unbox<R>(const_cast<std::remove_const_t<M>&>(m).call(Args{{box(a)...}, {}}));
  else return (detail::not_boxable(m.type_name()), R(m.forward(a...)));
}

}  // namespace neura::nn

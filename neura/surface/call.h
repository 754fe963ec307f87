// How a public function is called: its arguments are read by their types, and its result becomes a Value.
#pragma once
#include <tuple>
#include <type_traits>
#include <utility>

#include "neura/surface/function.h"

namespace neura::surface {

// An argument's type as the tuple of a call holds it.
template <class T> struct Held { using type = T; };
template <> struct Held<int> { using type = std::int64_t; };
template <> struct Held<const char*> { using type = std::string; };
template <> struct Held<std::string_view> { using type = std::string; };
template <class T> struct Held<std::optional<T>> { using type = std::optional<typename Held<T>::type>; };
template <class T> using held = typename Held<std::remove_cvref_t<T>>::type;
// Arguments that many functions share, as one struct: its members, and their part of the signature.
template <class T>
concept Group = requires {
  T::kMembers, T::kSignature;
};
template <class T> inline constexpr bool is_optional = false;
template <class T> inline constexpr bool is_optional<std::optional<T>> = true;

int to_int(std::int64_t);  // ValueError outside the range of int
template <class To, class From> decltype(auto) pass(From& from) {
  using T = std::remove_cvref_t<To>;
  if constexpr (std::is_same_v<T, int>) return to_int(from);
  else if constexpr (std::is_same_v<T, const char*>) return from.c_str();
  else if constexpr (std::is_same_v<T, std::string_view>) return std::string_view(from);
  else if constexpr (std::is_same_v<T, std::optional<int>>)
    return from ? std::optional<int>(to_int(*from)) : std::nullopt;
  else return (from);
}
namespace detail {

template <class F> struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... A> struct Signature<R (*)(A...)> {
  using Result = R;
  using Arguments = std::tuple<held<A>...>;
  static constexpr bool writes_self = [] {
    bool first = true, writes = false;
    ((writes = first ? std::is_same_v<A, Tensor&> : writes, first = false), ...);
    return writes;
  }();
  template <class F> static R call(const F& f, Arguments& a) {
    return [&]<std::size_t... i>(std::index_sequence<i...>)->R { return f(pass<A>(std::get<i>(a))...); }
    (std::index_sequence_for<A...>());
  }
};
template <class R, class C, class... A> struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};

struct Words {
  const char *type, *words;
};
template <class T> constexpr Words words_of();
#define TYPE(T, text, words) \
  template <> constexpr Words words_of<T>() { return {text, words}; }
NEURA_SURFACE_TYPES(TYPE)
#undef TYPE

template <class T> void fill(const Parameter& p, T& to) {
  if constexpr (is_optional<T>) {
    if (p.fallback == "None") return;
    fallback(p, to.emplace());
  } else if constexpr (std::is_base_of_v<Shape, T>) {
    Shape s;
    fallback(p, s);
    to = T(s);
  } else fallback(p, to);
}
// `R`: Reader, or one that reads more types.
template <class R, class T> bool take(R& r, int i, const Parameter& p, const T& otherwise, T& to) {
  switch (r.given(i)) {
    case Reader::absent:
      if (p.fallback.empty()) return false;
      to = otherwise;
      return true;
    case Reader::none:
      if (!p.may_be_none) return false;
      if constexpr (!is_optional<T>) to = p.fallback == "None" ? otherwise : T{};
      return true;
    case Reader::some:
      break;
  }
  if constexpr (is_optional<T>) return r.read(i, to.emplace());
  else return r.read(i, to);
}

template <Group T> bool take(Reader& r, int i, const std::vector<Parameter>& p, const T& otherwise, T& to) {
  const auto one = [&](auto member) {
    const int at = i++;
    return take(r, at, p[std::size_t(at)], otherwise.*member, to.*member);
  };
  return std::apply([&](auto... member) { return (one(member) && ...); }, T::kMembers);
}
template <class T> bool take(Reader& r, int i, const std::vector<Parameter>& p, const T& otherwise, T& to) {
  return take(r, i, p[std::size_t(i)], otherwise, to);
}

template <class R> void give(R&& r, Value& to) {
  using T = std::remove_cvref_t<R>;
  if constexpr (std::is_same_v<T, int> || std::is_same_v<T, std::size_t>) to = std::int64_t(r);
  else if constexpr (requires { std::tuple_size<T>::value; } && !std::is_same_v<T, Tensor>)
    to = Tensors(r.begin(), r.end());
  else to = std::forward<R>(r);
}
template <class T> constexpr const char* result_of() {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  else if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, int> || std::is_same_v<T, std::size_t>)
    return "int";
  else if constexpr (std::is_same_v<T, Tensor>) return "neura.Tensor";
  else if constexpr (std::is_same_v<T, Tensors> || std::is_same_v<T, Named> || std::is_same_v<T, Tuple>) return "tuple";
  else if constexpr (std::is_same_v<T, Shape>) return "neura.Size";
  else if constexpr (std::is_void_v<T>) return "None";
  else if constexpr (requires { std::tuple_size<T>::value; }) return "tuple";
  else return "object";
}

template <class F> bool call(const Function& function, Reader& r, Value& to) {
  using S = Signature<F>;
  using Arguments = typename S::Arguments;
  const auto& otherwise = *static_cast<const Arguments*>(function.fallbacks.get());
  Arguments a;
  const bool fits = [&]<std::size_t... i>(std::index_sequence<i...>) {
    return (take(r, int(i), function.parameters, std::get<i>(otherwise), std::get<i>(a)) && ...);
  }
  (std::make_index_sequence<std::tuple_size_v<Arguments>>());
  if (!fits) return false;
  const auto run = [&](const auto& f) {
    if constexpr (S::writes_self) S::call(f, a), to = Self{};
    else if constexpr (std::is_void_v<typename S::Result>) S::call(f, a);
    else give(S::call(f, a), to);
  };
  if constexpr (std::is_pointer_v<F>) run(reinterpret_cast<F>(function.plain));
  else run(F{});
  if (Named* named = std::get_if<Named>(&to); named && !named->type) named->type = function.own_name.c_str();
  return true;
}

}  // namespace detail

}  // namespace neura::surface

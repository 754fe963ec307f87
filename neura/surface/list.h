// How a family puts its functions on the list. Included by the sources of the families alone.
#pragma once
#include <type_traits>
#include <utility>

#include "neura/surface/function.h"

namespace neura::surface {

// The families, each in a source of its name.
#define NEURA_SURFACE_FAMILIES(FAMILY) \
  FAMILY(pointwise)                    \
  FAMILY(products)                     \
  FAMILY(reduce)                       \
  FAMILY(order)                        \
  FAMILY(index)                        \
  FAMILY(join)                         \
  FAMILY(shape)                        \
  FAMILY(statistics)                   \
  FAMILY(linalg)                       \
  FAMILY(linalg_older)                 \
  FAMILY(loss)                         \
  FAMILY(window)                       \
  FAMILY(functional)                   \
  FAMILY(fourier)                      \
  FAMILY(signal)
#define FAMILY(name) void add_##name(std::deque<Function>&);
NEURA_SURFACE_FAMILIES(FAMILY)
#undef FAMILY

// An argument's type as the tuple of a call holds it.
template <class T> struct Held { using type = T; };
template <> struct Held<int> { using type = std::int64_t; };
template <> struct Held<const char*> { using type = std::string; };
template <> struct Held<std::string_view> { using type = std::string; };
template <class T> struct Held<std::optional<T>> { using type = std::optional<typename Held<T>::type>; };
template <class T> using held = typename Held<std::remove_cvref_t<T>>::type;
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
template <class T> bool take(Reader& r, int i, const Parameter& p, const T& otherwise, T& to) {
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
  else if constexpr (std::is_same_v<T, Tensors> || std::is_same_v<T, Named> || std::is_same_v<T, Shape>) return "tuple";
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
    return (take(r, int(i), function.parameters[i], std::get<i>(otherwise), std::get<i>(a)) && ...);
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

// The function of these arguments among several of one name.
template <class... A> inline constexpr auto overload = []<class R>(R (*f)(A...)) { return f; };
// (values, indices) of a result that has both, of a type that bears the function's name.
template <class R> Named values_indices(const R& r) { return {nullptr, {"values", "indices"}, {r.values, r.indices}}; }

class List {  // where a family adds its functions, of one space
 public:
  List(std::deque<Function>& all, std::string_view space) : all_(all), space_(space) {}
  // f: a function pointer or a lambda without captures. An overload after the first needs no text.
  template <class F> const List& add(const char* signature, F f, Forms forms, const char* text = "") const {
    Function& made = all_.emplace_back();
    made.space = space_, made.text = text, made.forms = forms;
    parse(signature, made);
    made.own_name = made.name;
    bind(made, f);
    return *this;
  }
  // The method name_(...) of the function added last, with its arguments; f writes its first one.
  template <class F> const List& writes(F f) const {
    Function made = all_.back();
    made.name += "_", made.forms = method, made.in_place = true;
    bind(all_.emplace_back(std::move(made)), f);
    return *this;
  }
  const List& alias(const char* name, const char* of) const;  // the same functions under another name

 private:
  template <class F> static void bind(Function& made, F f) {
    using G = std::decay_t<F>;
    static_assert(std::is_pointer_v<G> || std::is_empty_v<G>, "a lambda of the list captures nothing");
    using S = detail::Signature<G>;
    using Arguments = typename S::Arguments;
    check_count(made, std::tuple_size_v<Arguments>);
    auto otherwise = std::make_shared<Arguments>();
    [&]<std::size_t... i>(std::index_sequence<i...>) { (describe(made.parameters[i], std::get<i>(*otherwise)), ...); }
    (std::make_index_sequence<std::tuple_size_v<Arguments>>());
    made.fallbacks = std::move(otherwise);
    if constexpr (std::is_pointer_v<G>) made.plain = reinterpret_cast<void (*)()>(f);
    made.call = &detail::call<G>;
    made.result = S::writes_self ? "neura.Tensor" : detail::result_of<std::remove_cvref_t<typename S::Result>>();
  }
  template <class T> static void describe(Parameter& p, T& otherwise) {
    if constexpr (is_optional<T>) {
      p.may_be_none = true;
      describe(p, detail::words_of<typename T::value_type>());
    } else describe(p, detail::words_of<T>());
    if (!p.fallback.empty()) detail::fill(p, otherwise);
  }
  static void describe(Parameter& p, detail::Words w) { p.type = w.type, p.words = w.words; }
  static void check_count(const Function&, std::size_t arguments);
  std::deque<Function>& all_;
  std::string_view space_;
};

}  // namespace neura::surface

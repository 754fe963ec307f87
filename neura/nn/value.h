// A boxed value: what crosses between modules that do not know each other's types, and between languages.
#pragma once
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "neura/core/tensor.h"

namespace neura::nn {

class Module;
struct Value;

struct ArgumentError : ValueError {  // the arguments of a call do not fit the callee
  using ValueError::ValueError;
};

struct Opaque {  // an object of another language, passed through unchanged
  virtual ~Opaque() = default;
};
struct List {
  std::vector<Value> items;
  bool tuple = true;
};
struct Dict {
  std::vector<std::pair<std::string, Value>> items;  // in order of insertion
  Value* find(std::string_view key);
  const Value* find(std::string_view key) const { return const_cast<Dict*>(this)->find(key); }
  Value& operator[](std::string_view key);  // inserts if absent
};

struct Value {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Tensor, List, Dict, std::shared_ptr<Opaque>> v;

  Value() = default;
  Value(const Value&);  // in the source: variants copy and destroy at length
  Value(Value&&) noexcept;
  Value& operator=(const Value&);
  Value& operator=(Value&&) noexcept;
  ~Value();
  Value(bool x) : v(x) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Value(T x) : v(std::int64_t(x)) {}
  template <std::floating_point T> Value(T x) : v(double(x)) {}
  Value(const char* x) : v(std::string(x)) {}
  Value(std::string x) : v(std::move(x)) {}
  Value(Tensor x) : v(std::move(x)) {}
  Value(List x);
  Value(Dict x);
  Value(std::shared_ptr<Opaque> x) : v(std::move(x)) {}

  bool is_none() const { return v.index() == 0; }
  template <class T> bool is() const { return std::holds_alternative<T>(v); }
  template <class T> const T* get() const { return std::get_if<T>(&v); }
  template <class T> T* get() { return std::get_if<T>(&v); }
  double number() const;          // of an int, a float or a bool; ValueError otherwise
  const char* type_name() const;  // "int", "Tensor", ... for messages
};

struct Args {  // of a call: by position, then by name
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

// Specialised for a type that has no Value of its own, such as an enumeration: value(x) and back(v).
template <class T> struct BoxedAs;

// A number that is printed as it was given: 2 or 2.0.
struct Number {
  double value = 0;
  bool whole = false;
  constexpr Number() = default;
  template <std::floating_point T> constexpr Number(T v) : value(double(v)) {}
  template <std::integral T> constexpr Number(T v) : value(double(v)), whole(true) {}
  constexpr operator double() const { return value; }
};
template <> struct BoxedAs<Number> {
  static Value value(const Number&);
  static Number back(const Value&);
};

namespace detail {
template <class T>
concept boxed_as = requires(const T& x) {
  BoxedAs<T>::value(x);
};
template <class T> struct is_optional : std::false_type {};
template <class T> struct is_optional<std::optional<T>> : std::true_type {};
template <class T> struct is_tuple : std::false_type {};
template <class... T> struct is_tuple<std::tuple<T...>> : std::true_type {};
template <class A, class B> struct is_tuple<std::pair<A, B>> : std::true_type {};
template <class T> struct is_vector : std::false_type {};
template <class T> struct is_vector<std::vector<T>> : std::true_type {};
[[noreturn]] void wrong_type(const char* expected, const Value& got);
[[noreturn]] void wrong_length(std::size_t expected, std::size_t got);

template <class T> constexpr bool boxable() {
  if constexpr (is_optional<T>::value || is_vector<T>::value) return boxable<typename T::value_type>();
  else if constexpr (is_tuple<T>::value) return []<std::size_t... I>(std::index_sequence<I...>) {
      return (boxable<std::remove_cvref_t<std::tuple_element_t<I, T>>>() && ...);
    }
  (std::make_index_sequence<std::tuple_size_v<T>>());
  else return std::derived_from<T, Shape> || boxed_as<T> || std::convertible_to<T, Value>; }
}  // namespace detail
template <class T>
concept Boxable = detail::boxable<std::remove_cvref_t<T>>();

template <Boxable T> Value box(const T& x) {
  if constexpr (detail::boxed_as<T>) return BoxedAs<T>::value(x);
  else if constexpr (std::derived_from<T, Tensor>) return Value(static_cast<const Tensor&>(x));
  else if constexpr (detail::is_optional<T>::value) return x ? box(*x) : Value();
  else if constexpr (detail::is_tuple<T>::value) {
    return std::apply([](const auto&... e) { return Value(List{{box(e)...}, true}); }, x);
  } else if constexpr (detail::is_vector<T>::value || std::derived_from<T, Shape>) {
    List l{{}, std::derived_from<T, Shape>};
    for (const auto& e : x) l.items.push_back(box(e));
    return l;
  } else return Value(x);
}

template <class T> T unbox(const Value& x) {
  const List* list = x.get<List>();
  if constexpr (std::same_as<T, Value>) return x;
  else if constexpr (detail::boxed_as<T>) return BoxedAs<T>::back(x);
  else if constexpr (detail::is_optional<T>::value) {
    if (x.is_none()) return T();
    return unbox<typename T::value_type>(x);
  } else if constexpr (detail::is_tuple<T>::value) {
    if (!list) detail::wrong_type("tuple", x);
    if (list->items.size() != std::tuple_size_v<T>) detail::wrong_length(std::tuple_size_v<T>, list->items.size());
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return T(unbox<std::remove_cvref_t<std::tuple_element_t<I, T>>>(list->items[I])...);
    }
    (std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (detail::is_vector<T>::value) {
    if (!list) detail::wrong_type("list", x);
    T out;
    for (const Value& e : list->items) out.push_back(unbox<typename T::value_type>(e));
    return out;
  } else if constexpr (std::derived_from<T, Shape>) {
    T out;
    if (!list) out.push_back(unbox<std::int64_t>(x));
    else
      for (const Value& e : list->items) out.push_back(unbox<std::int64_t>(e));
    return out;
  } else if constexpr (std::derived_from<T, Tensor>) {
    if (x.is_none()) return T();
    if (const Tensor* t = x.get<Tensor>()) return T(*t);
    detail::wrong_type("Tensor", x);
  } else if constexpr (std::same_as<T, bool>) {
    if (const bool* b = x.get<bool>()) return *b;
    detail::wrong_type("bool", x);
  } else if constexpr (std::integral<T>) {
    if (const std::int64_t* i = x.get<std::int64_t>()) return T(*i);
    detail::wrong_type("int", x);
  } else if constexpr (std::floating_point<T>) {
    if (!x.is<std::int64_t>() && !x.is<double>()) detail::wrong_type("float", x);
    return T(x.number());
  } else {
    if (const T* p = x.get<T>()) return *p;
    detail::wrong_type("a value of another type", x);
  }
}

}  // namespace neura::nn

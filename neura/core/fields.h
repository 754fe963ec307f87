// The attributes of an operation as named fields, so that they can be printed, compared, hashed, written and read.
//
//   struct Roll {
//     Shape shifts, dims;
//     NEURA_FIELDS(shifts, dims)
//   };
//
// NEURA_FIELDS names every member, in order; a list that leaves one out does not compile. A field in varying(...)
// may differ from step to step of a program (a random offset, a learning rate).
#pragma once
#include <array>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "neura/core/device.h"
#include "neura/core/dtype.h"
#include "neura/core/scalar.h"
#include "neura/core/shape.h"
#include "neura/core/spec.h"

namespace neura {

struct FieldName {
  std::string_view text;
  bool varying = false;
};

// Sees one field after the other, and may change it. Lists and optional values tell their size and take another.
class FieldVisitor {
 public:
  FieldVisitor() = default;
  FieldVisitor(const FieldVisitor&) = delete;
  virtual ~FieldVisitor() = default;
  virtual void boolean(FieldName, bool&) = 0;
  virtual void integer(FieldName, std::int64_t&) = 0;  // enumerations, too
  virtual void real(FieldName, double&) = 0;
  virtual void scalar(FieldName, Scalar&) = 0;
  virtual void dtype(FieldName, DType&) = 0;
  virtual void device(FieldName, Device&) = 0;
  virtual std::size_t begin(FieldName, std::size_t size, bool fixed) = 0;  // of a list, or of a struct's fields
  virtual void end() = 0;
};

template <class T> struct Varying { T& value; };
template <class T> Varying<T> varying(T& value) { return {value}; }

namespace detail {

template <class T>
concept HasFields = requires(T& t, FieldVisitor& v) {
  t.fields(v);
};
template <class T>
concept HasFieldsBeside = requires(T& t, FieldVisitor& v) {
  fields_of(t, v);
};
template <class T> struct IsList : std::false_type {};
template <class T> struct IsList<std::vector<T>> : std::true_type {};
template <class T> struct IsOptional : std::false_type {};
template <class T> struct IsOptional<std::optional<T>> : std::true_type {};
template <class T> struct IsArray : std::is_array<T> {};
template <class T, std::size_t n> struct IsArray<std::array<T, n>> : std::true_type {};

void visit_shape(FieldVisitor&, FieldName, Shape&);
void visit_spec(FieldVisitor&, FieldName, Spec&);

template <class T> void visit_field(FieldVisitor& v, FieldName name, T& field) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    v.integer(name, field);
  } else if constexpr (std::is_same_v<T, bool>) {
    v.boolean(name, field);
  } else if constexpr (std::is_same_v<T, double>) {
    v.real(name, field);
  } else if constexpr (std::is_same_v<T, Scalar>) {
    v.scalar(name, field);
  } else if constexpr (std::is_same_v<T, DType>) {
    v.dtype(name, field);
  } else if constexpr (std::is_same_v<T, Device>) {
    v.device(name, field);
  } else if constexpr (std::is_base_of_v<Shape, T>) {
    visit_shape(v, name, field);
  } else if constexpr (std::is_same_v<T, Spec>) {
    visit_spec(v, name, field);
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    std::int64_t wide = std::int64_t(field);
    v.integer(name, wide), field = T(wide);
  } else if constexpr (std::is_same_v<T, float>) {
    double wide = double(field);
    v.real(name, wide), field = float(wide);
  } else if constexpr (IsOptional<T>::value) {
    const std::size_t n = v.begin(name, field ? 1 : 0, false);
    if (n && !field) field.emplace();
    if (n) visit_field(v, {}, *field);
    else field.reset();
    v.end();
  } else if constexpr (IsList<T>::value) {
    field.resize(v.begin(name, field.size(), false));
    for (auto& each : field) visit_field(v, {}, each);
    v.end();
  } else if constexpr (IsArray<T>::value) {
    v.begin(name, std::size(field), true);
    for (auto& each : field) visit_field(v, {}, each);
    v.end();
  } else {
    static_assert(HasFields<T> || HasFieldsBeside<T>,
                  "a field is a number, a list, a Spec or a struct with NEURA_FIELDS");
    v.begin(name, 0, true);
    if constexpr (HasFields<T>) field.fields(v);
    else fields_of(field, v);
    v.end();
  }
}
template <class T> void visit_field(FieldVisitor& v, FieldName name, Varying<T> field) {
  visit_field(v, {name.text, true}, field.value);
}

// One name after the other of what NEURA_FIELDS was given: "a, varying(b)".
struct FieldNames {
  std::string_view rest;
  std::string_view next();
};

// Asserts that the struct has n members: a structured binding of another number does not compile.
template <std::size_t n, class T> constexpr void expect_fields(T& x) {
  static_assert(n <= 12, "an operation has at most 12 fields; group them in a struct");
  if constexpr (n == 0) static_assert(std::is_empty_v<T>, "NEURA_FIELDS leaves a member out");
  else if constexpr (n == 1) [[maybe_unused]] auto& [a] = x;
  else if constexpr (n == 2) [[maybe_unused]] auto& [a, b] = x;
  else if constexpr (n == 3) [[maybe_unused]] auto& [a, b, c] = x;
  else if constexpr (n == 4) [[maybe_unused]] auto& [a, b, c, d] = x;
  else if constexpr (n == 5) [[maybe_unused]] auto& [a, b, c, d, e] = x;
  else if constexpr (n == 6) [[maybe_unused]] auto& [a, b, c, d, e, f] = x;
  else if constexpr (n == 7) [[maybe_unused]] auto& [a, b, c, d, e, f, g] = x;
  else if constexpr (n == 8) [[maybe_unused]] auto& [a, b, c, d, e, f, g, h] = x;
  else if constexpr (n == 9) [[maybe_unused]] auto& [a, b, c, d, e, f, g, h, i] = x;
  else if constexpr (n == 10) [[maybe_unused]] auto& [a, b, c, d, e, f, g, h, i, j] = x;
  else if constexpr (n == 11) [[maybe_unused]] auto& [a, b, c, d, e, f, g, h, i, j, k] = x;
  else [[maybe_unused]] auto& [a, b, c, d, e, f, g, h, i, j, k, l] = x;
}

template <class T, class... Field>
void visit_fields(FieldVisitor& v, std::string_view names, T& self, Field&&... field) {
  expect_fields<sizeof...(Field)>(self);
  [[maybe_unused]] FieldNames name{names};
  (visit_field(v, {name.next()}, field), ...);
}

}  // namespace detail

// Inside of a struct: its members.
#define NEURA_FIELDS(...)                                                                   \
  void fields([[maybe_unused]] ::neura::FieldVisitor& visitor) {                            \
    using ::neura::varying;                                                                 \
    ::neura::detail::visit_fields(visitor, #__VA_ARGS__, *this __VA_OPT__(, ) __VA_ARGS__); \
  }
// For a struct that is not an operation's own: next to it, in its namespace.
#define NEURA_FIELDS_OF(Type, ...)                                           \
  inline void fields_of(Type& self, ::neura::FieldVisitor& visitor) {        \
    auto& [__VA_ARGS__] = self;                                              \
    ::neura::detail::visit_fields(visitor, #__VA_ARGS__, self, __VA_ARGS__); \
  }

}  // namespace neura

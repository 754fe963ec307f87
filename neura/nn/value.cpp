#include "neura/nn/value.h"

namespace neura::nn {

Value::Value(const Value&) = default;
Value::Value(Value&&) noexcept = default;
Value& Value::operator=(const Value&) = default;
Value& Value::operator=(Value&&) noexcept = default;
Value::~Value() = default;
Value::Value(List x) : v(std::move(x)) {}
Value::Value(Dict x) : v(std::move(x)) {}

Value* Dict::find(std::string_view key) {
  for (auto& [name, value] : items)
    if (name == key) return &value;
  return nullptr;
}

Value& Dict::operator[](std::string_view key) {
  if (Value* found = find(key)) return *found;
  return items.emplace_back(std::string(key), Value()).second;
}

double Value::number() const {
  if (const double* d = get<double>()) return *d;
  if (const std::int64_t* i = get<std::int64_t>()) return double(*i);
  if (const bool* b = get<bool>()) return *b;
  detail::wrong_type("float", *this);
}

Value BoxedAs<Number>::value(const Number& n) { return n.whole ? Value(std::int64_t(n.value)) : Value(n.value); }
Number BoxedAs<Number>::back(const Value& v) {
  if (const std::int64_t* i = v.get<std::int64_t>()) return *i;
  if (const double* d = v.get<double>()) return *d;
  detail::wrong_type("float", v);
}

const char* Value::type_name() const {
  constexpr const char* kNames[] = {"None", "bool", "int", "float", "str", "Tensor", "list", "dict", "object"};
  return kNames[v.index()];
}

namespace detail {
void wrong_type(const char* expected, const Value& got) {
  throw ArgumentError(std::string("forward: expected ") + expected + ", got " + got.type_name());
}
void wrong_length(std::size_t expected, std::size_t got) {
  throw ArgumentError("forward: expected a tuple of " + std::to_string(expected) + ", got " + std::to_string(got));
}
}  // namespace detail

}  // namespace neura::nn

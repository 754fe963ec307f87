// Reading tokenizer.json: what is missing or of another kind is a FormatError that names it.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "neura/core/error.h"

namespace neura::text {

using nlohmann::json;

[[noreturn]] inline void refuse_format(const std::string& text) { throw FormatError("Tokenizer: " + text); }
[[noreturn]] inline void not_there(const std::string& what) {
  throw NotImplementedError("Tokenizer: " + what + " is not implemented");
}

inline std::string kind_of(const json& v) { return v.type_name(); }

inline const json& field(const json& object, const char* key) {
  if (!object.is_object()) refuse_format("expected an object with " + std::string(key) + ", got " + kind_of(object));
  const auto found = object.find(key);
  static const json none;
  return found == object.end() ? none : *found;
}

inline std::string text_of(const json& v, const char* what) {
  if (!v.is_string()) refuse_format("expected " + std::string(what) + " to be text, got " + kind_of(v));
  return v.get_ref<const std::string&>();
}
inline std::string text_field(const json& object, const char* key) { return text_of(field(object, key), key); }
inline std::string text_field(const json& object, const char* key, const std::string& otherwise) {
  const json& v = field(object, key);
  return v.is_null() ? otherwise : text_of(v, key);
}

inline bool flag_field(const json& object, const char* key, bool otherwise) {
  const json& v = field(object, key);
  if (v.is_null()) return otherwise;
  if (!v.is_boolean()) refuse_format("expected " + std::string(key) + " to be true or false, got " + kind_of(v));
  return v.get<bool>();
}

// A whole number from 0 to 2^31 - 1, as ids and lengths are.
inline std::uint32_t number_of(const json& v, const char* what) {
  if (!v.is_number_unsigned() || v.get<std::uint64_t>() > INT32_MAX)
    refuse_format("expected " + std::string(what) + " to be a whole number below 2^31, got " +
                  (v.is_number() ? v.dump() : kind_of(v)));
  return v.get<std::uint32_t>();
}
inline std::uint32_t number_field(const json& object, const char* key) { return number_of(field(object, key), key); }
inline std::uint32_t number_field(const json& object, const char* key, std::uint32_t otherwise) {
  const json& v = field(object, key);
  return v.is_null() ? otherwise : number_of(v, key);
}

inline const json& list_field(const json& object, const char* key) {
  const json& v = field(object, key);
  if (!v.is_array()) refuse_format("expected " + std::string(key) + " to be a list, got " + kind_of(v));
  return v;
}

// Steps within steps: how deep a Sequence may hold others.
inline constexpr int kDepth = 16;
inline void check_depth(int depth) {
  if (depth > kDepth)
    refuse_format("expected at most " + std::to_string(kDepth) + " sequences within each other, got more");
}

}  // namespace neura::text

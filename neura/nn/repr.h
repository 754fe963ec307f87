// The text between the brackets of a printed module: repr("in_features", 3).add("bias", true), in Python's spelling.
#pragma once
#include "neura/nn/value.h"

namespace neura::nn {

std::string python_text(double x);              // 0.01, 1.0, 1e-05
std::string python_text(const Number& x);       // 2 or 2.0, as it was given
std::string python_text(const Shape& x);        // 3 for one number, else (3, 3)
std::string python_text(const std::string& x);  // quoted
std::string tuple_text(const Shape& x);         // (3,), (3, 3)

class Repr {
 public:
  // An empty name: the value alone.
  template <class T> Repr& add(const char* name, const T& x) {
    if (!text_.empty()) text_ += ", ";
    if (*name) text_ += name, text_ += '=';
    text_ += text_of(x);
    return *this;
  }
  template <class T> Repr& add_if(bool wanted, const char* name, const T& x) { return wanted ? add(name, x) : *this; }
  operator std::string() const { return text_; }

 private:
  template <class T> static std::string text_of(const T& x) {
    if constexpr (std::same_as<T, bool>) return x ? "True" : "False";
    else if constexpr (std::integral<T>) return std::to_string(x);
    else if constexpr (detail::is_optional<T>::value) return x ? text_of(*x) : "None";
    else return python_text(x);
  }
  std::string text_;
};

}  // namespace neura::nn

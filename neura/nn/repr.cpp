#include "neura/nn/repr.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace neura::nn {
namespace {

// The fewest digits that read back as x.
char* shortest(char* text, std::size_t size, double x, bool scientific) {
#ifdef __cpp_lib_to_chars
  return std::to_chars(text, text + size, x, scientific ? std::chars_format::scientific : std::chars_format::fixed).ptr;
#else  // of whole numbers alone; there is one locale
  int digits = 0;  // behind the first
  do std::snprintf(text, size, "%.*e", digits, x);
  while (std::strtod(text, nullptr) != x && ++digits < 17);
  const int exponent = std::atoi(std::strchr(text, 'e') + 1);
  if (!scientific) std::snprintf(text, size, "%.*f", std::max(0, digits - exponent), x);
  return text + std::strlen(text);
#endif
}

}  // namespace

std::string python_text(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  char text[40];
  const double size = std::abs(x);
  const bool scientific = x != 0 && (size < 1e-4 || size >= 1e16);
  std::string out(text, shortest(text, sizeof text, x, scientific));
  if (!scientific && out.find('.') == out.npos) out += ".0";
  return out;
}

std::string python_text(const Number& x) {
  return x.whole ? std::to_string(std::int64_t(x.value)) : python_text(x.value);
}

std::string python_text(const Shape& x) {
  auto one = [](std::int64_t n) { return n == INT64_MIN ? std::string("None") : std::to_string(n); };
  if (x.size() == 1) return one(x[0]);
  std::string out;
  for (std::int64_t n : x) out += (out.empty() ? "" : ", ") + one(n);
  return '(' + out + ')';
}

std::string tuple_text(const Shape& x) { return x.size() == 1 ? '(' + python_text(x) + ",)" : python_text(x); }

std::string python_text(const std::string& x) { return '\'' + x + '\''; }

}  // namespace neura::nn

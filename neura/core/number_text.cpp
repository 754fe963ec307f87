#include "neura/core/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace neura {
namespace {

// The fewest digits that read back as x.
char* shortest(char* text, std::size_t size, double x, bool scientific) {
#if defined(__cpp_lib_to_chars) && !defined(NEURA_WANTED)  // whose tables are large
  return std::to_chars(text, text + size, x, scientific ? std::chars_format::scientific : std::chars_format::fixed).ptr;
#else  // of whole numbers alone; there is one locale
  int digits = 0;  // after the first
  do std::snprintf(text, size, "%.*e", digits, x);
  while (std::strtod(text, nullptr) != x && ++digits < 17);
  const int exponent = std::atoi(std::strchr(text, 'e') + 1);
  if (!scientific) std::snprintf(text, size, "%.*f", std::max(0, digits - exponent), x);
  return text + std::strlen(text);
#endif
}

}  // namespace

std::string number_text(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  char text[40];
  const double size = std::abs(x);
  const bool scientific = x != 0 && (size < 1e-4 || size >= 1e16);
  std::string out(text, shortest(text, sizeof text, x, scientific));
  if (!scientific && out.find('.') == std::string::npos) out += ".0";
  return out;
}

bool parse_number(std::string_view text, double& to) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (text == "nan") return to = std::numeric_limits<double>::quiet_NaN(), true;
  if (text == "inf" || text == "-inf") return to = text[0] == '-' ? -infinity : infinity, true;
  if (text.find_first_not_of("0123456789.eE+-") != std::string_view::npos || text.empty() || text[0] == '+')
    return false;
#if defined(__cpp_lib_to_chars) && !defined(NEURA_WANTED)
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc() && end == text.data() + text.size();
#else
  const std::string whole(text);
  char* end = nullptr;
  to = std::strtod(whole.c_str(), &end);
  return end == whole.c_str() + whole.size() && !std::isinf(to);
#endif
}

}  // namespace neura

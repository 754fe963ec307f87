#include "neura/nn/repr.h"

#include "neura/core/number_text.h"

namespace neura::nn {

std::string python_text(double x) { return number_text(x); }

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

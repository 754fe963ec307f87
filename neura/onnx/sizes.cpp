#include "neura/onnx/sizes.h"

#include <algorithm>
#include <numeric>

namespace neura::onnx {
namespace {

std::int64_t floored(std::int64_t a, std::int64_t b) { return a / b - (a % b && (a < 0) != (b < 0)); }

std::int64_t evaluated(const Size& s, const std::vector<std::int64_t>& sizes) {
  if (s.symbols.empty()) return s.value;
  std::int64_t product = s.factor;
  for (const int i : s.symbols) product *= sizes[std::size_t(i)];
  return floored(product, s.divisor) + s.offset;
}
void reduce(Size& s) {
  const std::int64_t common = std::max<std::int64_t>(std::gcd(s.factor, s.divisor), 1) * (s.divisor < 0 ? -1 : 1);
  s.factor /= common, s.divisor /= common;
}

}  // namespace

Size Symbols::explain(const std::vector<std::int64_t>& seen) const {
  Size s;
  s.value = seen[0];
  for (std::size_t i = 0; i < all.size(); ++i)
    if (seen[i + 1] != seen[0]) s.symbols.push_back(int(i));
  if (s.symbols.size() == 1) {
    const auto i = std::size_t(s.symbols[0]);
    s.factor = seen[i + 1] - seen[0], s.divisor = values[i + 1][i] - values[0][i];
    reduce(s);
    s.offset = seen[0] - floored(s.factor * values[0][i], s.divisor);
  } else if (s.symbols.size() > 1) {
    s.factor = seen[0];
    for (const int i : s.symbols) s.divisor *= values[0][std::size_t(i)];
    if (s.divisor) reduce(s);
  }
  for (std::size_t t = 0; t < seen.size() && s.known; ++t) s.known = s.divisor && evaluated(s, values[t]) == seen[t];
  return s;
}

std::string SizeWriter::one(const Size& s) {
  check<ValueError>(s.known, [&] {
    std::string names;
    for (const int i : s.symbols) names += (names.empty() ? "" : ", ") + symbols_.all[std::size_t(i)].name;
    return "onnx.export: expected sizes that follow from the dynamic ones by a product and a sum, got one in \"" +
           to_.module + "\" that does not (" + std::to_string(s.value) + " in the example, of " + names +
           "); make these dimensions fixed";
  });
  if (s.symbols.empty()) return to_.integers({s.value});
  std::string product;
  for (const int i : s.symbols) {
    const Symbols::Symbol& symbol = symbols_.all[std::size_t(i)];
    const std::string shape = to_.add("Shape", {inputs_[std::size_t(symbol.input)]});
    const std::string size =
        to_.add("Gather", {shape, to_.integers({symbol.dim})}, {attribute("axis", std::int64_t{0})});
    product = product.empty() ? size : to_.add("Mul", {product, size});
  }
  if (s.factor != 1) product = to_.add("Mul", {product, to_.integers({s.factor})});
  if (s.divisor != 1) product = to_.add("Div", {product, to_.integers({s.divisor})});
  if (s.offset) product = to_.add("Add", {product, to_.integers({s.offset})});
  return product;
}

std::string SizeWriter::list(const std::vector<Size>& sizes) {
  if (std::all_of(sizes.begin(), sizes.end(), [](const Size& s) { return s.fixed(); })) {
    std::vector<std::int64_t> numbers;
    for (const Size& s : sizes) numbers.push_back(s.value);
    return to_.integers(numbers);
  }
  Names parts;
  for (const Size& s : sizes) parts.push_back(one(s));
  return parts.size() == 1 ? parts[0] : to_.add("Concat", parts, {attribute("axis", std::int64_t{0})});
}

std::string SizeWriter::shape(const std::vector<Size>& sizes) {
  const auto open = std::count_if(sizes.begin(), sizes.end(), [](const Size& s) { return !s.fixed(); });
  const bool empty = std::any_of(sizes.begin(), sizes.end(), [](const Size& s) { return s.fixed() && !s.value; });
  if (open != 1 || empty) return list(sizes);
  std::vector<Size> with = sizes;
  for (Size& s : with)
    if (!s.fixed()) s = Size{-1};
  return list(with);
}

}  // namespace neura::onnx

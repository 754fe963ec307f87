// Texts, and the operators of ai.onnx.ml that look things up.
#include <algorithm>
#include <cmath>
#include <set>

#include "neura/onnx/operators.h"
#include "neura/onnx/regex.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/shape/view.h"

namespace neura::onnx {
namespace {

using Texts = std::vector<std::string>;

Results concatenated(const Operands& x) {
  const Text &a = x.text(0), &b = x.text(1);
  const Shape shape = broadcast_shapes("StringConcat", a.shape, b.shape);
  const std::vector<std::int64_t> from_a = broadcast_places(a.shape, shape), from_b = broadcast_places(b.shape, shape);
  Text out{shape, {}};
  for (std::size_t i = 0; i < from_a.size(); ++i)
    out.items.push_back(a.items[std::size_t(from_a[i])] + b.items[std::size_t(from_b[i])]);
  return Value(std::move(out));
}

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
// At each delimiter; without one, at runs of blanks, of which none are at the ends.
Texts pieces_of(const std::string& s, const std::string& delimiter, std::int64_t most) {
  Texts out;
  std::size_t at = 0;
  if (!delimiter.empty()) {
    for (std::size_t next; std::int64_t(out.size()) < most && (next = s.find(delimiter, at)) != std::string::npos;
         at = next + delimiter.size())
      out.push_back(s.substr(at, next - at));
    out.push_back(s.substr(at));
    return out;
  }
  for (;;) {
    while (at < s.size() && is_blank(s[at])) ++at;
    if (at == s.size()) return out;
    std::size_t end = at;
    if (std::int64_t(out.size()) >= most) {
      out.push_back(s.substr(at));
      return out;
    }
    while (end < s.size() && !is_blank(s[end])) ++end;
    out.push_back(s.substr(at, end - at));
    at = end;
  }
}
BoundNode split_up(const Node& n) {
  const std::string delimiter = n.text("delimiter", "");
  const std::int64_t most = n.integer("maxsplit", INT64_MAX);
  return [=](const Operands& x) -> Results {
    const Text& t = x.text(0);
    std::vector<Texts> rows;
    std::size_t width = 0;
    std::vector<std::int64_t> counts;
    for (const std::string& s : t.items) {
      rows.push_back(pieces_of(s, delimiter, most));
      width = std::max(width, rows.back().size());
      counts.push_back(std::int64_t(rows.back().size()));
    }
    Text out{t.shape, {}};
    out.shape.push_back(std::int64_t(width));
    for (Texts& row : rows) {
      row.resize(width);
      out.items.insert(out.items.end(), row.begin(), row.end());
    }
    return {Value(std::move(out)), Value(reshape(integers(counts), t.shape))};
  };
}

BoundNode full_match(const Node& n) {
  if (!n.has("pattern")) refuse(n.op, "a pattern", "none");
  const auto regex = std::make_shared<const Regex>(n.text("pattern", ""));
  return [regex](const Operands& x) -> Results {
    const Text& t = x.text(0);
    Tensor out = Tensor::empty(Spec::dense(boolean, t.shape));
    bool* to = out.data<bool>();
    for (const std::string& s : t.items) *to++ = regex->matches(s);
    return out;
  };
}

// Letters of ASCII alone change their case.
std::string with_case(std::string s, const std::string& action) {
  for (char& c : s) {
    if (c & 0x80) throw NotImplementedError("StringNormalizer of other than ASCII texts is not implemented");
    if (action == "LOWER" && c >= 'A' && c <= 'Z') c = char(c + 32);
    if (action == "UPPER" && c >= 'a' && c <= 'z') c = char(c - 32);
  }
  return s;
}
BoundNode normalised(const Node& n) {
  const std::string action = n.text("case_change_action", "NONE");
  const bool sensitive = n.flag("is_case_sensitive");
  const Texts given = n.texts("stopwords");
  std::set<std::string> stop;
  for (const std::string& s : given) stop.insert(sensitive ? s : with_case(s, "LOWER"));
  return [=](const Operands& x) -> Results {
    const Text& t = x.text(0);
    if (t.shape.size() != 1 && (t.shape.size() != 2 || t.shape[0] != 1))
      throw ShapeError("StringNormalizer: expected [C] or [1, C], got " + t.shape.str());
    Text out{t.shape, {}};
    for (const std::string& s : t.items)
      if (!stop.count(sensitive ? s : with_case(s, "LOWER")))
        out.items.push_back(action == "NONE" ? s : with_case(s, action));
    if (out.items.empty()) out.items.emplace_back();
    out.shape.back() = std::int64_t(out.items.size());
    return Value(std::move(out));
  };
}

// How often each n-gram of a pool occurs in a row; the words of one may be some positions apart.
struct Grams {
  std::int64_t shortest, longest, skips, width = 0;
  std::string mode;
  std::map<Texts, std::int64_t> columns;
  std::vector<double> weights;

  explicit Grams(const Node& n)
      : shortest(n.integer("min_gram_length")),
        longest(n.integer("max_gram_length")),
        skips(n.integer("max_skip_count")),
        mode(n.text("mode", "TF")),
        weights(n.reals("weights")) {
    Texts pool = n.texts("pool_strings");
    for (std::int64_t i : n.integers("pool_int64s")) pool.push_back(std::to_string(i));
    const std::vector<std::int64_t> starts = n.integers("ngram_counts"), places = n.integers("ngram_indexes");
    std::size_t id = 0;
    for (std::size_t k = 0; k < starts.size(); ++k) {
      const std::int64_t end = k + 1 < starts.size() ? starts[k + 1] : std::int64_t(pool.size()),
                         size = std::int64_t(k) + 1;
      for (std::int64_t i = starts[k]; i >= 0 && i + size <= std::min(end, std::int64_t(pool.size())); i += size, ++id)
        if (id < places.size()) columns[Texts(pool.begin() + i, pool.begin() + i + size)] = places[id];
        else refuse(n.op, "a column for each n-gram", std::to_string(places.size()) + " columns");
    }
    for (std::int64_t p : places) width = std::max(width, p + 1);
    if (shortest < 1 || longest < shortest || skips < 0 || width < 1 || width > 1 << 24 ||
        *std::min_element(places.begin(), places.end()) < 0)
      refuse(n.op, "lengths from 1 on and places of columns", std::to_string(width));
    if (!weights.empty() && std::int64_t(weights.size()) < width)
      refuse(n.op, "a weight per column", std::to_string(weights.size()));
  }

  void count(const Texts& row, float* to) const {
    const auto n = std::int64_t(row.size());
    for (std::int64_t size = shortest; size <= std::min(longest, n); ++size)
      for (std::int64_t step = 1; step <= (size == 1 ? 1 : std::min(skips, n) + 1); ++step)
        for (std::int64_t from = 0; from + (size - 1) * step < n; ++from) {
          Texts gram;
          for (std::int64_t k = 0; k < size; ++k) gram.push_back(row[std::size_t(from + k * step)]);
          if (const auto at = columns.find(gram); at != columns.end()) ++to[at->second];
        }
    if (mode == "TF") return;
    for (std::int64_t i = 0; i < width; ++i) {
      const double w = weights.empty() ? 1 : weights[std::size_t(i)];
      to[i] = float(w * (mode == "IDF" ? double(to[i] > 0) : double(to[i])));
    }
  }
  Results operator()(const Operands& x) const {
    Shape shape = x.value(0).shape();
    Texts words;
    if (x.value(0).text) words = x.text(0).items;
    else
      for (std::int64_t i : integers_of(x[0])) words.push_back(std::to_string(i));
    if (shape.size() > 2) throw ShapeError("TfIdfVectorizer: expected [C] or [N, C], got " + shape.str());
    const std::int64_t rows = shape.size() == 2 ? shape[0] : 1, length = rows ? std::int64_t(words.size()) / rows : 0;
    Tensor out = zeros(shape.size() == 2 ? Shape{rows, width} : Shape{width}, {float32, Device(), false});
    for (std::int64_t r = 0; r < rows; ++r)
      count(Texts(words.begin() + r * length, words.begin() + (r + 1) * length), out.data<float>() + r * width);
    return out;
  }
};
BoundNode grams(const Node& n) { return Grams(n); }

// Keys as texts or as numbers; what is not among them becomes the default.
std::vector<double> numbers_of(const Node& n, const std::string& what) {
  std::vector<double> out = n.reals(what + "_floats");
  for (std::int64_t i : n.integers(what + "_int64s")) out.push_back(double(i));
  if (n.has(what + "_tensor") && n.tensor(what + "_tensor").tensor) out = reals_of(n.tensor(what + "_tensor").tensor);
  return out;
}
Texts texts_of(const Node& n, const std::string& what) {
  Texts out = n.texts(what + "_strings");
  if (n.has(what + "_tensor") && n.tensor(what + "_tensor").text) out = n.tensor(what + "_tensor").text->items;
  return out;
}
BoundNode looked_up(const Node& n) {
  const Texts text_keys = texts_of(n, "keys"), text_values = texts_of(n, "values");
  const std::vector<double> keys = numbers_of(n, "keys"), values = numbers_of(n, "values");
  Value otherwise;  // of the values' type
  DType dtype = n.has("values_floats") ? float32 : int64;
  double missing = n.has("values_floats") ? n.real("default_float", -0.0) : double(n.integer("default_int64", -1));
  if (n.has("values_tensor") && text_values.empty()) dtype = n.tensor("values_tensor").tensor.dtype();
  Texts missing_text{n.text("default_string", "_Unused")};
  if (n.has("default_tensor")) {
    const Value v = n.tensor("default_tensor");
    if (v.shape().numel() != 1) refuse(n.op, "a default_tensor of one element", v.str());
    if (v.text) missing_text = v.text->items;
    else missing = reals_of(v.tensor)[0];
  }
  const std::size_t count = std::max(keys.size(), text_keys.size());
  if (count == 0 || count != std::max(values.size(), text_values.size()))
    refuse(n.op, "as many values as keys", std::to_string(count) + " keys");
  return [=](const Operands& x) -> Results {
    const bool by_text = !text_keys.empty();
    const std::vector<double> given = by_text ? std::vector<double>() : reals_of(x[0]);
    const std::size_t all = by_text ? x.text(0).items.size() : given.size();
    Text texts{x.value(0).shape(), {}};
    std::vector<double> numbers;
    for (std::size_t i = 0; i < all; ++i) {
      std::size_t k = 0;
      while (k < count && !(by_text ? text_keys[k] == x.text(0).items[i]
                                    : keys[k] == given[i] || (std::isnan(keys[k]) && std::isnan(given[i]))))
        ++k;
      if (!text_values.empty()) texts.items.push_back(k < count ? text_values[k] : missing_text[0]);
      else numbers.push_back(k < count ? values[k] : missing);
    }
    if (!text_values.empty()) return Value(std::move(texts));
    return tensor(numbers, texts.shape, {float64, Device(), false}).to(dtype);
  };
}
BoundNode binarised(const Node& n) {
  const double at = n.real("threshold", 0);
  return [at](const Operands& x) -> Results { return gt(x[0], at).to(x[0].dtype()); };
}
Results columns(const Operands& x) {
  const Tensor t = x[0].dim() == 1 ? x[0].unsqueeze(0) : x[0], at = x[1].to(int64);
  return index_select(t, t.dim() - 1, at.reshape({at.numel()}));
}

}  // namespace

std::span<const Operator> text_operators() {
  constexpr const char* ml = "ai.onnx.ml";
  constexpr Types any = Types::any, plain = Types::plain;
  constexpr Folding never = Folding::never;
  static const Operator rows[] = {
      {"StringConcat", 20, kNewest, concatenated, any, never},
      {"StringSplit", 20, kNewest, split_up, any, never},
      {"RegexFullMatch", 20, kNewest, full_match, any, never},
      {"StringNormalizer", 10, kNewest, normalised, any, never},
      {"TfIdfVectorizer", 9, kNewest, grams, plain, never},
      {"LabelEncoder", 2, kNewest, looked_up, plain, never, ml},
      {"Binarizer", 1, kNewest, binarised, plain, never, ml},
      {"ArrayFeatureExtractor", 1, kNewest, columns, plain, never, ml},
  };
  return rows;
}

}  // namespace neura::onnx

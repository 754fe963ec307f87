#include "neura/ops/product/einsum.h"

#include <algorithm>
#include <string>
#include <vector>

#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/product/matmul_ops.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

// A label is a letter (A-Z: 0-25, a-z: 26-51, the order of an implicit result) or, from 52 on, a dimension of an
// ellipsis, counted so that the last dimensions of all ellipses are the same label.
using Labels = std::vector<int>;
constexpr int kLetters = 52, kAllLabels = kLetters + kMaxRank;

struct Term {  // a tensor whose dimensions are labels, each at most once
  Tensor tensor;
  Labels labels;

  bool has(int label) const { return find(label) >= 0; }
  int find(int label) const {
    const auto at = std::find(labels.begin(), labels.end(), label);
    return at == labels.end() ? -1 : int(at - labels.begin());
  }
  std::int64_t size(int label) const { return tensor.size(find(label)); }
  void drop(int label) {  // a dimension of size 1
    const int d = find(label);
    tensor = squeeze(tensor, d), labels.erase(labels.begin() + d);
  }
  void sum(const Labels& gone) {
    if (gone.empty()) return;
    Dims dims;
    Labels left;
    for (std::size_t d = 0; d < labels.size(); ++d) {
      if (std::find(gone.begin(), gone.end(), labels[d]) != gone.end()) dims.push_back(std::int64_t(d));
      else left.push_back(labels[d]);
    }
    tensor = tensor.sum(dims), labels = left;
  }
  void order(const Labels& wanted) {  // the same labels, in this order
    Dims dims;
    for (int label : wanted) dims.push_back(find(label));
    if (!std::is_sorted(dims.begin(), dims.end())) tensor = permute(tensor, dims);
    labels = wanted;
  }
};

struct Equation {
  std::vector<std::string> inputs;  // letters, and a dot for an ellipsis
  std::string output;
  bool explicit_output = false;
};

[[noreturn]] void malformed(std::string_view equation, const std::string& why) {
  throw ValueError("einsum: " + why + " in \"" + std::string(equation) + "\"");
}

Equation parse(std::string_view text) {
  Equation e;
  std::string term;
  bool in_output = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      term += c;
    } else if (c == '.') {
      if (text.substr(i, 3) != "...") malformed(text, "expected three dots");
      if (term.find('.') != std::string::npos) malformed(text, "expected at most one \"...\" in a term");
      term += '.', i += 2;
    } else if (c == ',' && !in_output) {
      e.inputs.push_back(term), term.clear();
    } else if (c == '-' && !in_output && i + 1 < text.size() && text[i + 1] == '>') {
      e.inputs.push_back(term), term.clear();
      in_output = e.explicit_output = true, ++i;
    } else {
      malformed(text, std::string("expected letters, \"...\", \",\" and one \"->\", got '") + c + "'");
    }
  }
  if (in_output) e.output = term;
  else e.inputs.push_back(term);
  return e;
}

int label_of(char c) { return c <= 'Z' ? c - 'A' : c - 'a' + 26; }
std::string name_of(int label) {
  return label < 26         ? std::string(1, char('A' + label))
         : label < kLetters ? std::string(1, char('a' + label - 26))
                            : "...";
}

// An operand with its labels; of a label that comes twice, the diagonal.
Term make_term(std::string_view equation, const std::string& letters, const Tensor& tensor) {
  const bool ellipsis = letters.find('.') != std::string::npos;
  const int named = int(letters.size()) - int(ellipsis), hidden = tensor.dim() - named;
  check<ShapeError>(ellipsis ? hidden >= 0 : hidden == 0, [&] {
    return "einsum: expected an operand of " + std::to_string(named) +
           (ellipsis ? " dimensions or more" : " dimensions") + " for \"" +
           (ellipsis ? letters.substr(0, letters.find('.')) + "..." + letters.substr(letters.find('.') + 1) : letters) +
           "\" in \"" + std::string(equation) + "\", got " + tensor.spec().str();
  });
  Labels all;
  for (char c : letters) {
    if (c != '.') all.push_back(label_of(c));
    else
      for (int i = 0; i < hidden; ++i) all.push_back(kAllLabels - hidden + i);
  }
  Term t{tensor, {}};
  for (int label : all) {
    const int first = t.find(label), next = int(t.labels.size());
    if (first < 0) {
      t.labels.push_back(label);
      continue;
    }
    check<ShapeError>(t.tensor.size(first) == t.tensor.size(next), [&] {
      return "einsum: expected one size for " + name_of(label) + ", which one operand has twice, got " +
             tensor.spec().str();
    });
    t.tensor = movedim(diagonal(t.tensor, 0, first, next), -1, first);
  }
  return t;
}

Labels output_labels(std::string_view equation, const Equation& e, const std::vector<Term>& terms) {
  int seen[kAllLabels] = {};
  for (const std::string& letters : e.inputs)
    for (char c : letters)
      if (c != '.') ++seen[label_of(c)];
  Labels hidden, result;
  for (int label = kLetters; label < kAllLabels; ++label)
    if (std::any_of(terms.begin(), terms.end(), [&](const Term& t) { return t.has(label); })) hidden.push_back(label);
  if (!e.explicit_output) {
    result = hidden;
    for (int label = 0; label < kLetters; ++label)
      if (seen[label] == 1) result.push_back(label);
    return result;
  }
  for (char c : e.output) {
    if (c == '.') {
      result.insert(result.end(), hidden.begin(), hidden.end());
      continue;
    }
    if (std::count(e.output.begin(), e.output.end(), c) > 1)
      malformed(equation, std::string("the result has ") + c + " twice");
    if (!seen[label_of(c)]) malformed(equation, std::string("the result has ") + c + ", which no operand has");
    result.push_back(label_of(c));
  }
  return result;
}

// Sizes of one label must agree, or be 1.
void check_sizes(const std::vector<Term>& terms) {
  std::int64_t sizes[kAllLabels];
  std::fill_n(sizes, kAllLabels, 1);
  for (const Term& t : terms)
    for (int label : t.labels) {
      const std::int64_t size = t.size(label);
      check<ShapeError>(size == 1 || sizes[label] == 1 || sizes[label] == size, [&] {
        return "einsum: expected one size for " + name_of(label) + ", got " + std::to_string(sizes[label]) + " and " +
               std::to_string(size) + " (" + t.tensor.spec().str() + ")";
      });
      if (size != 1) sizes[label] = size;
    }
}

Tensor with_labels(Term t, const Labels& wanted) {  // a dimension of size 1 for each label that it has not
  Labels own;
  for (int label : wanted)
    if (t.has(label)) own.push_back(label);
  t.order(own);
  for (std::size_t d = 0; d < wanted.size(); ++d)
    if (!t.has(wanted[d])) t.tensor = unsqueeze(t.tensor, int(d));
  return t.tensor;
}

// The product of two terms, summed over the labels that are not kept.
template <class Keep> Term contract(Term a, Term b, Keep keep) {
  for (int label : Labels(a.labels))  // a size of 1 broadcasts: the label counts as the other operand's alone
    if (b.has(label) && a.size(label) != b.size(label)) (a.size(label) == 1 ? a : b).drop(label);
  Labels batch, left, right, inner, gone_a, gone_b;
  for (int label : a.labels) {
    if (b.has(label)) (keep(label) ? batch : inner).push_back(label);
    else (keep(label) ? left : gone_a).push_back(label);
  }
  for (int label : b.labels)
    if (!a.has(label)) (keep(label) ? right : gone_b).push_back(label);
  a.sum(gone_a), b.sum(gone_b);
  Labels result = batch;
  result.insert(result.end(), left.begin(), left.end()), result.insert(result.end(), right.begin(), right.end());
  if (inner.empty()) return {mul(with_labels(a, result), with_labels(b, result)), result};

  Shape shape;
  std::int64_t sizes[4] = {1, 1, 1, 1};
  const Labels* const groups[] = {&batch, &left, &right, &inner};
  for (int i = 0; i < 4; ++i)
    for (int label : *groups[i]) {
      const std::int64_t size = a.has(label) ? a.size(label) : b.size(label);
      sizes[i] *= size;
      if (i < 3) shape.push_back(size);
    }
  Labels order_a = batch, order_b = batch;
  order_a.insert(order_a.end(), left.begin(), left.end()), order_a.insert(order_a.end(), inner.begin(), inner.end());
  order_b.insert(order_b.end(), inner.begin(), inner.end()), order_b.insert(order_b.end(), right.begin(), right.end());
  a.order(order_a), b.order(order_b);
  const Tensor x = reshape(a.tensor, {sizes[0], sizes[1], sizes[3]}),
               y = reshape(b.tensor, {sizes[0], sizes[3], sizes[2]});
  return {reshape(apply(MatmulOp{}, x, y), shape), result};
}

}  // namespace

Tensor einsum(std::string_view equation, std::span<const Tensor> operands) {
  if (const amp::CastScope cast{amp::Name::einsum, operands}) return einsum(equation, cast(operands));
  const Equation e = parse(equation);
  check<ValueError>(!operands.empty() && e.inputs.size() == operands.size(), [&] {
    return "einsum: expected " + std::to_string(e.inputs.size()) + " operands for \"" + std::string(equation) +
           "\", got " + std::to_string(operands.size());
  });
  std::vector<Term> terms;
  for (std::size_t i = 0; i < operands.size(); ++i) terms.push_back(make_term(equation, e.inputs[i], operands[i]));
  check_sizes(terms);
  const Labels output = output_labels(equation, e, terms);
  const auto in_output = [&](int label) { return std::find(output.begin(), output.end(), label) != output.end(); };
  Term result = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i)
    result = contract(result, terms[i], [&](int label) {
      return in_output(label) || std::any_of(terms.begin() + std::ptrdiff_t(i) + 1, terms.end(),
                                             [&](const Term& t) { return t.has(label); });
    });
  Labels gone;
  for (int label : result.labels)
    if (!in_output(label)) gone.push_back(label);
  result.sum(gone), result.order(output);
  return result.tensor;
}
Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands) {
  return einsum(equation, std::span<const Tensor>(operands.begin(), operands.size()));
}

}  // namespace neura

// Sequences and optionals.
#include "neura/onnx/operators.h"
#include "neura/ops/create/create.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"

namespace neura::onnx {
namespace {

std::size_t place(const Sequence& s, std::int64_t at, bool behind_last) {
  const auto n = std::int64_t(s.size());
  const std::int64_t i = at < 0 ? at + n : at;
  check<IndexError>(i >= 0 && i < n + (behind_last ? 1 : 0), [&] {
    return "expected a position within a sequence of " + std::to_string(n) + ", got " + std::to_string(at);
  });
  return std::size_t(i);
}
Results constructed(const Operands& x) { return Value(Sequence(x.values().begin(), x.values().end())); }
Results inserted(const Operands& x) {
  Sequence s = x.sequence(0);
  const std::size_t at = x.has(2) ? place(s, x.integer(2), true) : s.size();
  s.insert(s.begin() + std::ptrdiff_t(at), x.value(1));
  return Value(std::move(s));
}
Results erased(const Operands& x) {
  Sequence s = x.sequence(0);
  const std::size_t at = place(s, x.has(1) ? x.integer(1) : -1, false);
  s.erase(s.begin() + std::ptrdiff_t(at));
  return Value(std::move(s));
}
Results element(const Operands& x) { return x.sequence(0)[place(x.sequence(0), x.integer(1), false)]; }
Results length(const Operands& x) {
  return integers(std::vector<std::int64_t>{std::int64_t(x.sequence(0).size())}).squeeze();
}

BoundNode split_up(const Node& n) {
  const std::int64_t axis = n.integer("axis", 0);
  const bool keep = n.flag("keepdims", true);
  return [=](const Operands& x) -> Results {
    const Tensor t = x[0];
    const int dim = axis_of("SplitToSequence", axis, t.dim());
    std::vector<Tensor> parts;
    if (!x.has(1)) parts = split(t, 1, dim);
    else if (x[1].dim() == 0) parts = split(t, x.integer(1), dim);
    else parts = split(t, x.integers(1), dim);
    Sequence s;
    for (const Tensor& p : parts) s.push_back(Value(keep || x.has(1) ? p : squeeze(p, dim), x.type(0)));
    return Value(std::move(s));
  };
}
BoundNode joined(const Node& n) {
  const std::int64_t axis = n.integer("axis");
  const bool fresh = n.flag("new_axis");
  return [=](const Operands& x) -> Results {
    std::vector<Tensor> parts;
    for (const Value& v : x.sequence(0)) {
      if (!v.tensor) refuse("ConcatFromSequence", "tensors", v.str());
      parts.push_back(v.tensor);
    }
    if (parts.empty()) refuse("ConcatFromSequence", "at least one tensor", "none");
    const int dim = axis_of("ConcatFromSequence", axis, parts[0].dim() + (fresh ? 1 : 0));
    return Value(fresh ? stack(parts, dim) : cat(parts, dim), x.sequence(0)[0].type);
  };
}

Results has_element(const Operands& x) { return full({}, x.has(0), {boolean, Device(), false}); }
Results optional(const Operands& x) { return x.has(0) ? Results(x.value(0)) : Results(Value()); }

}  // namespace

std::span<const Operator> sequence_operators() {
  constexpr Types any = Types::any;
  constexpr Folding never = Folding::never;
  static const Operator rows[] = {
      {"SequenceEmpty", 11, kNewest, AS(Value(Sequence())), any, never},
      {"SequenceConstruct", 11, kNewest, constructed, any, never},
      {"SequenceInsert", 11, kNewest, inserted, any, never},
      {"SequenceErase", 11, kNewest, erased, any, never},
      {"SequenceAt", 11, kNewest, element, any, never},
      {"SequenceLength", 11, kNewest, length, any, never},
      {"SplitToSequence", 11, kNewest, split_up, any, never},
      {"ConcatFromSequence", 11, kNewest, joined, any, never},
      {"Optional", 15, kNewest, optional, any, never},
      {"OptionalHasElement", 15, kNewest, has_element, any, never},
      {"OptionalGetElement", 15, kNewest, AS(x.value(0)), any, never},
  };
  return rows;
}

}  // namespace neura::onnx

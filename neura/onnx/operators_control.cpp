// Graphs inside of graphs, as loops of C++.
#include <algorithm>

#include "neura/onnx/operators.h"
#include "neura/op/defer.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/expect.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"

namespace neura::onnx {
namespace {

bool truth(const Value& v) {
  if (v.type != Type::boolean || !v.tensor || v.tensor.numel() != 1) refuse("condition", "a bool", v.str());
  check<NotImplementedError>(v.host || !v.tensor.device().is_cpu() || host_looks(v.tensor), [] {
    return "expected a condition that follows from constants and sizes alone where a model is written or compiled, got "
           "one of data: what is written goes one way; run the model as it is, or take the branch out of it";
  });
  const Untraced alone(v.host);
  return integers_of(v.tensor)[0] != 0;
}
// A number that a loop counts.
Value counted(const Tensor& t) {
  Value v(t);
  v.host = true;
  return v;
}

BoundNode branched(const Node& n) {
  return [yes = n.graph("then_branch"), no = n.graph("else_branch")](const Operands& x) {
    return (truth(x.value(0)) ? yes : no)({}, x);
  };
}

// Of no steps, what a loop collects is empty: its type and the sizes of a step are as the body declares them.
Value nothing_collected(const ValueInfoProto& declared) {
  Shape shape{0};
  Type type = Type::float32;
  if (declared.type && declared.type->tensor_type) {
    const TensorTypeProto& t = *declared.type->tensor_type;
    if (t.elem_type) type = Type(t.elem_type);
    if (t.shape)
      for (const DimensionProto& d : t.shape->dim) shape.push_back(std::max<std::int64_t>(0, d.dim_value.value_or(0)));
  }
  return {zeros(shape, {dtype_for(type), Device(), false}), type};
}
// What a loop collects of each step, as one tensor.
Value collected(const std::vector<Value>& steps, const ValueInfoProto& declared, int axis = 0) {
  if (steps.empty()) return nothing_collected(declared);
  std::vector<Tensor> tensors;
  for (const Value& v : steps) {
    if (!v.tensor) refuse("loop", "tensors to collect", v.str());
    tensors.push_back(v.tensor);
  }
  return {stack(tensors, axis_of("loop", axis, tensors[0].dim() + 1)), steps[0].type};
}

// The body gets the iteration, the condition and the carried values; it returns the condition, these, and what is
// collected.
BoundNode looped(const Node& n) {
  const Branch body = n.graph("body");
  if (n.inputs < 2) refuse("Loop", "a count, a condition and carried values", std::to_string(n.inputs) + " operands");
  const std::size_t carried = n.inputs - 2;
  if (body.outputs < 1 + carried || body.inputs != 2 + carried)
    refuse("Loop", "a body of the iteration, a condition and the carried values", "another");
  return [=](const Operands& x) {
    const std::int64_t most = x.has(0) ? x.integer(0) : INT64_MAX;
    bool go = !x.has(1) || truth(x.value(1));
    const auto first = x.values().begin() + 2;
    std::vector<Value> state(first, first + std::ptrdiff_t(carried));
    std::vector<std::vector<Value>> steps(body.outputs - 1 - carried);
    for (std::int64_t i = 0; i < most && go; ++i) {
      Results given = [i] {
        const Untraced alone;
        return Results{counted(integers(std::vector<std::int64_t>{i}).squeeze()),
                       counted(full({}, true, {boolean, Device(), false}))};
      }();
      given.insert(given.end(), state.begin(), state.end());
      Results out = body(std::move(given), x);
      go = truth(out[0]);
      for (std::size_t k = 0; k < carried; ++k) state[k] = std::move(out[1 + k]);
      for (std::size_t k = 0; k < steps.size(); ++k) steps[k].push_back(std::move(out[1 + carried + k]));
    }
    Results results(state.begin(), state.end());
    for (std::size_t k = 0; k < steps.size(); ++k)
      results.push_back(collected(steps[k], body.declared[1 + carried + k]));
    return results;
  };
}

struct Scanned {
  Branch body;
  std::size_t inputs;  // that are scanned
  std::vector<std::int64_t> in_axes, in_directions, out_axes, out_directions;
  std::int64_t or_zero(const std::vector<std::int64_t>& v, std::size_t i) const { return i < v.size() ? v[i] : 0; }

  Results operator()(const Operands& x, std::size_t total) const {
    const std::size_t states = total - inputs, outputs = body.outputs - states;
    std::vector<Value> state(x.values().begin(), x.values().begin() + std::ptrdiff_t(states));
    std::vector<std::vector<Tensor>> pieces(inputs);
    for (std::size_t k = 0; k < inputs; ++k) {
      const Tensor t = x[states + k];
      pieces[k] = unbind(t, axis_of("Scan", or_zero(in_axes, k), t.dim()));
      if (pieces[k].size() != pieces[0].size()) refuse("Scan", "inputs of equal length", "others");
    }
    const std::size_t length = pieces.empty() ? 0 : pieces[0].size();
    std::vector<std::vector<Value>> steps(outputs);
    for (std::size_t i = 0; i < length; ++i) {
      Results given(state.begin(), state.end());
      for (std::size_t k = 0; k < inputs; ++k)
        given.push_back(Value(pieces[k][or_zero(in_directions, k) ? length - 1 - i : i], x.type(states + k)));
      Results out = body(std::move(given), x);
      for (std::size_t k = 0; k < states; ++k) state[k] = std::move(out[k]);
      for (std::size_t k = 0; k < outputs; ++k) steps[k].push_back(std::move(out[states + k]));
    }
    Results results(state.begin(), state.end());
    for (std::size_t k = 0; k < outputs; ++k) {
      if (or_zero(out_directions, k)) std::reverse(steps[k].begin(), steps[k].end());
      results.push_back(collected(steps[k], body.declared[states + k], int(or_zero(out_axes, k))));
    }
    return results;
  }
};
BoundNode scanned(const Node& n) {
  Scanned s{n.graph("body"),
            std::size_t(n.integer("num_scan_inputs")),
            n.integers("scan_input_axes"),
            n.integers("scan_input_directions"),
            n.integers("scan_output_axes"),
            n.integers("scan_output_directions")};
  const std::size_t total = n.inputs;
  if (s.inputs > total || s.inputs < 1 || s.body.inputs != total || s.body.outputs < total - s.inputs)
    refuse("Scan", "a body of the states and the scanned inputs", "another");
  return [s, total](const Operands& x) { return s(x, total); };
}
// Version 8: a first operand of lengths, and a batch in front, each of which is a scan of its own.
BoundNode scanned_in_batches(const Node& n) {
  Scanned s{n.graph("body"), std::size_t(n.integer("num_scan_inputs")), {}, n.integers("directions"), {}, {}};
  const std::size_t total = n.inputs - 1;
  if (n.inputs < 2 || s.inputs > total || s.inputs < 1 || s.body.inputs != total || s.body.outputs < total - s.inputs)
    refuse("Scan", "a body of the states and the scanned inputs", "another");
  return [s, total](const Operands& x) {
    if (x.has(0)) throw NotImplementedError("Scan of version 8 with lengths of sequences is not implemented");
    std::vector<std::vector<Tensor>> parts;
    const std::int64_t batch = x[1].size(0);
    for (std::int64_t b = 0; b < batch; ++b) {
      std::vector<Value> given;
      for (std::size_t k = 0; k < total; ++k) given.push_back(Value(select(x[1 + k], 0, b)));
      for (std::size_t k = 1 + total; k < x.size(); ++k) given.push_back(x.values()[k]);
      Scanned one = s;
      one.body.first = total;
      const Results r = one(Operands(given, x.state()), total);
      parts.resize(r.size());
      for (std::size_t k = 0; k < r.size(); ++k) parts[k].push_back(r[k].tensor);
    }
    Results out;
    for (const auto& p : parts) out.push_back(stack(p));
    return out;
  };
}

// The body for each place of the sequences; what is no sequence stays the same.
BoundNode mapped(const Node& n) {
  const Branch body = n.graph("body");
  const std::size_t inputs = n.inputs;
  return [=](const Operands& x) {
    const std::size_t length = x.sequence(0).size();
    std::vector<Sequence> out(body.outputs);
    for (std::size_t i = 0; i < length; ++i) {
      Results given;
      for (std::size_t k = 0; k < inputs; ++k) {
        const Value& v = x.value(k);
        if (v.sequence && v.sequence->size() != length) refuse("SequenceMap", "sequences of equal length", v.str());
        given.push_back(v.sequence ? (*v.sequence)[i] : v);
      }
      const Results r = body(std::move(given), x);
      for (std::size_t k = 0; k < out.size(); ++k) out[k].push_back(r[k]);
    }
    Results results;
    for (Sequence& s : out) results.push_back(Value(std::move(s)));
    return results;
  };
}

}  // namespace

std::span<const Operator> control_operators() {
  constexpr Types any = Types::any;
  constexpr Folding never = Folding::never;
  static const Operator rows[] = {
      {"If", 1, kNewest, branched, any, never},         {"Loop", 1, kNewest, looped, any, never},
      {"Scan", 8, 8, scanned_in_batches, any, never},   {"Scan", 9, kNewest, scanned, any, never},
      {"SequenceMap", 17, kNewest, mapped, any, never},
  };
  return rows;
}

}  // namespace neura::onnx

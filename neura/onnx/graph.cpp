#include "neura/onnx/graph.h"

#include <algorithm>

#include "neura/onnx/located.h"
#include "neura/op/defer.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/reduce/reduce.h"

namespace neura::onnx {
namespace {

void check_types(const Operator& op, std::span<const Value> given) {
  for (const Value& v : given) {
    if (!v.tensor || !is_foreign(v.type)) continue;
    check<NotImplementedError>(op.types != Types::plain, [&] {
      return std::string("operands of type ") + name(v.type) + " are not implemented; cast them first";
    });
    if (op.types == Types::ordered && v.type == Type::uint64)
      check<NotImplementedError>(!any(lt(v.tensor, 0)).item<bool>(), [] {
        return "uint64 numbers of 2^63 and more are not implemented here; cast them to float64 first";
      });
  }
}

// Results take the foreign type of the operands, where the operator says so.
void give_types(const Operator& op, std::span<const Value> given, Results& results) {
  if (op.types != Types::same && op.types != Types::ordered) return;
  for (const Value& v : given) {
    if (!v.tensor || !is_foreign(v.type)) continue;
    for (Value& r : results) {
      if (!r.tensor || r.tensor.dtype() != v.tensor.dtype() || is_foreign(r.type)) continue;
      r = is_small_float(v.type) ? Value(r.tensor, v.type) : wrapped(r.tensor, v.type);
    }
    return;
  }
}

// Is it the size of a vector that could hold sizes?
bool fills_few(std::span<const Value> given) {
  constexpr std::int64_t kMostDims = 8;
  const Value& v = given[0];
  if (!v.tensor || !is_integral(v.tensor.dtype()) || v.tensor.numel() != 1 || v.tensor.dim() != 1) return false;
  const Untraced alone;
  return integers_of(v.tensor)[0] <= kMostDims;
}

bool is_host(const Step& step, std::span<const Value> given) {
  if (step.host == Host::never || step.host == Host::always) return step.host == Host::always;
  if (given.empty() || !std::all_of(given.begin(), given.end(), [](const Value& v) { return v.host || !v.present(); }))
    return false;
  return step.host == Host::follows || fills_few(given);
}

Results run_step(const Step& step, std::span<const Value> given, const State& state) {
  return located(step.where, [&] {
    if (step.op) check_types(*step.op, given);
    const bool host = is_host(step, given);
    const Untraced alone(host);
    Results results = step.call(Operands(given, state));
    for (Value& r : results) r.host = host;
    if (step.op) give_types(*step.op, given, results);
    check<ValueError>(results.size() >= step.out.size(), [&] {
      return "expected at most " + std::to_string(results.size()) + " outputs, got " + std::to_string(step.out.size()) +
             "; the model asks for what this operator does not return";
    });
    return results;
  });
}

}  // namespace

Results Graph::run(std::span<const Value> given, const State& state) const {
  check<ValueError>(given.size() == inputs.size(), [&] {
    return "onnx: expected " + std::to_string(inputs.size()) + " inputs of a graph, got " +
           std::to_string(given.size());
  });
  std::vector<Value> slot(static_cast<std::size_t>(slots));
  const auto at = [&](int i) -> Value& { return slot[static_cast<std::size_t>(i)]; };
  for (std::size_t i = 0; i < inputs.size(); ++i) at(inputs[i]) = given[i];
  for (const auto& [i, value] : constants) at(i) = value, at(i).host = true;
  for (const auto& [i, member] : members) {
    Value& v = at(i);
    v.tensor = state.owned[member];
    v.type = type_of(v.tensor.dtype());
  }
  std::vector<Value> operands;
  for (const Step& step : steps) {
    operands.clear();
    for (int i : step.in) operands.push_back(i < 0 ? Value() : at(i));
    Results results = run_step(step, operands, state);
    for (std::size_t i = 0; i < step.out.size(); ++i)
      if (step.out[i] >= 0) at(step.out[i]) = std::move(results[i]);
    for (int i : step.last) at(i) = Value();
  }
  Results out;
  for (int i : outputs) out.push_back(at(i));
  return out;
}

}  // namespace neura::onnx

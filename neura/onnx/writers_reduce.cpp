// Reductions, orders and running sums.
#include <cmath>

#include "neura/onnx/row_call.h"

namespace neura::onnx {
namespace {

// Axes are an operand from version 18 on (ReduceSum: 13), and an attribute before.
Term reduced(RowCall& c, const char* op, const Term& x, const std::vector<std::int64_t>& axes, bool keep) {
  const bool operand = c.to.opset >= 18 || std::string_view(op) == "ReduceSum";
  AttributeList a{attribute("keepdims", std::int64_t(keep))};
  if (axes.empty() || !operand) {  // without axes: all of them
    if (!axes.empty()) a.push_back(attribute("axes", axes));
    return {&c.to, c.to.add(op, {x.name}, a), x.dtype};
  }
  return {&c.to, c.to.add(op, {x.name, c.to.integers(axes)}, a), x.dtype};
}
Term folded(RowCall& c, const char* op, DType d) {
  Term x = c.in(0, d);
  const std::vector<std::int64_t> axes = c.bits("dims");
  if (axes.empty() && c.spec(0).rank) return x;  // of nothing
  return reduced(c, op, x, axes, c.integer("keepdim") != 0);
}
// The dtype that a reduction is done in: what runtimes take.
DType through(DType d) { return is_floating(d) || d == DType::int32 ? d : DType::int64; }
void write_sum(RowCall& c) { c.result(folded(c, "ReduceSum", through(c.out().dtype))); }
void write_mean(RowCall& c) { c.result(folded(c, "ReduceMean", c.out().dtype)); }
void write_prod(RowCall& c) { c.result(folded(c, "ReduceProd", through(c.out().dtype))); }
void write_amax(RowCall& c) { c.result(folded(c, "ReduceMax", through(c.out().dtype))); }
void write_amin(RowCall& c) { c.result(folded(c, "ReduceMin", through(c.out().dtype))); }
void truth(RowCall& c, const char* op) {
  const Term x{&c.to, c.in(0).cast(DType::boolean).cast(DType::int32).name, DType::int32};
  const std::vector<std::int64_t> axes = c.bits("dims");
  const Term y = axes.empty() && c.spec(0).rank ? x : reduced(c, op, x, axes, c.integer("keepdim") != 0);
  c.result(y.cast(DType::boolean));
}
void write_any(RowCall& c) { truth(c, "ReduceMax"); }
void write_all(RowCall& c) { truth(c, "ReduceMin"); }
void write_logsumexp(RowCall& c) { c.result(folded(c, "ReduceLogSumExp", c.out().dtype)); }
void write_norm(RowCall& c) {
  const double ord = c.real("ord");
  const Term given = c.in(0, c.out().dtype);
  const std::vector<std::int64_t> axes = c.bits("dims");
  const bool keep = c.integer("keepdim") != 0;
  if (ord == 2) return c.result(reduced(c, "ReduceL2", given, axes, keep));
  if (ord == 1) return c.result(reduced(c, "ReduceL1", given, axes, keep));
  const Term x = call("Abs", given);
  if (ord == HUGE_VAL) return c.result(reduced(c, "ReduceMax", x, axes, keep));
  if (ord == -HUGE_VAL) return c.result(reduced(c, "ReduceMin", x, axes, keep));
  if (ord == 0) {
    const Term none = compare("Equal", x, x.number(0));
    return c.result(reduced(c, "ReduceSum", where(none, x.number(0), x.number(1)), axes, keep));
  }
  const Term sum = reduced(c, "ReduceSum", call("Pow", x, x.number(ord)), axes, keep);
  c.result(call("Pow", sum, x.number(1 / ord)));
}

// Variance and mean.
Term variance(RowCall& c, Term& mean) {
  const DType d = wide(c.out().dtype);
  const Term x = c.in(0, d);
  const std::vector<std::int64_t> axes = c.bits("dims");
  const bool keep = c.integer("keepdim") != 0;
  const Term middle = reduced(c, "ReduceMean", x, axes, true), away = x - middle;
  mean = reduced(c, "ReduceMean", x, axes, keep);
  Term spread = reduced(c, "ReduceMean", away * away, axes, keep);
  const double correction = c.real("correction");
  if (correction == 0) return spread;
  std::int64_t n = 1;
  for (const std::int64_t a : axes) {
    if (!c.size(0, int(a)).fixed()) c.refuse("a dynamic size", "make that dimension fixed, or use correction = 0");
    n *= c.size(0, int(a)).value;
  }
  if (axes.empty()) n = c.spec(0).numel;
  return spread * (double(n) / (double(n) - correction));
}
void write_var(RowCall& c) {
  Term mean;
  c.result(variance(c, mean));
  c.result(mean, 1);
}
void write_std(RowCall& c) {
  Term mean;
  c.result(call("Sqrt", variance(c, mean)));
  c.result(mean, 1);
}

Term index_of_extreme(RowCall& c, const Term& x, bool largest) {
  const AttributeList a{attribute("axis", c.integer("dim")), attribute("keepdims", c.integer("keepdim"))};
  return {&c.to, c.to.add(largest ? "ArgMax" : "ArgMin", {x.name}, a), DType::int64};
}
Term with_dimension(RowCall& c) {  // a number is a vector of one
  Term x = c.in(0, through(c.spec(0).dtype));
  if (c.spec(0).rank) return x;
  return {&c.to, c.to.add("Reshape", {x.name, c.to.integers({1})}), x.dtype};
}
Term without_dimension(RowCall& c, const Term& x, std::size_t k) {
  if (c.spec(0).rank || c.out(k).rank) return x;
  return {&c.to, c.to.add("Reshape", {x.name, c.to.integers(std::vector<std::int64_t>{})}), x.dtype};
}
void write_argmax(RowCall& c) {
  c.result(without_dimension(c, index_of_extreme(c, with_dimension(c), c.integer("largest") != 0), 0));
}
void write_max(RowCall& c) {
  const bool largest = c.integer("largest") != 0;
  const Term x = with_dimension(c);
  const bool keep = c.integer("keepdim") != 0;
  c.result(without_dimension(c, reduced(c, largest ? "ReduceMax" : "ReduceMin", x, {c.integer("dim")}, keep), 0));
  if (c.wanted(1)) c.result(without_dimension(c, index_of_extreme(c, x, largest), 1), 1);
}
void write_topk(RowCall& c) {
  const Term x = c.in(0, through(c.spec(0).dtype));
  if (!c.spec(0).rank) c.refuse("a 0-d tensor", "reshape it to one dimension");
  const std::int64_t dim = c.integer("dim"), selection = c.integer("selection");
  if (selection > 1) c.refuse("another order", "sort and select");
  const Names r = c.to.add_many("TopK", {x.name, c.write_size().one(c.size("room"))},
                                {attribute("axis", dim), attribute("largest", selection)}, 2);
  c.result(Term{&c.to, r[0], x.dtype});
  c.result(r[1], 1);
}
void write_cumsum(RowCall& c) {
  const Term x = c.in(0, through(c.out().dtype));
  const std::string dim = c.to.number(c.integer("dim"), DType::int64);
  c.result(Term{&c.to, c.to.add("CumSum", {x.name, dim}, {attribute("reverse", c.integer("reverse"))}), x.dtype});
}

constexpr RowWriter kWriters[] = {
    {"sum", write_sum, "ReduceSum"},
    {"mean", write_mean, "ReduceMean"},
    {"prod", write_prod, "ReduceProd"},
    {"amax", write_amax, "ReduceMax"},
    {"amin", write_amin, "ReduceMin"},
    {"any", write_any, "ReduceMax"},
    {"all", write_all, "ReduceMin"},
    {"logsumexp", write_logsumexp, "ReduceLogSumExp"},
    {"norm", write_norm, "ReduceL1, ReduceL2, ReduceMax, ReduceMin, ReduceSum"},
    {"var", write_var, "ReduceMean"},
    {"std", write_std, "ReduceMean, Sqrt"},
    {"argmax", write_argmax, "ArgMax"},
    {"argmin", write_argmax, "ArgMin"},
    {"max", write_max, "ReduceMax, ArgMax"},
    {"min", write_max, "ReduceMin, ArgMin"},
    {"sort", write_topk, "TopK"},
    {"topk", write_topk, "TopK"},
    {"cumsum", write_cumsum, "CumSum"},
};

}  // namespace

std::span<const RowWriter> reduce_writers() { return kWriters; }

}  // namespace neura::onnx

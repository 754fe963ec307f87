// Reading and writing at indices.
#include "neura/backend/kernels/index.h"
#include "neura/onnx/row_call.h"
#include "neura/op/pointwise/rows.h"

namespace neura::onnx {
namespace {

AttributeList axis(std::int64_t dim) { return {attribute("axis", dim)}; }

bool is_call(const graph::Node* n, const Row& row) { return n && n->row == &row; }
// An index of which negative numbers were counted from the end: where(x < 0, x + size, x) is x, as ONNX counts so, too.
std::string counted(RowCall& c, std::size_t i) {
  if (!is_call(c.maker(i), rows::where)) return c.name(i);
  RowCall choice = c.made(i);
  if (!is_call(choice.maker(0), rows::lt) || !is_call(choice.maker(1), rows::add) || !choice.node.in[2].is_value())
    return c.name(i);
  const graph::ValueId x = choice.node.in[2].id;
  const graph::Node &less = *choice.maker(0), &sum = *choice.maker(1);
  const auto is_number = [](const graph::Arg& a, double v) {
    return a.kind == graph::Arg::number && a.scalar.real() == v;
  };
  const std::int64_t size = c.spec(0).rank ? c.size(0, int(c.integer("dim"))).value : 1;
  const bool same =
      less.in[0].id == x && sum.in[0].id == x && is_number(less.in[1], 0) && is_number(sum.in[1], double(size));
  return same ? choice.name(2) : c.name(i);
}

void write_embedding(RowCall& c) { c.result(c.to.add("Gather", {c.name(1), c.name(0)}, axis(0))); }
void write_index_select(RowCall& c) {
  if (!c.spec(0).rank) return c.result(c.in(0));
  const std::string index = c.spec(1).rank ? counted(c, 1) : c.to.add("Reshape", {counted(c, 1), c.to.integers({-1})});
  c.result(c.to.add("Gather", {c.name(0), index}, axis(c.integer("dim"))));
}
// Along other dimensions the index may be shorter.
void write_gather(RowCall& c) {
  const std::int64_t dim = c.integer("dim");
  if (!c.spec(0).rank) return c.result(c.in(0));
  std::string x = c.name(0);
  for (int d = 0; d < c.spec(0).rank; ++d) {
    const Size have = c.size(0, d), want = c.size(1, d);
    if (d == dim || (have.value == want.value && have.symbols == want.symbols)) continue;
    SizeWriter w = c.write_size();
    x = c.to.add("Slice", {x, c.to.integers({0}), w.one(want), c.to.integers({d}), c.to.integers({1})});
  }
  c.result(c.to.add("GatherElements", {x, counted(c, 1)}, axis(dim)));
}
void write_one_hot(RowCall& c) {
  const std::string values = c.to.integers({0, 1});
  c.result(c.to.add("OneHot", {c.in(0, DType::int64).name, c.to.integers({c.integer("classes")}), values}, axis(-1)));
}

// Coordinates as places in a tensor in order: ((a * size + b) * size + d) ...; negative ones count from the end.
void write_positions(RowCall& c) {
  const std::vector<Size> sizes = c.sizes("sizes");
  Term place;
  for (std::int64_t i = 0; i < c.integer("count"); ++i) {
    Term a = c.in(std::size_t(i), DType::int64);
    const Size& s = sizes[std::size_t(i)];
    const Term size = s.fixed() ? a.number(double(s.value)) : Term{&c.to, c.write_size().one(s), DType::int64};
    if (!s.fixed() && !c.out().rank) c.refuse("a dynamic size and one place", "index with a vector");
    a = where(compare("Less", a, a.number(0)), a + size, a);
    place = i ? place * size + a : a;
  }
  c.result(place);
}

// x with source at the indices along a dimension: one per element, or a vector of them.
void write_scatter(RowCall& c) {
  const std::int64_t dim = c.integer("dim"), mode = c.integer("put.mode");
  if (!c.has(0)) c.refuse("values that are written into zeros", "scatter into zeros() of that size");
  const char* const reductions[] = {"none", "add", "mul", "", "max", "min"};
  if (mode == ScatterReduce::mean || (mode != ScatterReduce::copy && !c.integer("put.include_self")))
    c.refuse("a mean, or without the old values", "use include_self = true and another reduction");
  if (mode > ScatterReduce::prod && c.to.opset < 18) c.refuse("amax or amin", "ask for an opset_version of 18 or more");
  if (mode != ScatterReduce::copy && c.to.opset < 16) c.refuse("a sum", "ask for an opset_version of 16 or more");
  if (!c.spec(0).rank) c.refuse("a 0-d tensor", "reshape it to one dimension");
  std::string index = counted(c, 1), source = c.in(2, c.spec(0).dtype).name;
  SizeWriter w = c.write_size();
  std::vector<Size> sizes = c.sizes(0);
  if (!c.integer("grid")) {
    sizes[std::size_t(dim)] = c.spec(1).rank ? c.size(1, 0) : Size{1};
    std::vector<std::int64_t> column(sizes.size(), 1);
    column[std::size_t(dim)] = -1;
    index = c.to.add("Expand", {c.to.add("Reshape", {index, c.to.integers(column)}), w.list(sizes)});
  } else {
    sizes = c.sizes(1);
  }
  const bool reaches_all = c.spec(2).rank == int(sizes.size()) && [&] {
    for (std::size_t d = 0; d < sizes.size(); ++d)
      if (c.spec(2).shape[d] != sizes[d].value) return false;
    return true;
  }();
  if (!reaches_all && c.spec(2).numel > 1 && c.integer("grid"))  // the part that the index reaches
    for (std::size_t d = 0; d < sizes.size(); ++d)
      source = c.to.add("Slice", {source, c.to.integers({0}), w.one(sizes[d]), c.to.integers({std::int64_t(d)})});
  else if (!reaches_all) source = c.to.add("Expand", {source, w.list(sizes)});
  AttributeList a = axis(dim);
  if (mode != ScatterReduce::copy) a.push_back(attribute("reduction", reductions[mode]));
  c.result(c.to.add("ScatterElements", {c.name(0), index, source}, a));
}

constexpr RowWriter kWriters[] = {
    {"embedding", write_embedding, "Gather"},
    {"index_select", write_index_select, "Gather"},
    {"gather", write_gather, "GatherElements"},
    {"positions_index", write_positions, "Mul, Add, Where"},
    {"positions_index_put", write_positions, "Mul, Add, Where"},
    {"positions_take", write_positions, "Mul, Add, Where"},
    {"positions_put", write_positions, "Mul, Add, Where"},
    {"positions_take_along_dim", write_positions, "Mul, Add, Where"},
    {"one_hot", write_one_hot, "OneHot"},
    {"scatter", write_scatter, "ScatterElements"},
    {"scatter_add", write_scatter, "ScatterElements"},
    {"scatter_reduce", write_scatter, "ScatterElements"},
    {"index_add", write_scatter, "ScatterElements"},
    {"index_copy", write_scatter, "ScatterElements"},
    {"index_fill", write_scatter, "ScatterElements"},
    {"index_put", write_scatter, "ScatterElements"},
    {"put", write_scatter, "ScatterElements"},
};

}  // namespace

std::span<const RowWriter> index_writers() { return kWriters; }

}  // namespace neura::onnx

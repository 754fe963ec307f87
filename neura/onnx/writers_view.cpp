// Views, copies, joining and filling.
#include <limits>
#include <optional>

#include "neura/onnx/row_call.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/struct_operations.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"

namespace neura::onnx {
namespace {

constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

std::string reshaped(RowCall& c, const std::string& x, const std::vector<Size>& to) {
  AttributeList a;
  for (const Size& s : to)
    if (s.fixed() && !s.value && c.to.opset >= 14) a = {attribute("allowzero", std::int64_t{1})};
  return c.to.add("Reshape", {x, c.write_size().shape(to)}, a);
}
void write_alias(RowCall& c) { c.result(c.in(0)); }  // the bytes elsewhere, or in another order
void write_permute(RowCall& c) {
  c.result(c.to.add("Transpose", {c.name(0)}, {attribute("perm", c.integers("dims"))}));
}
// The numbers of sizes that are fixed; nothing where one is not.
std::optional<std::vector<std::int64_t>> fixed(const std::vector<Size>& sizes) {
  std::vector<std::int64_t> all;
  for (const Size& s : sizes) {
    if (!s.fixed()) return {};
    all.push_back(s.value);
  }
  return all;
}
void write_view(RowCall& c) {
  const auto from = fixed(c.sizes(0)), to = fixed(c.out_sizes());
  c.result(from && to ? c.to.reshape(c.name(0), *from, *to) : reshaped(c, c.name(0), c.out_sizes()));
}
void write_expand(RowCall& c) { c.result(c.to.add("Expand", {c.name(0), c.write_size().list(c.out_sizes())})); }
// An index along a dimension; the last ones are counted from the end where the size is dynamic.
void write_select(RowCall& c) {
  const auto dim = c.integer("dim");
  const auto from = fixed(c.sizes(0)), to = fixed(c.out_sizes());
  if (from && to && (*from)[std::size_t(dim)] == 1) return c.result(c.to.reshape(c.name(0), *from, *to));
  const Size index = c.size("index"), size = c.size(0, int(dim));
  const std::string part = index.fixed() && size.fixed()
                               ? c.to.slice(c.name(0), dim, index.value, index.value + 1, size.value)
                               : c.to.add("Gather", {c.name(0), c.write_size().one(index)}, {attribute("axis", dim)});
  if (!from || !to) return c.result(c.to.add("Squeeze", {part, c.to.integers({dim})}));
  std::vector<std::int64_t> one = *from;
  one[std::size_t(dim)] = 1;
  c.result(c.to.reshape(part, one, *to));
}
std::string part(RowCall& c, const std::string& x, std::int64_t dim, const Size& start, const Size& end,
                 std::int64_t step) {
  SizeWriter w = c.write_size();
  return c.to.add("Slice", {x, w.one(start), w.one(end), c.to.integers({dim}), c.to.integers({step})});
}
void write_slice(RowCall& c) {
  const auto dim = c.integer("dim");
  if (c.integer("step") == 1 && c.size("start").fixed() && c.size("end").fixed() && c.size(0, int(dim)).fixed())
    return c.result(c.to.slice(c.name(0), dim, c.size("start").value, c.size("end").value, c.size(0, int(dim)).value));
  const Size end = c.size("end"), whole = c.size(0, int(dim));
  // To the end of a dimension of any size.
  const bool all = !whole.fixed() && end.known && end.symbols == whole.symbols && end.value == whole.value;
  c.result(part(c, c.name(0), dim, c.size("start"), all ? Size{kEnd} : end, c.integer("step")));
}
void write_flip(RowCall& c) {
  std::vector<std::int64_t> first, last, steps, dims = c.integers("dims");
  for (std::size_t i = 0; i < dims.size(); ++i) first.push_back(-1), last.push_back(-kEnd), steps.push_back(-1);
  if (dims.empty()) return c.result(c.in(0));
  GraphWriter& g = c.to;
  c.result(g.add("Slice", {c.name(0), g.integers(first), g.integers(last), g.integers(dims), g.integers(steps)}));
}
void write_roll(RowCall& c) {
  std::string x = c.name(0);
  const std::vector<std::int64_t> shifts = c.integers("shifts"), dims = c.integers("dims");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const Size size = c.size(0, int(dims[i]));
    if (!size.fixed()) c.refuse("a dynamic size", "make that dimension fixed");
    if (!size.value) continue;
    const std::int64_t at = ((-shifts[i]) % size.value + size.value) % size.value;
    if (!at) continue;
    const Size zero{}, middle{at}, end{kEnd};
    x = c.to.add("Concat", {part(c, x, dims[i], middle, end, 1), part(c, x, dims[i], zero, middle, 1)},
                 {attribute("axis", dims[i])});
  }
  c.result(x);
}
void write_triangle(RowCall& c) {
  DType d = c.spec(0).dtype;
  const DType through = is_floating(d) ? wide(d) : DType::int64;
  const Term x = c.in(0, through);
  const std::string k = c.to.constant(full({}, c.integer("diagonal"), {.dtype = DType::int64}));
  c.result(Term{&c.to, c.to.add("Trilu", {x.name, k}, {attribute("upper", c.integer("upper"))}), through});
}
void write_cat(RowCall& c) {
  Names parts;
  const auto dim = c.integer("dim");
  std::vector<Size> sizes;
  for (std::size_t i = 0; i < c.inputs(); ++i) {
    parts.push_back(c.in(i, c.out().dtype).name);
    if (c.spec(i).rank) sizes.push_back(c.size(i, int(dim)));
  }
  if (const auto lengths = fixed(sizes); lengths && lengths->size() == parts.size())
    return c.result(c.to.concat(parts, dim, *lengths));
  c.result(c.to.add("Concat", parts, {attribute("axis", c.integer("dim"))}));
}
void write_to(RowCall& c) { c.result(c.in(0)); }  // result() casts

// Filling and copying. A destination keeps its sizes and dtype.
Term filled(RowCall& c, Scalar value, DType dtype, const std::vector<Size>& sizes) {
  const std::string number = c.to.number(value, dtype);
  return {&c.to, c.to.add("Expand", {number, c.write_size().list(sizes)}), dtype};
}
void write_full(RowCall& c) { c.result(filled(c, c.scalar("value"), c.out().dtype, c.out_sizes())); }
void write_copy(RowCall& c) {
  const std::size_t source = c.inputs() - 1;
  const Term x = c.in(source, c.out().dtype);
  if (c.node.in[source].is_value() && c.spec(source).sizes() == c.out().sizes()) return c.result(x);
  c.result(c.to.add("Expand", {x.name, c.write_size().list(c.out_sizes())}));
}
void write_arange(RowCall& c) {
  if (c.out_sizes()[0].fixed())
    return c.result(
        c.to.constant(arange(c.scalar("start"), c.scalar("end"), c.scalar("step"), {.dtype = c.out().dtype})));
  if (!c.whole("start") || !c.whole("end") || !c.whole("step"))
    c.refuse("real bounds that follow a dynamic size", "use whole ones");
  const auto number = [&](const char* path) {
    const std::string size = c.write_size().one(c.size(path));
    return Term{&c.to, c.to.add("Squeeze", {size, c.to.integers({0})}), DType::int64}.name;
  };
  const Term range{&c.to, c.to.add("Range", {number("start"), number("end"), number("step")}), DType::int64};
  c.result(range);
}

// A window of a contiguous tensor is a choice of its elements.
Tensor places(const Spec& base, const Spec& view) {
  Tensor out = Tensor::empty(Spec::dense(DType::int64, view.sizes()));
  std::vector<std::int64_t> at(view.rank, 0);
  auto* to = out.data<std::int64_t>();
  for (std::int64_t i = 0; i < view.numel; ++i) {
    std::int64_t place = view.offset - base.offset;
    for (int d = 0; d < view.rank; ++d) place += at[std::size_t(d)] * view.strides[d];
    to[i] = place;
    for (int d = view.rank; d-- && ++at[std::size_t(d)] == view.shape[d];) at[std::size_t(d)] = 0;
  }
  return out;
}
std::string flat(RowCall& c, const std::string& x) { return c.to.add("Reshape", {x, c.to.integers({-1})}); }
// Base and window of a call on fixed sizes; the base is contiguous.
std::pair<Spec, Spec> window(RowCall& c) {
  const auto spec = [&](const std::string& path) {
    Spec s = Spec::dense(c.spec(0).dtype, shape_from(c.integers(path + ".shape")));
    const std::vector<std::int64_t> strides = c.integers(path + ".strides");
    std::copy(strides.begin(), strides.end(), s.strides);
    s.offset = c.integer(path + ".offset");
    s.finish();
    return s;
  };
  const Spec base = spec("base");
  if (!base.contiguous) c.refuse("memory in another order", "call contiguous() before");
  return {base, spec("view")};
}
// Elements of a contiguous tensor.
void choose(RowCall& c, const Tensor& at) {
  c.result(c.to.add("Gather", {flat(c, c.name(0)), c.to.constant(at)}, {attribute("axis", std::int64_t{0})}));
}
void write_window(RowCall& c) {
  const auto [base, view] = window(c);
  choose(c, places(base, view));
}
// A window that is a box within the base: how many elements are before and after it, the same in every trace.
bool is_box(RowCall& c, std::vector<std::int64_t>& pads) {
  for (std::size_t t = 0; t < c.traces(); ++t) {
    const auto base = c.seen("base.shape", t), strides = c.seen("base.strides", t), view = c.seen("view.shape", t);
    if (strides != c.seen("view.strides", t) || base.size() != view.size()) return false;
    std::int64_t offset = c.seen("view.offset", t)[0] - c.seen("base.offset", t)[0];
    std::vector<std::int64_t> before, after;
    for (std::size_t d = 0; d < base.size(); ++d) {
      if (strides[d] <= 0 || offset < 0) return false;
      before.push_back(offset / strides[d]), after.push_back(base[d] - view[d] - before[d]);
      offset %= strides[d];
      if (after[d] < 0) return false;
    }
    before.insert(before.end(), after.begin(), after.end());
    if (t && before != pads) return false;
    pads = before;
  }
  return true;
}
// Zeros with x in a window of them.
void write_sum_window(RowCall& c) {
  std::vector<std::int64_t> pads;
  if (is_box(c, pads)) return c.result(c.to.add("Pad", {c.name(0), c.to.integers(pads)}));
  const auto [base, view] = window(c);
  if (c.to.opset < 16) c.refuse("a window that is no box", "ask for an opset_version of 16 or more");
  const DType d = c.out().dtype;
  const std::string at = c.to.constant(reshape(places(base, view), {-1})),
                    none = c.to.constant(zeros({base.numel}, {.dtype = d}));
  const std::string all = c.to.add("ScatterElements", {none, at, flat(c, c.in(0, d).name)},
                                   {attribute("axis", std::int64_t{0}), attribute("reduction", "add")});
  c.result(reshaped(c, all, c.out_sizes()));
}
// The number that a tensor is filled with, if it is.
std::optional<Scalar> filler(RowCall& c, std::size_t i) {
  const graph::Node* by = c.maker(i);
  for (const Row* filled : {&operations::full(), &operations::zeros(), &operations::ones()})
    if (by && by->row == filled) return c.made(i).scalar("value");
  const Tensor known = c.constant(i);
  if (!known || !known.numel()) return {};
  const Scalar first = known.reshape({-1}).select(0, 0).item();
  return all(eq(known, first)).item<bool>() ? std::optional(first) : std::nullopt;
}
void write_put_window(RowCall& c) {
  std::vector<std::int64_t> pads;
  if (const auto value = c.has(1) ? filler(c, 0) : std::nullopt; value && is_box(c, pads))
    return c.result(
        c.to.add("Pad", {c.in(1, c.out().dtype).name, c.to.integers(pads), c.to.number(*value, c.out().dtype)}));
  const auto [whole, view] = window(c);
  const std::string at = c.to.constant(reshape(places(whole, view), {-1}));
  std::string values =
      c.has(1) ? flat(c, c.in(1, c.out().dtype).name) : c.to.constant(zeros({view.numel}, {.dtype = c.out().dtype}));
  const std::string all =
      c.to.add("ScatterElements", {flat(c, c.name(0)), at, values}, {attribute("axis", std::int64_t{0})});
  c.result(reshaped(c, all, c.out_sizes()));
}
// The place of each element; the sizes are fixed.
Tensor numbered(RowCall& c) {
  if (!fixed(c.sizes(0))) c.refuse("a dynamic size", "make that dimension fixed");
  return reshape(arange(0, c.spec(0).numel, 1, {.dtype = DType::int64}), c.spec(0).sizes());
}
void write_diagonal(RowCall& c) {
  const Tensor all = numbered(c);
  choose(c, diagonal(all, int(c.integer("offset")), int(c.integer("dim1")), int(c.integer("dim2"))));
}
void write_unfold(RowCall& c) {
  const Tensor all = numbered(c);
  choose(c, unfold(all, int(c.integer("dim")), c.integer("size"), c.integer("step")));
}

constexpr RowWriter kWriters[] = {
    {"permute", write_permute, "Transpose"},
    {"view", write_view, "Reshape"},
    {"expand", write_expand, "Expand"},
    {"select", write_select, "Gather, Squeeze"},
    {"unbind", write_select, "Gather, Squeeze"},
    {"slice", write_slice, "Slice"},
    {"split", write_slice, "Slice"},
    {"diagonal", write_diagonal, "Gather"},
    {"unfold", write_unfold, "Gather"},
    {"as_strided", write_window, "Gather"},
    {"strided_gather", write_window, "Gather"},
    {"strided_sum", write_sum_window, "Pad, ScatterElements"},
    {"strided_put", write_put_window, "ScatterElements"},
    {"flip", write_flip, "Slice"},
    {"roll", write_roll, "Slice, Concat"},
    {"tril", write_triangle, "Trilu", 14},
    {"triu", write_triangle, "Trilu", 14},
    {"cat", write_cat, "Concat"},
    {"to", write_to, "Cast"},
    {"to_device", write_alias, ""},
    {"lazy_clone", write_alias, ""},
    {"copy", write_copy, "Expand, Cast"},
    {"fill_", write_copy, "Expand, Cast"},
    {"masked_fill_", write_copy, "Expand, Cast"},
    {"put_", write_copy, "Expand, Cast"},
    {"masked_scatter_", write_copy, "Expand, Cast"},
    {"index_put_", write_copy, "Expand, Cast"},
    {"fill", write_full, "Expand"},
    {"zero", write_full, "Expand"},
    {"full", write_full, "Expand"},
    {"zeros", write_full, "Expand"},
    {"ones", write_full, "Expand"},
    {"full_like", write_full, "Expand"},
    {"zeros_like", write_full, "Expand"},
    {"ones_like", write_full, "Expand"},
    {"arange", write_arange, "Range"},
};

}  // namespace

std::span<const RowWriter> view_writers() { return kWriters; }

}  // namespace neura::onnx

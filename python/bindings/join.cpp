// Several tensors into one, and one into several.
#include "common.h"

namespace neura::python {
namespace {

using List = std::vector<Tensor>;
// f((a, b)) and f(a, b)
List listed(const nb::args& args, const char* op) {
  List l;
  if (args.size() == 1 && to_tensors(nb::handle(args[0]).ptr(), l)) return l;
  if (!to_tensors(args.ptr(), l)) throw nb::type_error((std::string(op) + ": expected tensors").c_str());
  return l;
}
template <List (*f)(const Tensor&, std::int64_t), List (*g)(const Tensor&, const std::vector<std::int64_t>&)>
void bind_split(const Names& n, const char* name) {
  n.both(
      name, [](const Tensor& x, std::int64_t sections) { return f(x, sections); }, "input"_a, "sections"_a);
  n.both(
      name, [](const Tensor& x, const std::vector<std::int64_t>& i) { return g(x, i); }, "input"_a, "indices"_a);
}
template <Tensor (*f)(const List&)> void bind_stack(const Names& n, const char* name) {
  n.function(
      name, [](const List& l) { return f(l); }, "tensors"_a);
}
template <Tensor (*f)(const Tensor&)> void bind_at_least(const Names& n, const char* name) {
  n.function(
      name, [](const Tensor& x) { return f(x); }, "input"_a);
  n.function(name, [name](nb::args args) {
    List l = listed(args, name);
    for (Tensor& t : l) t = f(t);
    return l;
  });
}

}  // namespace

void bind_join(const Names& n) {
  for (const char* name : {"cat", "concat", "concatenate"}) {
    n.function(name, &cat, "tensors"_a, "dim"_a = 0);
    n.function(name, &cat, "tensors"_a, "axis"_a);
  }
  n.function("stack", &stack, "tensors"_a, "dim"_a = 0);
  bind_stack<hstack>(n, "hstack"), bind_stack<vstack>(n, "vstack"), bind_stack<dstack>(n, "dstack");
  bind_stack<vstack>(n, "row_stack"), bind_stack<column_stack>(n, "column_stack");
  bind_at_least<atleast_1d>(n, "atleast_1d"), bind_at_least<atleast_2d>(n, "atleast_2d");
  bind_at_least<atleast_3d>(n, "atleast_3d");
  n.function("block_diag", [](nb::args a) { return block_diag(listed(a, "block_diag")); });
  n.function("cartesian_prod", [](nb::args a) { return cartesian_prod(listed(a, "cartesian_prod")); });
  n.function("broadcast_tensors", [](nb::args a) { return broadcast_tensors(listed(a, "broadcast_tensors")); });
  n.function(
      "meshgrid", [](nb::args a, const char* indexing) { return meshgrid(listed(a, "meshgrid"), indexing); },
      "tensors"_a, nb::kw_only(), "indexing"_a = "ij");
  n.function("combinations", &combinations, "input"_a, "r"_a = 2, "with_replacement"_a = false);
  n.both("unbind", &unbind, "input"_a, "dim"_a = 0);
  n.both("split", nb::overload_cast<const Tensor&, std::int64_t, int>(&split), "tensor"_a, "split_size"_a, "dim"_a = 0);
  n.both("split", nb::overload_cast<const Tensor&, const std::vector<std::int64_t>&, int>(&split), "tensor"_a,
         "split_size"_a, "dim"_a = 0);
  n.both("split_with_sizes", nb::overload_cast<const Tensor&, const std::vector<std::int64_t>&, int>(&split), "input"_a,
         "split_sizes"_a, "dim"_a = 0);
  n.both(
      "split_with_sizes_copy",
      [](const Tensor& x, const std::vector<std::int64_t>& sizes, int dim) {
        List parts = split(x, sizes, dim);
        for (Tensor& t : parts) t = clone(t);
        return parts;
      },
      "input"_a, "split_sizes"_a, "dim"_a = 0);
  n.both(
      "unbind_copy",
      [](const Tensor& x, int dim) {
        List parts = unbind(x, dim);
        for (Tensor& t : parts) t = clone(t);
        return parts;
      },
      "input"_a, "dim"_a = 0);
  n.both("unsafe_chunk", &chunk, "input"_a, "chunks"_a, "dim"_a = 0);
  n.both("unsafe_split", nb::overload_cast<const Tensor&, std::int64_t, int>(&split), "tensor"_a, "split_size"_a,
         "dim"_a = 0);
  n.both("chunk", &chunk, "input"_a, "chunks"_a, "dim"_a = 0);
  n.both("tensor_split", nb::overload_cast<const Tensor&, std::int64_t, int>(&tensor_split), "input"_a,
         "indices_or_sections"_a, "dim"_a = 0);
  n.both("tensor_split", nb::overload_cast<const Tensor&, const std::vector<std::int64_t>&, int>(&tensor_split),
         "input"_a, "indices_or_sections"_a, "dim"_a = 0);
  n.both(
      "tensor_split",
      [](const Tensor& x, const Tensor& where, int dim) {
        if (where.dim() == 0) return tensor_split(x, where.item<std::int64_t>(), dim);
        const Tensor w = where.to(DType::int64);
        return tensor_split(x, w.to_vector<std::int64_t>(), dim);
      },
      "input"_a, "indices_or_sections"_a, "dim"_a = 0);
  bind_split<hsplit, hsplit>(n, "hsplit"), bind_split<vsplit, vsplit>(n, "vsplit"),
      bind_split<dsplit, dsplit>(n, "dsplit");
}

}  // namespace neura::python

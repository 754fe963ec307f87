// Several tensors into one, and one into several.
#include "neura/ops/create/copy.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "neura/surface/list.h"

namespace neura::surface {
namespace {

using T = const Tensor&;

Tensors copies(Tensors parts) {
  for (Tensor& t : parts) t = neura::clone(t);
  return parts;
}
template <Tensor (*f)(T)> Value each(const Tensors& l) {
  if (l.size() == 1) return f(l[0]);
  Tensors made;
  for (T t : l) made.push_back(f(t));
  return made;
}
void add_joins(const List& s) {
  s.add("cat(tensors, dim=0)", &cat, function | out,
        "The tensors one after the other along dim; other sizes must agree. The dtype is the common one.")
      .alias("concat", "cat")
      .alias("concatenate", "cat");
  s.add("stack(tensors, dim=0)", &stack, function | out, "The tensors, all of one shape, along a new dimension dim.");
  s.add("hstack(tensors)", &hstack, function | out,
        "The tensors one after the other along dimension 1, 1-d ones along dimension 0.");
  s.add("vstack(tensors)", &vstack, function | out, "The tensors one below the other, 1-d ones as rows.")
      .alias("row_stack", "vstack");
  s.add("dstack(tensors)", &dstack, function | out, "The tensors stacked along dimension 2.");
  s.add("column_stack(tensors)", &column_stack, function | out, "The tensors side by side as columns of a matrix.");
  s.add(
      "block_diag(*tensors)", [](const Tensors& l) { return block_diag(l); }, function,
      "A matrix with these matrices along its diagonal, zeros elsewhere.");
  s.add(
      "cartesian_prod(*tensors)", [](const Tensors& l) { return cartesian_prod(l); }, function,
      "All combinations of one element of each 1-d tensor, as rows.");
  s.add(
      "broadcast_tensors(*tensors)", [](const Tensors& l) { return broadcast_tensors(l); }, function,
      "Views of the tensors, all expanded to their common shape. ShapeError if there is none.");
  s.add(
      "meshgrid(*tensors, indexing='ij')", [](const Tensors& l, const char* how) { return meshgrid(l, how); }, function,
      "The coordinates of a grid: for n 1-d tensors, n tensors of n dimensions. indexing 'ij' or 'xy'.");
  s.add("combinations(input, r=2, with_replacement=False)", &combinations, function,
        "All combinations of r elements of a 1-d tensor, as rows.");
  s.add("atleast_1d(*tensors)", &each<atleast_1d>, function, "Each tensor with at least one dimension.");
  s.add("atleast_2d(*tensors)", &each<atleast_2d>, function, "Each tensor with at least two dimensions.");
  s.add("atleast_3d(*tensors)", &each<atleast_3d>, function, "Each tensor with at least three dimensions.");
}

template <Tensors (*f)(T, std::int64_t), Tensors (*g)(T, const Integers&)>
void add_split(const List& s, const std::string& name, const char* text) {
  s.add((name + "(input, sections)").c_str(), f, both, text);
  s.add((name + "(input, indices)").c_str(), g, both);
}
void add_splits(const List& s) {
  s.add("unbind(input, dim=0)", &unbind, both, "Views of all indices along dim, which goes.");
  s.add("split(tensor, split_size, dim=0)", overload<T, std::int64_t, int>(&split), both,
        "Views of the parts along dim: of this size each, the last maybe smaller, or of these sizes.");
  s.add("split(tensor, split_size, dim=0)", overload<T, const Integers&, int>(&split), both);
  s.add("split_with_sizes(input, split_sizes, dim=0)", overload<T, const Integers&, int>(&split), both,
        "Views of the parts along dim of these sizes.");
  s.add(
      "split_with_sizes_copy(input, split_sizes, dim=0)",
      [](T x, const Integers& sizes, int dim) { return copies(split(x, sizes, dim)); }, both | out,
      "Copies of the parts along dim of these sizes.");
  s.add(
      "unbind_copy(input, dim=0)", [](T x, int dim) { return copies(unbind(x, dim)); }, both | out,
      "Copies of all indices along dim, which goes.");
  s.add("unsafe_chunk(input, chunks, dim=0)", &chunk, both, "chunk, as views that may be written in place one by one.");
  s.add("unsafe_split(tensor, split_size, dim=0)", overload<T, std::int64_t, int>(&split), both,
        "split, as views that may be written in place one by one.");
  s.add("chunk(input, chunks, dim=0)", &chunk, both,
        "Views of at most chunks equal parts along dim; the last may be smaller.");
  const char* tensor_split_of = "tensor_split(input, indices_or_sections, dim=0)";
  s.add(tensor_split_of, overload<T, std::int64_t, int>(&tensor_split), both,
        "Views of the parts along dim: this many nearly equal ones, or cut at these indices.");
  s.add(tensor_split_of, overload<T, const Integers&, int>(&tensor_split), both);
  s.add(
      tensor_split_of,
      [](T x, T where, int dim) {
        if (where.dim() == 0) return tensor_split(x, where.item<std::int64_t>(), dim);
        return tensor_split(x, where.to(DType::int64).to_vector<std::int64_t>(), dim);
      },
      both);
  add_split<hsplit, hsplit>(s, "hsplit",
                            "Views of the parts along dimension 1 (0 for 1-d): equal ones, or cut at these indices.");
  add_split<vsplit, vsplit>(s, "vsplit", "Views of the parts along dimension 0: equal ones, or cut at these indices.");
  add_split<dsplit, dsplit>(s, "dsplit", "Views of the parts along dimension 2: equal ones, or cut at these indices.");
}

}  // namespace

void add_join(std::deque<Function>& all) {
  const List s(all, "");
  add_joins(s);
  add_splits(s);
}

}  // namespace neura::surface

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
#include "neura/surface/entries.h"
#include "neura/tables/functions/join.def"
#include "neura/tables/functions/end.h"
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
  s.add("split(tensor, split_size, dim=0)", overload<T, std::int64_t, int>(&split), both,
        "Splits along dim into views of split_size elements (the last may be smaller), or of the sizes in the list "
        "split_size.");
  s.add("split(tensor, split_size, dim=0)", overload<T, const Integers&, int>(&split), both);
  s.add("split_with_sizes(input, split_sizes, dim=0)", overload<T, const Integers&, int>(&split), both,
        "Splits along dim into views of these sizes.");
  s.add(
      "split_with_sizes_copy(input, split_sizes, dim=0)",
      [](T x, const Integers& sizes, int dim) { return copies(split(x, sizes, dim)); }, both | out,
      "split_with_sizes, as copies.");
  s.add(
      "unbind_copy(input, dim=0)", [](T x, int dim) { return copies(unbind(x, dim)); }, both | out,
      "unbind, as copies.");
  s.add("unsafe_chunk(input, chunks, dim=0)", &chunk, both, "chunk, as views that may be written in place one by one.");
  s.add("unsafe_split(tensor, split_size, dim=0)", overload<T, std::int64_t, int>(&split), both,
        "split, as views that may be written in place one by one.");
  const char* tensor_split_of = "tensor_split(input, indices_or_sections, dim=0)";
  s.add(tensor_split_of, overload<T, std::int64_t, int>(&tensor_split), both,
        "Splits along dim into this many views of nearly equal size, or at these indices.");
  s.add(tensor_split_of, overload<T, const Integers&, int>(&tensor_split), both);
  s.add(
      tensor_split_of,
      [](T x, T where, int dim) {
        if (where.dim() == 0) return tensor_split(x, where.item<std::int64_t>(), dim);
        return tensor_split(x, where.to(DType::int64).to_vector<std::int64_t>(), dim);
      },
      both);
  add_split<hsplit, hsplit>(s, "hsplit", "Splits along dimension 1 (0 for 1-d) into equal views, or at these indices.");
  add_split<vsplit, vsplit>(s, "vsplit", "Splits along dimension 0 into equal views, or at these indices.");
  add_split<dsplit, dsplit>(s, "dsplit", "Splits along dimension 2 into equal views, or at these indices.");
}

}  // namespace

void add_join(std::deque<Function>& all) {
  const List s(all, "");
  add_joins(s);
  add_splits(s);
}

}  // namespace neura::surface

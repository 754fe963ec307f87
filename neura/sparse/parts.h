// The parts of a sparse tensor, for the sources of this folder. Everything is computed with ordinary operations on the
// values: `values_of` joins them to the history of the tensor, and `assemble` joins a tensor to that of its values, so
// that derivatives of every order follow from those of the operations between.
#pragma once
#include "neura/autograd/function_node.h"
#include "neura/core/extension.h"
#include "neura/op/apply.h"
#include "neura/sparse/sparse.h"

namespace neura::sparse {

struct Pattern {
  Layout layout = Layout::coo;
  bool coalesced = false;  // of coo; compressed ones always are
  Tensor first, second;    // coo: indices. Else: where rows (columns) begin, and the other index
  std::int64_t count() const { return layout == Layout::coo ? first.size(1) : second.size(0); }
  bool by_row() const { return layout == Layout::csr || layout == Layout::bsr; }
  bool by_block() const { return layout == Layout::bsr || layout == Layout::bsc; }
};
struct Sparse final : Extension {
  Pattern pattern;
  Tensor data;  // the values, without history
  Sparse(Pattern p, Tensor v) : pattern(std::move(p)), data(std::move(v)) {}
  const char* layout() const override { return name(pattern.layout); }
  const Tensor& beneath() const override { return data; }
  Tensor copy(const TensorImpl* self) const override;
  Tensor detached(const TensorImpl* self) const override { return Tensor(self->alias()); }
  bool take(Call&) const override;
  std::string repr(const Tensor& self, const PrintOptions&, const std::string& prefix) const override;
};

const Sparse* parts_if(const Tensor&);                   // null of a dense tensor
const Sparse& parts(const Tensor&, const char* op);      // NotImplementedError of a dense one
const Sparse& coo_parts(const Tensor&, const char* op);  // NotImplementedError of any other layout
inline const Pattern& pattern(const Tensor& t) { return parts(t, "sparse").pattern; }
Tensor values_of(const Tensor&);  // joined to its history
Tensor assemble(const Pattern&, const Tensor& values, const Shape& size);
inline Tensor with_values(const Tensor& like, const Tensor& values) {
  return assemble(pattern(like), values, like.shape());
}
void check_range(const char* op, const char* what, const Tensor& index, std::int64_t bound);  // IndexError
// self becomes value, and all that share its storage. AutogradError where a gradient would be lost.
void overwrite(const char* op, Tensor& self, const Tensor& value);

Shape sparse_sizes(const Tensor&);  // those of the dimensions that indices name,
Shape dense_sizes(const Tensor&);   // and the rest
// The flat index of each stored element among all elements of the sparse dimensions, row-major: of the values' sizes
// less the dense dimensions, flattened.
Tensor keys(const Tensor&);
Tensor keys(const Tensor& indices, const Shape& sizes);
bool ascends(const Tensor& keys);                            // and are they distinct?
Tensor coordinates(const Tensor& keys, const Shape& sizes);  // and back: [dims, n]
Tensor flat_values(const Tensor&, const Tensor& values);     // [n, dense dims..], in the order of keys
// [n, ...]: the sum of the rows of values that have the number i.
Tensor sum_rows(std::int64_t n, const Tensor& number, const Tensor& values);
// The elements of `from`, sparse or dense, at the stored indices of `at`; the result has the sizes of at's values.
Tensor values_at(const Tensor& from, const Tensor& at);
Tensor starts_of(const Tensor& sorted, std::int64_t n);       // [n + 1]: how many are less than 0, 1, ... n
Tensor numbers_of(const Tensor& starts, std::int64_t count);  // back: the row of each of `count`

// `made` of `from`, recorded with this node where `from` needs a gradient.
template <class N> Tensor joined(Ref<N> node, const Tensor& from, Tensor made) {
  if (!node->take({&from, 1})) return made;
  CustomNode::Results r{{std::move(made)}, {}, {}};
  node->give(r, {&from, 1});
  return r.values[0];
}

// Rules for calls of `apply`: the result, recorded; undefined where there is none.
using Rule = Tensor (*)(const Call&);
Rule find_rule(const Row&);
Tensor operand(const Call&, int i);  // undefined if it is no tensor

Tensor mul(const Tensor& a, const Operand& b);

}  // namespace neura::sparse

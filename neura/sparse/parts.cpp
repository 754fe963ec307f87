#include "neura/sparse/parts.h"

#include <string>

#include "neura/autograd/grad_mode.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/sort/sort.h"

namespace neura {

namespace {
constexpr const char* kLayouts[] = {"strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"};
}
const char* name(Layout l) { return kLayouts[int(l)]; }
Layout layout_of(std::string_view name) {
  for (int i = 0; i < 6; ++i)
    if (name == kLayouts[i]) return Layout(i);
  throw ValueError("layout: expected strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr or sparse_bsc, got " +
                   std::string(name));
}
Layout layout(const Tensor& t) {
  const sparse::Sparse* s = sparse::parts_if(t);
  return s ? s->pattern.layout : Layout::strided;
}

namespace sparse {
namespace {

// The values as a result of their own; their gradient is a sparse tensor of the same pattern.
struct ValuesNode final : CustomNode {
  Pattern pattern;
  Shape size;
  const char* name() const override { return "sparse_values"; }
  std::vector<Tensor> derive(std::vector<Tensor>& g, bool) override {
    return {g[0] ? assemble(pattern, g[0], size) : Tensor()};
  }
};
// A tensor made of values; their gradient is the tensor's at its pattern.
struct TensorNode final : CustomNode {
  Tensor like;  // without history
  const char* name() const override { return "sparse_tensor"; }
  std::vector<Tensor> derive(std::vector<Tensor>& g, bool) override {
    return {g[0] ? values_at(g[0], like) : Tensor()};
  }
};

bool same_pattern(const Pattern& a, const Pattern& b) {
  return a.layout == b.layout && a.first.is_same(b.first) && a.second.is_same(b.second);
}

}  // namespace

const Sparse* parts_if(const Tensor& t) {
  return t ? static_cast<const Sparse*>(extension(t.impl())) : nullptr;  // the only extension there is
}
const Sparse& parts(const Tensor& t, const char* op) {
  const Sparse* s = parts_if(t);
  check<NotImplementedError>(s, [&] {
    return std::string(op) + ": expected a sparse tensor, got " + (t ? t.spec().str() + ", a dense one" : "none") +
           "; convert it with to_sparse()";
  });
  return *s;
}
const Sparse& coo_parts(const Tensor& t, const char* op) {
  const Sparse& s = parts(t, op);
  check<NotImplementedError>(s.pattern.layout == Layout::coo, [&] {
    return std::string(op) + ": expected a sparse_coo tensor, got a " + s.layout() +
           " one; convert it with to_sparse()";
  });
  return s;
}

Tensor Sparse::copy(const TensorImpl* self) const {
  return extend(std::make_unique<Sparse>(pattern, copy_of(data.impl())), self->spec);
}

Tensor values_of(const Tensor& t) {
  const Sparse& s = parts(t, "values");
  Tensor plain(s.data.impl()->alias());
  if (!is_grad_enabled() || !t.requires_grad()) return plain;
  auto node = Ref<ValuesNode>::adopt(new ValuesNode);
  node->pattern = s.pattern, node->size = t.shape();
  return joined(std::move(node), t, std::move(plain));
}

Tensor assemble(const Pattern& p, const Tensor& values, const Shape& size) {
  Tensor made =
      extend(std::make_unique<Sparse>(p, values.detach()), Spec::dense(values.dtype(), size, values.device()));
  if (!is_grad_enabled() || !values.requires_grad()) return made;
  auto node = Ref<TensorNode>::adopt(new TensorNode);
  node->like = Tensor(made.impl()->alias());
  return joined(std::move(node), values, std::move(made));
}

void overwrite(const char* op, Tensor& self, const Tensor& value) {
  check<AutogradError>(!is_grad_enabled() || !(self.requires_grad() || value.requires_grad()), [&] {
    return std::string(op) +
           ": expected no gradient to be needed where a sparse tensor is written in place; use the "
           "form that returns a new tensor";
  });
  Sparse& to = *static_cast<Sparse*>(extension(self.impl()));
  const Sparse& from = parts(value, op);
  to.pattern = from.pattern;
  to.data = self.dtype() == value.dtype() ? from.data : neura::to(from.data, self.dtype());
  self.impl()->spec = Spec::dense(self.dtype(), value.shape(), self.device());
  self.impl()->spec.contiguous = false;
  Storage& s = *self.impl()->storage;
  s.version = s.version + 1, s.data = to.data.impl()->storage->data;
}

Shape sparse_sizes(const Tensor& t) {
  const Pattern& p = pattern(t);
  const Shape all = t.shape();
  return {all.data(), std::size_t(p.layout == Layout::coo ? p.first.size(0) : 2)};
}
Shape dense_sizes(const Tensor& t) {
  const Shape all = t.shape();
  const int n = sparse_sizes(t).size();
  return {all.data() + n, std::size_t(all.size() - n)};
}

Tensor keys(const Tensor& indices, const Shape& sizes) {
  Tensor k = zeros({indices.size(1)}, {.dtype = DType::int64, .device = indices.device()});
  for (int d = 0; d < sizes.size(); ++d) k = k * Scalar(sizes[d]) + select(indices, 0, d);
  return k;
}
Tensor keys(const Tensor& t) {
  const Pattern& p = pattern(t);
  if (p.layout == Layout::coo) return keys(p.first, sparse_sizes(t));
  Tensor row = numbers_of(p.first, p.count()), col = p.second;
  if (!p.by_row()) std::swap(row, col);
  const Scalar width(t.size(1));
  if (!p.by_block()) return row * width + col;
  const Tensor& v = parts(t, "keys").data;
  const TensorOptions whole{.dtype = DType::int64, .device = v.device()};
  const Tensor rows = unsqueeze(row * Scalar(v.size(1)), 1) + arange(v.size(1), whole);
  const Tensor cols = unsqueeze(col * Scalar(v.size(2)), 1) + arange(v.size(2), whole);
  return flatten(unsqueeze(rows * width, 2) + unsqueeze(cols, 1));
}
Tensor coordinates(const Tensor& keys, const Shape& sizes) {
  if (sizes.empty()) return zeros({0, keys.numel()}, {.dtype = DType::int64, .device = keys.device()});
  std::vector<Tensor> rows(std::size_t(sizes.size()));
  Tensor rest = keys;
  for (int d = sizes.size() - 1; d > 0; --d) {
    const Scalar n(std::max<std::int64_t>(sizes[d], 1));
    rows[std::size_t(d)] = rest % n, rest = floor_divide(rest, n);
  }
  rows[0] = rest;
  return stack(rows, 0);
}
Tensor flat_values(const Tensor& t, const Tensor& values) {
  if (!pattern(t).by_block()) return values;
  Shape flat{values.size(0) * values.size(1) * values.size(2)};
  for (int d = 3; d < values.dim(); ++d) flat.push_back(values.size(d));
  return reshape(values, flat);
}

Tensor sum_rows(std::int64_t n, const Tensor& number, const Tensor& values) {
  Shape sizes = values.shape();
  sizes[0] = n;
  const DType d = values.dtype(), summed = d == DType::boolean ? DType::int32 : d;
  const Tensor none = zeros(sizes, {.dtype = summed, .device = values.device()});
  return to(index_add(none, 0, number, to(values, summed)), d);
}

Tensor values_at(const Tensor& from, const Tensor& at) {
  const Sparse* s = parts_if(from);
  if (s && same_pattern(s->pattern, pattern(at))) return values_of(from);
  const Tensor wanted = keys(at);
  Shape sizes = parts(at, "values").data.shape();
  if (!s) {
    Shape flat{sparse_sizes(at).numel()};
    for (std::int64_t n : dense_sizes(at)) flat.push_back(n);
    return reshape(neura::index_select(reshape(from, flat), 0, wanted), sizes);
  }
  check<ShapeError>(dense_sizes(from) == dense_sizes(at), [&] {
    return "sparse: expected tensors of the same dense dimensions, got " + dense_sizes(from).str() + " and " +
           dense_sizes(at).str();
  });
  const Tensor ordered = coalesce(to_coo(from)), known = keys(ordered), stored = values_of(ordered);
  if (!known.numel()) return zeros(sizes, {.dtype = from.dtype(), .device = from.device()});
  const Tensor place = minimum(searchsorted(known, wanted), Scalar(known.numel() - 1));
  Tensor found = neura::index_select(known, 0, place) == wanted;
  for (int d = 1; d < stored.dim(); ++d) found = unsqueeze(found, -1);
  const Tensor taken = neura::index_select(stored, 0, place);
  return reshape(where(found, taken, Scalar(0)).to(from.dtype()), sizes);
}

Tensor starts_of(const Tensor& sorted, std::int64_t n) {
  return searchsorted(sorted, arange(n + 1, {.dtype = DType::int64, .device = sorted.device()}));
}
Tensor numbers_of(const Tensor& starts, std::int64_t count) {
  const Tensor place = arange(count, {.dtype = DType::int64, .device = starts.device()});
  return searchsorted(starts, place, false, true) - Scalar(1);
}

Tensor operand(const Call& c, int i) {
  return c.in[i].is_tensor() ? Tensor(Ref<TensorImpl>::share(c.in[i].tensor)) : Tensor();
}

}  // namespace sparse
}  // namespace neura

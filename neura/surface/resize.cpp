// Other sizes and strides of a tensor itself, in place.
#include "neura/autograd/grad_mode.h"
#include "neura/nn/parameter.h"
#include "neura/op/record.h"
#include "neura/ops/reduce/statistics.h"
#include "neura/ops/shape/view.h"
#include "neura/surface/list.h"

namespace neura::surface {
namespace {

using T = const Tensor&;

// The tensor becomes what f makes of it: another look at the same bytes.
template <class F> void become(const char* op, Tensor& self, const F& f) {
  const bool recorded = self.requires_grad();
  if (recorded && self.is_leaf()) {
    check<InplaceError>(!is_grad_enabled(), [&] {
      return std::string(op) +
             ": expected no leaf that requires gradients; write under no_grad or use the form that returns a new "
             "tensor";
    });
    return nn::set_data(self, f(self.detach()));
  }
  TensorImpl* t = self.impl();
  check<InplaceError>(!recorded || !t->locked_view, [&] {
    return std::string(op) + ": expected no view that one call made together with others; clone() it first";
  });
  const Tensor seen = [&] {
    const NoGrad mode(!recorded);  // gradients follow the sizes, whether writes are recorded or not
    return f(self);
  }();
  if (seen.is_same(self)) return;
  if (recorded) {
    const Edge e = edge_of(seen.impl());
    adopt_history(t, Ref<Node>::share(e.node.get()), int(e.output));  // views of it keep theirs: no value changes
  }
  t->spec = seen.spec();
}
void swap(Tensor& x, int a, int b) {
  become("transpose_", x, [&](T seen) { return transpose(seen, a, b); });
}
void forget_history(Tensor& t) {
  check<AutogradError>(!t.impl()->base || !t.requires_grad(), [] {
    return std::string("detach_: expected no view of a tensor that requires gradients, got one; use detach()");
  });
  if (t.requires_grad() && t.is_leaf()) {
    t.requires_grad_(false);
  } else if (t.requires_grad()) {
    adopt_history(t.impl(), {}, 0);
    ++t.impl()->generation;
  }
}

void add_looks(const List& s) {
  s.add(
      "unsqueeze_(input, dim)",
      [](Tensor& x, int dim) { become("unsqueeze_", x, [&](T seen) { return unsqueeze(seen, dim); }); }, method,
      "unsqueeze, in place: inserts a dimension of size 1 at dim.");
  s.add(
      "squeeze_(input, dim=None)",
      [](Tensor& x, const std::optional<Dims>& dim) {
        become("squeeze_", x, [&](T seen) {
          if (!dim) return squeeze(seen);
          return dim->empty() ? seen : squeeze(seen, *dim);
        });
      },
      method, "squeeze, in place: removes the dimensions of size 1, or those of dim that have it.");
  s.add(
      "t_(input)", [](Tensor& x) { become("t_", x, [](T seen) { return t(seen); }); }, method,
      "t, in place: transposes a matrix; leaves fewer dimensions as they are.");
  s.add("transpose_(input, dim0, dim1)", &swap, method, "transpose, in place: swaps two dimensions.")
      .alias("swapdims_", "transpose_");
  s.add("swapaxes_(input, axis0, axis1)", &swap, method, "transpose, in place: swaps two dimensions.");
  s.add(
      "as_strided_(input, size, stride, storage_offset=None)",
      [](Tensor& x, const Shape& size, const Shape& stride, std::optional<std::int64_t> offset) {
        become("as_strided_", x, [&](T seen) { return as_strided(seen, size, stride, offset); });
      },
      both, "as_strided, in place: the same storage with this size, stride and storage_offset, in elements.");
}
void add_sizes(const List& s) {
  s.add(
      "resize_(input, *sizes, memory_format=None)", [](Tensor& x, const Shape& size, Ignored) { resize_(x, size); },
      method,
      "Resizes in place, within the same storage where it is large enough; new elements are uninitialised. "
      "AutogradError for a tensor that requires a gradient.");
  s.add(
      "resize_as_(input, the_template, *, memory_format=None)",
      [](Tensor& x, T other, Ignored) { resize_(x, other.shape()); }, both,
      "Resizes in place to the shape of another tensor; new elements are uninitialised.");
  s.add(
      "broadcast_shapes(*shapes=())", [](const Shapes& shapes) { return broadcast_shapes(shapes); }, function,
      "The shape to which these shapes broadcast. ShapeError where they do not.");
}

}  // namespace

void add_geometry(std::deque<Function>& all) {
  const List s(all, "");
  add_looks(s);
  add_sizes(s);
  s.add("detach_(input)", &forget_history, both, "In place. Detaches the tensor from the autograd graph.");
}

}  // namespace neura::surface

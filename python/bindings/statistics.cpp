// Statistics whose arguments are of several kinds.
#include "numbers.h"
#include "out.h"

#include "neura/ops/statistics.h"

namespace neura::python {
namespace {

using T = const Tensor&;

std::vector<Spacing> spacing_of(nb::handle h) {
  std::vector<Spacing> v;
  const auto add = [&](nb::handle e) {
    double d;
    if (is_tensor(e.ptr()) && tensor_in(e.ptr()).dim() > 0) v.emplace_back(tensor_in(e.ptr()));
    else if (nb::try_cast<double>(e, d)) v.emplace_back(d);
    else throw nb::type_error("gradient: expected spacing to be numbers or vectors of coordinates");
  };
  if (h.is_none()) v.emplace_back(1.0);
  else if (PyList_Check(h.ptr()) || PyTuple_Check(h.ptr()))
    for (nb::handle e : nb::iter(h)) add(e);
  else add(h);
  return v;
}

void bind_measures(const Names& n) {
  n.function(
      "gradient",
      [](T x, nb::handle spacing, const Dims& dim, int order) {
        return tuple_of(gradient(x, spacing_of(spacing), dim, order));
      },
      "input"_a, nb::kw_only(), "spacing"_a = nb::none(), "dim"_a = nb::none(), "edge_order"_a = 1,
      "The derivative of samples along each dimension: a tuple. `spacing` is their distance or their coordinates.");
}
void bind_parts(const Names& n) {
  const auto within = [](nb::handle elements, nb::handle tests, bool, bool invert) {
    const auto tensor_of = [](nb::handle h) { return is_tensor(h.ptr()) ? tensor_in(h.ptr()) : tensor_from(h); };
    if (!is_tensor(elements.ptr()) && !is_tensor(tests.ptr()))
      throw nb::type_error("isin: expected at least one tensor, got numbers");
    return isin(tensor_of(elements), tensor_of(tests), invert);
  };
  n.function("isin", within, "elements"_a, "test_elements"_a, nb::kw_only(), "assume_unique"_a = false,
             "invert"_a = false, "Is each element among the test elements? Each argument may be a number.");
  n.function(
      "broadcast_shapes",
      [](nb::args shapes) {
        std::vector<Shape> v;
        for (nb::handle s : shapes)
          if (!to_shape(s.ptr(), v.emplace_back()))
            throw nb::type_error("broadcast_shapes: expected tuples of integers");
        return nb::steal(size_of_shape(broadcast_shapes(v)));
      },
      "The shape to which these shapes broadcast.");
  const auto resized = [](nb::handle self, const Shape& size) {
    if (!is_tensor(self.ptr())) throw nb::type_error("resize_: expected a tensor");
    resize_(tensor_in(self.ptr()), size);
    return nb::borrow(self);
  };
  n.method(
      "resize_", [resized](nb::handle self, const Shape& size, nb::handle) { return resized(self, size); }, "self"_a,
      "sizes"_a, nb::kw_only(), "memory_format"_a = nb::none(),
      "Another size in place, over the same bytes where they suffice; what is new is uninitialised.");
  n.method(
      "resize_", [resized](nb::handle self, nb::args size) { return resized(self, sizes_of(size)); }, "self"_a,
      "sizes"_a);
  n.both(
      "resize_as_", [resized](nb::handle self, T other, nb::handle) { return resized(self, other.shape()); }, "input"_a,
      "the_template"_a, nb::kw_only(), "memory_format"_a = nb::none());
}

}  // namespace

void bind_statistics(const Names& n) {
  bind_measures(n);
  bind_parts(n);
}

}  // namespace neura::python

// New tensors: of one value, of a sequence.
#include "common.h"

namespace neura::python {
namespace {

using D = std::optional<DType>;
using V = std::optional<Device>;
TensorOptions options(D dtype, V device, bool requires_grad) {
  return {.dtype = dtype, .device = device.value_or(default_device()), .requires_grad = requires_grad};
}
#define OPTIONS nb::kw_only(), "dtype"_a = nb::none(), "device"_a = nb::none(), "requires_grad"_a = false
// The first and the last change nothing.
#define MORE "layout"_a = nb::none(), "pin_memory"_a = false, "memory_format"_a = nb::none()

// f((2, 3)), f(size=(2, 3)) and f(2, 3)
template <Tensor (*f)(const Shape&, const TensorOptions&)> void of_sizes(const Names& n, const char* name) {
  n.function(
      name,
      [](const Shape& size, D d, V v, bool g, nb::handle, bool pin, nb::handle) {
        return pinned(pin, f(size, options(d, v, g)));
      },
      "size"_a, OPTIONS, MORE);
  n.function(
      name,
      [](nb::args size, D d, V v, bool g, nb::handle, bool pin, nb::handle) {
        return pinned(pin, f(sizes_of(size), options(d, v, g)));
      },
      "size"_a, OPTIONS, MORE);
}
template <Tensor (*f)(const Tensor&, const LikeOptions&)> void like(const Names& n, const char* name) {
  n.function(
      name,
      [](const Tensor& x, D d, V v, bool g, nb::handle, bool pin, nb::handle) {
        return pinned(pin, f(x, {.dtype = d, .device = v, .requires_grad = g}));
      },
      "input"_a, OPTIONS, MORE);
}
template <Tensor (*f)(const Tensor&, const Shape&, const LikeOptions&)>
void new_like(const Names& n, const char* name) {
  n.method(
      name,
      [](const Tensor& x, const Shape& size, D d, V v, bool g, nb::handle, bool pin, nb::handle) {
        return pinned(pin, f(x, size, {.dtype = d, .device = v, .requires_grad = g}));
      },
      "self"_a, "size"_a, OPTIONS, MORE);
  n.method(
      name,
      [](const Tensor& x, nb::args size, D d, V v, bool g, nb::handle, bool pin, nb::handle) {
        return pinned(pin, f(x, sizes_of(size), {.dtype = d, .device = v, .requires_grad = g}));
      },
      "self"_a, "size"_a, OPTIONS, MORE);
}

void bind_full(const Names& n) {
  n.function(
      "full",
      [](const Shape& size, Scalar fill, D d, V v, bool g, nb::handle, bool pin, nb::handle) {
        return pinned(pin, full(size, fill, options(d, v, g)));
      },
      "size"_a, "fill_value"_a, OPTIONS, MORE);
  n.function(
      "full_like",
      [](const Tensor& x, Scalar fill, D d, V v, bool g, nb::handle, bool pin, nb::handle) {
        return pinned(pin, full_like(x, fill, {.dtype = d, .device = v, .requires_grad = g}));
      },
      "input"_a, "fill_value"_a, OPTIONS, MORE);
  n.method(
      "new_full",
      [](const Tensor& x, const Shape& size, Scalar fill, D d, V v, bool g, nb::handle, bool pin, nb::handle) {
        return pinned(pin, new_full(x, size, fill, {.dtype = d, .device = v, .requires_grad = g}));
      },
      "self"_a, "size"_a, "fill_value"_a, OPTIONS, MORE);
  n.method(
      "new_tensor",
      [](const Tensor& x, nb::handle data, D d, V v, bool g, nb::handle, bool pin, nb::handle) {
        Tensor t = pinned(pin, tensor_from(data, d ? d : D(x.dtype())).to(v.value_or(x.device())));
        return g ? t.requires_grad_() : t;
      },
      "self"_a, "data"_a, OPTIONS, MORE);
  n.method(
      "new_empty_strided",
      [](const Tensor& x, const Shape& size, const Shape& stride, D d, V v, bool g, nb::handle, bool pin, nb::handle) {
        return pinned(pin, new_empty_strided(x, size, stride, {.dtype = d, .device = v, .requires_grad = g}));
      },
      "self"_a, "size"_a, "stride"_a, OPTIONS, MORE);
  n.function(
      "empty_strided",
      [](const Shape& size, const Shape& stride, D d, V v, bool g, nb::handle, bool pin, nb::handle) {
        return pinned(pin, empty_strided(size, stride, options(d, v, g)));
      },
      "size"_a, "stride"_a, OPTIONS, MORE);
  n.function(
      "empty_permuted",
      [](const Shape& size, const Dims& layout, D d, V v, bool g, nb::handle, bool pin, nb::handle) {
        return pinned(pin, empty_permuted(size, layout, options(d, v, g)));
      },
      "size"_a, "physical_layout"_a, OPTIONS, MORE);
  n.function(
      "scalar_tensor",
      [](Scalar s, D d, V v, bool g, nb::handle, bool pin, nb::handle) {
        return pinned(pin, scalar_tensor(s, options(d, v, g)));
      },
      "s"_a, OPTIONS, MORE);
}

void bind_sequences(const Names& n) {
  n.function(
      "arange",
      [](Scalar end, D d, V v, bool g, nb::handle, bool pin, nb::handle) {
        return pinned(pin, arange(end, options(d, v, g)));
      },
      "end"_a, OPTIONS, MORE);
  n.function(
      "arange",
      [](Scalar start, Scalar end, Scalar step, D d, V v, bool g, nb::handle, bool pin, nb::handle) {
        return pinned(pin, arange(start, end, step, options(d, v, g)));
      },
      "start"_a, "end"_a, "step"_a = Scalar(1), OPTIONS, MORE);
  n.function(
      "linspace",
      [](Scalar start, Scalar end, std::int64_t steps, D d, V v, bool g, nb::handle, bool pin, nb::handle) {
        return pinned(pin, linspace(start, end, steps, options(d, v, g)));
      },
      "start"_a, "end"_a, "steps"_a, OPTIONS, MORE);
  n.function(
      "logspace",
      [](Scalar start, Scalar end, std::int64_t steps, double base, D d, V v, bool g, nb::handle, bool pin,
         nb::handle) { return pinned(pin, logspace(start, end, steps, base, options(d, v, g))); },
      "start"_a, "end"_a, "steps"_a, "base"_a = 10.0, OPTIONS, MORE);
  n.function(
      "eye",
      [](std::int64_t rows, std::optional<std::int64_t> columns, D d, V v, bool g, nb::handle, bool pin, nb::handle) {
        return pinned(pin, eye(rows, columns.value_or(rows), options(d, v, g)));
      },
      "n"_a, "m"_a = nb::none(), OPTIONS, MORE);
  n.function(
      "tril_indices",
      [](std::int64_t row, std::int64_t col, std::int64_t offset, D d, V v, bool g, nb::handle, bool pin, nb::handle) {
        return pinned(pin, tril_indices(row, col, offset, options(d, v, g)));
      },
      "row"_a, "col"_a, "offset"_a = 0, OPTIONS, MORE);
  n.function(
      "triu_indices",
      [](std::int64_t row, std::int64_t col, std::int64_t offset, D d, V v, bool g, nb::handle, bool pin, nb::handle) {
        return pinned(pin, triu_indices(row, col, offset, options(d, v, g)));
      },
      "row"_a, "col"_a, "offset"_a = 0, OPTIONS, MORE);
}

}  // namespace

void bind_create(const Names& n) {
  of_sizes<empty>(n, "empty"), of_sizes<zeros>(n, "zeros"), of_sizes<ones>(n, "ones");
  like<empty_like>(n, "empty_like"), like<zeros_like>(n, "zeros_like"), like<ones_like>(n, "ones_like");
  new_like<new_empty>(n, "new_empty"), new_like<new_zeros>(n, "new_zeros"), new_like<new_ones>(n, "new_ones");
  bind_full(n);
  bind_sequences(n);
  n.function("get_default_dtype", &default_dtype);
  n.function("set_default_dtype", &set_default_dtype, "d"_a);
  n.function("get_default_device", &default_device);
  n.function("set_default_device", &set_default_device, "device"_a.none());
}

}  // namespace neura::python

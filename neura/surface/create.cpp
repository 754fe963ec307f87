// New tensors: of one value, of a sequence, like another.
#include "neura/surface/list.h"
#include "neura/surface/options.h"

namespace neura::surface {
namespace {

using T = const Tensor&;
using O = const Options&;
using L = const OptionsLike&;
using N = std::int64_t;

template <Tensor (*f)(const Shape&, const TensorOptions&)> Tensor made(const Shape& size, O o) {
  return pinned(o.pin_memory, f(size, o));
}
template <Tensor (*f)(T, const LikeOptions&)> Tensor made_like(T x, L o) {
  return make_like(o, [&](const LikeOptions& given) { return f(x, given); });
}
template <Tensor (*f)(T, const Shape&, const LikeOptions&)> Tensor made_new(T x, const Shape& size, O o) {
  return pinned(o.pin_memory, f(x, size, o));
}

void add_of_one_value(const List& s) {
  s.add(
      "empty(*size, **options)",
      [](const Shape& size, L o) {
        return make_like(o, [&](const LikeOptions& given) {
          return empty(size, {given.dtype, given.device.value_or(default_device()), given.requires_grad});
        });
      },
      function | out, "An uninitialised tensor of this size.");
  s.add("zeros(*size, **options)", &made<zeros>, function | out, "A tensor of this size filled with zeros.");
  s.add("ones(*size, **options)", &made<ones>, function | out, "A tensor of this size filled with ones.");
  s.add(
      "full(size, fill_value, **options)",
      [](const Shape& size, Scalar value, O o) { return pinned(o.pin_memory, full(size, value, o)); }, function | out,
      "A tensor of this size filled with fill_value; its dtype is the default one of the number's kind.");
  s.add(
      "empty_strided(size, stride, **options)",
      [](const Shape& size, const Shape& stride, O o) { return pinned(o.pin_memory, empty_strided(size, stride, o)); },
      function, "An uninitialised tensor of this size with these strides, in elements.");
  s.add(
      "empty_permuted(size, physical_layout, **options)",
      [](const Shape& size, const Dims& order, O o) { return pinned(o.pin_memory, empty_permuted(size, order, o)); },
      function,
      "An uninitialised tensor of this size, its dimensions stored in the order physical_layout, outermost first. "
      "ValueError unless that is a permutation.");
  s.add(
      "scalar_tensor(s, **options)", [](Scalar value, O o) { return pinned(o.pin_memory, scalar_tensor(value, o)); },
      function, "A 0-d tensor with the value s.");
}
void add_like(const List& s) {
  s.add("empty_like(input, **options)", &made_like<empty_like>, function,
        "An uninitialised tensor with the shape, dtype, device and memory layout of input, unless given.");
  s.add("zeros_like(input, **options)", &made_like<zeros_like>, function, "A tensor like input filled with zeros.");
  s.add("ones_like(input, **options)", &made_like<ones_like>, function, "A tensor like input filled with ones.");
  s.add(
      "full_like(input, fill_value, **options)",
      [](T x, Scalar value, L o) {
        return make_like(o, [&](const LikeOptions& given) { return full_like(x, value, given); });
      },
      function, "A tensor like input filled with fill_value.");
}
void add_new(const List& s) {
  s.add("new_empty(input, *size, **options)", &made_new<new_empty>, method,
        "An uninitialised tensor of this size with the dtype and device of this one, unless given.");
  s.add("new_zeros(input, *size, **options)", &made_new<new_zeros>, method,
        "A tensor of zeros of this size with the dtype and device of this one, unless given.");
  s.add("new_ones(input, *size, **options)", &made_new<new_ones>, method,
        "A tensor of ones of this size with the dtype and device of this one, unless given.");
  s.add(
      "new_full(input, size, fill_value, **options)",
      [](T x, const Shape& size, Scalar value, O o) { return pinned(o.pin_memory, new_full(x, size, value, o)); },
      method, "A tensor of this size filled with fill_value, with the dtype and device of this one, unless given.");
  s.add(
      "new_empty_strided(input, size, stride, **options)",
      [](T x, const Shape& size, const Shape& stride, O o) {
        return pinned(o.pin_memory, new_empty_strided(x, size, stride, o));
      },
      method, "An uninitialised tensor of this size and strides with the dtype and device of this one, unless given.");
}
void add_sequences(const List& s) {
  s.add(
      "arange(end, **options)", [](Scalar end, O o) { return pinned(o.pin_memory, arange(end, o)); }, function | out,
      "A 1-d tensor of start (default 0), start + step, ... up to end, exclusive: int64 if all are integers, else the "
      "default dtype. ValueError for a step of 0 or of the wrong sign.");
  s.add(
      "arange(start, end, step=1, **options)",
      [](Scalar start, Scalar end, Scalar step, O o) { return pinned(o.pin_memory, arange(start, end, step, o)); },
      function | out);
  s.add(
      "linspace(start, end, steps, **options)",
      [](Scalar start, Scalar end, N steps, O o) { return pinned(o.pin_memory, linspace(start, end, steps, o)); },
      function | out, "steps numbers, evenly spaced from start to end, both included. ValueError for negative steps.");
  s.add(
      "logspace(start, end, steps, base=10.0, **options)",
      [](Scalar start, Scalar end, N steps, double base, O o) {
        return pinned(o.pin_memory, logspace(start, end, steps, base, o));
      },
      function | out, "steps numbers base**x, with x evenly spaced from start to end.");
  s.add(
      "eye(n, m=None, **options)",
      [](N n, std::optional<N> m, O o) { return pinned(o.pin_memory, eye(n, m.value_or(n), o)); }, function | out,
      "The n by m matrix (m defaults to n) with ones on the diagonal.");
  s.add(
      "tril_indices(row, col, offset=0, **options)",
      [](N row, N col, N offset, O o) { return pinned(o.pin_memory, tril_indices(row, col, offset, o)); }, function,
      "The indices of the lower triangle of a row by col matrix: int64, [2, n].");
  s.add(
      "triu_indices(row, col, offset=0, **options)",
      [](N row, N col, N offset, O o) { return pinned(o.pin_memory, triu_indices(row, col, offset, o)); }, function,
      "The indices of the upper triangle of a row by col matrix: int64, [2, n].");
}

}  // namespace

void add_create(std::deque<Function>& all) {
  const List s(all, "");
  add_of_one_value(s);
  add_like(s);
  add_new(s);
  add_sequences(s);
}

}  // namespace neura::surface

// x[…] and x[…] = …, and the functions that read and write by index.
#include "overrides.h"

#include <nanobind/stl/string_view.h>

namespace neura::python {
namespace {

std::optional<std::int64_t> bound(PyObject* o) {
  if (o == Py_None) return {};
  Scalar s;
  if (!to_scalar(o, s) || s.is_floating() || s.is_complex())
    throw nb::type_error("index: expected integers or None in a slice");
  return s.integer();
}
bool add_index(std::vector<Index>& out, PyObject* o) {
  if (o == Py_None) return out.emplace_back(None), true;
  if (o == Py_Ellipsis) return out.emplace_back(Ellipsis), true;
  if (PyBool_Check(o)) return out.emplace_back(o == Py_True), true;
  if (is_tensor(o)) return out.emplace_back(tensor_in(o)), true;
  if (PySlice_Check(o)) {
    auto* s = reinterpret_cast<PySliceObject*>(o);
    return out.emplace_back(Slice(bound(s->start), bound(s->stop), bound(s->step).value_or(1))), true;
  }
  Scalar s;
  if (!PyFloat_Check(o) && PyIndex_Check(o) && to_scalar(o, s)) return out.emplace_back(s.integer()), true;
  if (PyFloat_Check(o) || PyComplex_Check(o) || PyUnicode_Check(o)) return false;
  if (!PySequence_Check(o) && !PyObject_CheckBuffer(o)) return false;
  Tensor t = tensor_from(o);
  if (t.numel() == 0 && is_floating(t.dtype())) t = t.to(DType::int64);  // x[[]]
  return out.emplace_back(t), true;
}

using Words = std::string_view;
void bind_along(const Names& n) {
  n.both("index_select", &index_select, "input"_a, "dim"_a, "index"_a);
  n.both("index_add", &index_add, "input"_a, "dim"_a, "index"_a, "source"_a, nb::kw_only(), "alpha"_a = Scalar(1));
  n.both("index_copy", &index_copy, "input"_a, "dim"_a, "index"_a, "source"_a);
  n.both("index_fill", nb::overload_cast<const Tensor&, int, const Tensor&, const Tensor&>(&index_fill), "input"_a,
         "dim"_a, "index"_a, "value"_a);
  n.both("index_fill", nb::overload_cast<const Tensor&, int, const Tensor&, Scalar>(&index_fill), "input"_a, "dim"_a,
         "index"_a, "value"_a);
  n.both("index_reduce", &index_reduce, "input"_a, "dim"_a, "index"_a, "source"_a, "reduce"_a, nb::kw_only(),
         "include_self"_a = true);
  n.both(
      "gather", [](const Tensor& x, int dim, const Tensor& index, bool) { return gather(x, dim, index); }, "input"_a,
      "dim"_a, "index"_a, nb::kw_only(), "sparse_grad"_a = false);
  n.both("scatter", nb::overload_cast<const Tensor&, int, const Tensor&, const Tensor&, Words>(&scatter), "input"_a,
         "dim"_a, "index"_a, "src"_a, nb::kw_only(), "reduce"_a = "");
  n.both("scatter", nb::overload_cast<const Tensor&, int, const Tensor&, Scalar, Words>(&scatter), "input"_a, "dim"_a,
         "index"_a, "value"_a, nb::kw_only(), "reduce"_a = "");
  n.both("scatter_add", &scatter_add, "input"_a, "dim"_a, "index"_a, "src"_a);
  n.both("scatter_reduce", &scatter_reduce, "input"_a, "dim"_a, "index"_a, "src"_a, "reduce"_a, nb::kw_only(),
         "include_self"_a = true);
  n.both("take_along_dim", &take_along_dim, "input"_a, "indices"_a, "dim"_a = nb::none());
}
// In place: the same function under the tensor's own name, and the tensor itself comes back.
void bind_in_place(const Names& n) {
  n.method(
      "index_add_",
      [](Tensor& x, int d, const Tensor& i, const Tensor& s, Scalar alpha) { return index_add_(x, d, i, s, alpha); },
      "self"_a, "dim"_a, "index"_a, "source"_a, nb::kw_only(), "alpha"_a = Scalar(1));
  n.method(
      "index_copy_", [](Tensor& x, int d, const Tensor& i, const Tensor& s) { return index_copy_(x, d, i, s); },
      "self"_a, "dim"_a, "index"_a, "source"_a);
  n.method(
      "index_fill_", [](Tensor& x, int d, const Tensor& i, const Tensor& v) { return index_fill_(x, d, i, v); },
      "self"_a, "dim"_a, "index"_a, "value"_a);
  n.method(
      "index_fill_", [](Tensor& x, int d, const Tensor& i, Scalar v) { return index_fill_(x, d, i, v); }, "self"_a,
      "dim"_a, "index"_a, "value"_a);
  n.method(
      "scatter_", [](Tensor& x, int d, const Tensor& i, const Tensor& s, Words r) { return scatter_(x, d, i, s, r); },
      "self"_a, "dim"_a, "index"_a, "src"_a, nb::kw_only(), "reduce"_a = "");
  n.method(
      "scatter_", [](Tensor& x, int d, const Tensor& i, Scalar v, Words r) { return scatter_(x, d, i, v, r); },
      "self"_a, "dim"_a, "index"_a, "value"_a, nb::kw_only(), "reduce"_a = "");
  n.method(
      "scatter_add_", [](Tensor& x, int d, const Tensor& i, const Tensor& s) { return scatter_add_(x, d, i, s); },
      "self"_a, "dim"_a, "index"_a, "src"_a);
  n.method(
      "scatter_reduce_",
      [](Tensor& x, int d, const Tensor& i, const Tensor& s, Words r, bool self) {
        return scatter_reduce_(x, d, i, s, r, self);
      },
      "self"_a, "dim"_a, "index"_a, "src"_a, "reduce"_a, nb::kw_only(), "include_self"_a = true);
  n.method(
      "index_reduce_",
      [](Tensor& x, int d, const Tensor& i, const Tensor& s, Words r, bool self) {
        return index_reduce_(x, d, i, s, r, self);
      },
      "self"_a, "dim"_a, "index"_a, "source"_a, "reduce"_a, nb::kw_only(), "include_self"_a = true);
  n.method(
      "put_", [](Tensor& x, const Tensor& i, const Tensor& s, bool accumulate) { return put_(x, i, s, accumulate); },
      "self"_a, "index"_a, "source"_a, "accumulate"_a = false);
  n.method(
      "masked_scatter_", [](Tensor& x, const Tensor& m, const Tensor& s) { return masked_scatter_(x, m, s); }, "self"_a,
      "mask"_a, "source"_a);
  n.method(
      "index_put_",
      [](Tensor& x, const std::vector<Tensor>& indices, const Tensor& v, bool accumulate) {
        return index_put_(x, {indices.begin(), indices.end()}, v, accumulate);
      },
      "self"_a, "indices"_a, "values"_a, "accumulate"_a = false);
}

}  // namespace

std::vector<Index> to_indices(PyObject* key) {
  std::vector<Index> out;
  const auto add = [&](PyObject* o) {
    if (!add_index(out, o)) {
      const std::string type = Py_TYPE(o)->tp_name;
      throw IndexError("index: expected integers, slices, None, Ellipsis, masks or integer arrays, got " + type);
    }
  };
  if (!PyTuple_Check(key)) add(key);
  else
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) add(PyTuple_GET_ITEM(key, i));
  return out;
}
PyObject* subscript(PyObject* self, PyObject* key) {
  return guarded([&] {
    PyObject* r = nullptr;
    if (overriding && operator_overridden("__getitem__", self, key, r)) [[unlikely]]
      return r;
    return wrap(index(tensor_in(self), to_indices(key)));
  });
}
int assign_subscript(PyObject* self, PyObject* key, PyObject* value) {
  nb::object done = nb::steal(guarded([&]() -> PyObject* {
    if (!value) throw nb::type_error("index: elements of a tensor cannot be deleted");
    PyObject* r = nullptr;
    if (overriding && operator_overridden("__setitem__", self, key, r, value)) [[unlikely]]
      return r;
    Tensor t = tensor_in(self);
    Scalar s;
    if (is_tensor(value)) index_put_(t, to_indices(key), tensor_in(value));
    else if (to_scalar(value, s)) index_put_(t, to_indices(key), s);
    else index_put_(t, to_indices(key), tensor_from(value));
    return Py_NewRef(Py_None);
  }));
  return done.is_valid() ? 0 : -1;
}

void bind_index(const Names& n) {
  bind_along(n);
  bind_in_place(n);
  n.both("take", &take, "input"_a, "index"_a);
  n.both("put", &put, "input"_a, "index"_a, "source"_a, "accumulate"_a = false);
  n.both("masked_select", &masked_select, "input"_a, "mask"_a);
  n.both("masked_scatter", &masked_scatter, "input"_a, "mask"_a, "source"_a);
  n.both(
      "nonzero",
      [](const Tensor& x, bool as_tuple) -> nb::object {
        if (as_tuple) return tuple_of(nonzero_as_tuple(x));
        return nb::steal(wrap(nonzero(x)));
      },
      "input"_a, nb::kw_only(), "as_tuple"_a = false);
  n.both("nonzero_static", &nonzero_static, "input"_a, nb::kw_only(), "size"_a, "fill_value"_a = -1);
  n.both("argwhere", &argwhere, "input"_a);
  n.both(
      "index_put",
      [](const Tensor& x, const std::vector<Tensor>& indices, const Tensor& v, bool accumulate) {
        return index_put(x, {indices.begin(), indices.end()}, v, accumulate);
      },
      "input"_a, "indices"_a, "values"_a, "accumulate"_a = false);
  n.function("unravel_index", &unravel_index, "indices"_a, "shape"_a);
}

}  // namespace neura::python

// Values across the border: numbers, nested sequences, and back.
#include "common.h"
#include "neura/core/checked_int.h"
#include "neura/core/wrapped.h"
#include "neura/nn/value.h"
#include "neura/op/defer.h"
#include "neura/op/pointwise/promotion.h"

namespace neura::python {
namespace {

// The dtype of a tensor or an array, also of one number. A number of Python's has that of its kind instead.
std::optional<DType> own_dtype(PyObject* o) {
  if (is_tensor(o)) return tensor_in(o).dtype();
  if (!is_array(o)) return {};
  return copy_of_array(o, "tensor").dtype();
}

struct Nested {  // the numbers of nested sequences
  std::vector<std::complex<double>> wide;
  std::vector<std::int64_t> integers;
  Category category = Category::boolean;
  std::optional<DType> natural;
  Shape shape;
  bool empty = true, beyond = false;  // beyond: of uint64 alone
  bool of_arrays = false;             // the sequence begins with an array: to NumPy tensors are arrays, too

  void add(Scalar s, DType d) {
    empty = false;
    category = std::max(category, s.category());
    natural = natural ? promote_types(*natural, d) : d;
    wide.push_back({s.real(), s.imag()});
    integers.push_back(s.is_floating() || s.is_complex() ? 0 : s.integer());
    beyond |= s.beyond_int64();
  }
  void read(PyObject* o, int depth, std::optional<DType> of_whole = {}) {
    const std::optional<DType> own = of_whole ? of_whole : own_dtype(o);
    Scalar s;
    if (to_scalar(o, s)) {
      check<ShapeError>(depth == shape.size(), [&] { return ragged(depth); });
      return add(s, own.value_or(s.dtype()));
    }
    if (is_tensor(o) && depth == shape.size() && tensor_in(o).numel() == 1) {  // of any rank, as in torch
      check_one_value("tensor", tensor_in(o));
      return add(tensor_in(o).item(), *own);
    }
    if (PyLong_Check(o)) return add(large(o, depth), DType::int64);
    if (own && !of_whole) {
      check<ValueError>(!is_tensor(o) || of_arrays || depth < shape.size(), [&] {
        return "tensor: expected tensors of one element in a sequence, got " + tensor_in(o).spec().str() +
               "; use stack()";
      });
      const nb::object numbers = to_python(is_tensor(o) ? tensor_in(o) : copy_of_array(o, "tensor"));
      return read(numbers.ptr(), depth, own);
    }
    if (PyUnicode_Check(o) || !PySequence_Check(o)) {
      const auto text = [&] {
        return std::string("tensor: expected numbers or nested sequences of them, got ") + Py_TYPE(o)->tp_name;
      };
      if (PyUnicode_Check(o)) throw nn::ArgumentError(text());  // ValueError or TypeError in PyTorch
      throw DTypeError(text());                                 // RuntimeError in PyTorch
    }
    nb::object items = nb::steal(PySequence_Tuple(o));  // a number's own __index__ may change the list it stands in
    if (!items.is_valid()) throw nb::python_error();
    const Py_ssize_t n = PyTuple_GET_SIZE(items.ptr());
    if (depth == 0 && n) of_arrays = is_array(PyTuple_GET_ITEM(items.ptr(), 0));
    if (depth == shape.size() && empty) shape.push_back(n);
    check<ShapeError>(depth < shape.size() && shape[depth] == n, [&] { return ragged(depth); });
    for (Py_ssize_t i = 0; i < n; ++i) read(PyTuple_GET_ITEM(items.ptr(), i), depth + 1, of_whole);
  }
  Scalar large(PyObject* o, int depth) const {  // an integer beyond int64
    check<ShapeError>(depth == shape.size(), [&] { return ragged(depth); });
    const std::uint64_t value = PyLong_AsUnsignedLongLong(o);
    if (!PyErr_Occurred()) return Scalar::of_uint64(value);
    PyErr_Clear();
    throw nb::value_error("tensor: expected an integer that fits into 64 bits");
  }
  std::string ragged(int depth) const {
    return "tensor: expected sequences of one length at depth " + std::to_string(depth) + ", got different ones";
  }
  Tensor make(std::optional<DType> dtype) const {
    const Device here;  // whatever the scope
    if (empty) return zeros(shape, {.dtype = dtype.value_or(default_dtype()), .device = here});
    const DType wanted = dtype.value_or(*natural);
    check<ValueError>(!beyond || wanted != DType::int64, [] {
      return std::string("tensor: expected integers that int64 holds, got one beyond; give dtype=uint64");
    });
    if (beyond && category == Category::integer)
      return tensor_of(integers.data(), DType::uint64, shape, {.dtype = wanted, .device = here});
    if (category <= Category::integer)
      return tensor_of(integers.data(), DType::int64, shape, {.dtype = wanted, .device = here});
    if (category == Category::complex)
      return tensor_of(wide.data(), DType::complex128, shape, {.dtype = wanted, .device = here});
    std::vector<double> reals(wide.size());
    std::transform(wide.begin(), wide.end(), reals.begin(), [](const auto& c) { return c.real(); });
    return tensor_of(reals.data(), DType::float64, shape, {.dtype = wanted, .device = here});
  }
};

nb::object lists(const Tensor& t, const char* at, int dim) {
  const Spec& s = t.spec();
  if (dim == s.rank) return nb::steal(from_scalar(Scalar::load(s.dtype, at)));
  nb::object list = nb::steal(PyList_New(Py_ssize_t(s.shape[dim])));
  if (!list.is_valid()) throw nb::python_error();
  const std::int64_t step = s.strides[dim] * size_of(s.dtype);
  for (std::int64_t i = 0; i < s.shape[dim]; ++i, at += step)
    PyList_SET_ITEM(list.ptr(), Py_ssize_t(i), lists(t, at, dim + 1).release().ptr());
  return list;
}

}  // namespace

Tensor tensor_from(nb::handle data, std::optional<DType> dtype) {
  if (is_tensor(data.ptr())) {
    const Tensor t = tensor_in(data.ptr()).detach();
    return dtype && *dtype != t.dtype() ? t.to(*dtype) : t.clone();
  }
  Scalar s;
  if (to_scalar(data.ptr(), s) && !PyObject_CheckBuffer(data.ptr()))
    return tensor(s, {.dtype = dtype, .device = Device()});
  if (PyObject_CheckBuffer(data.ptr())) {
    const Tensor t = copy_of_array(data, "tensor");
    return dtype ? t.to(*dtype) : t;
  }
  Nested nested;
  nested.read(data.ptr(), 0);
  return nested.make(dtype);
}

nb::object to_python(const Tensor& t) {
  check_one_value("tolist", t);
  check_room("tolist", t.numel(), 32);  // a place in a list and a number
  notify_read(t);
  const Tensor here = innermost(t).to(Device());
  return lists(here, static_cast<const char*>(here.const_raw_data()), 0);
}

void bind_data(const Names& n) {
  const auto make = [](nb::handle data, std::optional<DType> dtype, std::optional<Device> device, bool requires_grad,
                       bool pin_memory) {
    Tensor t = tensor_from(data, dtype);
    if (!device) device = chosen_device();
    if (device) t = t.to(*device);
    t = pinned(pin_memory, t);
    if (requires_grad) t.requires_grad_();
    return t;
  };
  n.function("tensor", make, "data"_a.none(), nb::kw_only(), "dtype"_a = nb::none(), "device"_a = nb::none(),
             "requires_grad"_a = false, "pin_memory"_a = false,
             "A tensor with these values, copied: numbers, nested sequences, arrays.");
  n.method("tolist", &to_python);
}

}  // namespace neura::python

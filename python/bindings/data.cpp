// Values across the border: nested sequences, arrays that speak the buffer protocol, and back.
#include "common.h"

namespace neura::python {
namespace {

const char* format_of(DType d) {  // of the buffer protocol; null where it has none
  switch (d) {
    case DType::boolean:
      return "?";
    case DType::uint8:
      return "B";
    case DType::int8:
      return "b";
    case DType::int16:
      return "h";
    case DType::int32:
      return "i";
    case DType::int64:
      return "q";
    case DType::float16:
      return "e";
    case DType::float32:
      return "f";
    case DType::float64:
      return "d";
    case DType::complex64:
      return "Zf";
    case DType::complex128:
      return "Zd";
    default:
      return nullptr;
  }
}
std::optional<DType> dtype_of_format(const char* f, Py_ssize_t size) {
  if (!f) return DType::uint8;
  if (*f == '@' || *f == '=' || *f == '<') ++f;
  const std::string_view text = f;
  if (text == "l" || text == "q") return size == 8 ? DType::int64 : DType::int32;
  for (int i = 0; i < kDTypes; ++i)
    if (const char* own = format_of(DType(i)); own && text == own && size == size_of(DType(i))) return DType(i);
  return {};
}

Tensor tensor_of_buffer(nb::handle array, const char* op) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(array.ptr(), view.get(), PyBUF_STRIDES | PyBUF_FORMAT)) throw nb::python_error();
  struct Release {
    void operator()(Py_buffer* b) const { PyBuffer_Release(b), delete b; }
  };
  std::unique_ptr<Py_buffer, Release> held(view.release());
  const std::optional<DType> dtype = dtype_of_format(held->format, held->itemsize);
  check<DTypeError>(dtype.has_value(), [&] {
    return std::string(op) + ": expected an array of a dtype that tensors have, got format '" +
           (held->format ? held->format : "") + "'";
  });
  Spec spec;
  spec.dtype = *dtype, spec.rank = 0;
  check<ShapeError>(held->ndim <= kMaxRank, [&] {
    return std::string(op) + ": expected at most 8 dimensions, got " + std::to_string(held->ndim);
  });
  spec.rank = std::uint8_t(held->ndim);
  for (int i = 0; i < held->ndim; ++i) {
    spec.shape[i] = held->shape[i];
    check<ValueError>(held->strides[i] >= 0 && held->strides[i] % held->itemsize == 0, [&] {
      return std::string(op) + ": expected strides that are positive multiples of an element, got " +
             std::to_string(held->strides[i]) + " bytes; make a copy of the array first";
    });
    spec.strides[i] = held->strides[i] / held->itemsize;
  }
  spec.finish();
  Py_buffer* b = held.release();
  return Tensor(Ref<TensorImpl>::adopt(TensorImpl::make(spec, Storage::wrap(
                                                                  b->buf, std::size_t(spec.span() * size_of(*dtype)),
                                                                  [](Storage* s) {
                                                                    if (!Py_IsInitialized()) return;
                                                                    nb::gil_scoped_acquire gil;
                                                                    auto* buffer = static_cast<Py_buffer*>(s->context);
                                                                    PyBuffer_Release(buffer);
                                                                    delete buffer;
                                                                  },
                                                                  b))));
}

struct Nested {  // the numbers of nested sequences
  std::vector<std::complex<double>> wide;
  std::vector<std::int64_t> integers;
  Category category = Category::boolean;
  Shape shape;
  bool empty = true;

  void add(Scalar s) {
    empty = false;
    category = std::max(category, s.category());
    wide.push_back({s.real(), s.imag()});
    integers.push_back(s.is_floating() || s.is_complex() ? 0 : s.integer());
  }
  void read(PyObject* o, int depth) {
    Scalar s;
    if (to_scalar(o, s)) {
      check<ShapeError>(depth == shape.size(), [&] { return ragged(depth); });
      return add(s);
    }
    if (PyLong_Check(o)) throw nb::value_error("tensor: expected an integer that fits into 64 bits");
    if (PyUnicode_Check(o) || !PySequence_Check(o)) {
      const std::string type = Py_TYPE(o)->tp_name;
      throw nb::type_error(("tensor: expected numbers or nested sequences of them, got " + type).c_str());
    }
    nb::object fast = nb::steal(PySequence_Fast(o, "tensor: expected a sequence"));
    if (!fast.is_valid()) throw nb::python_error();
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(fast.ptr());
    if (depth == shape.size() && empty) shape.push_back(n);
    check<ShapeError>(depth < shape.size() && shape[depth] == n, [&] { return ragged(depth); });
    for (Py_ssize_t i = 0; i < n; ++i) read(PySequence_Fast_GET_ITEM(fast.ptr(), i), depth + 1);
  }
  std::string ragged(int depth) const {
    return "tensor: expected sequences of one length at depth " + std::to_string(depth) + ", got different ones";
  }
  Tensor make(std::optional<DType> dtype) const {
    if (empty) return zeros(shape, {.dtype = dtype ? *dtype : default_dtype()});
    const DType natural = category == Category::boolean    ? DType::boolean
                          : category == Category::integer  ? DType::int64
                          : category == Category::floating ? default_dtype()
                                                           : to_complex(default_dtype());
    const DType wanted = dtype.value_or(natural);
    if (category <= Category::integer) return tensor_of(integers.data(), DType::int64, shape, {.dtype = wanted});
    if (category == Category::complex) return tensor_of(wide.data(), DType::complex128, shape, {.dtype = wanted});
    std::vector<double> reals(wide.size());
    std::transform(wide.begin(), wide.end(), reals.begin(), [](const auto& c) { return c.real(); });
    return tensor_of(reals.data(), DType::float64, shape, {.dtype = wanted});
  }
};

nb::object lists(const Tensor& t, const char* at, int dim) {
  const Spec& s = t.spec();
  if (dim == s.rank) return nb::steal(from_scalar(Scalar::load(s.dtype, at)));
  nb::list l;
  for (std::int64_t i = 0; i < s.shape[dim]; ++i)
    l.append(lists(t, at + i * s.strides[dim] * size_of(s.dtype), dim + 1));
  return l;
}

nb::object numpy_of(nb::handle self) {
  if (!is_tensor(self.ptr())) throw nb::type_error("numpy: expected a tensor");
  const Tensor& t = tensor_in(self.ptr());
  check<AutogradError>(!t.requires_grad(), [] {
    return std::string("numpy: expected a tensor that requires no gradient; call detach() first");
  });
  check<DTypeError>(format_of(t.dtype()), [&] {
    return std::string("numpy: expected a dtype that NumPy has, got ") + name(t.dtype()) + "; convert it first";
  });
  check<DeviceError>(t.device().is_cpu(), [] { return std::string("numpy: expected a tensor on the cpu"); });
  return nb::module_::import_("numpy").attr("asarray")(nb::steal(PyMemoryView_FromObject(self.ptr())));
}

struct BufferSizes {
  Py_ssize_t shape[kMaxRank], strides[kMaxRank];
};

}  // namespace

int tensor_buffer(PyObject* self, Py_buffer* view, int flags) {
  const Tensor& t = tensor_in(self);
  const Spec& s = t.spec();
  view->obj = nullptr;
  if (!format_of(s.dtype) || !t.device().is_cpu() || t.requires_grad()) {
    PyErr_SetString(PyExc_BufferError,
                    "expected a tensor on the cpu that requires no gradient, of a dtype with a format");
    return -1;
  }
  if (!(flags & PyBUF_ND) && !s.contiguous) {
    PyErr_SetString(PyExc_BufferError, "expected a contiguous tensor");
    return -1;
  }
  auto* sizes = new BufferSizes;
  for (int i = 0; i < s.rank; ++i) sizes->shape[i] = s.shape[i], sizes->strides[i] = s.strides[i] * size_of(s.dtype);
  view->buf = t.raw_data(), view->obj = Py_NewRef(self), view->len = Py_ssize_t(s.bytes()), view->readonly = 0;
  view->itemsize = size_of(s.dtype), view->format = const_cast<char*>(format_of(s.dtype)), view->ndim = s.rank;
  view->shape = sizes->shape, view->strides = sizes->strides, view->suboffsets = nullptr, view->internal = sizes;
  return 0;
}
void drop_buffer(PyObject*, Py_buffer* view) { delete static_cast<BufferSizes*>(view->internal); }

Tensor tensor_from(nb::handle data, std::optional<DType> dtype) {
  if (is_tensor(data.ptr())) {
    const Tensor t = tensor_in(data.ptr()).detach();
    return dtype && *dtype != t.dtype() ? t.to(*dtype) : t.clone();
  }
  Scalar s;
  if (to_scalar(data.ptr(), s) && !PyObject_CheckBuffer(data.ptr())) return tensor(s, {.dtype = dtype});
  if (PyObject_CheckBuffer(data.ptr()) && !PyBytes_Check(data.ptr())) {
    const Tensor t = tensor_of_buffer(data, "tensor");
    return dtype && *dtype != t.dtype() ? t.to(*dtype) : t.clone();
  }
  Nested nested;
  nested.read(data.ptr(), 0);
  return nested.make(dtype);
}

nb::object to_python(const Tensor& t) {
  const Tensor here = t.to(Device());
  return lists(here, static_cast<const char*>(here.raw_data()), 0);
}

void bind_data(const Names& n) {
  const auto make = [](nb::handle data, std::optional<DType> dtype, std::optional<Device> device, bool requires_grad) {
    Tensor t = tensor_from(data, dtype);
    if (device) t = t.to(*device);
    if (requires_grad) t.requires_grad_();
    return t;
  };
  n.function("tensor", make, "data"_a, nb::kw_only(), "dtype"_a = nb::none(), "device"_a = nb::none(),
             "requires_grad"_a = false, "A tensor with these values, copied: numbers, nested sequences, arrays.");
  n.function(
      "as_tensor",
      [make](nb::handle data, std::optional<DType> dtype, std::optional<Device> device) {
        if (!is_tensor(data.ptr())) return make(data, dtype, device, false);
        Tensor t = tensor_in(data.ptr());
        if (dtype) t = t.to(*dtype);
        return device ? t.to(*device) : t;
      },
      "data"_a, "dtype"_a = nb::none(), "device"_a = nb::none());
  n.function(
      "from_numpy", [](nb::handle array) { return tensor_of_buffer(array, "from_numpy"); }, "ndarray"_a,
      "A tensor over the bytes of an array; writes to one are seen by the other.");
  n.method(
      "numpy",
      [](nb::handle self, bool force) {
        if (force && !is_tensor(self.ptr())) throw nb::type_error("numpy: expected a tensor");
        return force ? numpy_of(nb::steal(wrap(tensor_in(self.ptr()).detach().to(Device())))) : numpy_of(self);
      },
      "self"_a, nb::kw_only(), "force"_a = false);
  n.method(
      "__array__",
      [](nb::handle self, nb::handle dtype, nb::handle) {
        nb::object a = numpy_of(self);
        return dtype.is_none() ? a : a.attr("astype")(dtype);
      },
      "self"_a, "dtype"_a = nb::none(), "copy"_a = nb::none());
  n.method("tolist", &to_python);
  n.method("item", [](const Tensor& t) { return t.item(); });
}

}  // namespace neura::python

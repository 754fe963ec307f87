// Arrays across the border by the buffer protocol, of NumPy or not: shared where the memory allows it, else copied.
#include <cstring>

#include "common.h"
#include "neura/core/error_details.h"
#include "neura/core/extension.h"
#include "neura/core/meta.h"
#include "neura/op/defer.h"

namespace neura::python {
namespace {

// NumPy's int64 is a long where that has 8 bytes: arrays of any other kind are shown with their dtype.
constexpr const char* kLong = sizeof(long) == 8 ? "l" : "q";
constexpr const char* kUnsignedLong = sizeof(long) == 8 ? "L" : "Q";

const char* format_of(DType d) {  // of the buffer protocol; null where it has none
  constexpr std::pair<DType, const char*> formats[] = {
      {DType::boolean, "?"}, {DType::uint8, "B"},           {DType::int8, "b"},        {DType::int16, "h"},
      {DType::int32, "i"},   {DType::int64, kLong},         {DType::float16, "e"},     {DType::float32, "f"},
      {DType::float64, "d"}, {DType::complex64, "Zf"},      {DType::complex128, "Zd"}, {DType::uint16, "H"},
      {DType::uint32, "I"},  {DType::uint64, kUnsignedLong}};
  for (const auto& [dtype, format] : formats)
    if (dtype == d) return format;
  return nullptr;
}
std::optional<DType> dtype_of_format(std::string_view f, Py_ssize_t size) {
  if (f == "l" || f == "q" || f == "n") return size == 8 ? DType::int64 : DType::int32;
  if (f == "L" || f == "Q" || f == "N") return size == 8 ? DType::uint64 : DType::uint32;
  for (int i = 0; i < kDTypes; ++i)
    if (const char* own = format_of(DType(i)); own && f == own && size == size_of(DType(i))) return DType(i);
  return {};
}

// The memory that an object exposes, held until its last use.
struct Array {
  struct Release {
    void operator()(Py_buffer* b) const { PyBuffer_Release(b), delete b; }
  };
  std::unique_ptr<Py_buffer, Release> buffer;
  DType dtype = DType::uint8;
  bool swapped = false;  // the bytes of each number are in the other order

  Array(nb::handle o, const char* op) {
    auto view = std::make_unique<Py_buffer>();
    if (!PyObject_CheckBuffer(o.ptr()))
      throw nb::type_error((std::string(op) + ": expected an array, got " + Py_TYPE(o.ptr())->tp_name).c_str());
    if (PyObject_GetBuffer(o.ptr(), view.get(), PyBUF_RECORDS_RO)) {
      PyErr_Clear();
      refuse(o, op);
    }
    buffer.reset(view.release());
    std::string_view format = buffer->format ? buffer->format : "B";
    if (!format.empty() && (format[0] == '>' || format[0] == '!')) swapped = buffer->itemsize > 1;
    if (!format.empty() && std::string_view("@=<>!").find(format[0]) != std::string_view::npos) format.remove_prefix(1);
    const std::optional<DType> d = dtype_of_format(format, buffer->itemsize);
    if (!d) refuse(o, op);
    dtype = *d;
    check<ShapeError>(buffer->ndim <= kMaxRank, [&] {
      return std::string(op) + ": expected at most 8 dimensions, got " + std::to_string(buffer->ndim);
    });
  }
  [[noreturn]] static void refuse(nb::handle o, const char* op) {
    std::string what = Py_TYPE(o.ptr())->tp_name;
    if (nb::hasattr(o, "dtype"))
      what = nb::cast<std::string>(nb::steal(PyObject_Str(nb::object(o.attr("dtype")).ptr())));
    throw DTypeError(std::string(op) + ": expected an array of a dtype that tensors have, got " + what);
  }
  const char* unfit() const {  // why a tensor cannot show this memory; null if it can
    if (swapped) return "numbers in this machine's byte order; convert with a.astype(a.dtype.newbyteorder('='))";
    for (int i = 0; i < buffer->ndim; ++i) {
      if (buffer->shape[i] < 2) continue;
      if (buffer->strides[i] < 0) return "strides that are not negative; make a copy of the array first";
      if (buffer->strides[i] % buffer->itemsize)
        return "strides that are multiples of an element; make a copy of the array first";
    }
    if (reinterpret_cast<std::uintptr_t>(buffer->buf) % std::uintptr_t(size_of(to_real(dtype))))
      return "memory that is aligned to its dtype; make a copy of the array first";
    return nullptr;
  }
  Tensor share() && {
    Spec spec;
    spec.dtype = dtype, spec.rank = std::uint8_t(buffer->ndim);
    for (int i = 0; i < buffer->ndim; ++i)
      spec.shape[i] = buffer->shape[i],
      spec.strides[i] = std::max<Py_ssize_t>(buffer->strides[i], 0) / buffer->itemsize;
    spec.finish();
    Py_buffer* b = buffer.release();
    return Tensor(Ref<TensorImpl>::adopt(TensorImpl::make(
        spec,
        Storage::wrap(
            b->buf, std::size_t(spec.span() * size_of(dtype)),
            [](Storage* s) { when_locked([](void* p) { Release()(static_cast<Py_buffer*>(p)); }, s->context); }, b))));
  }
  Tensor copy() && {
    if (!unfit()) return std::move(*this).share().clone();
    Shape shape;
    for (int i = 0; i < buffer->ndim; ++i) shape.push_back(buffer->shape[i]);
    Tensor t = Tensor::empty(Spec::dense(dtype, shape));
    auto* bytes = static_cast<char*>(t.raw_data());
    if (PyBuffer_ToContiguous(bytes, buffer.get(), buffer->len, 'C')) throw nb::python_error();
    const Py_ssize_t part = size_of(to_real(dtype));
    for (char* p = bytes; swapped && p < bytes + buffer->len; p += part) std::reverse(p, p + part);
    return t;
  }
};

Tensor from_numpy(nb::handle o) {
  Array a(o, "from_numpy");
  const char* unfit = a.unfit();
  check<ValueError>(!unfit, [&] { return std::string("from_numpy: expected ") + unfit; });
  if (!a.buffer->readonly) return std::move(a).share();
  if (PyErr_WarnEx(PyExc_UserWarning, "from_numpy: the array is read-only, which a tensor cannot be: it is copied", 1))
    throw nb::python_error();
  return std::move(a).copy();
}
// Shared if possible and allowed, else copied, unless that is forbidden.
Tensor as_tensor(nb::handle o, std::optional<DType> dtype, std::optional<Device> device, std::optional<bool> copy) {
  Tensor t;
  const auto copied = [&](const char* why) {
    check<ValueError>(copy.value_or(true),
                      [&] { return std::string("asarray: expected copy=True or None for ") + why; });
  };
  if (is_tensor(o.ptr())) {
    t = tensor_in(o.ptr());
  } else if (PyObject_CheckBuffer(o.ptr()) && is_array(o.ptr())) {
    Array a(o, "as_tensor");
    if (a.unfit() || a.buffer->readonly) copied("memory that a tensor cannot show"), t = std::move(a).copy();
    else t = std::move(a).share();
  } else if (nb::hasattr(o, "__dlpack__")) {
    t = nb::cast<Tensor>(nb::module_::import_("neura").attr("from_dlpack")(o));
  } else {
    copied("numbers and sequences");
    t = tensor_from(o, dtype);
  }
  const Tensor before = t;
  if (!device) device = chosen_device();
  if (dtype && *dtype != t.dtype()) copied("another dtype"), t = t.to(*dtype);
  if (device && *device != t.device()) copied("another device"), t = t.to(*device);
  return copy.value_or(false) && t.is_same(before) ? t.clone() : t;
}
Tensor from_buffer(nb::handle o, DType dtype, std::int64_t count, std::int64_t offset, bool requires_grad) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(o.ptr(), view.get(), PyBUF_SIMPLE)) throw nb::python_error();
  std::unique_ptr<Py_buffer, Array::Release> b(view.release());
  const std::int64_t size = size_of(dtype);
  check<ValueError>(b->len > 0 && count != 0, [&] {
    return "frombuffer: expected a buffer and a count that are not empty, got " + std::to_string(b->len) +
           " bytes and count " + std::to_string(count);
  });
  check<ValueError>(offset >= 0 && offset < b->len, [&] {
    return "frombuffer: expected an offset from 0 to " + std::to_string(b->len - 1) + ", got " + std::to_string(offset);
  });
  if (count < 0) {
    check<ValueError>((b->len - offset) % size == 0, [&] {
      return "frombuffer: expected a multiple of " + std::to_string(size) + " bytes after the offset, got " +
             std::to_string(b->len - offset) + "; give a count";
    });
    count = (b->len - offset) / size;
  }
  check<ValueError>(count <= (b->len - offset) / size, [&] {
    return "frombuffer: expected at most " + std::to_string((b->len - offset) / size) + " elements, got count " +
           std::to_string(count);
  });
  char* data = static_cast<char*>(b->buf) + offset;
  Tensor t;
  if (b->readonly || reinterpret_cast<std::uintptr_t>(data) % std::uintptr_t(size_of(to_real(dtype)))) {
    t = Tensor::empty(Spec::dense(dtype, Shape{count}));
    std::memcpy(t.raw_data(), data, std::size_t(count * size));
  } else {
    t = Tensor(Ref<TensorImpl>::adopt(TensorImpl::make(
        Spec::dense(dtype, Shape{count}),
        Storage::wrap(
            data, std::size_t(count * size),
            [](Storage* s) { when_locked([](void* p) { Array::Release()(static_cast<Py_buffer*>(p)); }, s->context); },
            b.release()))));
  }
  return requires_grad ? t.requires_grad_() : t;
}

nb::object numpy_of(const Tensor& t) {
  check<AutogradError>(!t.requires_grad(), [] {
    return std::string("numpy: expected a tensor that requires no gradient; call detach() first");
  });
  check<DTypeError>(format_of(t.dtype()), [&] {
    return std::string("numpy: expected a dtype that NumPy has, got ") + name(t.dtype()) + "; convert it first";
  });
  try {
    check_values("numpy", t.device(), t.spec());
  } catch (const NotImplementedError& e) {
    throw UnsupportedDTypeError(e.what());  // a TypeError, too, as PyTorch's is
  }
  check<DeviceError>(t.device().is_cpu(), [] { return std::string("numpy: expected a tensor on the cpu"); });
  if (extension(t.impl())) throw nb::type_error("numpy: expected a dense tensor, got a sparse one; call to_dense()");
  nb::object self = nb::steal(wrap(t));
  static PyObject* const asarray = nb::object(nb::module_::import_("numpy").attr("asarray")).release().ptr();
  return nb::handle(asarray)(nb::steal(PyMemoryView_FromObject(self.ptr())));
}
nb::object array_of(const Tensor& t, nb::handle dtype, nb::handle copy) {
  nb::object a = numpy_of(t);
  if (!dtype.is_none()) {
    nb::object other = a.attr("astype")(dtype, "copy"_a = false);
    if (copy.ptr() == Py_False && !other.is(a))
      throw nb::value_error("__array__: expected copy=None or True for another dtype");
    if (!other.is(a)) return other;
  }
  return copy.ptr() == Py_True ? a.attr("copy")() : a;
}

struct Exported {  // keeps a buffer alive while it is exported, independent of the tensor
  Py_ssize_t shape[kMaxRank], strides[kMaxRank];
  Ref<Storage> storage;
};

}  // namespace

bool is_array(PyObject* o) {
  return PyObject_CheckBuffer(o) && !PyBytes_Check(o) && !PyByteArray_Check(o) && !is_tensor(o);
}
Tensor copy_of_array(nb::handle o, const char* op) { return Array(o, op).copy(); }
// A number of a dtype that tensors lack, such as uint16 or longdouble; false for anything else.
static bool to_foreign_number(PyObject* o, Scalar& s) {
  nb::object n = nb::steal(PyNumber_Index(o));
  if (!n.is_valid()) {
    PyErr_Clear();
    const double d = PyFloat_AsDouble(o);
    if (d == -1 && PyErr_Occurred()) return PyErr_Clear(), false;
    return s = Scalar(d), true;
  }
  const std::int64_t i = PyLong_AsLongLong(n.ptr());
  if (i == -1 && PyErr_Occurred()) return PyErr_Clear(), false;  // of uint64, beyond int64
  return s = Scalar(i), true;
}
bool to_number(PyObject* o, Scalar& s) {  // a number of NumPy
  if (!is_array(o)) return false;
  Py_buffer view;
  if (PyObject_GetBuffer(o, &view, PyBUF_RECORDS_RO)) return PyErr_Clear(), false;
  const bool single = view.ndim == 0;
  const std::string_view format = view.format ? view.format : "";
  const bool foreign = format.size() == 1 && std::string_view("HILQNg").find(format[0]) != std::string_view::npos;
  PyBuffer_Release(&view);
  if (!single) return false;
  if (foreign) return to_foreign_number(o, s);
  const Array a(o, "number");
  if (a.swapped) return false;
  return s = Scalar::load(a.dtype, a.buffer->buf), true;
}

int tensor_buffer(PyObject* self, Py_buffer* view, int flags) {
  const Tensor& t = tensor_in(self);
  const Spec& s = t.spec();
  view->obj = nullptr;
  const auto refuse = [](const char* text) { return PyErr_SetString(PyExc_BufferError, text), -1; };
  if (!t.device().is_cpu()) return refuse("buffer: expected a tensor on the cpu; move it with .cpu()");
  if (extension(t.impl())) return refuse("buffer: expected a dense tensor, got a sparse one; call to_dense()");
  if (is_wrapped(t)) return refuse("buffer: expected a tensor with memory of its own, got one inside vmap or jvp");
  if (t.requires_grad()) return refuse("buffer: expected a tensor that requires no gradient; call detach() first");
  if (!format_of(s.dtype)) return refuse("buffer: expected a dtype that buffers have; convert the tensor first");
  const auto asks = [&](int f) { return (flags & f) == f; };
  if (!s.contiguous && (asks(PyBUF_C_CONTIGUOUS) || !asks(PyBUF_STRIDES)))
    return refuse("buffer: expected a contiguous tensor; call contiguous() first");
  if (asks(PyBUF_F_CONTIGUOUS) && s.rank > 1) return refuse("buffer: expected a reader of row-major memory");
  notify_read(t);
  auto* e = new Exported{{}, {}, Ref<Storage>::share(t.impl()->storage)};
  for (int i = 0; i < s.rank; ++i) e->shape[i] = s.shape[i], e->strides[i] = s.strides[i] * size_of(s.dtype);
  view->buf = t.raw_data(), view->obj = Py_NewRef(self), view->len = Py_ssize_t(s.bytes()), view->readonly = 0;
  view->itemsize = size_of(s.dtype), view->ndim = s.rank, view->suboffsets = nullptr, view->internal = e;
  view->format = asks(PyBUF_FORMAT) ? const_cast<char*>(format_of(s.dtype)) : nullptr;
  view->shape = asks(PyBUF_ND) ? e->shape : nullptr, view->strides = asks(PyBUF_STRIDES) ? e->strides : nullptr;
  return 0;
}
void drop_buffer(PyObject*, Py_buffer* view) { delete static_cast<Exported*>(view->internal); }

void bind_arrays(const Names& n) {
  using D = std::optional<DType>;
  using V = std::optional<Device>;
  n.function(
      "as_tensor", [](nb::handle o, D d, V v) { return as_tensor(o, d, v, {}); }, "data"_a, "dtype"_a = nb::none(),
      "device"_a = nb::none(),
      "The tensor itself, a tensor over the memory of an array, or, where neither is possible, a copy.");
  n.function(
      "asarray",
      [](nb::handle o, D d, V v, std::optional<bool> copy, bool grad) {
        Tensor t = as_tensor(o, d, v, copy);
        if (grad == t.requires_grad()) return t;
        t = t.detach();
        return grad ? t.requires_grad_() : t;
      },
      "obj"_a, nb::kw_only(), "dtype"_a = nb::none(), "device"_a = nb::none(), "copy"_a = nb::none(),
      "requires_grad"_a = false,
      "A tensor over the memory of an object where that is possible. copy=True always copies, copy=False raises\n"
      "ValueError where a copy would be needed.");
  n.function(
      "frombuffer", &from_buffer, "buffer"_a, nb::kw_only(), "dtype"_a, "count"_a = -1, "offset"_a = 0,
      "requires_grad"_a = false,
      "A flat tensor over the bytes of a buffer, from `offset` bytes on; read-only or unaligned bytes are copied.");
  n.function("from_numpy", &from_numpy, "ndarray"_a,
             "A tensor over the memory of an array; writes to one are seen by the other. A read-only array is copied,\n"
             "with a warning. ValueError: negative strides or a foreign byte order; TypeError: a dtype tensors lack.");
  n.method(
      "numpy", [](const Tensor& t, bool force) { return numpy_of(force ? t.detach().to(Device()) : t); }, "self"_a,
      nb::kw_only(), "force"_a = false,
      "A NumPy array over the memory of this tensor. force=True first detaches it and moves it to the cpu.");
  n.method("__array__", &array_of, "self"_a, "dtype"_a = nb::none(), "copy"_a = nb::none());
  n.method(
      "__array_wrap__", [](const Tensor&, nb::handle array, nb::args) { return tensor_from(array); }, "self"_a,
      "array"_a, "rest"_a);
}

}  // namespace neura::python

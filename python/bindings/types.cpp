// dtype and device objects, and the conversions of arguments that are not tensors.
#include <memory>
#include "neura/core/meta.h"
#include "neura/core/wrapped.h"

#include "new_type.h"
#include "numbers.h"

namespace neura::python {
namespace {

struct PyDType {
  PyObject_HEAD DType value;
};
struct PyDevice {
  PyObject_HEAD Device value;
};
PyTypeObject *dtype_type, *device_type;
PyObject* dtypes[kDTypes];
DType dtype_in(PyObject* o) { return reinterpret_cast<PyDType*>(o)->value; }
Device device_in(PyObject* o) { return reinterpret_cast<PyDevice*>(o)->value; }

bool to_integer(PyObject* o, std::int64_t& value) {
  if (!PyIndex_Check(o) || PyBool_Check(o)) return false;
  PyObject* n = PyNumber_Index(o);
  if (n) value = PyLong_AsLongLong(n), Py_DECREF(n);
  if (!PyErr_Occurred()) return true;
  PyErr_Clear();
  return false;
}
PyObject* dtype_repr(PyObject* o) { return PyUnicode_FromFormat("neura.%s", name(dtype_in(o))); }
PyObject* dtype_reduce(PyObject* o, PyObject*) { return PyUnicode_FromString(name(dtype_in(o))); }
bool has_index(Device d) { return !d.is_cpu() && !is_meta(d); }
PyObject* device_repr(PyObject* o) {
  const Device d = device_in(o);
  const char* type = device_type_name(d.type).c_str();
  if (!has_index(d)) return PyUnicode_FromFormat("device(type='%s')", type);
  return PyUnicode_FromFormat("device(type='%s', index=%d)", type, int(d.index));
}
PyObject* device_str(PyObject* o) { return PyUnicode_FromString(device_in(o).str().c_str()); }
Py_hash_t device_hash(PyObject* o) { return Py_hash_t(std::hash<Device>()(device_in(o))); }
PyObject* device_compare(PyObject* a, PyObject* b, int op) {
  if (Py_TYPE(b) != device_type || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((device_in(a) == device_in(b)) == (op == Py_EQ));
}
PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"type", "index", nullptr};
    PyObject *type = nullptr, *number = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O:device", const_cast<char**>(names), &type, &number))
      throw nb::python_error();
    Device d;
    std::int64_t index = -1;
    if (!to_device(type, d)) throw nb::type_error("device: expected a text such as 'cpu' or 'cuda:0'");
    else if (number != Py_None && !to_integer(number, index))
      throw nb::type_error("device: expected index to be an integer");
    if (index != -1 || number != Py_None) {
      check<DeviceError>(index >= 0 && index < 256 && (index == 0 || has_index(d)),
                         [&] { return "device: expected an index that exists, got " + std::to_string(index); });
      d.index = std::uint8_t(index);
    }
    return from_device(d);
  });
}
PyObject* device_reduce(PyObject* o, PyObject*) { return Py_BuildValue("O(N)", device_type, device_str(o)); }
// Python ends its blocks in any order where generators hold some of them: the last scope ends then, as in torch.
std::vector<std::unique_ptr<DeviceScope>>& blocks() {
  thread_local std::vector<std::unique_ptr<DeviceScope>> all;
  return all;
}
PyObject* device_enter(PyObject* o, PyObject*) {
  blocks().push_back(std::make_unique<DeviceScope>(device_in(o)));
  return Py_NewRef(o);
}
PyObject* device_exit(PyObject*, PyObject*) {
  if (blocks().empty()) {
    PyErr_SetString(PyExc_RuntimeError, "device: expected a block that was entered, got none; use \"with\"");
    return nullptr;
  }
  blocks().pop_back();
  Py_RETURN_FALSE;
}
// @neura.device("cuda"): every call of the function is a block.
PyObject* device_call(PyObject* o, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    const bool one = PyTuple_GET_SIZE(args) == 1 && (!keywords || !PyDict_GET_SIZE(keywords));
    if (!one || !PyCallable_Check(PyTuple_GET_ITEM(args, 0)))
      throw nb::type_error(
          "device: expected one function to decorate; a device by its index is neura.device(\"cuda\", 1)");
    const nb::object device = nb::borrow(o), function = nb::borrow(PyTuple_GET_ITEM(args, 0));
    return nb::module_::import_("neura.autograd.grad_mode")
        .attr("_decorated")(function, nb::cpp_function([kept = nb::object(device)] { return kept; }))
        .release()
        .ptr();
  });
}
template <class T> void dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}

PyGetSetDef dtype_properties[] = {
    {"is_floating_point",
     [](PyObject* o, void*) { return PyBool_FromLong(is_floating(dtype_in(o)) || is_float8(dtype_in(o))); }, nullptr,
     "float16, bfloat16, float32, float64, and those of 8 bits", nullptr},
    {"is_complex", [](PyObject* o, void*) { return PyBool_FromLong(is_complex(dtype_in(o))); }, nullptr, "", nullptr},
    {"is_signed",
     [](PyObject* o, void*) {
       return PyBool_FromLong(dtype_in(o) > DType::uint8 && !is_unsigned_storage(dtype_in(o)));
     },
     nullptr, "", nullptr},
    {"itemsize", [](PyObject* o, void*) { return PyLong_FromLong(size_of(dtype_in(o))); }, nullptr, "bytes", nullptr},
    {}};
PyMethodDef dtype_methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, ""}, {}};
PyType_Slot dtype_slots[] = {{Py_tp_repr, (void*)dtype_repr},
                             {Py_tp_getset, dtype_properties},
                             {Py_tp_methods, dtype_methods},
                             {Py_tp_dealloc, (void*)dealloc<PyDType>},
                             {0, nullptr}};
PyGetSetDef device_properties[] = {
    {"type", [](PyObject* o, void*) { return PyUnicode_FromString(device_type_name(device_in(o).type).c_str()); },
     nullptr, "cpu, cuda, meta, or what a back end registered", nullptr},
    {"index",
     [](PyObject* o, void*) {
       return has_index(device_in(o)) ? PyLong_FromLong(device_in(o).index) : Py_NewRef(Py_None);
     },
     nullptr, "", nullptr},
    {}};
PyMethodDef device_methods[] = {
    {"__reduce__", device_reduce, METH_NOARGS, ""},
    {"__enter__", device_enter, METH_NOARGS, "Tensors without a device go here from now on."},
    {"__exit__", device_exit, METH_VARARGS, "And where they went before again."},
    {}};
PyType_Slot device_slots[] = {{Py_tp_repr, (void*)device_repr},          {Py_tp_str, (void*)device_str},
                              {Py_tp_hash, (void*)device_hash},          {Py_tp_richcompare, (void*)device_compare},
                              {Py_tp_call, (void*)device_call},          {Py_tp_new, (void*)device_new},
                              {Py_tp_getset, device_properties},         {Py_tp_methods, device_methods},
                              {Py_tp_dealloc, (void*)dealloc<PyDevice>}, {0, nullptr}};
PyType_Spec dtype_spec = {"neura.dtype", sizeof(PyDType), 0, Py_TPFLAGS_DEFAULT, dtype_slots};
PyType_Spec device_spec = {"neura.device", sizeof(PyDevice), 0, Py_TPFLAGS_DEFAULT, device_slots};

// Calls f with each element of a list, a tuple, or another sequence that is no text.
template <class F> bool each(PyObject* o, F&& f) {
  if (PyUnicode_Check(o) || PyBytes_Check(o) || !PySequence_Check(o)) return false;
  nb::object items = nb::steal(PySequence_Tuple(o));  // of its own: f may run code that changes the list
  if (!items.is_valid()) return PyErr_Clear(), false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.ptr()); ++i)
    if (!f(PyTuple_GET_ITEM(items.ptr(), i))) return false;
  return true;
}

}  // namespace

std::vector<double> numbers_of(nb::handle h, const char* op, const char* what) {
  std::vector<double> out;
  const auto add = [&](PyObject* o) {
    double d;
    return nb::try_cast<double>(nb::handle(o), d) && (out.push_back(d), true);
  };
  if (!each(h.ptr(), add)) throw nb::type_error((std::string(op) + ": expected " + what + " to be numbers").c_str());
  return out;
}

bool to_scalar(PyObject* o, Scalar& s) {
  if (PyBool_Check(o)) return s = Scalar(o == Py_True), true;
  if (PyFloat_Check(o)) return s = Scalar(PyFloat_AS_DOUBLE(o)), true;
  if (PyComplex_Check(o)) {
    const Py_complex c = PyComplex_AsCComplex(o);
    return s = Scalar(std::complex<double>(c.real, c.imag)), true;
  }
  if (is_tensor(o)) {
    const Tensor& t = tensor_in(o);
    if (t.numel() != 1 || t.dim() > 0) return false;
    return check_one_value("item", t), s = t.item(), true;
  }
  if (!PyLong_Check(o) && to_number(o, s)) return true;
  if (PyLong_Check(o) || (PyIndex_Check(o) && !PySequence_Check(o))) {
    std::int64_t i;
    if (!to_integer(o, i)) return false;
    return s = Scalar(i), true;
  }
  if (PyNumber_Check(o) && !PySequence_Check(o)) {  // fractions, decimals
    const double d = PyFloat_AsDouble(o);
    if (d == -1 && PyErr_Occurred()) return PyErr_Clear(), false;
    return s = Scalar(d), true;
  }
  return false;
}

bool to_operand(PyObject* o, Operand& operand) {
  if (is_tensor(o)) return operand = Operand(tensor_in(o)), true;
  if (o == Py_None) return operand = Operand(), true;
  Scalar s;
  return to_scalar(o, s) && (operand = Operand(s), true);
}

bool to_shape(PyObject* o, Shape& shape, bool none_keeps) {
  std::int64_t i;
  shape = {};
  if (o == Py_None) return true;
  if (to_integer(o, i)) return shape.push_back(i), true;
  return each(o, [&](PyObject* e) {
    if (none_keeps && e == Py_None) return shape.push_back(kKeepSize), true;
    return to_integer(e, i) && (shape.push_back(i), true);
  });
}
bool to_integers(PyObject* o, std::vector<std::int64_t>& v) {
  v.clear();
  return each(o, [&](PyObject* e) { return to_integer(e, v.emplace_back()); });
}
bool to_tensors(PyObject* o, std::vector<Tensor>& v) {
  v.clear();
  if (is_tensor(o)) return false;
  return each(o, [&](PyObject* e) { return is_tensor(e) && (v.push_back(tensor_in(e)), true); });
}
bool to_dtype(PyObject* o, DType& d) {
  if (Py_TYPE(o) == dtype_type) return d = dtype_in(o), true;
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return d = DType::float64, true;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return d = DType::boolean, true;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return d = DType::int64, true;
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return d = DType::complex128, true;
  return false;
}
bool to_device(PyObject* o, Device& d) {
  if (Py_TYPE(o) == device_type) return d = device_in(o), true;
  if (PyIndex_Check(o) && !PyBool_Check(o) && !is_tensor(o)) {  // the index of a CUDA device
    std::int64_t index = -1;
    check<DeviceError>(to_integer(o, index) && index >= 0 && index < 256,
                       [&] { return "device: expected an index that exists, got " + std::to_string(index); });
    return d = Device(DeviceType::cuda, int(index)), true;
  }
  if (!PyUnicode_Check(o)) return false;
  const char* text = PyUnicode_AsUTF8(o);
  if (!text) return PyErr_Clear(), false;
  return d = Device(text), true;
}
Shape sizes_of(const nb::args& args) {
  Shape s;
  const bool one = args.size() == 1 && !PyIndex_Check(nb::handle(args[0]).ptr());
  if (!to_shape(one ? nb::handle(args[0]).ptr() : args.ptr(), s)) throw nb::type_error("expected sizes, all integers");
  return s;
}
PyObject* from_dtype(DType d) { return Py_NewRef(dtypes[int(d)]); }
PyObject* from_device(Device d) {
  PyDevice* o = PyObject_New(PyDevice, device_type);
  if (o) o->value = d;
  return reinterpret_cast<PyObject*>(o);
}
PyObject* from_scalar(Scalar s) {
  switch (s.category()) {
    case Category::boolean:
      return PyBool_FromLong(s.integer() != 0);
    case Category::integer:
      return s.beyond_int64() ? PyLong_FromUnsignedLongLong(std::uint64_t(s.integer()))
                              : PyLong_FromLongLong(s.integer());
    case Category::complex:
      return PyComplex_FromDoubles(s.real(), s.imag());
    default:
      return PyFloat_FromDouble(s.real());
  }
}

void bind_types(nb::module_& m) {
  dtype_type = sealed_type(dtype_spec);
  device_type = new_type(device_spec);
  m.attr("dtype") = nb::handle(reinterpret_cast<PyObject*>(dtype_type));
  m.attr("device") = nb::handle(reinterpret_cast<PyObject*>(device_type));
  for (int i = 0; i < kDTypes; ++i) {
    PyDType* o = PyObject_New(PyDType, dtype_type);
    o->value = DType(i);
    dtypes[i] = reinterpret_cast<PyObject*>(o);
    m.attr(name(DType(i))) = nb::handle(dtypes[i]);
  }
  m.def("_chosen_device", &chosen_device);
  const std::pair<const char*, DType> names[] = {{"float", DType::float32},    {"double", DType::float64},
                                                 {"half", DType::float16},     {"int", DType::int32},
                                                 {"long", DType::int64},       {"short", DType::int16},
                                                 {"cfloat", DType::complex64}, {"cdouble", DType::complex128}};
  for (const auto& [alias, d] : names) m.attr(alias) = nb::handle(dtypes[int(d)]);
}

}  // namespace neura::python

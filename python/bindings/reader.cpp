#include "reader.h"

namespace neura::python {
namespace {

// What a conversion raises means: it is something else.
template <class F> bool quietly(F&& f) {
  try {
    return f();
  } catch (...) {
    PyErr_Clear();
    return false;
  }
}

}  // namespace

surface::Reader::Given PyReader::given(int i) {
  PyObject* o = given_to[std::size_t(i)];
  const Given g = !o ? absent : o == Py_None ? none : some;
  if (g != some) wrong = i;
  return g;
}
bool PyReader::read(int i, Tensor& to) {
  PyObject* o = at(i);
  return is_tensor(o) && (to = tensor_in(o), true);
}
bool PyReader::read(int i, Operand& to) {
  return quietly([&] { return to_operand(at(i), to); });
}
bool PyReader::read(int i, Scalar& to) {
  return quietly([&] { return to_scalar(at(i), to); });
}
bool PyReader::read(int i, bool& to) {
  PyObject* o = at(i);
  if (!PyBool_Check(o)) return false;
  to = o == Py_True;
  return true;
}
bool PyReader::read(int i, std::int64_t& to) {
  PyObject* o = at(i);
  if (!PyLong_CheckExact(o) && (!convert || PyFloat_Check(o) || !PyIndex_Check(o))) return false;
  int overflow = 0;
  nb::object index = nb::steal(PyNumber_Index(o));
  if (!index.is_valid()) return PyErr_Clear(), false;
  to = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  return overflow == 0;
}
bool PyReader::read(int i, double& to) {
  PyObject* o = at(i);
  if (PyFloat_CheckExact(o)) return to = PyFloat_AS_DOUBLE(o), true;
  if (!convert || PyUnicode_Check(o) || !PyNumber_Check(o)) return false;
  to = PyFloat_AsDouble(o);
  return !PyErr_Occurred() || (PyErr_Clear(), false);
}
bool PyReader::read(int i, std::string& to) {
  PyObject* o = at(i);
  Py_ssize_t size;
  const char* text = PyUnicode_Check(o) ? PyUnicode_AsUTF8AndSize(o, &size) : nullptr;
  if (!text) return PyErr_Clear(), false;
  to.assign(text, std::size_t(size));
  return true;
}
bool PyReader::read(int i, Dims& to) {
  return quietly([&] { return to_shape(at(i), to); });
}
bool PyReader::read(int i, PerDim& to) {
  return quietly([&] { return to_shape(at(i), to, true); });
}
bool PyReader::read(int i, Padding& to) {
  PyObject* o = at(i);
  if (PyUnicode_Check(o)) return to = Padding(std::string_view(nb::cast<const char*>(nb::handle(o)))), true;
  return read(i, to.amount);
}
bool PyReader::read(int i, Shape& to) {
  return quietly([&] { return to_shape(at(i), to); });
}
bool PyReader::read(int i, surface::Integers& to) {
  return quietly([&] { return to_integers(at(i), to); });
}
bool PyReader::read(int i, surface::Tensors& to) {
  return quietly([&] { return to_tensors(at(i), to); });
}
bool PyReader::read(int i, DType& to) {
  return quietly([&] { return to_dtype(at(i), to); });
}
bool PyReader::read(int i, surface::Numbers& to) {
  PyObject* o = at(i);
  Scalar one;
  if (quietly([&] { return to_scalar(o, one); })) return to.push_back(one.real()), true;
  if (!PySequence_Check(o) || PyUnicode_Check(o) || is_tensor(o)) return false;
  const nb::object fast = nb::steal(PySequence_Fast(o, ""));
  if (!fast.is_valid()) return PyErr_Clear(), false;
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(fast.ptr()); ++k) {
    Scalar s;
    if (!quietly([&] { return to_scalar(PySequence_Fast_GET_ITEM(fast.ptr(), k), s); })) return false;
    to.push_back(s.real());
  }
  return true;
}
bool PyReader::read(int i, surface::Shapes& to) {
  PyObject* o = at(i);
  if (!PyList_Check(o) && !PyTuple_Check(o)) return false;
  return quietly([&] {
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); ++k)
      if (!to_shape(PySequence_Fast_GET_ITEM(o, k), to.emplace_back())) return false;
    return true;
  });
}
bool PyReader::read(int, surface::Ignored&) { return true; }
bool PyReader::read(int i, Device& to) { return to_device(at(i), to); }  // a text that is none says so

}  // namespace neura::python

#include "reader.h"

#include "modules.h"

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
  if (PyBool_Check(o)) return to = o == Py_True, true;
  return layer && !(exact >> i & 1) && read_truth(o, to);
}
bool PyReader::read_truth(PyObject* o, bool& to) {
  Scalar s;
  if (is_tensor(o) || !quietly([&] { return to_scalar(o, s); }) || s.is_floating() || s.is_complex()) return false;
  return to = s.integer() != 0, true;
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
  if (quietly([&] { return to_shape(at(i), to); })) return true;
  std::vector<std::int64_t> all;
  if (convert && quietly([&] { return to_integers(at(i), all); }))
    to = Shape(all.data(), all.size());  // of too many, a ShapeError that says so
  return false;
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
// A sparse layout is not ignored: the result would be of another one.
bool PyReader::read(int i, surface::Ignored&) {
  const nb::handle given(at(i));
  if (std::string_view(Py_TYPE(given.ptr())->tp_name) != "layout") return true;
  const std::string name = nb::str(given).c_str();
  check<NotImplementedError>(name == "neura.strided", [&] {
    return "layout: expected neura.strided, got " + name +
           "; call to_sparse() on the result, or sparse_coo_tensor(size=...)";
  });
  return true;
}
bool PyReader::read(int i, Generator*& to) { return nb::try_cast<Generator*>(nb::handle(at(i)), to) && to; }
bool PyReader::read(int i, MemoryFormat& to) {
  const nb::object text = nb::steal(PyObject_Str(at(i)));
  if (!text.is_valid()) return PyErr_Clear(), false;
  constexpr const char* names[] = {"neura.preserve_format", "neura.contiguous_format", "neura.channels_last",
                                   "neura.channels_last_3d"};
  for (std::size_t k = 0; k < std::size(names); ++k)
    if (PyUnicode_CompareWithASCIIString(text.ptr(), names[k]) == 0) return to = MemoryFormat(k), true;
  return false;
}
bool PyReader::read(int i, Sublists& to) {
  PyObject* o = at(i);
  const Py_ssize_t n = PyTuple_Check(o) ? PyTuple_GET_SIZE(o) : 0;
  for (Py_ssize_t k = 0; k < n; ++k) {
    PyObject* item = PyTuple_GET_ITEM(o, k);
    if (k % 2 == 0 && k + 1 < n) {  // the last of an odd number is the list of the result
      if (!is_tensor(item)) return false;
      to.tensors.push_back(tensor_in(item));
      continue;
    }
    if (!PySequence_Check(item) || is_tensor(item)) return false;
    surface::Integers& list = to.lists.emplace_back();
    for (nb::handle number : nb::iter(nb::handle(item))) {
      list.push_back(surface::Sublists::kEllipsis);
      if (number.ptr() != Py_Ellipsis && (!nb::try_cast<std::int64_t>(number, list.back()) || list.back() < 0))
        list.back() = std::numeric_limits<std::int64_t>::max();  // no number of a dimension: einsum says so
    }
  }
  return n >= 2;
}
bool PyReader::read(int i, nn::Number& to) {  // an int of Python's stays one
  Scalar s;
  if (!quietly([&] { return to_scalar(at(i), s); }) || s.is_complex()) return false;
  if (s.is_floating()) to = s.real();
  else to = s.integer();
  return true;
}
bool PyReader::read(int i, Reduction& to) {  // an unknown word is an error of its own
  std::string word;
  return read(i, word) && (to = to_reduction(word), true);
}
bool PyReader::read(int i, surface::AnyObject& to) { return to.object = at(i), true; }
bool PyReader::read(int i, nn::Activation& to) {
  if (std::string& word = to; read(i, word)) return true;
  PyObject* o = at(i);
  const nb::object name = nb::getattr(nb::handle(o), "__name__", nb::none());
  if (PyUnicode_Check(name.ptr())) to = nb::cast<std::string>(name);
  check<NotImplementedError>(to == "relu" || to == "gelu", [&] {
    return std::string(layer) + ": expected the activation 'relu', 'gelu' or one of these functions, got another " +
           Py_TYPE(o)->tp_name + "; write a layer of your own for it";
  });
  return true;
}
bool PyReader::read(int i, Ref<nn::Module>& to) {
  PyObject* o = at(i);
  if (!is_module(o)) return false;
  to = Ref<nn::Module>::share(&module_in(o));
  return true;
}
bool PyReader::read(int i, Device& to) { return to_device(at(i), to); }  // an invalid text is an error of its own

}  // namespace neura::python

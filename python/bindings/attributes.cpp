// What a tensor answers to Python's own questions, and the facts of layout and memory order under torch's names.
#include "common.h"

#include "neura/ops/shape/view.h"
#include "neura/sparse/sparse.h"

namespace neura::python {

void bind_attributes_of_tensor(const Names&);

namespace {

template <class F> void property(const char* name, F&& get) {
  nb::object p = nb::handle(reinterpret_cast<PyObject*>(&PyProperty_Type))(nb::cpp_function(get));
  if (PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), name, p.ptr())) throw nb::python_error();
}

nb::object format(nb::handle self, nb::handle how) {
  if (!is_tensor(self.ptr())) throw nb::type_error("format: expected a tensor");
  if (!PyUnicode_Check(how.ptr())) throw nb::type_error("format: expected format_spec to be a text");
  const Tensor& t = tensor_in(self.ptr());
  nb::object value = t.dim() == 0 ? nb::steal(from_scalar(t.detach().item())) : nb::steal(PyObject_Str(self.ptr()));
  if (!value.is_valid()) throw nb::python_error();
  if (t.dim() > 0 && PyObject_IsTrue(how.ptr()))
    throw nb::type_error("format: expected no format for a tensor with dimensions; use tolist() or set_printoptions()");
  return nb::steal(PyObject_Format(value.ptr(), how.ptr()));
}

}  // namespace

void bind_attributes_of_tensor(const Names& n) {
  n.method("__format__", &format, "self"_a, "format_spec"_a);
  n.method("__reversed__", [](const Tensor& t) { return t.dim() ? flip(t, 0) : t; });
  n.method("__complex__", [](const Tensor& t) {
    const Scalar s = t.item();
    return nb::steal(PyComplex_FromDoubles(s.real(), s.imag()));
  });
  n.method("_is_view", [](const Tensor& t) { return t.impl()->base != nullptr; });
  for (const char* never : {"is_quantized", "is_meta", "is_mkldnn", "is_mps", "is_xpu", "is_xla"})
    property(never, [](const Tensor&) { return false; });
  property("is_sparse", [](const Tensor& t) { return layout(t) == Layout::coo; });
  property("is_sparse_csr", [](const Tensor& t) { return layout(t) == Layout::csr; });
  property("output_nr", [](const Tensor& t) { return int(t.impl()->output); });
}

}  // namespace neura::python

// What a tensor answers to Python's own questions, and the facts of layout and memory order under torch's names.
#include "common.h"

#include "neura/ops/view.h"

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
  n.method("is_inference", [](const Tensor& t) { return t.impl()->inference; });
  n.method("is_signed", [](const Tensor& t) { return t.dtype() > DType::uint8; });
  n.method(
      "is_set_to",
      [](const Tensor& a, const Tensor& b) {
        return a.impl()->storage == b.impl()->storage && a.spec().same_geometry(b.spec());
      },
      "self"_a, "tensor"_a);
  n.method("dim_order", [](const Tensor& t) {  // by falling strides
    Shape order;
    for (int i = 0; i < t.dim(); ++i) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return t.spec().strides[a] > t.spec().strides[b]; });
    return order;
  });
  for (const char* never : {"is_conj", "is_neg"}) n.method(never, [](const Tensor&) { return false; });
  for (const char* never : {"is_sparse", "is_quantized", "is_meta", "is_mkldnn", "is_mps", "is_xpu", "is_xla"})
    property(never, [](const Tensor&) { return false; });
  property("output_nr", [](const Tensor& t) { return int(t.impl()->output); });
}

}  // namespace neura::python

// Order: sorting, selection, search, counting; and results with names.
#include "numbers.h"
#include "results.h"

#include <structmember.h>

namespace neura::python {
namespace {

PyObject* show(PyObject* self) {  // a line for each member
  std::string text = std::string(Py_TYPE(self)->tp_name) + "(\n";
  for (Py_ssize_t i = 0; i < Py_SIZE(self); ++i) {
    const nb::object value = nb::steal(PyObject_Repr(PyStructSequence_GetItem(self, i)));
    const char* s = value.is_valid() ? PyUnicode_AsUTF8(value.ptr()) : nullptr;
    if (!s) return nullptr;
    text += (i ? ",\n" : "") + std::string(Py_TYPE(self)->tp_members[i].name) + "=" + s;
  }
  return PyUnicode_FromString((text + ")").c_str());
}
PyTypeObject* result_type(const std::string& name, const std::vector<const char*>& fields) {
  static std::vector<std::pair<std::string, PyTypeObject*>> made;
  for (const auto& [n, type] : made)
    if (n == name) return type;
  auto* kept = new std::string("neura.return_types." + name);  // types live as long as the process, and point here
  std::vector<PyStructSequence_Field> list;
  for (const char* f : fields) list.push_back({f, ""});
  list.push_back({nullptr, nullptr});
  PyStructSequence_Desc description{kept->c_str(), "a result with names", list.data(), int(fields.size())};
  PyTypeObject* type = PyStructSequence_NewType(&description);
  if (!type) throw nb::python_error();
  type->tp_repr = show;
  made.emplace_back(name, type);
  return type;
}
std::vector<double> range_of(nb::handle h, const char* op) {
  return h.is_none() ? std::vector<double>() : numbers_of(h, op, "range");
}
nb::object edges_of(const HistogramDDResult& r) {
  nb::object o = nb::steal(PyStructSequence_New(result_type("histogramdd", {"hist", "bin_edges"})));
  if (!o.is_valid()) throw nb::python_error();
  PyStructSequence_SetItem(o.ptr(), 0, wrap(r.hist));
  PyStructSequence_SetItem(o.ptr(), 1, tuple_of(r.bin_edges).release().ptr());
  return o;
}
void bind_histograms(const Names& n) {
  n.function(
      "histogramdd",
      [](const Tensor& x, const std::vector<std::int64_t>& bins, nb::handle range, const Tensor& weight, bool density) {
        const HistogramDDResult r = histogramdd(x, bins, {range_of(range, "histogramdd"), weight, density});
        return edges_of(r);
      },
      "input"_a, "bins"_a, "range"_a = nb::none(), "weight"_a = nb::none(), "density"_a = false);
  n.function(
      "histogramdd",
      [](const Tensor& x, const std::vector<Tensor>& bins, nb::handle range, const Tensor& weight, bool density) {
        const HistogramDDResult r = histogramdd(x, bins, {range_of(range, "histogramdd"), weight, density});
        return edges_of(r);
      },
      "input"_a, "bins"_a, "range"_a = nb::none(), "weight"_a = nb::none(), "density"_a = false);
  n.function(
      "histogramdd",
      [](const Tensor& x, const Dims& bins, nb::handle range, const Tensor& weight, bool density) {
        if (bins.size() != 1) throw nb::type_error("histogramdd: expected bins to be integers or tensors");
        const std::int64_t dimensions = x.dim() ? x.size(-1) : 0;  // which one number of bins is for
        const std::vector<std::int64_t> each(std::size_t(dimensions), bins[0]);
        return edges_of(histogramdd(x, each, {range_of(range, "histogramdd"), weight, density}));
      },
      "input"_a, "bins"_a, "range"_a = nb::none(), "weight"_a = nb::none(), "density"_a = false);
}

}  // namespace

nb::object named(const char* type, const std::vector<const char*>& fields, const std::vector<Tensor>& values) {
  nb::object o = nb::steal(PyStructSequence_New(result_type(type, fields)));
  if (!o.is_valid()) throw nb::python_error();
  Py_ssize_t i = 0;
  for (const Tensor& t : values) PyStructSequence_SetItem(o.ptr(), i++, wrap(t));
  return o;
}
nb::object named_pair(const char* type, const char* first, const char* second, const Tensor& a, const Tensor& b) {
  return named(type, {first, second}, {a, b});
}
void bind_sort(const Names& n) {
  bind_histograms(n);
  n.function("_result_type", [](const std::string& name, const nb::list& fields) {
    std::vector<const char*> kept;
    for (nb::handle f : fields)
      kept.push_back((new std::string(nb::cast<std::string>(f)))->c_str());  // as long as the process
    return nb::borrow(reinterpret_cast<PyObject*>(result_type(name, kept)));
  });
}

}  // namespace neura::python

// A callable around a function that has no out=: without the word it calls through; with it, the result is written.
#include "out.h"

#include <structmember.h>

#include <cstring>

#include "neura/autograd/grad_mode.h"
#include "neura/ops/autocast.h"

namespace neura::python {
namespace {

struct PyOut {
  PyObject_HEAD vectorcallfunc call;
  PyObject *inner, *name;
};
PyTypeObject* out_type;

// Does this function want a destination of the result's own dtype? As in torch, what moves elements does.
bool is_strict(std::string_view op) {
  return op.starts_with("index_") || op.starts_with("scatter") || op == "gather" || op == "take" ||
         op == "masked_select" || op == "take_along_dim";
}

PyObject* call_out(PyObject* self, PyObject* const* args, std::size_t flagged, PyObject* keywords) {
  const auto& f = *reinterpret_cast<PyOut*>(self);
  const Py_ssize_t n = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  Py_ssize_t at = 0;
  while (at < n && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, at), "out") != 0) ++at;
  if (at == n) return PyObject_Vectorcall(f.inner, args, flagged, keywords);
  return guarded([&]() -> PyObject* {
    const Py_ssize_t positional = PyVectorcall_NARGS(flagged);
    const nb::handle out(args[positional + at]);
    std::vector<PyObject*> rest(args, args + positional + n);
    rest.erase(rest.begin() + positional + at);
    nb::list names;
    for (Py_ssize_t i = 0; i < n; ++i)
      if (i != at) names.append(nb::handle(PyTuple_GET_ITEM(keywords, i)));
    nb::tuple others(names);
    std::optional<amp::Restored> uncast;  // as in torch, what has a destination keeps its operands' dtypes
    if (!out.is_none()) uncast.emplace();
    nb::object result =
        nb::steal(PyObject_Vectorcall(f.inner, rest.data(), std::size_t(positional), n > 1 ? others.ptr() : nullptr));
    if (!result.is_valid()) throw nb::python_error();
    if (out.is_none()) return result.release().ptr();
    return into_each(out, result, PyUnicode_AsUTF8(f.name)).release().ptr();
  });
}
PyObject* show(PyObject* self) { return PyUnicode_FromFormat("<function %U>", reinterpret_cast<PyOut*>(self)->name); }
PyObject* reduce(PyObject* self, PyObject*) { return Py_NewRef(reinterpret_cast<PyOut*>(self)->name); }
PyObject* attribute(PyObject* self, PyObject* name) {  // what it lacks, such as its text, is the inner function's
  if (PyObject* own = PyObject_GenericGetAttr(self, name)) return own;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
  PyErr_Clear();
  return PyObject_GetAttr(reinterpret_cast<PyOut*>(self)->inner, name);
}
PyObject* doc(PyObject* self, void*) {
  return PyObject_GetAttrString(reinterpret_cast<PyOut*>(self)->inner, "__doc__");
}

PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(PyOut, call), READONLY, ""},
                         {"__name__", T_OBJECT, offsetof(PyOut, name), READONLY, ""},
                         {"__qualname__", T_OBJECT, offsetof(PyOut, name), READONLY, ""},
                         {"__wrapped__", T_OBJECT, offsetof(PyOut, inner), READONLY, ""},
                         {}};
PyGetSetDef properties[] = {{"__doc__", doc, nullptr, "", nullptr}, {}};
PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, ""}, {}};
PyType_Slot slots[] = {{Py_tp_call, (void*)PyVectorcall_Call},
                       {Py_tp_repr, (void*)show},
                       {Py_tp_getattro, (void*)attribute},
                       {Py_tp_members, members},
                       {Py_tp_getset, properties},
                       {Py_tp_methods, methods},
                       {0, nullptr}};
PyType_Spec spec = {"neura.out_function", sizeof(PyOut), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

// Functions of neura that take out= in torch and do not by themselves.
constexpr char kNames[] =
    "arange bernoulli empty eye full isin linspace logspace multinomial normal ones rand randint randn randperm "
    "zeros";

}  // namespace

nb::object into(nb::handle out, const Tensor& value, const char* op) {
  if (out.is_none()) return nb::steal(wrap(value));
  if (!is_tensor(out.ptr())) throw nb::type_error((std::string(op) + ": expected a tensor for out").c_str());
  Tensor target = tensor_in(out.ptr());
  check<AutogradError>(!is_grad_enabled() || !(value.requires_grad() || target.requires_grad()), [&] {
    return std::string(op) +
           ": expected no gradient to be needed with out=, which has none; use the form that returns "
           "a new tensor";
  });
  const bool holds =
      is_strict(op) ? value.dtype() == target.dtype() : category(value.dtype()) <= category(target.dtype());
  check<DTypeError>(holds, [&] {
    return std::string(op) + ": expected a destination that holds " + name(value.dtype()) + ", got " +
           target.spec().str();
  });
  Operand same[3] = {Operand(Scalar(true)), Operand(value), Operand(value)};  // where it is true, the value
  Call call{&rows::where, nullptr, same, 3, &target, Destination::out};
  apply(call);
  return nb::borrow(out);
}

nb::object into_each(nb::handle out, nb::handle result, const char* op) {
  if (is_tensor(result.ptr())) return into(out, tensor_in(result.ptr()), op);
  if (!PyTuple_Check(result.ptr()) || !PySequence_Check(out.ptr()) || is_tensor(out.ptr()) ||
      nb::len(out) != nb::len(result))
    throw nb::type_error((std::string(op) + ": expected out to be a tensor for each result").c_str());
  nb::list written;
  for (std::size_t i = 0; i < nb::len(result); ++i) {
    nb::object o = nb::object(out[i]), r = nb::object(result[i]);
    if (!is_tensor(r.ptr())) throw nb::type_error((std::string(op) + ": there is no argument out").c_str());
    written.append(into(o, tensor_in(r.ptr()), op));
  }
  nb::tuple t(written);
  if (PyTuple_CheckExact(result.ptr())) return t;
  return nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(result.ptr())))(t);  // with names
}

void give_out(nb::handle scope, std::string_view names) {
  for (std::size_t end; !names.empty(); names.remove_prefix(std::min(end + 1, names.size()))) {
    end = std::min(names.find(' '), names.size());
    const std::string name(names.substr(0, end));
    PyOut* f = PyObject_New(PyOut, out_type);  // lives as long as the process
    if (!f) throw nb::python_error();
    f->call = call_out, f->inner = nb::object(scope.attr(name.c_str())).release().ptr();
    f->name = PyUnicode_FromString(name.c_str());
    nb::setattr(scope, name.c_str(), nb::handle(reinterpret_cast<PyObject*>(f)));
  }
}

void bind_out(nb::module_& m) {
  out_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!out_type) throw nb::python_error();
  give_out(m, kNames);
}

}  // namespace neura::python

// The pointwise rows: one callable type for all of them, which reads operands, attributes and `out` and calls `apply`.
// A new row of the tables is a Python function without a line here.

#include <cstring>

#include "arguments.h"
#include "keywords.h"
#include "new_type.h"
#include "neura/op/apply.h"
#include "neura/surface/rows.h"

#include <structmember.h>

namespace neura::python {
namespace {

struct PyRow {
  PyObject_HEAD vectorcallfunc call;
  const surface::RowFunction* function;
  bool in_place;
  PyObject* name;

  const Row& row() const { return *function->row; }
};
PyTypeObject* row_type;

struct Arguments {
  const PyRow& self;
  Operand operands[3];
  double attributes[4];
  PyObject* out = nullptr;
  PyObject* first = nullptr;
  bool in_place = false;
  unsigned given = 0;  // bit i: attribute i; the bit after the last one: inplace

  [[noreturn]] void wrong(const std::string& text) const {
    throw nb::type_error((std::string(self.row().name) + ": " + text).c_str());
  }
  void operand(int i, PyObject* value) {
    if (value == Py_None || !to_operand(value, operands[i]))
      wrong(std::string("expected a tensor, got ") + Py_TYPE(value)->tp_name);
    if (operands[i].is_scalar() && !(self.function->numbers >> i & 1)) wrong("expected a tensor, got a number");
    if (i == 0) first = value;
  }
  void mark(int i, const char* name) {
    if (given >> i & 1) twice(name);
    given |= 1u << i;
  }
  [[noreturn]] void twice(const char* name) const {
    wrong(std::string("got multiple values for argument '") + name + "'");
  }
  void attribute(int i, PyObject* value) {
    mark(i, self.row().attributes.name[i]);
    Scalar s;
    if (value == Py_None) return;  // the default
    if (!to_scalar(value, s) || s.is_complex())
      wrong(std::string("expected a real number for ") + self.row().attributes.name[i] + ", got " +
            Py_TYPE(value)->tp_name);
    attributes[i] = s.real();
  }
  bool takes_inplace() const { return self.function->takes_inplace && !self.in_place; }
  void inplace(PyObject* value) {
    mark(self.row().attributes.count, "inplace");
    const int truth = PyObject_IsTrue(value);
    if (truth < 0) throw nb::python_error();
    in_place = truth;
  }
  void keyword(const char* key, PyObject* value) {
    const auto& words = self.function->operands;
    for (int i = 0; i < self.row().inputs; ++i)
      if (std::strcmp(words[std::size_t(i)], key) == 0 || (i == 0 && std::strcmp(key, "self") == 0)) {
        if (operands[i].kind != Operand::absent) twice(key);
        return operand(i, value);
      }
    for (int i = 0; i < self.row().attributes.count; ++i)
      if (std::strcmp(self.row().attributes.name[i], key) == 0) return attribute(i, value);
    if (std::strcmp(key, "out") == 0 && !self.in_place) {
      if (value != Py_None && !is_tensor(value)) wrong("expected a tensor for out");
      out = value == Py_None ? nullptr : value;
    } else if (std::strcmp(key, "inplace") == 0 && takes_inplace()) {
      inplace(value);
    } else unknown(key, value);
  }
  void unknown(const char* key, PyObject* value) {
    nb::list names;
    const auto& words = self.function->operands;
    for (int i = 0; i < self.row().inputs; ++i) names.append(words[std::size_t(i)]);
    for (int i = 0; i < self.row().attributes.count; ++i) names.append(self.row().attributes.name[i]);
    if (!self.in_place) names.append("out");
    if (takes_inplace()) names.append("inplace");
    const nb::object name = renamed_keyword(key, names);
    if (name.is_none()) refuse_keyword(self.row().name, key, names);
    keyword(nb::cast<std::string>(name).c_str(), value);
  }
};

PyObject* call_row(PyObject* self, PyObject* const* args, std::size_t flagged, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    const PyRow& f = *reinterpret_cast<PyRow*>(self);
    const Row& row = f.row();
    Arguments a{f, {}, {}};
    std::copy(row.attributes.fallback, row.attributes.fallback + 4, a.attributes);
    const std::size_t n = std::size_t(PyVectorcall_NARGS(flagged));
    const std::size_t most = std::size_t(row.inputs + row.attributes.count);
    const bool more = n == most + 1 && a.takes_inplace() && PyBool_Check(args[most]);
    if (n > most && !more) a.wrong(surplus_text(most + a.takes_inplace(), n));
    for (std::size_t i = 0; i < n; ++i) {
      if (i < row.inputs) a.operand(int(i), args[i]);
      else if (i == most) a.inplace(args[i]);
      else a.attribute(int(i) - row.inputs, args[i]);
    }
    for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); ++i)
      a.keyword(keyword_text(PyTuple_GET_ITEM(keywords, i)), args[n + std::size_t(i)]);
    bool any_tensor = false;
    for (int i = 0; i < row.inputs; ++i) {
      if (a.operands[i].kind == Operand::absent) a.wrong(missing_text(f.function->operands[std::size_t(i)], 0));
      any_tensor |= a.operands[i].is_tensor();
    }
    if (!any_tensor) a.wrong("expected at least one tensor, got numbers");
    if (a.in_place && a.out) a.wrong("expected out or inplace=True, got both");
    const bool in_place = f.in_place || a.in_place;
    PyObject* target = in_place ? a.first : a.out;
    if (target && !is_tensor(target)) a.wrong("expected a tensor to write to, got a number");
    Tensor out;
    if (target) out = tensor_in(target);
    Call call{&row,       a.attributes,
              a.operands, row.inputs,
              &out,       in_place ? Destination::in_place : target ? Destination::out : Destination::fresh};
    if (!row.attributes.count) call.op = nullptr;
    apply(call);
    return target ? Py_NewRef(target) : wrap(out);
  });
}
PyObject* show(PyObject* self) { return PyUnicode_FromFormat("<function %U>", reinterpret_cast<PyRow*>(self)->name); }
PyObject* doc(PyObject* self, void*) {
  const Row& row = reinterpret_cast<PyRow*>(self)->row();
  return PyUnicode_FromFormat("%s\n\nresult = %s", row.text, row.formula);
}
PyObject* signature(PyObject* self, void*) {
  const PyRow& f = *reinterpret_cast<PyRow*>(self);
  std::string text = "(";
  for (int i = 0; i < f.row().inputs; ++i) text += std::string(i ? ", " : "") + f.function->operands[std::size_t(i)];
  for (int i = 0; i < f.row().attributes.count; ++i)
    text += std::string(", ") + f.row().attributes.name[i] + "=" + Scalar(f.row().attributes.fallback[i]).str();
  text += f.in_place ? ")" : ", *, out=None)";
  return PyUnicode_FromString(text.c_str());
}
PyObject* reduce(PyObject* self, PyObject*) { return Py_NewRef(reinterpret_cast<PyRow*>(self)->name); }

PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(PyRow, call), READONLY, ""},
                         {"__name__", T_OBJECT, offsetof(PyRow, name), READONLY, ""},
                         {"__qualname__", T_OBJECT, offsetof(PyRow, name), READONLY, ""},
                         {}};
PyGetSetDef properties[] = {
    {"__doc__", doc, nullptr, "", nullptr}, {"__text_signature__", signature, nullptr, "", nullptr}, {}};
PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, ""}, {}};
PyType_Slot slots[] = {{Py_tp_call, (void*)PyVectorcall_Call},
                       {Py_tp_repr, (void*)show},
                       {Py_tp_members, members},
                       {Py_tp_getset, properties},
                       {Py_tp_methods, methods},
                       {0, nullptr}};
PyType_Spec spec = {"neura.row_function", sizeof(PyRow), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, slots};

void add(const Names& n, const surface::RowFunction& function, const std::string& name, bool in_place) {
  PyRow* f = PyObject_New(PyRow, row_type);  // lives as long as the process
  if (!f) throw nb::python_error();
  f->call = call_row, f->function = &function, f->in_place = in_place, f->name = PyUnicode_FromString(name.c_str());
  nb::handle o(reinterpret_cast<PyObject*>(f));
  n.functions.attr(name.c_str()) = o;
  add_method(name.c_str(), o);
}
void share(const Names& n, const std::string& name, const char* space) {  // it is there, too
  n.functions.attr(space).attr(name.c_str()) = n.functions.attr(name.c_str());
}

}  // namespace

void bind_rows(const Names& n) {
  row_type = sealed_type(spec);
  for (const surface::RowFunction& f : surface::row_functions()) {
    const std::string name = f.row->name, written = name + "_";
    add(n, f, name, false);
    add(n, f, written, true);
    if (f.special) share(n, name, "special");
    if (f.functional) share(n, name, "functional");
    if (f.functional && f.takes_inplace) share(n, written, "functional");
  }
  for (const auto& [name, of, special] : surface::row_aliases()) {
    n.alias(name, of);
    n.alias((std::string(name) + "_").c_str(), (std::string(of) + "_").c_str());
    if (special) share(n, name, "special");
  }
}

}  // namespace neura::python

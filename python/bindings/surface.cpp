// The public functions: one callable type for all of them, made from the list in neura/surface.
#include "arguments.h"
#include "keywords.h"
#include "neura/core/error_details.h"
#include "neura/op/autocast.h"
#include "new_type.h"
#include "out.h"
#include "neura/surface/page.h"
#include "results.h"

#include <structmember.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace neura::python {
namespace {

using surface::Function;
using surface::Parameter;

struct PyFunction {
  PyObject_HEAD vectorcallfunc call;
  const std::vector<Overload>* overloads;
  bool in_place;    // the form that writes its result over the tensor
  bool self_first;  // a method, of a function whose first argument is another: polygamma(n, input)
  bool takes_one;   // a tensor alone may be all that its first overload is given
  PyObject* name;
};
PyTypeObject* function_type;

// On another device: an error may then be that of an earlier call, which was not waited for.
bool is_away(PyObject* o) { return o && is_tensor(o) && !tensor_in(o).device().is_cpu(); }

// Throws the error that is being handled again. It has the name of what was called, except for the parts of which
// Python makes sparse tensors, and where an operand is away.
[[noreturn]] void rethrow_named(const std::string& called, const Function& function, bool away) {
  const bool part = called.front() == '_' && function.space == "sparse";
  if (part || away) throw;
  rethrow_of(called.substr(called.find_first_not_of('_')), function.own_name);
}

class Calling : CallArguments {
 public:
  Calling(const PyFunction& f, PyObject* const* args, std::size_t n, PyObject* keywords)
      : CallArguments(f.name, *f.overloads, args, n, keywords) {
    self_first = f.self_first, in_place = f.in_place;
  }

  nb::object run() {
    for (const bool convert : {false, true}) {
      reader.convert = convert;
      for (const Overload& overload : overloads()) {
        if (!place(overload)) continue;
        if (nb::object made = attempt(*overload.function); made.is_valid()) return made;
        if (convert) refuse(*overload.function);
      }
    }
    fail();
  }

 private:
  bool away(const Function& function) const {
    for (std::size_t at = 0; at < function.parameters.size(); ++at) {
      PyObject* o = reader.given_to[at];
      if (is_away(o)) return true;
      if (!o || !(PyList_Check(o) || PyTuple_Check(o))) continue;
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
        if (is_away(PySequence_Fast_GET_ITEM(o, i))) return true;
    }
    return is_away(out);
  }
  // The result; nothing where an argument does not fit.
  nb::object attempt(const Function& function) {
    try {
      return carry_out(function);
    } catch (const Error&) {
      rethrow_named(name(), function, away(function));
    }
  }
  nb::object carry_out(const Function& function) {
    surface::Value value;
    std::optional<amp::ModesScope> uncast;  // autocast leaves what is written alone
    if (in_place || out) uncast.emplace();
    if (in_place) return written(function, value);
    if (out && (function.forms & surface::direct) && is_tensor(out)) {
      const surface::WriteInto scope(function, tensor_in(out));
      if (!function.call(function, reader, value)) return {};
      if (std::get<Tensor>(value).is_same(tensor_in(out))) return nb::borrow(out);
    } else if (!function.call(function, reader, value)) return {};
    if (const Tensor* t = std::get_if<Tensor>(&value); t && !out) [[likely]]
      return nb::steal(wrap(*t));
    const nb::object result = object_of(value, reader.given_to[0]);
    return out ? into_each(out, result, function.name.c_str(), function.forms & surface::strict) : result;
  }
  // In place: the result of the function, in the tensor's own dtype.
  nb::object written(const Function& function, surface::Value& value) {
    PyObject*& place = reader.given_to[std::size_t(self_place(function))];
    PyObject* self = place;
    if (!self || !is_tensor(self)) return {};
    const nb::object read = nb::steal(wrap(surface::readable(tensor_in(self))));
    place = read.ptr();
    const bool fits = function.call(function, reader, value);
    place = self;
    if (!fits) return {};
    surface::write_over(name(), tensor_in(self), std::get<Tensor>(value));
    return nb::borrow(self);
  }
};

// A tensor alone, the shortest of calls; null where it does not fit, of which the long way says why.
PyObject* call_with_one(const PyFunction& f, PyObject* tensor) {
  const Overload& overload = f.overloads->front();
  PyReader reader;
  std::fill_n(reader.given_to.begin(), overload.names.size(), nullptr);
  reader.given_to[0] = tensor;
  surface::Value value;
  try {
    if (!overload.function->call(*overload.function, reader, value)) return nullptr;
  } catch (const Error&) {
    rethrow_named(PyUnicode_AsUTF8(f.name), *overload.function, is_away(tensor));
  }
  if (const auto* t = std::get_if<Tensor>(&value)) return wrap(*t);
  if (const auto* n = std::get_if<std::int64_t>(&value)) return PyLong_FromLongLong(*n);
  if (const auto* truth = std::get_if<bool>(&value)) return PyBool_FromLong(*truth);
  return object_of(value, tensor).release().ptr();
}
bool takes_one(const PyFunction& f) {
  const Overload& first = f.overloads->front();
  return first.positional > 0 && !first.rest && !f.in_place && !first.function->in_place;
}
PyObject* call_function(PyObject* self, PyObject* const* args, std::size_t flagged, PyObject* keywords) {
  return guarded([&] {
    const auto& f = *reinterpret_cast<PyFunction*>(self);
    if (f.takes_one && PyVectorcall_NARGS(flagged) == 1 && !keywords && is_tensor(args[0]))
      if (PyObject* made = call_with_one(f, args[0])) return made;
    return Calling(f, args, std::size_t(PyVectorcall_NARGS(flagged)), keywords).run().release().ptr();
  });
}
PyObject* show(PyObject* self) {
  return PyUnicode_FromFormat("<function %U>", reinterpret_cast<PyFunction*>(self)->name);
}
PyObject* reduce(PyObject* self, PyObject*) { return Py_NewRef(reinterpret_cast<PyFunction*>(self)->name); }
std::string text_of(const PyFunction& f) {
  const Function& first = *f.overloads->front().function;
  return (f.in_place || first.in_place ? "In place. " : "") + std::string(first.text);
}
PyObject* doc(PyObject* self, void*) {
  return PyUnicode_FromString(text_of(*reinterpret_cast<PyFunction*>(self)).c_str());
}

// (signature, text, defaults) of each overload, as nanobind says it of its functions.
nb::object signature_of(const PyFunction& f, const Function& function, bool spread) {
  std::string text = "def " + nb::cast<std::string>(nb::handle(f.name)) + "(";
  nb::list defaults;
  bool star = false;
  const auto separate = [&] { text += text.back() == '(' ? "" : ", "; };
  const auto parameter = [&](const std::string& name, const std::string& type, const std::string& fallback) {
    separate();
    text += name + ": " + type;
    if (fallback.empty()) return;
    text += " = \\" + std::to_string(nb::len(defaults));
    defaults.append(nb::module_::import_("ast").attr("literal_eval")(fallback));
  };
  for (const Parameter& p : function.parameters) {
    if (p.by_name_alone && !star) separate(), text += "*", star = true;
    const std::string type = p.type + std::string(p.may_be_none ? " | None" : "");
    if (p.rest && spread) separate(), text += "*" + p.name, star = true;
    else parameter(p.name, type, p.fallback);
  }
  if ((function.forms & surface::out) && !f.in_place) {
    if (!star) separate(), text += "*";
    parameter("out", "neura.Tensor | None", "None");
  }
  return nb::make_tuple(text + ") -> " + function.result, text_of(f), nb::tuple(defaults));
}
PyObject* signatures(PyObject* self, void*) {
  return guarded([&] {
    const auto& f = *reinterpret_cast<PyFunction*>(self);
    nb::list all;
    for (const Overload& o : *f.overloads) {
      all.append(signature_of(f, *o.function, false));
      if (o.rest) all.append(signature_of(f, *o.function, true));  // f((2, 3)) and f(2, 3)
    }
    return nb::tuple(all).release().ptr();
  });
}

PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(PyFunction, call), READONLY, ""},
                         {"__name__", T_OBJECT, offsetof(PyFunction, name), READONLY, ""},
                         {"__qualname__", T_OBJECT, offsetof(PyFunction, name), READONLY, ""},
                         {}};
// Where pickle finds it.
PyObject* module_of(PyObject* self, void*) {
  const std::string_view space = reinterpret_cast<PyFunction*>(self)->overloads->front().function->space;
  return PyUnicode_FromString(surface::module_of(space).c_str());
}

PyGetSetDef properties[] = {{"__doc__", doc, nullptr, "", nullptr},
                            {"__module__", module_of, nullptr, "", nullptr},
                            {"__nb_signature__", signatures, nullptr, "", nullptr},
                            {}};
PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, ""}, {}};
PyType_Slot slots[] = {{Py_tp_call, (void*)PyVectorcall_Call},
                       {Py_tp_repr, (void*)show},
                       {Py_tp_members, members},
                       {Py_tp_getset, properties},
                       {Py_tp_methods, methods},
                       {0, nullptr}};
PyType_Spec spec = {"neura.function", sizeof(PyFunction), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, slots};

nb::handle make(const std::string& name, const std::vector<Overload>* overloads, bool in_place, bool self_first) {
  PyFunction* f = PyObject_New(PyFunction, function_type);  // lives as long as the process
  if (!f) throw nb::python_error();
  f->call = call_function, f->overloads = overloads, f->in_place = in_place, f->self_first = self_first;
  f->name = PyUnicode_FromString(name.c_str()), f->takes_one = takes_one(*f);
  PyObject* o = reinterpret_cast<PyObject*>(f);
  watch_function(o);
  return o;
}

}  // namespace

nb::object space_of(const Names& n, std::string_view space) {
  return space.empty() || space == "neura" ? nb::object(n.functions)
                                           : nb::object(n.functions.attr(std::string(space).c_str()));
}

void bind_surface(const Names& n) {
  function_type = sealed_type(spec);
  std::vector<std::pair<std::string, std::vector<Overload>*>> grouped;
  std::unordered_map<std::string, std::vector<Overload>*> known;
  for (const Function& f : surface::functions()) {
    auto*& overloads = known[std::string(f.space) + "." + f.name];
    if (!overloads) grouped.emplace_back(f.name, overloads = new std::vector<Overload>);
    overloads->emplace_back(f);
  }
  for (const auto& [name, overloads] : grouped) {
    const Function& f = *overloads->front().function;
    const bool moved = std::any_of(overloads->begin(), overloads->end(),
                                   [](const Overload& o) { return self_place(*o.function) != 0; });
    const nb::handle o = make(name, overloads, false, false);
    if (f.forms & surface::function) space_of(n, f.space).attr(name.c_str()) = o;
    if (!f.also.empty()) space_of(n, f.also).attr(name.c_str()) = o;
    if (f.forms & surface::method) add_method(name.c_str(), moved ? make(name, overloads, false, true) : o);
    if (f.forms & surface::in_place) add_method((name + "_").c_str(), make(name + "_", overloads, true, moved));
  }
}

}  // namespace neura::python

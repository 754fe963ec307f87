// The extension module neura._neura: errors, and the families in order.
#include <stdexcept>
#include <string_view>
#include <typeinfo>

#include "arguments.h"
#include "collector.h"
#include "keywords.h"
#include "modules.h"
#include "neura/autograd/function.h"
#include "neura/core/error_details.h"
#include "neura/core/reduction.h"

namespace neura::python {
void bind_graph(nb::module_&);
void bind_schedules(nb::module_&);
void bind_profile(nb::module_&);

void bind_attributes_of_tensor(const Names&);
void bind_surface(const Names&);
void bind_devices(nb::module_&);
void bind_pinned(const Names&);
void bind_more_functions(const Names&);
void bind_legacy(const Names&);
void bind_onnx(nb::module_&);
void bind_tokenizer(nb::module_&);

namespace {

enum Kind {
  kError,
  kShape,
  kDType,
  kUnsupported,
  kDevice,
  kIndex,
  kValue,
  kAutograd,
  kInplace,
  kNotImplemented,
  kMemory,
  kLinAlg,
  kCuda,
  kIo,
  kNotFound,
  kFormat,
  kArgument,
  kKinds
};
PyObject *types[kKinds], *asserted[kKinds];

Kind kind_of(const Error& e) {
  if (dynamic_cast<const ShapeError*>(&e)) return kShape;
  if (dynamic_cast<const UnsupportedDTypeError*>(&e)) return kUnsupported;
  if (dynamic_cast<const DTypeError*>(&e)) return kDType;
  if (dynamic_cast<const DeviceError*>(&e)) return kDevice;
  if (dynamic_cast<const IndexError*>(&e)) return kIndex;
  if (dynamic_cast<const nn::ArgumentError*>(&e)) return kArgument;
  if (dynamic_cast<const ValueError*>(&e)) return kValue;
  if (dynamic_cast<const InplaceError*>(&e)) return kInplace;
  if (dynamic_cast<const AutogradError*>(&e)) return kAutograd;
  if (dynamic_cast<const NotImplementedError*>(&e)) return kNotImplemented;
  if (dynamic_cast<const OutOfMemoryError*>(&e)) return kMemory;
  if (dynamic_cast<const LinAlgError*>(&e)) return kLinAlg;
  if (dynamic_cast<const CudaError*>(&e)) return kCuda;
  if (dynamic_cast<const IoError*>(&e)) return kIo;
  if (dynamic_cast<const FormatError*>(&e)) return kFormat;
  return kError;
}

// Raises it with what a handler may ask: .op, and .operands as (dtype, shape, device) each.
void raise(const Error& e) {
  PyObject* type = types[kind_of(e)];
  if (dynamic_cast<const Asserted*>(&e) && asserted[kind_of(e)]) type = asserted[kind_of(e)];
  try {
    const auto text = [](std::string_view s) {  // a file's bytes may stand in the sentence, and before its colon
      nb::object made = nb::steal(PyUnicode_DecodeUTF8(s.data(), Py_ssize_t(s.size()), "replace"));
      if (!made.is_valid()) throw nb::python_error();
      return made;
    };
    nb::object error = nb::handle(type)(text(e.what()));
    const ErrorDetails details = details_of(e);
    error.attr("op") = text(details.op);
    nb::list operands;
    for (const Spec& s : details.operands) operands.append(nb::make_tuple(s.dtype, s.sizes(), s.device));
    error.attr("operands") = nb::tuple(operands);
    PyErr_SetObject(type, error.ptr());
  } catch (nb::python_error& other) {
    other.restore();
  } catch (const std::exception&) {  // no memory for the sentence
    PyErr_NoMemory();
  }
}

// What is not ours becomes ours, as the last resort: an operation that knows its name has said so before.
void raise_any(const std::exception_ptr& p) {
  constexpr const char* full = "neura: expected enough memory for a list, got none; use smaller sizes";
  try {
    std::rethrow_exception(p);
  } catch (const Error& e) {
    raise(e);
  } catch (const std::bad_alloc&) {
    raise(OutOfMemoryError(full));
  } catch (const std::length_error&) {
    raise(OutOfMemoryError(full));
  } catch (const std::bad_cast&) {
    raise(nn::ArgumentError("neura: expected an argument of another type, got one that cannot be converted"));
  } catch (const std::exception& e) {
    raise(Error(e.what()));
  }
}

// Each is ours and the built-in that PyTorch raises for the same mistake.
PyObject* new_error(nb::module_& m, const char* name, std::initializer_list<PyObject*> bases) {
  nb::list l;
  for (PyObject* b : bases) l.append(nb::handle(b));
  PyObject* type = PyErr_NewException((std::string("neura.errors.") + name).c_str(), nb::tuple(l).ptr(), nullptr);
  if (!type) throw nb::python_error();
  m.attr(name) = nb::handle(type);
  return type;
}

}  // namespace

PyObject* stop_recomputation = nullptr;

void set_python_error(std::exception_ptr p) {
  try {
    std::rethrow_exception(std::move(p));
  } catch (nb::python_error& e) {
    e.restore();
  } catch (const nb::builtin_exception& e) {
    switch (e.type()) {
      case nb::exception_type::type_error:
        return PyErr_SetString(PyExc_TypeError, e.what());
      case nb::exception_type::value_error:
        return PyErr_SetString(PyExc_ValueError, e.what());
      case nb::exception_type::index_error:
        return PyErr_SetString(PyExc_IndexError, e.what());
      case nb::exception_type::attribute_error:
        return PyErr_SetString(PyExc_AttributeError, e.what());
      case nb::exception_type::key_error:
        return PyErr_SetString(PyExc_KeyError, e.what());
      default:
        return PyErr_SetString(PyExc_RuntimeError, e.what());
    }
  } catch (const StopRecomputation&) {
    PyErr_SetNone(stop_recomputation);
  } catch (const std::exception&) {
    raise_any(std::current_exception());
  }
}

void bind_errors(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("errors", "What goes wrong, by kind.");
  PyObject* base = types[kError] = new_error(m, "Error", {PyExc_Exception});
  nb::handle(base).attr("op") = "";  // of those that Python code raises
  nb::handle(base).attr("operands") = nb::tuple();
  types[kShape] = new_error(m, "ShapeError", {base, PyExc_RuntimeError, PyExc_ValueError});
  types[kDType] = new_error(m, "DTypeError", {base, PyExc_TypeError, PyExc_RuntimeError});
  types[kUnsupported] = new_error(m, "UnsupportedDTypeError", {types[kDType], PyExc_NotImplementedError});
  types[kDevice] = new_error(m, "DeviceError", {base, PyExc_RuntimeError});
  types[kIndex] = new_error(m, "IndexError", {base, PyExc_IndexError, PyExc_RuntimeError});
  types[kValue] = new_error(m, "ValueError", {base, PyExc_ValueError, PyExc_RuntimeError});
  types[kAutograd] = new_error(m, "AutogradError", {base, PyExc_RuntimeError});
  types[kInplace] = new_error(m, "InplaceError", {types[kAutograd]});
  types[kNotImplemented] = new_error(m, "NotImplementedError", {base, PyExc_NotImplementedError});
  types[kMemory] = new_error(m, "OutOfMemoryError", {base, PyExc_MemoryError, PyExc_RuntimeError});
  types[kLinAlg] = new_error(m, "LinAlgError", {base, PyExc_RuntimeError});
  types[kCuda] = new_error(m, "CudaError", {base, PyExc_RuntimeError});
  types[kIo] = new_error(m, "IoError", {base, PyExc_OSError, PyExc_RuntimeError});
  types[kNotFound] = new_error(m, "FileNotFoundError", {types[kIo], PyExc_FileNotFoundError});
  types[kFormat] = new_error(m, "FormatError", {base, PyExc_ValueError, PyExc_RuntimeError});
  types[kArgument] = new_error(m, "ArgumentError", {types[kValue], PyExc_TypeError});
  asserted[kShape] = new_error(m, "AssertedShapeError", {types[kShape], PyExc_AssertionError});
  asserted[kDType] = new_error(m, "AssertedDTypeError", {types[kDType], PyExc_AssertionError});
  asserted[kValue] = new_error(m, "AssertedValueError", {types[kValue], PyExc_AssertionError});
  asserted[kArgument] = new_error(m, "AssertedArgumentError", {types[kArgument], PyExc_AssertionError});
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const nb::python_error&) {
      throw;
    } catch (const nb::builtin_exception&) {
      throw;
    } catch (const std::exception&) {
      raise_any(p);
    }
  });
}

}  // namespace neura::python

NB_MODULE(_neura, m) {
  using namespace neura::python;
  nb::set_leak_warnings(false);  // functions are attributes of a type that outlives the module
  bind_lock();
  bind_collector(m);
  bind_errors(m);
  bind_argument_texts(m);
  bind_types(m);
  bind_size(m);
  bind_tensor(m);
  const Names names{m, m.def_submodule("methods", "What is bound as methods of Tensor.")};
  m.def_submodule("special", "Special functions.");
  const Names network{m.def_submodule("functional", "Functions of networks."), names.methods};
  bind_rows(names);
  bind_data(names);
  bind_arrays(names);
  bind_dlpack(names);
  bind_pickle(names);
  bind_print(names);
  bind_create(names);
  bind_random(names);
  bind_loading(names);
  bind_legacy(names);
  bind_sort(names);
  bind_attributes_of_tensor(names);
  bind_pinned(names);
  bind_texts(names);
  bind_nodes(names);
  bind_functions(names);
  bind_hooks(names);
  bind_autograd(names);
  bind_optim(m), bind_schedules(m), bind_graph(m), bind_profile(m);
  bind_files(m);
  bind_devices(m);
  m.def_submodule("linalg", "Linear algebra.");
  m.def_submodule("fft", "Discrete Fourier transforms.");
  m.def_submodule("sparse", "Sparse tensors.");
  m.def_submodule("windows", "Windows for signals.");
  m.def_submodule("audio", "Functions of sound.");
  m.attr("_reductions") = nb::make_tuple(neura::kReductions[0], neura::kReductions[1], neura::kReductions[2]);
  bind_surface(names);
  bind_more_functions(network);
  const Names utils{m.def_submodule("utils"), names.methods};
  bind_init({m.def_submodule("init"), names.methods}, utils);
  bind_packed(utils);
  nb::module_ layers = m.def_submodule("nn");
  bind_module(layers);
  bind_containers(layers);
  bind_onnx(m), bind_tokenizer(m);
  watch_keywords(m);
  layers.def("_define_layers", [](nb::module_ nn) {  // when neura.nn is imported: a fifth of all time here
    [[maybe_unused]] static const bool done = (bind_layers(nn), true);
  });
}

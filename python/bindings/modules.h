// How a C++ layer becomes a Python class. neura.nn.Module is a heap type of our own; a layer is a subclass of it:
//
//   bind_layer<nn::Linear>(n, "y = x weightᵀ + bias.");
//
// That is all: what its constructor takes comes from NEURA_INIT and NEURA_ARGUMENTS (neura/surface/layer.h), forward
// from NEURA_FORWARD, attributes from NEURA_LAYER's list (a plain member needs a type that Value carries, or a
// BoxedAs), extra_repr, state dict, hooks, copying and pickling from Module. Where Python takes something else than
// C++, `make` says what, and returns Ref<M>: bind_layer<M>(n, text, "encoder_layer, num_layers, norm=None", [](...) {
// ... }). A class that derives from another bound one names it: bind_layer<BatchNorm2d, BatchNorm>. More methods:
// .def("reset_parameters",
// [](nn::Linear& m) { m.reset_parameters(); }, "doc") on what bind_layer returns.
#pragma once
#include <typeindex>

#include "common.h"
#include "neura/nn/module.h"
#include "neura/nn/repr.h"
#include "neura/surface/layer.h"

namespace neura::python {

struct Cache;
struct PyModule {
  PyObject_HEAD nn::Module* m;  // null until __init__
  PyObject *dict, *weak;
  vectorcallfunc call;
  PyObject** hooks;   // dictionaries by Hooks; null until the first one is asked for
  Cache* cache;       // attributes that were looked up, and the objects of their tensors
  PyObject* owner;    // of a module that is a C++ member of another
  PyObject* forward;  // borrowed: what the class has under that name, while `version` is the class's
  unsigned version;
  std::uint8_t mask;                     // of nn::Override, and kCall
  bool instance;                         // this object has a forward of its own
  std::uint64_t backward, backward_pre;  // the hooks of C++ that call those of Python; 0 while there are none
};
constexpr std::uint8_t kCall = 128;  // the class has a __call__ of its own

extern PyTypeObject* module_type;
inline bool is_module(PyObject* o) { return Py_TYPE(o) == module_type || PyType_IsSubtype(Py_TYPE(o), module_type); }
inline PyModule* py_module(PyObject* o) { return reinterpret_cast<PyModule*>(o); }
nn::Module& module_in(PyObject*);                     // AttributeError before __init__
PyObject* wrap(nn::Module*);                          // a new reference to its one object; None for null
void attach(PyObject* self, const Ref<nn::Module>&);  // what __init__ does: from now on `self` is this module
nn::Value to_value(PyObject*);
nb::object from_value(const nn::Value&);

// A Python class for a C++ class. `init` is its tp_init.
struct LayerType {
  PyTypeObject* type;
  template <class F, class... E> const LayerType& def(const char* name, F&& f, const E&... e) const {
    nb::cpp_function_def(std::forward<F>(f), nb::scope(reinterpret_cast<PyObject*>(type)), nb::name(name),
                         nb::is_method(), e...);
    watch(name);
    return *this;
  }

 private:
  void watch(const char* name) const;  // keywords.h
};
struct LayerSpec {
  const char *name, *doc;
  const std::type_info& cpp;
  const std::type_info& base;
  Ref<nn::Module> (*blank)();
  initproc init;
  std::string init_text, forward_text;  // "(in_features, out_features, bias=True)"; empty: without forward
};
LayerType new_layer_type(nb::module_&, const LayerSpec&);

// What a layer's own constructor in Python differs in from the options of C++.
struct LayerWords {
  const char* without = "";     // options that it does not have: "nonlinearity, proj_size"
  const char* exact = "";       // flags that are True or False alone
  bool takes_anything = false;  // and reads nothing of it
};
struct Maker;  // of a layer's C++ object; lives as long as the process
const Maker* new_maker(surface::Layer, const LayerWords&);
std::string init_text(const Maker*);
int run_init(const Maker*, PyObject* self, PyObject* args, PyObject* keywords);

namespace detail {

// The text of one argument of NEURA_FORWARD, for inspect.signature.
template <class A> std::string argument_text(const A& a) {
  if constexpr (!requires { a.value; }) return a.name;
  else if constexpr (std::same_as<std::remove_cvref_t<decltype(a.value)>, nn::none_t>)
    return std::string(a.name) + "=None";
  else return std::string(a.name) + '=' + surface::detail::text_of(a.value);
}
template <class M> std::string forward_text() {
  if constexpr (requires { M::signature(); })
    return std::apply(
        [](auto... a) {
          std::string out;
          ((out += (out.empty() ? "" : ", ") + argument_text(nn::detail::named(a))), ...);
          return '(' + out + ')';
        },
        M::signature());
  else return "";
}

template <class M> const Maker* maker;  // what M's __init__ calls
template <class M> int init(PyObject* self, PyObject* args, PyObject* keywords) {
  return run_init(maker<M>, self, args, keywords);
}
template <class M, class Base>
LayerType bind_as(nb::module_& nn, const char* doc, surface::Layer layer, const LayerWords& words) {
  maker<M> = new_maker(std::move(layer), words);
  return new_layer_type(nn, {M::class_name(), doc, typeid(M), typeid(Base), &nn::make_blank<M>, &init<M>,
                             init_text(maker<M>), forward_text<M>()});
}

}  // namespace detail

template <class M, class Base = nn::Module>
LayerType bind_layer(nb::module_& nn, const char* doc, const LayerWords& words = {}) {
  return detail::bind_as<M, Base>(nn, doc, surface::layer<M>(), words);
}
template <class M, class Base = nn::Module, class Make>
LayerType bind_layer(nb::module_& nn, const char* doc, const char* arguments, Make make) {
  return detail::bind_as<M, Base>(nn, doc, surface::layer<M>(arguments, make), {});
}

// A class that only others derive from, such as _BatchNorm.
template <class M, class Base = nn::Module> LayerType bind_base(nb::module_& nn, const char* name, const char* doc) {
  return new_layer_type(
      nn, {name, doc, typeid(M), typeid(Base), &nn::make_blank<M>, nullptr, "()", detail::forward_text<M>()});
}

void bind_module(nb::module_& nn);
void bind_containers(nb::module_& nn);
void bind_layers(nb::module_& nn);

}  // namespace neura::python

namespace nanobind::detail {

template <class M> struct type_caster<M, enable_if_t<std::is_base_of_v<neura::nn::Module, M>>> {
  static constexpr bool IsClass = false;
  using Value = M;
  static constexpr auto Name = const_name("neura.nn.Module");
  template <class U> using Cast = precise_cast_t<U>;
  template <class U> static constexpr bool can_cast() { return true; }
  M* value = nullptr;
  bool from_python(handle h, uint32_t, cleanup_list*) noexcept {
    if (!neura::python::is_module(h.ptr())) return false;
    value = dynamic_cast<M*>(neura::python::py_module(h.ptr())->m);
    return value;
  }
  operator M*() { return value; }
  operator M&() { return *value; }
};
template <class M> struct type_caster<neura::Ref<M>> {
  static constexpr bool IsClass = false;
  using Value = neura::Ref<M>;
  static constexpr auto Name = const_name("neura.nn.Module");
  template <class U> using Cast = movable_cast_t<U>;
  template <class U> static constexpr bool can_cast() { return true; }
  Value value;
  bool from_python(handle h, uint32_t, cleanup_list*) noexcept {
    if (h.is_none()) return true;  // only where the argument may be None
    if (!neura::python::is_module(h.ptr())) return false;
    M* m = dynamic_cast<M*>(neura::python::py_module(h.ptr())->m);
    if (m) value = Value::share(m);
    return m;
  }
  static handle from_cpp(const Value& m, rv_policy, cleanup_list*) noexcept { return neura::python::wrap(m.get()); }
  explicit operator Value*() { return &value; }
  explicit operator Value&() { return value; }
  explicit operator Value&&() { return std::move(value); }
};

}  // namespace nanobind::detail

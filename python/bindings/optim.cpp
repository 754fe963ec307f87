// neura.optim: the steps of tables/optimizers.def over Python's own dictionaries. A group's options are read at every
// step, the state of a parameter is the dictionary that the user sees.
#include <unordered_map>

#include "modules.h"
#include "neura/optim/lbfgs.h"
#include "neura/optim/options.h"
#include "neura/optim/sparse_step.h"
#include "neura/optim/step_batch.h"
#include "options.h"

namespace neura::python {
namespace {

constexpr const char* kGroup = "param group";  // the owner of options

PyObject* key(const char* literal) {                                   // interned once for each place that names it
  static auto* keys = new std::unordered_map<const char*, PyObject*>;  // outlives the interpreter
  PyObject*& k = (*keys)[literal];
  if (!k) k = PyUnicode_InternFromString(literal);
  if (!k) throw nb::python_error();
  return k;
}
PyObject* find(nb::handle dict, const char* name) {  // borrowed; null where there is none
  PyObject* v = PyDict_GetItemWithError(dict.ptr(), key(name));
  if (!v && PyErr_Occurred()) throw nb::python_error();
  return v;
}
// What a group does not give is the optimizer's default.
template <class O> O options_of(nb::handle group, nb::handle defaults) {
  O options;
  optim::detail::each_option(options, [&](const char* name, auto& field) {
    PyObject* v = find(group, name);
    if (!v) v = find(defaults, name);
    if (v) from_python(v, {kGroup, name}, field);
  });
  return options;
}
template <class O> nb::dict dict_of() {
  nb::dict d;
  optim::detail::each_option(O(), [&](const char* name, const auto& x) { d[name] = as_python(x); });
  return d;
}

class Number {  // a tensor without dimensions, as a number to read and assign
 public:
  explicit Number(Tensor t) : t_(std::move(t)) {}
  operator double() const {
    const Untraced own;
    return t_.item<double>();
  }
  Number& operator=(double x) {
    const Untraced own;
    return t_.fill_(x), *this;
  }
  Number& operator=(const Number& x) { return *this = double(x); }

 private:
  Tensor t_;
};

class DictState {  // of one parameter; its dictionary is made when something is first asked for
 public:
  DictState(nb::handle states, nb::handle parameter, optim::detail::Batch& b)
      : batch(b), states_(states), parameter_(parameter) {}
  optim::detail::Batch& batch;  // where the step goes

  bool has(const char* name) {
    PyObject* v = find(dict(), name);
    return v && v != Py_None;
  }
  Tensor tensor(const char* name, const Tensor& like, double first = 0) {
    Tensor old = saved(name);
    if (old && optim::detail::same_strides(old, like)) return old;
    Tensor t = old ? optim::detail::copy_with_strides_of(old, like) : optim::detail::full_with_strides_of(like, first);
    put(name, t);
    return t;
  }
  // As in torch, the step is float32. Other numbers keep all their digits.
  Number number(const char* name, double first = 0) {
    PyObject* v = find(dict(), name);
    if (v && is_tensor(v)) return Number(tensor_in(v));
    const bool step = std::string_view(name) == "step";
    const Tensor t = Tensor::empty(Spec::dense(step ? DType::float32 : DType::float64, Shape()));
    Number made(t);
    made = v && v != Py_None ? number_of(v, {kGroup, name}) : first;
    put(name, t);
    return Number(t);
  }

  Tensor saved(const char* name) {
    PyObject* v = find(dict(), name);
    if (!v || v == Py_None) return {};
    if (!is_tensor(v)) wrong_option({kGroup, name}, "a tensor", v);
    return tensor_in(v);
  }
  void put(const char* name, const Tensor& t) {
    nb::object o = nb::steal(wrap(t));
    if (PyDict_SetItem(dict().ptr(), key(name), o.ptr())) throw nb::python_error();
  }

 private:
  nb::handle dict() {
    if (dict_.is_valid()) return dict_;
    dict_ = nb::steal(PyObject_GetItem(states_.ptr(), parameter_.ptr()));
    if (!dict_.is_valid()) throw nb::python_error();
    if (!PyDict_Check(dict_.ptr())) throw nb::type_error("optimizer: expected the state of a parameter to be a dict");
    return dict_;
  }
  nb::handle states_, parameter_;
  nb::object dict_;
};

// Found by the rules through their argument.
template <class... T> void take_step(DictState& s, const T&... arguments) {
  optim::detail::apply_step(s.batch, arguments...);
}

// f(parameter) for every tensor of a group. The list may change meanwhile.
template <class F> void each_parameter(nb::handle group, F&& f) {
  if (!PyDict_Check(group.ptr())) throw nb::type_error("optimizer: expected param_groups to hold dicts");
  nb::object params = nb::borrow(find(group, "params"));
  if (!params.is_valid() || !PyList_Check(params.ptr()))
    throw nb::type_error("optimizer: expected a list of parameters in each group, under \"params\"");
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(params.ptr()); ++i) {
    nb::object p = nb::borrow(PyList_GET_ITEM(params.ptr(), i));
    if (!is_tensor(p.ptr())) wrong_option({kGroup, "params"}, "tensors", p.ptr());
    f(p);
  }
}
bool wants_master(nb::handle group, const Tensor& parameter) {
  PyObject* v = find(group, "master");
  bool on = false;
  if (v) from_python(v, {kGroup, "master"}, on);
  return on && optim::detail::takes_master(parameter);
}
template <class O> struct Steps {  // those of a graph's replay, of the parameters that the capture had
  nb::list groups;
  nb::object states;
  nb::dict defaults;
  std::vector<std::pair<std::size_t, nb::object>> recorded;  // with the number of the group
  void operator()(optim::detail::Batch& next) const {
    for (const auto& [i, p] : recorded) {
      DictState state(states, p, next);
      Tensor parameter = tensor_in(p.ptr());
      if (wants_master(groups[i], parameter)) parameter = optim::detail::master_of(state, parameter);
      optim::detail::step_of(parameter, parameter, state, options_of<O>(groups[i], defaults));
    }
  }
};
template <class O> void step(nb::list groups, nb::handle states, nb::dict defaults) {
  NoGrad unrecorded;
  optim::detail::Batch batch;
  optim::detail::MasterWeights masters;
  Steps<O> again{groups, nb::borrow(states), defaults, {}};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    nb::object group = groups[i];
    if (!PyDict_Check(group.ptr())) throw nb::type_error("optimizer: expected param_groups to hold dicts");
    const O options = options_of<O>(group, defaults);
    each_parameter(group, [&](nb::handle p) {
      const Tensor parameter = tensor_in(p.ptr());
      const Tensor grad = parameter.grad();
      if (!grad) return;
      DictState state(states, p, batch);
      if (wants_master(group, parameter)) {
        const Tensor master = optim::detail::master_of(state, parameter);
        masters.add(parameter, master);
        optim::detail::any_step(master, grad.detach().to(DType::float32), state, options);
      } else {
        optim::detail::any_step(parameter, grad.detach(), state, options);
      }
      if (batch.recorded()) again.recorded.emplace_back(i, nb::borrow(p));
    });
  }
  if (again.recorded.empty()) return batch.run(), masters.write();
  // A graph may be replayed, and given back, without Python's lock.
  const std::shared_ptr<Steps<O>> kept(new Steps<O>(std::move(again)), [](Steps<O>* s) {
    nb::gil_scoped_acquire lock;
    delete s;
  });
  batch.run([kept](optim::detail::Batch& next) {
    nb::gil_scoped_acquire lock;
    NoGrad inside;
    (*kept)(next);
  });
  masters.write();
}

void zero_grad(nb::list groups, bool set_to_none) {
  NoGrad unrecorded;
  for (nb::handle group : groups)
    each_parameter(group, [&](nb::handle p) {
      Tensor parameter = tensor_in(p.ptr());
      const Tensor grad = parameter.grad();
      if (!grad) return;
      if (set_to_none) parameter.set_grad({});
      else grad.detach().zero_();
    });
}

// LBFGS's step over the state of its first parameter, which is written back after an error, too.
class BoxedState {
 public:
  explicit BoxedState(nb::object state) : python_(std::move(state)) {
    const nn::Value v = to_value(python_.ptr());
    if (const nn::Dict* d = v.get<nn::Dict>()) boxed = *d;
  }
  ~BoxedState() {
    for (const auto& [name, value] : boxed.items) {
      const nb::object v = from_value(value);
      if (PyDict_SetItem(python_.ptr(), nb::str(name.data(), name.size()).ptr(), v.ptr())) PyErr_Clear();
    }
  }
  nn::Dict boxed;

 private:
  nb::object python_;
};
nb::object step_lbfgs(nb::handle group, nb::handle states, nb::dict defaults, nb::callable closure) {
  const auto options = options_of<optim::LBFGSOptions>(group, defaults);
  optim::detail::check_options("LBFGS", options);
  std::vector<Tensor> params;
  nb::object first_parameter, first_loss;
  each_parameter(group, [&](nb::handle p) {
    if (params.empty()) first_parameter = nb::borrow(p);
    params.push_back(tensor_in(p.ptr()));
  });
  if (params.empty()) throw nb::type_error("LBFGS: expected parameters in its group, got none");
  nb::object dict = nb::steal(PyObject_GetItem(states.ptr(), first_parameter.ptr()));
  if (!dict.is_valid()) throw nb::python_error();
  BoxedState state(dict);
  optim::detail::lbfgs_step(params, options, state.boxed, [&] {
    nb::object loss = closure();
    if (!first_loss.is_valid()) first_loss = loss;
    if (is_tensor(loss.ptr())) return tensor_in(loss.ptr());
    Tensor number = Tensor::empty(Spec::dense(DType::float64, Shape()));
    return number.fill_(number_of(loss.ptr(), {"LBFGS", "the closure's loss"}));
  });
  return first_loss;
}

nb::object taken(nb::object default_value) { return default_value; }
nb::object taken(bool default_value) { return nb::cast(default_value); }

template <class O> void check(const char* name, nb::dict group, nb::dict defaults) {
  const O options = options_of<O>(group, defaults);
  optim::detail::check_options(name, options);
  each_parameter(group, [&](nb::handle p) { optim::detail::check_parameter(name, options, tensor_in(p.ptr())); });
}

}  // namespace

static void bind_arguments(nb::module_& m) {  // of every constructor, as constructor() of Python wants them
#define OPTION(type, name, ...) \
  l.append(nb::make_tuple(#name, default_of([]() -> type { return __VA_ARGS__; }(), #__VA_ARGS__)));
#define KEYWORDS l.append(nb::make_tuple("*"));
#define TAKEN(name, value) l.append(nb::make_tuple(#name, taken(value)));
#define FIXED(type, name, ...) \
  l.append(nb::make_tuple("=" #name, default_of([]() -> type { return __VA_ARGS__; }(), #__VA_ARGS__)));
#define HIDDEN(type, name, ...)
#define OPTIMIZER(Name, options, ...)              \
  m.def("arguments_" #Name, [] {                   \
    [[maybe_unused]] nb::object none = nb::none(); \
    nb::list l;                                    \
    options return l;                              \
  });
#define MATRIX_OPTIMIZER OPTIMIZER
#define CLOSURE_OPTIMIZER OPTIMIZER
  using namespace optim;
#include "neura/tables/optimizers.def"
}

void bind_optim(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_optim", "The steps of optimizers, over Python's dictionaries.");
  m.def("zero_grad", &zero_grad, "param_groups"_a, "set_to_none"_a);
  m.def("step_LBFGS", &step_lbfgs);
  m.def("max_eval_of_LBFGS",
        [](nb::dict options) { return optim::detail::max_eval_of(options_of<optim::LBFGSOptions>(options, options)); });
  nb::dict texts;  // of those whose step is C++, in the order of the table
#define CLOSURE_OPTIMIZER(Name, ...)                        \
  m.def("defaults_" #Name, &dict_of<optim::Name##Options>); \
  m.def("check_" #Name, [](nb::dict group, nb::dict defaults) { check<optim::Name##Options>(#Name, group, defaults); });
#define OPTIMIZER(Name, options, text) \
  CLOSURE_OPTIMIZER(Name)              \
  texts[#Name] = text;                 \
  m.def("step_" #Name, &step<optim::Name##Options>, "param_groups"_a, "state"_a, "defaults"_a);
#define MATRIX_OPTIMIZER OPTIMIZER
#include "neura/tables/optimizers.def"
  m.attr("texts") = texts;
  bind_arguments(m);
}

}  // namespace neura::python

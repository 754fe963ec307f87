// Random numbers: generators, seeds and states.
#include <cstring>
#include <random>

#include "common.h"

namespace neura::python {
namespace {

// As in torch: from -2^63 to 2^64 - 1; the negative ones count from the other end.
std::uint64_t seed_of(nb::handle number) {
  const nb::object n = nb::steal(PyNumber_Index(number.ptr()));
  if (!n.is_valid()) {
    PyErr_Clear();
    throw nb::type_error("manual_seed: expected a whole number");
  }
  int overflow = 0;
  const long long small = PyLong_AsLongLongAndOverflow(n.ptr(), &overflow);
  if (!overflow) return std::uint64_t(small);
  const unsigned long long big = overflow > 0 ? PyLong_AsUnsignedLongLong(n.ptr()) : 0;
  if (overflow < 0 || PyErr_Occurred()) {
    PyErr_Clear();
    throw nb::value_error("manual_seed: expected a number from -2^63 to 2^64 - 1");
  }
  return big;
}
// Of int(number): programs seed with time.time().
std::uint64_t rounded_seed_of(nb::handle number) {
  const nb::object n = nb::steal(PyNumber_Long(number.ptr()));
  if (n.is_valid()) return seed_of(n);
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
  PyErr_Clear();
  const std::string type = Py_TYPE(number.ptr())->tp_name;
  throw nb::type_error(("manual_seed: expected a number, got " + type).c_str());
}
std::uint64_t fresh_seed(Generator& g) {
  std::random_device system;
  const std::uint64_t seed = std::uint64_t(system()) << 32 | system();
  g.manual_seed(seed);
  return seed;
}

// 16 bytes, the same on every machine of this byte order: the seed and the place in its stream.
Tensor state_of(const Generator& g) {
  const GeneratorState s = g.state();
  Tensor t = Tensor::empty(Spec::dense(DType::uint8, Shape{sizeof s}));
  std::memcpy(t.raw_data(), &s, sizeof s);
  return t;
}
void set_state_of(Generator& g, const Tensor& t) {
  GeneratorState s;
  check<DTypeError>(t.dtype() == DType::uint8 && t.device().is_cpu(), [&] {
    return "set_state: expected a uint8 tensor on the cpu, as get_state() gives it, got " + t.spec().str();
  });
  check<ValueError>(t.numel() == sizeof s, [&] {
    return "set_state: expected the 16 bytes that get_state() gives, got " + std::to_string(t.numel());
  });
  const Tensor bytes = t.contiguous();
  std::memcpy(&s, bytes.const_raw_data(), sizeof s);
  g.set_state(s);
}

void bind_generator(const nb::module_& m) {
  nb::class_<Generator>(
      m, "Generator",
      "A source of random numbers: neura.randn(3, generator=neura.Generator().manual_seed(1)).\n\n"
      "Numbers follow from the seed and from how many calls have drawn before, on any device and with "
      "any number of threads. A new one has the seed 0.")
      .def(
          "__init__",
          [](Generator* self, const std::optional<Device>& device) {
            check<DeviceError>(!device || device->is_cpu(),
                               [&] { return "Generator: expected the cpu, got " + device->str(); });
            new (self) Generator(0);
          },
          "device"_a = nb::none())
      .def(
          "manual_seed",
          [](nb::handle self, nb::handle seed) {
            nb::cast<Generator&>(self).manual_seed(seed_of(seed));
            return nb::borrow(self);
          },
          "seed"_a, "Starts the stream of this seed from its beginning; returns the generator.")
      .def("seed", &fresh_seed, "Takes a seed from the system, and returns it.")
      .def("initial_seed", &Generator::seed, "The seed of the present stream.")
      .def("get_state", &state_of, "Seed and place in the stream, as a uint8 tensor of 16 elements.")
      .def(
          "set_state",
          [](nb::handle self, const Tensor& state) {
            set_state_of(nb::cast<Generator&>(self), state);
            return nb::borrow(self);
          },
          "new_state"_a, "Goes on where get_state() was called; returns the generator.")
      .def(
          "clone_state", [](const Generator& g) { return Generator(g); }, "A second generator in the same state.")
      .def_prop_ro("device", [](const Generator&) { return Device(); })
      .def("__getstate__",
           [](const Generator& g) {
             const GeneratorState s = g.state();
             return nb::make_tuple(s.seed, s.offset);
           })
      .def("__setstate__", [](Generator& g, const nb::tuple& s) {
        new (&g) Generator;
        g.set_state({nb::cast<std::uint64_t>(s[0]), nb::cast<std::uint64_t>(s[1])});
      });
}

// The process's generator as a Python object. A thread in a scope has another, which belongs to whoever opened it.
nb::object default_one() { return nb::cast(&default_generator(), nb::rv_policy::reference); }

void bind_seeds(const Names& n) {
  n.functions.attr("default_generator") = default_one();
  n.function(
      "manual_seed",
      [](nb::handle seed) {
        default_generator().manual_seed(rounded_seed_of(seed));
        return default_one();
      },
      "seed"_a.none(), "Starts the default generator's stream of this seed from its beginning; returns the generator.");
  n.function(
      "seed", [] { return fresh_seed(default_generator()); },
      "Gives the default generator a seed from the system, and returns it.");
  n.function(
      "initial_seed", [] { return default_generator().seed(); }, "The seed of the default generator.");
  n.function(
      "get_rng_state", [] { return state_of(default_generator()); },
      "The default generator's state, as a uint8 tensor of 16 elements.");
  n.function(
      "set_rng_state", [](const Tensor& t) { set_state_of(default_generator(), t); }, "new_state"_a,
      "Sets the default generator's state to one that get_rng_state() gave.");
  // This thread draws from `generator` until _leave_generator. Calls nest.
  static thread_local std::vector<std::pair<nb::object, std::unique_ptr<GeneratorScope>>> scopes;
  n.function("_enter_generator", [](nb::object generator) {
    scopes.emplace_back(generator, std::make_unique<GeneratorScope>(nb::cast<Generator&>(generator)));
  });
  n.function("_leave_generator", [] {
    if (!scopes.empty()) scopes.pop_back();
  });
}

}  // namespace

void bind_random(const Names& n) {
  bind_generator(n.functions);
  bind_seeds(n);
}

}  // namespace neura::python

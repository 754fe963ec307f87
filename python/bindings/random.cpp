// Random numbers: generators, and the tensors that are drawn from them.
#include <cstring>
#include <random>

#include "common.h"

namespace neura::python {
namespace {

using D = std::optional<DType>;
using V = std::optional<Device>;
using G = Generator*;
#define GENERATOR "generator"_a.none() = nb::none()
#define OPTIONS                                                                                                   \
  GENERATOR, "dtype"_a = nb::none(), "device"_a = nb::none(), "requires_grad"_a = false, "layout"_a = nb::none(), \
             "pin_memory"_a = false
RandomOptions options(G g, D d, V v, bool requires_grad) {
  return {.generator = g, .dtype = d, .device = v.value_or(default_device()), .requires_grad = requires_grad};
}

// As in torch: from -2^63 to 2^64 - 1; the negative ones count from the other end.
std::uint64_t seed_of(nb::handle number) {
  nb::object n = nb::steal(PyNumber_Index(number.ptr()));
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
          [](Generator* self, const V& device) {
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
      .def("set_state", &set_state_of, "new_state"_a, "Goes on where get_state() was called.")
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
        default_generator().manual_seed(seed_of(seed));
        return default_one();
      },
      "seed"_a, "Starts the default generator's stream of this seed from its beginning; returns the generator.");
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

// f((2, 3)), f(size=(2, 3)) and f(2, 3)
template <Tensor (*f)(const Shape&, const RandomOptions&)> void of_sizes(const Names& n, const char* name) {
  n.function(
      name,
      [](const Shape& size, G g, D d, V v, bool r, nb::handle, bool pin) {
        return pinned(pin, f(size, options(g, d, v, r)));
      },
      "size"_a, nb::kw_only(), OPTIONS);
  n.function(
      name,
      [](nb::args size, G g, D d, V v, bool r, nb::handle, bool pin) {
        return pinned(pin, f(sizes_of(size), options(g, d, v, r)));
      },
      "size"_a, nb::kw_only(), OPTIONS);
}
template <Tensor (*f)(const Tensor&, const LikeOptions&, Generator*)> void like(const Names& n, const char* name) {
  n.function(
      name,
      [](const Tensor& x, G g, D d, V v, bool r, nb::handle, bool pin, nb::handle) {
        return pinned(pin, f(x, {.dtype = d, .device = v, .requires_grad = r}, g));
      },
      "input"_a, nb::kw_only(), OPTIONS, "memory_format"_a = nb::none());
}

void bind_integers(const Names& n) {
  n.function(
      "randint",
      [](std::int64_t high, const Shape& size, G g, D d, V v, bool r, nb::handle, bool pin) {
        return pinned(pin, randint(high, size, options(g, d, v, r)));
      },
      "high"_a, "size"_a, nb::kw_only(), OPTIONS);
  n.function(
      "randint",
      [](std::int64_t low, std::int64_t high, const Shape& size, G g, D d, V v, bool r, nb::handle, bool pin) {
        return pinned(pin, randint(low, high, size, options(g, d, v, r)));
      },
      "low"_a, "high"_a, "size"_a, nb::kw_only(), OPTIONS);
  n.function(
      "randint_like",
      [](const Tensor& x, std::int64_t high, G g, D d, V v, bool r, nb::handle, bool pin, nb::handle) {
        return pinned(pin, randint_like(x, high, {.dtype = d, .device = v, .requires_grad = r}, g));
      },
      "input"_a, "high"_a, nb::kw_only(), OPTIONS, "memory_format"_a = nb::none());
  n.function(
      "randint_like",
      [](const Tensor& x, std::int64_t low, std::int64_t high, G g, D d, V v, bool r, nb::handle, bool pin,
         nb::handle) {
        return pinned(pin, randint_like(x, low, high, {.dtype = d, .device = v, .requires_grad = r}, g));
      },
      "input"_a, "low"_a, "high"_a, nb::kw_only(), OPTIONS, "memory_format"_a = nb::none());
  n.function(
      "randperm",
      [](std::int64_t count, G g, D d, V v, bool r, nb::handle, bool pin) {
        return pinned(pin, randperm(count, options(g, d, v, r)));
      },
      "n"_a, nb::kw_only(), OPTIONS);
}

void bind_distributions(const Names& n) {
  n.function(
      "normal", [](const Tensor& m, const Tensor& s, G g) { return normal(m, s, g); }, "mean"_a, "std"_a, nb::kw_only(),
      GENERATOR);
  n.function(
      "normal", [](const Tensor& m, double s, G g) { return normal(m, s, g); }, "mean"_a, "std"_a = 1.0, nb::kw_only(),
      GENERATOR);
  n.function(
      "normal", [](double m, const Tensor& s, G g) { return normal(m, s, g); }, "mean"_a, "std"_a, nb::kw_only(),
      GENERATOR);
  n.function(
      "normal",
      [](double m, double s, const Shape& size, G g, D d, V v, bool r, nb::handle, bool pin) {
        return pinned(pin, normal(m, s, size, options(g, d, v, r)));
      },
      "mean"_a, "std"_a, "size"_a, nb::kw_only(), OPTIONS);
  n.both(
      "bernoulli", [](const Tensor& x, G g) { return bernoulli(x, g); }, "input"_a, nb::kw_only(), GENERATOR);
  n.both(
      "bernoulli", [](const Tensor& x, double p, G g) { return bernoulli(x, p, g); }, "input"_a, "p"_a, nb::kw_only(),
      GENERATOR);
  n.both(
      "multinomial",
      [](const Tensor& x, std::int64_t k, bool replacement, G g) { return multinomial(x, k, replacement, g); },
      "input"_a, "num_samples"_a, "replacement"_a = false, nb::kw_only(), GENERATOR);
  n.both(
      "poisson", [](const Tensor& x, G g) { return poisson(x, g); }, "input"_a, GENERATOR);
}

template <Tensor& (*f)(Tensor&, double, double, Generator*)>
void two_numbers(const Names& n, const char* name, const char* first, double a, const char* second, double b) {
  n.method(
      name, [](Tensor& x, double p, double q, G g) { return f(x, p, q, g); }, "self"_a, nb::arg(first) = a,
      nb::arg(second) = b, nb::kw_only(), GENERATOR);
}

void bind_in_place(const Names& n) {
  two_numbers<uniform_>(n, "uniform_", "from", 0, "to", 1);
  two_numbers<normal_>(n, "normal_", "mean", 0, "std", 1);
  two_numbers<log_normal_>(n, "log_normal_", "mean", 1, "std", 2);
  two_numbers<cauchy_>(n, "cauchy_", "median", 0, "sigma", 1);
  n.method(
      "exponential_", [](Tensor& x, double l, G g) { return exponential_(x, l, g); }, "self"_a, "lambd"_a = 1.0,
      nb::kw_only(), GENERATOR);
  n.method(
      "geometric_", [](Tensor& x, double p, G g) { return geometric_(x, p, g); }, "self"_a, "p"_a, nb::kw_only(),
      GENERATOR);
  n.method(
      "bernoulli_", [](Tensor& x, const Tensor& p, G g) { return bernoulli_(x, p, g); }, "self"_a, "p"_a, nb::kw_only(),
      GENERATOR);
  n.method(
      "bernoulli_", [](Tensor& x, double p, G g) { return bernoulli_(x, p, g); }, "self"_a, "p"_a = 0.5, nb::kw_only(),
      GENERATOR);
  n.method(
      "random_", [](Tensor& x, G g) { return random_(x, g); }, "self"_a, nb::kw_only(), GENERATOR);
  n.method(
      "random_", [](Tensor& x, std::int64_t to, G g) { return random_(x, to, g); }, "self"_a, "to"_a, nb::kw_only(),
      GENERATOR);
  n.method(
      "random_", [](Tensor& x, std::int64_t from, std::int64_t to, G g) { return random_(x, from, to, g); }, "self"_a,
      "from"_a, "to"_a, nb::kw_only(), GENERATOR);
}

}  // namespace

void bind_random(const Names& n) {
  bind_generator(n.functions);
  bind_seeds(n);
  of_sizes<rand>(n, "rand"), of_sizes<randn>(n, "randn");
  like<rand_like>(n, "rand_like"), like<randn_like>(n, "randn_like");
  bind_integers(n);
  bind_distributions(n);
  bind_in_place(n);
}

}  // namespace neura::python

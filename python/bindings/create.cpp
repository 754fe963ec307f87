// New tensors: of one value, of a sequence, random.
#include "common.h"

namespace neura::python {
namespace {

using D = std::optional<DType>;
using V = std::optional<Device>;
TensorOptions options(D dtype, V device, bool requires_grad) {
  return {.dtype = dtype, .device = device.value_or(Device()), .requires_grad = requires_grad};
}
#define OPTIONS nb::kw_only(), "dtype"_a = nb::none(), "device"_a = nb::none(), "requires_grad"_a = false
#define IGNORED "layout"_a = nb::none(), "pin_memory"_a = false, "memory_format"_a = nb::none()

// f((2, 3)), f(size=(2, 3)) and f(2, 3)
template <Tensor (*f)(const Shape&, const TensorOptions&)> void of_sizes(const Names& n, const char* name) {
  n.function(
      name, [](const Shape& size, D d, V v, bool g, nb::handle, bool, nb::handle) { return f(size, options(d, v, g)); },
      "size"_a, OPTIONS, IGNORED);
  n.function(
      name,
      [](nb::args size, D d, V v, bool g, nb::handle, bool, nb::handle) { return f(sizes_of(size), options(d, v, g)); },
      "size"_a, OPTIONS, IGNORED);
}
template <Tensor (*f)(const Tensor&, const LikeOptions&)> void like(const Names& n, const char* name) {
  n.function(
      name,
      [](const Tensor& x, D d, V v, bool g, nb::handle, bool, nb::handle) {
        return f(x, {.dtype = d, .device = v, .requires_grad = g});
      },
      "input"_a, OPTIONS, IGNORED);
}
template <Tensor (*f)(const Tensor&, const Shape&, const LikeOptions&)>
void new_like(const Names& n, const char* name) {
  n.method(
      name,
      [](const Tensor& x, const Shape& size, D d, V v, bool g, nb::handle, bool, nb::handle) {
        return f(x, size, {.dtype = d, .device = v, .requires_grad = g});
      },
      "self"_a, "size"_a, OPTIONS, IGNORED);
  n.method(
      name,
      [](const Tensor& x, nb::args size, D d, V v, bool g, nb::handle, bool, nb::handle) {
        return f(x, sizes_of(size), {.dtype = d, .device = v, .requires_grad = g});
      },
      "self"_a, "size"_a, OPTIONS, IGNORED);
}

void bind_full(const Names& n) {
  n.function(
      "full",
      [](const Shape& size, Scalar fill, D d, V v, bool g, nb::handle, bool, nb::handle) {
        return full(size, fill, options(d, v, g));
      },
      "size"_a, "fill_value"_a, OPTIONS, IGNORED);
  n.function(
      "full_like",
      [](const Tensor& x, Scalar fill, D d, V v, bool g, nb::handle, bool, nb::handle) {
        return full_like(x, fill, {.dtype = d, .device = v, .requires_grad = g});
      },
      "input"_a, "fill_value"_a, OPTIONS, IGNORED);
  n.method(
      "new_full",
      [](const Tensor& x, const Shape& size, Scalar fill, D d, V v, bool g, nb::handle, bool, nb::handle) {
        return new_full(x, size, fill, {.dtype = d, .device = v, .requires_grad = g});
      },
      "self"_a, "size"_a, "fill_value"_a, OPTIONS, IGNORED);
  n.method(
      "new_tensor",
      [](const Tensor& x, nb::handle data, D d, V v, bool g) {
        Tensor t = tensor_from(data, d ? d : D(x.dtype())).to(v.value_or(x.device()));
        return g ? t.requires_grad_() : t;
      },
      "self"_a, "data"_a, OPTIONS);
  n.method(
      "new_empty_strided",
      [](const Tensor& x, const Shape& size, const Shape& stride, D d, V v, bool g, nb::handle, bool, nb::handle) {
        return new_empty_strided(x, size, stride, {.dtype = d, .device = v, .requires_grad = g});
      },
      "self"_a, "size"_a, "stride"_a, OPTIONS, IGNORED);
  n.function(
      "empty_strided",
      [](const Shape& size, const Shape& stride, D d, V v, bool g, nb::handle, bool, nb::handle) {
        return empty_strided(size, stride, options(d, v, g));
      },
      "size"_a, "stride"_a, OPTIONS, IGNORED);
  n.function(
      "empty_permuted",
      [](const Shape& size, const Dims& layout, D d, V v, bool g, nb::handle, bool, nb::handle) {
        return empty_permuted(size, layout, options(d, v, g));
      },
      "size"_a, "physical_layout"_a, OPTIONS, IGNORED);
  n.function(
      "scalar_tensor",
      [](Scalar s, D d, V v, bool g, nb::handle, bool, nb::handle) { return scalar_tensor(s, options(d, v, g)); },
      "s"_a, OPTIONS, IGNORED);
}

void bind_sequences(const Names& n) {
  n.function(
      "arange",
      [](Scalar end, D d, V v, bool g, nb::handle, bool, nb::handle) { return arange(end, options(d, v, g)); }, "end"_a,
      OPTIONS, IGNORED);
  n.function(
      "arange",
      [](Scalar start, Scalar end, Scalar step, D d, V v, bool g, nb::handle, bool, nb::handle) {
        return arange(start, end, step, options(d, v, g));
      },
      "start"_a, "end"_a, "step"_a = Scalar(1), OPTIONS, IGNORED);
  n.function(
      "linspace",
      [](Scalar start, Scalar end, std::int64_t steps, D d, V v, bool g, nb::handle, bool, nb::handle) {
        return linspace(start, end, steps, options(d, v, g));
      },
      "start"_a, "end"_a, "steps"_a, OPTIONS, IGNORED);
  n.function(
      "logspace",
      [](Scalar start, Scalar end, std::int64_t steps, double base, D d, V v, bool g, nb::handle, bool, nb::handle) {
        return logspace(start, end, steps, base, options(d, v, g));
      },
      "start"_a, "end"_a, "steps"_a, "base"_a = 10.0, OPTIONS, IGNORED);
  n.function(
      "eye",
      [](std::int64_t rows, std::optional<std::int64_t> columns, D d, V v, bool g, nb::handle, bool, nb::handle) {
        return eye(rows, columns.value_or(rows), options(d, v, g));
      },
      "n"_a, "m"_a = nb::none(), OPTIONS, IGNORED);
  n.function(
      "tril_indices",
      [](std::int64_t row, std::int64_t col, std::int64_t offset, D d, V v, bool g, nb::handle, bool, nb::handle) {
        return tril_indices(row, col, offset, options(d, v, g));
      },
      "row"_a, "col"_a, "offset"_a = 0, OPTIONS, IGNORED);
  n.function(
      "triu_indices",
      [](std::int64_t row, std::int64_t col, std::int64_t offset, D d, V v, bool g, nb::handle, bool, nb::handle) {
        return triu_indices(row, col, offset, options(d, v, g));
      },
      "row"_a, "col"_a, "offset"_a = 0, OPTIONS, IGNORED);
}

Tensor uniform(const Shape& size, const TensorOptions& o) {
  return rand(size, {.dtype = o.dtype, .device = o.device, .requires_grad = o.requires_grad});
}
Tensor standard_normal(const Shape& size, const TensorOptions& o) {
  return randn(size, {.dtype = o.dtype, .device = o.device, .requires_grad = o.requires_grad});
}
Tensor uniform_like(const Tensor& x, const LikeOptions& o) { return rand_like(x, o); }
Tensor normal_like(const Tensor& x, const LikeOptions& o) { return randn_like(x, o); }

void bind_integers(const Names& n) {
  n.function(
      "randint",
      [](std::int64_t high, const Shape& size, D d, V v, bool g, nb::handle, bool, nb::handle) {
        return randint(high, size, {.dtype = d, .device = v.value_or(Device()), .requires_grad = g});
      },
      "high"_a, "size"_a, OPTIONS, IGNORED);
  n.function(
      "randint",
      [](std::int64_t low, std::int64_t high, const Shape& size, D d, V v, bool g, nb::handle, bool, nb::handle) {
        return randint(low, high, size, {.dtype = d, .device = v.value_or(Device()), .requires_grad = g});
      },
      "low"_a, "high"_a, "size"_a, OPTIONS, IGNORED);
  n.function(
      "randint_like",
      [](const Tensor& x, std::int64_t high, D d, V v, bool g, nb::handle, bool, nb::handle) {
        return randint_like(x, high, {.dtype = d, .device = v, .requires_grad = g});
      },
      "input"_a, "high"_a, OPTIONS, IGNORED);
  n.function(
      "randint_like",
      [](const Tensor& x, std::int64_t low, std::int64_t high, D d, V v, bool g, nb::handle, bool, nb::handle) {
        return randint_like(x, low, high, {.dtype = d, .device = v, .requires_grad = g});
      },
      "input"_a, "low"_a, "high"_a, OPTIONS, IGNORED);
  n.function(
      "randperm",
      [](std::int64_t count, D d, V v, bool g, nb::handle, bool, nb::handle) {
        return randperm(count, {.dtype = d, .device = v.value_or(Device()), .requires_grad = g});
      },
      "n"_a, OPTIONS, IGNORED);
}

}  // namespace

void bind_create(const Names& n) {
  of_sizes<empty>(n, "empty"), of_sizes<zeros>(n, "zeros"), of_sizes<ones>(n, "ones");
  like<empty_like>(n, "empty_like"), like<zeros_like>(n, "zeros_like"), like<ones_like>(n, "ones_like");
  new_like<new_empty>(n, "new_empty"), new_like<new_zeros>(n, "new_zeros"), new_like<new_ones>(n, "new_ones");
  bind_full(n);
  bind_sequences(n);
  n.function("get_default_dtype", &default_dtype);
  n.function("set_default_dtype", &set_default_dtype, "d"_a);
}

void bind_random(const Names& n) {
  of_sizes<uniform>(n, "rand"), of_sizes<standard_normal>(n, "randn");
  like<uniform_like>(n, "rand_like"), like<normal_like>(n, "randn_like");
  bind_integers(n);
  n.function("manual_seed", &manual_seed, "seed"_a);
  n.function(
      "normal", [](const Tensor& m, const Tensor& s) { return normal(m, s); }, "mean"_a, "std"_a);
  n.function(
      "normal", [](const Tensor& m, double s) { return normal(m, s); }, "mean"_a, "std"_a = 1.0);
  n.function(
      "normal", [](double m, const Tensor& s) { return normal(m, s); }, "mean"_a, "std"_a);
  n.function(
      "normal",
      [](double m, double s, const Shape& size, D d, V v, bool g) {
        return normal(m, s, size, {.dtype = d, .device = v.value_or(Device()), .requires_grad = g});
      },
      "mean"_a, "std"_a, "size"_a, OPTIONS);
  n.both(
      "bernoulli", [](const Tensor& x) { return bernoulli(x); }, "input"_a);
  n.both(
      "bernoulli", [](const Tensor& x, double p) { return bernoulli(x, p); }, "input"_a, "p"_a);
  n.both(
      "multinomial", [](const Tensor& x, std::int64_t k, bool replacement) { return multinomial(x, k, replacement); },
      "input"_a, "num_samples"_a, "replacement"_a = false);
  n.both(
      "poisson", [](const Tensor& x) { return poisson(x); }, "input"_a);
  n.method(
      "uniform_", [](Tensor& x, double a, double b) { return uniform_(x, a, b); }, "self"_a, "from"_a = 0.0,
      "to"_a = 1.0);
  n.method(
      "normal_", [](Tensor& x, double m, double s) { return normal_(x, m, s); }, "self"_a, "mean"_a = 0.0,
      "std"_a = 1.0);
  n.method(
      "log_normal_", [](Tensor& x, double m, double s) { return log_normal_(x, m, s); }, "self"_a, "mean"_a = 1.0,
      "std"_a = 2.0);
  n.method(
      "cauchy_", [](Tensor& x, double m, double s) { return cauchy_(x, m, s); }, "self"_a, "median"_a = 0.0,
      "sigma"_a = 1.0);
  n.method(
      "exponential_", [](Tensor& x, double l) { return exponential_(x, l); }, "self"_a, "lambd"_a = 1.0);
  n.method(
      "geometric_", [](Tensor& x, double p) { return geometric_(x, p); }, "self"_a, "p"_a);
  n.method(
      "bernoulli_", [](Tensor& x, const Tensor& p) { return bernoulli_(x, p); }, "self"_a, "p"_a);
  n.method(
      "bernoulli_", [](Tensor& x, double p) { return bernoulli_(x, p); }, "self"_a, "p"_a = 0.5);
  n.method("random_", [](Tensor& x) { return random_(x); });
  n.method(
      "random_", [](Tensor& x, std::int64_t to) { return random_(x, to); }, "self"_a, "to"_a);
  n.method(
      "random_", [](Tensor& x, std::int64_t from, std::int64_t to) { return random_(x, from, to); }, "self"_a, "from"_a,
      "to"_a);
}

}  // namespace neura::python

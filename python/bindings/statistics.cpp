// Measures over several variables, distances, products in space, windows.
#include "numbers.h"
#include "out.h"

#include "neura/ops/statistics.h"
#include "neura/ops/window.h"

namespace neura::python {
namespace {

using T = const Tensor&;
using D = std::optional<DType>;
using V = std::optional<Device>;

std::vector<Spacing> spacing_of(nb::handle h) {
  std::vector<Spacing> v;
  const auto add = [&](nb::handle e) {
    double d;
    if (is_tensor(e.ptr()) && tensor_in(e.ptr()).dim() > 0) v.emplace_back(tensor_in(e.ptr()));
    else if (nb::try_cast<double>(e, d)) v.emplace_back(d);
    else throw nb::type_error("gradient: expected spacing to be numbers or vectors of coordinates");
  };
  if (h.is_none()) v.emplace_back(1.0);
  else if (PyList_Check(h.ptr()) || PyTuple_Check(h.ptr()))
    for (nb::handle e : nb::iter(h)) add(e);
  else add(h);
  return v;
}

void bind_measures(const Names& n) {
  n.function(
      "gradient",
      [](T x, nb::handle spacing, const Dims& dim, int order) {
        return tuple_of(gradient(x, spacing_of(spacing), dim, order));
      },
      "input"_a, nb::kw_only(), "spacing"_a = nb::none(), "dim"_a = nb::none(), "edge_order"_a = 1,
      "The derivative of samples along each dimension: a tuple. `spacing` is their distance or their coordinates.");
}
void bind_parts(const Names& n) {
  const auto within = [](nb::handle elements, nb::handle tests, bool, bool invert) {
    const auto tensor_of = [](nb::handle h) { return is_tensor(h.ptr()) ? tensor_in(h.ptr()) : tensor_from(h); };
    if (!is_tensor(elements.ptr()) && !is_tensor(tests.ptr()))
      throw nb::type_error("isin: expected at least one tensor, got numbers");
    return isin(tensor_of(elements), tensor_of(tests), invert);
  };
  n.function("isin", within, "elements"_a, "test_elements"_a, nb::kw_only(), "assume_unique"_a = false,
             "invert"_a = false, "Is each element among the test elements? Each argument may be a number.");
  n.function(
      "broadcast_shapes",
      [](nb::args shapes) {
        std::vector<Shape> v;
        for (nb::handle s : shapes)
          if (!to_shape(s.ptr(), v.emplace_back()))
            throw nb::type_error("broadcast_shapes: expected tuples of integers");
        return nb::steal(size_of_shape(broadcast_shapes(v)));
      },
      "The shape to which these shapes broadcast.");
  const auto resized = [](nb::handle self, const Shape& size) {
    if (!is_tensor(self.ptr())) throw nb::type_error("resize_: expected a tensor");
    resize_(tensor_in(self.ptr()), size);
    return nb::borrow(self);
  };
  n.method(
      "resize_", [resized](nb::handle self, const Shape& size, nb::handle) { return resized(self, size); }, "self"_a,
      "sizes"_a, nb::kw_only(), "memory_format"_a = nb::none(),
      "Another size in place, over the same bytes where they suffice; what is new is uninitialised.");
  n.method(
      "resize_", [resized](nb::handle self, nb::args size) { return resized(self, sizes_of(size)); }, "self"_a,
      "sizes"_a);
  n.both(
      "resize_as_", [resized](nb::handle self, T other, nb::handle) { return resized(self, other.shape()); }, "input"_a,
      "the_template"_a, nb::kw_only(), "memory_format"_a = nb::none());
}

windows::Options window_options(bool sym, D d, V v, bool g) {
  return {sym, {.dtype = d, .device = v.value_or(default_device()), .requires_grad = g}};
}
#define OPTIONS "dtype"_a = nb::none(), "layout"_a = nb::none(), "device"_a = nb::none(), "requires_grad"_a = false
template <Tensor (*f)(std::int64_t, const windows::Options&)> void window(nb::module_& m, const char* name) {
  m.def(
      name, [](std::int64_t M, bool sym, D d, nb::handle, V v, bool g) { return f(M, window_options(sym, d, v, g)); },
      text_of(name).c_str(), "M"_a, nb::kw_only(), "sym"_a = true, OPTIONS);
}
// window(M, number, …): `plain` of these has one number more.
template <class F> void window(nb::module_& m, const char* name, F f, const char* argument, double fallback) {
  m.def(
      name,
      [f](std::int64_t M, double x, bool sym, D d, nb::handle, V v, bool g) {
        return f(M, x, window_options(sym, d, v, g));
      },
      text_of(name).c_str(), "M"_a, nb::kw_only(), nb::arg(argument) = fallback, "sym"_a = true, OPTIONS);
}
void bind_windows(nb::module_ m) {
  window<windows::bartlett>(m, "bartlett"), window<windows::blackman>(m, "blackman");
  window<windows::cosine>(m, "cosine"), window<windows::hamming>(m, "hamming"), window<windows::hann>(m, "hann");
  window<windows::nuttall>(m, "nuttall");
  window(m, "gaussian", &windows::gaussian, "std", 1.0);
  window(m, "general_hamming", &windows::general_hamming, "alpha", 0.54);
  window(m, "kaiser", &windows::kaiser, "beta", 12.0);
  m.def(
      "exponential",
      [](std::int64_t M, std::optional<double> center, double tau, bool sym, D d, nb::handle, V v, bool g) {
        return windows::exponential(M, center, tau, window_options(sym, d, v, g));
      },
      text_of("exponential").c_str(), "M"_a, nb::kw_only(), "center"_a = nb::none(), "tau"_a = 1.0, "sym"_a = true,
      OPTIONS);
  m.def(
      "general_cosine",
      [](std::int64_t M, nb::handle a, bool sym, D d, nb::handle, V v, bool g) {
        return windows::general_cosine(M, numbers_of(a, "general_cosine", "a"), window_options(sym, d, v, g));
      },
      text_of("general_cosine").c_str(), "M"_a, nb::kw_only(), "a"_a, "sym"_a = true, OPTIONS);
}
// The older functions, periodic by default.
template <Tensor (*f)(std::int64_t, const windows::Options&)> void periodic(const Names& n, const char* name) {
  n.function(
      name,
      [](std::int64_t M, bool periodic, D d, nb::handle, V v, bool g) {
        return f(M, window_options(!periodic, d, v, g));
      },
      "window_length"_a, "periodic"_a = true, nb::kw_only(), OPTIONS);
}
void bind_old_windows(const Names& n) {
  periodic<windows::bartlett>(n, "bartlett_window"), periodic<windows::blackman>(n, "blackman_window");
  periodic<windows::hann>(n, "hann_window");
  n.function(
      "hamming_window",
      [](std::int64_t M, bool periodic, double alpha, double beta, D d, nb::handle, V v, bool g) {
        return windows::general_cosine(M, {alpha, beta}, window_options(!periodic, d, v, g));
      },
      "window_length"_a, "periodic"_a = true, "alpha"_a = 0.54, "beta"_a = 0.46, nb::kw_only(), OPTIONS);
  n.function(
      "kaiser_window",
      [](std::int64_t M, bool periodic, double beta, D d, nb::handle, V v, bool g) {
        return windows::kaiser(M, beta, window_options(!periodic, d, v, g));
      },
      "window_length"_a, "periodic"_a = true, "beta"_a = 12.0, nb::kw_only(), OPTIONS);
}

}  // namespace

void bind_statistics(const Names& n) {
  bind_measures(n);
  bind_parts(n);
  bind_windows(nb::module_(n.functions).def_submodule("windows", "Windows for signals."));
  bind_old_windows(n);
}

}  // namespace neura::python

// An operation outside of the library: a kernel for the cpu, a definition for every other device and layout, a
// gradient.
#include "extension.h"

#include <neura/backend/context.h>
#include <neura/op/apply.h>

#include <cmath>

using namespace neura;

namespace {

struct Squash {
  static constexpr Operation op = operation("extension_squash").saves(0, out(0));
  NEURA_FIELDS()  // no attributes

  void infer(const Spec& x, Spec& y) const {
    check<DTypeError>(x.dtype == float32 || x.dtype == float64,
                      [&] { return "squash: expected float32 or float64, got " + std::string(name(x.dtype)); });
    y = Spec::dense(x.dtype, x.sizes(), x.device);
  }
  bool accepts(const Backend&, const Spec& x) const { return x.device.is_cpu() && x.contiguous; }
  void run(Context&, View x, View y) const {
    const auto line = [n = x.numel()]<class T>(const T* in, T* result) {
      for (std::int64_t i = 0; i < n; ++i) result[i] = in[i] / (1 + std::abs(in[i]));
    };
    if (x.dtype() == float32) line(x.as<const float>(), y.as<float>());
    else line(x.as<const double>(), y.as<double>());
  }
  Tensor define(const Tensor& x) const { return x / (1 + abs(x)); }
  void gradient(Gradient& g) const { g.result[0] = g.g[0] * square(1 - abs(g.output())); }
};

}  // namespace

Tensor squash(const Tensor& x) { return apply(Squash{}, x); }

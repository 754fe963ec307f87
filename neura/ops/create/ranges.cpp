// arange, linspace, logspace.
#include <algorithm>
#include <cmath>
#include <complex>

#include "neura/backend/host_values.h"
#include "neura/backend/kernels/create.h"
#include "neura/core/parallel.h"
#include "neura/op/registry.h"
#include "neura/ops/create/create_common.h"
#include "neura/ops/create/integer_range.h"

namespace neura {
namespace {

DType dtype_of_spaced(Scalar start, Scalar end, const TensorOptions& o) {
  const bool complex = start.is_complex() || end.is_complex();
  return o.dtype ? *o.dtype : complex ? to_complex(default_dtype()) : default_dtype();
}
void check_spaced(const char* op, Scalar start, Scalar end, std::int64_t steps, DType dtype) {
  check<ValueError>(steps >= 0,
                    [&] { return std::string(op) + ": expected steps of at least 0, got " + std::to_string(steps); });
  const bool complex = start.is_complex() || end.is_complex();
  check<DTypeError>(!complex || is_complex(dtype), [&] {
    return std::string(op) + ": expected a complex dtype for complex bounds, got " + name(dtype);
  });
}
// start, start + step, … from both ends, so that the last is `end` exactly. Integers are cut off.
EvenlySpaced spaced(Scalar start, Scalar end, std::int64_t steps, DType dtype) {
  EvenlySpaced p;
  p.back = (steps + 1) / 2;
  const double gaps = double(steps - 1);
  if (is_complex(dtype)) {
    p.kind = EvenlySpaced::complexes;
    const std::complex<double> a(start.real(), start.imag()), b(end.real(), end.imag());
    const std::complex<double> step = steps > 1 ? (b - a) / std::complex<double>(gaps) : 0;
    const auto put = [](double* to, std::complex<double> z) { to[0] = z.real(), to[1] = z.imag(); };
    put(p.start, a), put(p.end, b), put(p.step, step);
  } else {
    const bool whole = is_integral(dtype);
    p.start[0] = whole ? double(start.integer()) : start.real();
    p.end[0] = whole ? double(end.integer()) : end.real();
    p.step[0] = steps > 1 ? (p.end[0] - p.start[0]) / gaps : 0;
  }
  return p;
}

struct Arange {
  static constexpr Operation op = operation("arange");
  Scalar start, end, step;
  DType dtype;
  Device device;
  NEURA_FIELDS(start, end, step, dtype, device)
  bool is_safe() const { return bit(dtype) & dtypes::numbers; }
  void infer(Spec& y) const;
  void run(Context& c, View y) const {
    EvenlySpaced p;
    if (is_integral(dtype)) p.kind = EvenlySpaced::integers, p.first = start.integer(), p.by = step.integer();
    else p.start[0] = start.real(), p.step[0] = step.real();
    c.backend.create->arange(c, p, y);
  }
};
void Arange::infer(Spec& y) const {
  check<DTypeError>(!start.is_complex() && !end.is_complex() && !step.is_complex(), [&] {
    return "arange: expected real bounds, got " + start.str() + ", " + end.str() + " and " + step.str();
  });
  const bool whole =
      dtype == DType::int64 || std::max({start.category(), end.category(), step.category()}) <= Category::integer;
  const double a = start.real(), b = end.real(), s = whole ? double(step.integer()) : step.real();
  const bool leads = !whole  ? (s > 0 ? b >= a : b <= a)
                     : s > 0 ? start.integer() <= end.integer()
                             : start.integer() >= end.integer();
  check<ValueError>(s != 0 && std::isfinite(a) && std::isfinite(b) && leads, [&] {
    return "arange: expected a step that leads from start to end, got start " + start.str() + ", end " + end.str() +
           ", step " + step.str();
  });
  const double count = whole ? 0 : std::ceil((b - a) / s);
  check<ValueError>(count < 9e18, [&] { return "arange: expected fewer values, got " + std::to_string(count); });
  const std::int64_t n =
      whole ? count_between("arange", start.integer(), end.integer(), step.integer()) : std::int64_t(count);
  y = Spec::dense(dtype, Shape{n}, device);
}

struct Linspace {
  static constexpr Operation op = operation("linspace");
  Scalar start, end;
  std::int64_t steps;
  DType dtype;
  Device device;
  NEURA_FIELDS(start, end, steps, dtype, device)
  void infer(Spec& y) const {
    check_spaced(op.name, start, end, steps, dtype);
    y = Spec::dense(dtype, Shape{steps}, device);
  }
  void run(Context& c, View y) const {
    if (category(dtype) != Category::integer) return c.backend.create->arange(c, spaced(start, end, steps, dtype), y);
    made_on_cpu(c, y, [&](Context&, View out) { fill_integer_linspace(start.integer(), end.integer(), out); });
  }
};

// Powers are computed on the cpu for every device: CUDA's differ in the last digit, so an integer could be one less.
struct Logspace {
  static constexpr Operation op = operation("logspace").copies();
  Scalar start, end;
  std::int64_t steps;
  double base;
  DType dtype;
  Device device;
  NEURA_FIELDS(start, end, steps, base, dtype, device)
  void infer(Spec& y) const {
    check_spaced(op.name, start, end, steps, dtype);
    y = Spec::dense(dtype, Shape{steps}, device);
  }
  void run(Context& c, View y) const {
    made_on_cpu(c, y, [&](Context& cpu, View out) {
      if (is_complex(dtype)) powers<std::complex<double>>(cpu, out);
      else powers<double>(cpu, out);
    });
  }
  template <class N> void powers(Context& c, View out) const {
    const Spec wide = Spec::dense(dtype_of<N>, Shape{steps});
    N* const exponent = c.scratch_of<N>(steps);
    c.backend.create->arange(c, spaced(start, end, steps, dtype), {reinterpret_cast<char*>(exponent), &wide});
    parallel_for(steps, kSerial, [&](std::int64_t b, std::int64_t e) {
      for (std::int64_t i = b; i < e; ++i)
        Scalar(std::pow(N(base), exponent[i])).store(dtype, out.data + i * size_of(dtype));
    });
  }
};

}  // namespace

Tensor arange(Scalar start, Scalar end, Scalar step, const TensorOptions& o) {
  const bool integers = !start.is_floating() && !end.is_floating() && !step.is_floating();
  const DType dtype = o.dtype.value_or(integers ? DType::int64 : default_dtype());
  return finished(apply(Arange{start, end, step, dtype, o.device}), o);
}
Tensor arange(Scalar start, Scalar end, const TensorOptions& o) { return arange(start, end, 1, o); }
Tensor arange(Scalar end, const TensorOptions& o) { return arange(0, end, 1, o); }

Tensor linspace(Scalar start, Scalar end, std::int64_t steps, const TensorOptions& o) {
  return finished(apply(Linspace{start, end, steps, dtype_of_spaced(start, end, o), o.device}), o);
}
Tensor logspace(Scalar start, Scalar end, std::int64_t steps, double base, const TensorOptions& o) {
  return finished(apply(Logspace{start, end, steps, base, dtype_of_spaced(start, end, o), o.device}), o);
}

}  // namespace neura

NEURA_DEFINE_OPERATION(arange, Arange);
NEURA_DEFINE_OPERATION(linspace, Linspace);
NEURA_DEFINE_OPERATION(logspace, Logspace);

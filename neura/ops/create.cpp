#include "neura/ops/create.h"

#include <cmath>
#include <complex>
#include <cstring>

#include "neura/backend/kernels/join.h"
#include "neura/backend/transfer.h"
#include "neura/core/error_details.h"
#include "neura/core/parallel.h"
#include "neura/ops/apply.h"
#include "neura/ops/overwrite.h"
#include "neura/ops/registry.h"

namespace neura {
namespace {

void check_sizes(const char* op, const Shape& size) {
  for (std::int64_t s : size)
    check<ShapeError>(s >= 0, [&] { return std::string(op) + ": expected sizes of at least 0, got " + size.str(); });
}
Tensor allocated(const char* op, const Spec& s) {
  try {
    return Tensor::empty(s);
  } catch (const Error&) {
    rethrow_with_details(op, {});
  }
}
Tensor make(const char* op, const Shape& size, DType dtype, Device device = {}) {  // new, dense, not written yet
  check_sizes(op, size);
  return allocated(op, Spec::dense(dtype, size, device));
}
Tensor finished(Tensor t, const TensorOptions& o) {
  if (o.requires_grad) t.requires_grad_();
  return t;
}

TensorOptions options(const Tensor& input, const LikeOptions& o) {
  return {.dtype = o.dtype ? *o.dtype : input.dtype(),
          .device = o.device ? *o.device : input.device(),
          .requires_grad = o.requires_grad};
}

// Strides of `input` squeezed to a dense tensor: the same order of dimensions in memory.
Spec like(const Tensor& input, const TensorOptions& o) {
  Spec s = Spec::dense(*o.dtype, input.shape(), o.device);
  const Spec& from = input.spec();
  if (from.contiguous || !from.dense()) return s;
  std::copy(from.strides, from.strides + from.rank, s.strides);
  s.finish();
  return s;
}

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
Progression spaced(Scalar start, Scalar end, std::int64_t steps, DType dtype) {
  Progression p;
  p.back = (steps + 1) / 2;
  const double gaps = double(steps - 1);
  if (is_complex(dtype)) {
    p.kind = Progression::complexes;
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

// Values that only the cpu computes: written where they belong, or brought there.
template <class F> void made_on_cpu(const char* op, View out, F write) {
  Context cpu(cpu_backend(), Device(), op);
  if (out.spec->device.is_cpu()) return write(cpu, out);
  const Spec spec = Spec::dense(out.dtype(), out.spec->sizes());
  const View here{cpu.scratch_of<char>(std::int64_t(spec.bytes())), &spec};
  write(cpu, here);
  assign(out, here);
}

// Operations without operands. What they are called is what the user called.
constexpr const char* kFilled[] = {"full", "zeros", "ones", "full_like", "zeros_like", "ones_like"};
enum class Filled { full, zeros, ones, full_like, zeros_like, ones_like };
template <Filled by> struct Full {
  static constexpr Operation op = operation(kFilled[int(by)]).direct();
  Spec spec;
  Scalar value;
  NEURA_FIELDS(spec, value)
  void infer(Spec& y) const { y = spec; }
  void run(Context&, View y) const { fill_memory(y, value); }
};

struct Arange {
  static constexpr Operation op = operation("arange");
  Scalar start, end, step;
  DType dtype;
  Device device;
  NEURA_FIELDS(start, end, step, dtype, device)
  void infer(Spec& y) const;
  void run(Context& c, View y) const {
    Progression p;
    if (is_integral(dtype)) p.kind = Progression::integers, p.first = start.integer(), p.by = step.integer();
    else p.start[0] = start.real(), p.step[0] = step.real();
    c.backend.join->progression(c, p, y);
  }
};
void Arange::infer(Spec& y) const {
  check<DTypeError>(!start.is_complex() && !end.is_complex() && !step.is_complex(), [&] {
    return "arange: expected real bounds, got " + start.str() + ", " + end.str() + " and " + step.str();
  });
  const auto number = [&](Scalar x) { return dtype == DType::int64 ? double(x.integer()) : x.real(); };
  const double a = number(start), b = number(end), s = number(step);
  check<ValueError>(s != 0 && std::isfinite(a) && std::isfinite(b) && (s > 0 ? b >= a : b <= a), [&] {
    return "arange: expected a step that leads from start to end, got start " + start.str() + ", end " + end.str() +
           ", step " + step.str();
  });
  const double count = std::ceil((b - a) / s);
  check<ValueError>(count < 9e18, [&] { return "arange: expected fewer values, got " + std::to_string(count); });
  y = Spec::dense(dtype, Shape{std::int64_t(count)}, device);
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
  void run(Context& c, View y) const { c.backend.join->progression(c, spaced(start, end, steps, dtype), y); }
};

// Powers are the cpu's on every device: other libraries' differ in the last digit, which an integer then loses.
struct Logspace {
  static constexpr Operation op = operation("logspace");
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
  void run(Context&, View y) const {
    made_on_cpu(op.name, y, [&](Context& c, View out) {
      if (is_complex(dtype)) powers<std::complex<double>>(c, out);
      else powers<double>(c, out);
    });
  }
  template <class N> void powers(Context& c, View out) const {
    const Spec wide = Spec::dense(dtype_of<N>, Shape{steps});
    N* const exponent = c.scratch_of<N>(steps);
    c.backend.join->progression(c, spaced(start, end, steps, dtype), {reinterpret_cast<char*>(exponent), &wide});
    parallel_for(steps, kSerial, [&](std::int64_t b, std::int64_t e) {
      for (std::int64_t i = b; i < e; ++i)
        Scalar(std::pow(N(base), exponent[i])).store(dtype, out.data + i * size_of(dtype));
    });
  }
};

struct Eye {
  static constexpr Operation op = operation("eye");
  std::int64_t n, m;
  DType dtype;
  Device device;
  NEURA_FIELDS(n, m, dtype, device)
  void infer(Spec& y) const {
    check_sizes(op.name, {n, m});
    y = Spec::dense(dtype, Shape{n, m}, device);
  }
  void run(Context&, View y) const {
    fill_memory(y, 0);
    const std::int64_t ones = std::min(n, m);
    if (!device.is_cpu()) {
      Spec diagonal = Spec::dense(dtype, Shape{ones}, device);
      diagonal.strides[0] = m + 1, diagonal.finish();
      if (ones) fill_memory({y.data, &diagonal}, 1);
      return;
    }
    char one[16];
    Scalar(1).store(dtype, one);
    const std::int64_t width = size_of(dtype);
    for (std::int64_t i = 0; i < ones; ++i) std::memcpy(y.data + i * (m + 1) * width, one, std::size_t(width));
  }
};

constexpr const char* kTriangles[] = {"tril_indices", "triu_indices"};
template <bool upper> struct TriangleIndices {
  static constexpr Operation op = operation(kTriangles[upper]);
  std::int64_t rows, cols, offset;
  DType dtype;
  Device device;
  NEURA_FIELDS(rows, cols, offset, dtype, device)
  struct Part {
    std::int64_t begin, end;
  };
  Part columns(std::int64_t row) const {
    const std::int64_t edge = std::clamp<std::int64_t>(row + offset + (upper ? 0 : 1), 0, cols);
    return upper ? Part{edge, cols} : Part{0, edge};
  }
  void infer(Spec& y) const {
    check_sizes(op.name, {rows, cols});
    check<DTypeError>(dtype == DType::int64 || dtype == DType::int32,
                      [&] { return std::string(op.name) + ": expected int32 or int64, got " + name(dtype); });
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < rows; ++i) n += columns(i).end - columns(i).begin;
    y = Spec::dense(dtype, Shape{2, n}, device);
  }
  void run(Context&, View y) const {
    made_on_cpu(op.name, y, [&](Context&, View out) {
      if (dtype == DType::int64) write(out.as<std::int64_t>(), out.size(1));
      else write(out.as<std::int32_t>(), out.size(1));
    });
  }
  template <class I> void write(I* row, std::int64_t n) const {
    I* col = row + n;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = columns(i).begin; j < columns(i).end; ++j) *row++ = I(i), *col++ = I(j);
  }
};

template <Filled by> Tensor filled(const Shape& size, Scalar value, DType dtype, const TensorOptions& o) {
  check_sizes(kFilled[int(by)], size);
  return finished(apply(Full<by>{Spec::dense(dtype, size, o.device), value}), o);
}
template <Filled by> Tensor filled_like(const Tensor& input, Scalar value, const LikeOptions& l) {
  const TensorOptions o = options(input, l);
  return finished(apply(Full<by>{like(input, o), value}), o);
}

}  // namespace

Tensor empty(const Shape& size, const TensorOptions& o) {
  return finished(make("empty", size, o.dtype.value_or(default_dtype()), o.device), o);
}

Tensor empty_strided(const Shape& size, const Shape& stride, const TensorOptions& o) {
  check<ShapeError>(size.size() == stride.size(), [&] {
    return "empty_strided: expected as many strides as sizes, got " + size.str() + " and " + stride.str();
  });
  std::int64_t last = size.numel() ? 0 : -1;
  for (int i = 0; i < size.size(); ++i) {
    check<ShapeError>(size[i] >= 0 && stride[i] >= 0, [&] {
      return "empty_strided: expected sizes and strides of at least 0, got " + size.str() + " and " + stride.str();
    });
    if (last >= 0) last += (size[i] - 1) * stride[i];
  }
  Tensor whole = make("empty_strided", {last + 1}, o.dtype.value_or(default_dtype()), o.device);
  Spec s = whole.spec();
  s.rank = std::uint8_t(size.size());
  std::copy(size.begin(), size.end(), s.shape);
  std::copy(stride.begin(), stride.end(), s.strides);
  s.finish();
  return finished(
      Tensor(Ref<TensorImpl>::adopt(TensorImpl::make(s, Ref<Storage>::share(whole.impl()->storage).leave()))), o);
}

Tensor empty_permuted(const Shape& size, const Dims& layout, const TensorOptions& o) {
  Shape stride = size;
  std::int64_t step = 1;
  unsigned seen = 0;
  bool good = layout.size() == size.size();
  for (int i = layout.size() - 1; good && i >= 0; --i) {
    const std::int64_t d = layout[i];
    good = d >= 0 && d < size.size() && !(seen >> d & 1);
    if (!good) break;
    seen |= 1u << d, stride[int(d)] = step, step *= std::max<std::int64_t>(size[int(d)], 1);
  }
  check<ValueError>(good, [&] {
    return "empty_permuted: expected physical_layout to be a permutation of the dimensions of " + size.str() +
           ", got " + layout.str();
  });
  return empty_strided(size, stride, o);
}

Tensor full(const Shape& size, Scalar value, const TensorOptions& o) {
  return filled<Filled::full>(size, value, o.dtype.value_or(value.dtype()), o);
}
Tensor zeros(const Shape& size, const TensorOptions& o) {
  return filled<Filled::zeros>(size, 0, o.dtype.value_or(default_dtype()), o);
}
Tensor ones(const Shape& size, const TensorOptions& o) {
  return filled<Filled::ones>(size, 1, o.dtype.value_or(default_dtype()), o);
}
Tensor scalar_tensor(Scalar value, const TensorOptions& o) {
  return full({}, value,
              {.dtype = o.dtype.value_or(default_dtype()), .device = o.device, .requires_grad = o.requires_grad});
}

Tensor empty_like(const Tensor& input, const LikeOptions& l) {
  const TensorOptions o = options(input, l);
  return finished(allocated("empty_like", like(input, o)), o);
}
Tensor full_like(const Tensor& input, Scalar value, const LikeOptions& o) {
  return filled_like<Filled::full_like>(input, value, o);
}
Tensor zeros_like(const Tensor& input, const LikeOptions& o) { return filled_like<Filled::zeros_like>(input, 0, o); }
Tensor ones_like(const Tensor& input, const LikeOptions& o) { return filled_like<Filled::ones_like>(input, 1, o); }

Tensor new_empty(const Tensor& input, const Shape& size, const LikeOptions& o) {
  return empty(size, options(input, o));
}
Tensor new_empty_strided(const Tensor& input, const Shape& size, const Shape& stride, const LikeOptions& o) {
  return empty_strided(size, stride, options(input, o));
}
Tensor new_zeros(const Tensor& input, const Shape& size, const LikeOptions& o) {
  return zeros(size, options(input, o));
}
Tensor new_ones(const Tensor& input, const Shape& size, const LikeOptions& o) { return ones(size, options(input, o)); }
Tensor new_full(const Tensor& input, const Shape& size, Scalar value, const LikeOptions& o) {
  return full(size, value, options(input, o));
}

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

Tensor eye(std::int64_t n, std::int64_t m, const TensorOptions& o) {
  return finished(apply(Eye{n, m, o.dtype.value_or(default_dtype()), o.device}), o);
}
Tensor eye(std::int64_t n, const TensorOptions& o) { return eye(n, n, o); }

Tensor tril_indices(std::int64_t row, std::int64_t col, std::int64_t offset, const TensorOptions& o) {
  return finished(apply(TriangleIndices<false>{row, col, offset, o.dtype.value_or(DType::int64), o.device}), o);
}
Tensor triu_indices(std::int64_t row, std::int64_t col, std::int64_t offset, const TensorOptions& o) {
  return finished(apply(TriangleIndices<true>{row, col, offset, o.dtype.value_or(DType::int64), o.device}), o);
}

Tensor tensor(Scalar value, const TensorOptions& o) { return full({}, value, o); }

Tensor tensor_of(const void* values, DType from, const Shape& size, const TensorOptions& o) {
  const DType to = o.dtype.value_or(from);
  Tensor t = make("tensor", size, to);
  const char* p = static_cast<const char*>(values);
  char* q = t.impl()->data();
  if (from == to) {
    if (t.numel()) std::memcpy(q, p, t.nbytes());
  } else {
    for (std::int64_t i = 0; i < t.numel(); ++i)
      Scalar::load(from, p + i * size_of(from)).store(to, q + i * size_of(to));
  }
  if (o.device != t.device()) t = t.to(o.device);
  return finished(t, o);
}

void detail::ragged(std::size_t first, std::size_t other) {
  throw ShapeError("tensor: expected rows of equal length, got " + std::to_string(first) + " and " +
                   std::to_string(other) + " values");
}

}  // namespace neura

NEURA_DEFINE_OPERATION(full, Full<Filled::full>);
NEURA_DEFINE_OPERATION(zeros, Full<Filled::zeros>);
NEURA_DEFINE_OPERATION(ones, Full<Filled::ones>);
NEURA_DEFINE_OPERATION(full_like, Full<Filled::full_like>);
NEURA_DEFINE_OPERATION(zeros_like, Full<Filled::zeros_like>);
NEURA_DEFINE_OPERATION(ones_like, Full<Filled::ones_like>);
NEURA_DEFINE_OPERATION(arange, Arange);
NEURA_DEFINE_OPERATION(linspace, Linspace);
NEURA_DEFINE_OPERATION(logspace, Logspace);
NEURA_DEFINE_OPERATION(eye, Eye);
NEURA_DEFINE_OPERATION(triu_indices, TriangleIndices<true>);
NEURA_DEFINE_OPERATION(tril_indices, TriangleIndices<false>);

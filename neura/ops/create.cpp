#include "neura/ops/create.h"

#include <cmath>
#include <complex>
#include <cstring>

#include "neura/backend/kernels/join.h"
#include "neura/core/error_details.h"
#include "neura/core/host.h"
#include "neura/core/parallel.h"

namespace neura {
namespace {

Tensor allocated(const char* op, const Spec& s) {
  try {
    return Tensor::empty(s);
  } catch (const Error&) {
    rethrow_with_details(op, {});
  }
}
// A new dense tensor. What is computed here, element by element, is made on the cpu, and `placed` brings it where it
// belongs; kernels write it where it belongs at once.
Tensor make(const char* op, const Shape& size, DType dtype, Device device = {}) {
  for (std::int64_t s : size)
    check<ShapeError>(s >= 0, [&] { return std::string(op) + ": expected sizes of at least 0, got " + size.str(); });
  return allocated(op, Spec::dense(dtype, size, device));
}
Tensor placed(Tensor t, const TensorOptions& o) {
  if (t.device() != o.device) t = t.to(o.device);
  if (o.requires_grad) t.requires_grad_();
  return t;
}

void fill(const char* op, Tensor& t, Scalar value) {
  char* data = t.impl()->data();
  const std::int64_t bytes = std::int64_t(t.nbytes());
  Unlocked unlocked(bytes > 1 << 19);
  const std::int64_t width = size_of(t.dtype());
  char one[16];
  value.store(t.dtype(), one);
  if (!t.device().is_cpu()) {
    const Spec number = Spec::dense(t.dtype(), {});
    return throw_failure(backend_of(t.device()).assign({data, &t.spec()}, {one, &number}), op);
  }
  if (std::all_of(one, one + width, [&](char c) { return c == one[0]; })) {
    return parallel_for(bytes, 1 << 20,
                        [&](std::int64_t b, std::int64_t e) { std::memset(data + b, one[0], std::size_t(e - b)); });
  }
  char line[64];  // whole elements of every width
  for (int i = 0; i < 64; i += int(width)) std::memcpy(line + i, one, std::size_t(width));
  parallel_for((bytes + 63) / 64, 1 << 14, [&](std::int64_t b, std::int64_t e) {
    for (std::int64_t i = b; i < e; ++i)
      std::memcpy(data + i * 64, line, std::size_t(std::min<std::int64_t>(64, bytes - i * 64)));
  });
}

Tensor progression(const char* op, std::int64_t n, DType dtype, Device device, const Progression& p) {
  Tensor t = make(op, {n}, dtype, device);
  const Unlocked unlocked(n > 1 << 14);
  Context c(backend_of(device), device, op);
  c.backend.join->progression(c, p, {t.impl()->data(), &t.spec()});
  throw_failure(c.failure, op);
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

DType dtype_of_spaced(const char* op, Scalar start, Scalar end, std::int64_t steps, const TensorOptions& o) {
  check<ValueError>(steps >= 0,
                    [&] { return std::string(op) + ": expected steps of at least 0, got " + std::to_string(steps); });
  const bool complex = start.is_complex() || end.is_complex();
  const DType dtype = o.dtype ? *o.dtype : complex ? to_complex(default_dtype()) : default_dtype();
  check<DTypeError>(!complex || is_complex(dtype), [&] {
    return std::string(op) + ": expected a complex dtype for complex bounds, got " + name(dtype);
  });
  return dtype;
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

}  // namespace

Tensor empty(const Shape& size, const TensorOptions& o) {
  return placed(make("empty", size, o.dtype.value_or(default_dtype()), o.device), o);
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
  return placed(Tensor(Ref<TensorImpl>::adopt(TensorImpl::make(s, Ref<Storage>::share(whole.impl()->storage).leave()))),
                o);
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
  Tensor t = make("full", size, o.dtype.value_or(value.dtype()), o.device);
  fill("full", t, value);
  return placed(t, o);
}
Tensor zeros(const Shape& size, const TensorOptions& o) {
  Tensor t = make("zeros", size, o.dtype.value_or(default_dtype()), o.device);
  fill("zeros", t, 0);
  return placed(t, o);
}
Tensor ones(const Shape& size, const TensorOptions& o) {
  Tensor t = make("ones", size, o.dtype.value_or(default_dtype()), o.device);
  fill("ones", t, 1);
  return placed(t, o);
}
Tensor scalar_tensor(Scalar value, const TensorOptions& o) {
  return full({}, value,
              {.dtype = o.dtype.value_or(default_dtype()), .device = o.device, .requires_grad = o.requires_grad});
}

Tensor empty_like(const Tensor& input, const LikeOptions& l) {
  const TensorOptions o = options(input, l);
  return placed(allocated("empty_like", like(input, o)), o);
}
Tensor full_like(const Tensor& input, Scalar value, const LikeOptions& l) {
  const TensorOptions o = options(input, l);
  Tensor t = allocated("full_like", like(input, o));
  fill("full_like", t, value);
  return placed(t, o);
}
Tensor zeros_like(const Tensor& input, const LikeOptions& o) { return full_like(input, 0, o); }
Tensor ones_like(const Tensor& input, const LikeOptions& o) { return full_like(input, 1, o); }

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
  check<DTypeError>(!start.is_complex() && !end.is_complex() && !step.is_complex(), [&] {
    return "arange: expected real bounds, got " + start.str() + ", " + end.str() + " and " + step.str();
  });
  const DType dtype = o.dtype.value_or(integers ? DType::int64 : default_dtype());
  const bool exact = dtype == DType::int64;
  const double a = exact ? double(start.integer()) : start.real(), b = exact ? double(end.integer()) : end.real();
  const double s = exact ? double(step.integer()) : step.real();
  check<ValueError>(s != 0 && std::isfinite(a) && std::isfinite(b) && (s > 0 ? b >= a : b <= a), [&] {
    return "arange: expected a step that leads from start to end, got start " + start.str() + ", end " + end.str() +
           ", step " + step.str();
  });
  const double count = std::ceil((b - a) / s);
  check<ValueError>(count < 9e18, [&] { return "arange: expected fewer values, got " + std::to_string(count); });
  Progression p;
  if (is_integral(dtype)) p.kind = Progression::integers, p.first = start.integer(), p.by = step.integer();
  else p.start[0] = a, p.step[0] = s;
  return placed(progression("arange", std::int64_t(count), dtype, o.device, p), o);
}
Tensor arange(Scalar start, Scalar end, const TensorOptions& o) { return arange(start, end, 1, o); }
Tensor arange(Scalar end, const TensorOptions& o) { return arange(0, end, 1, o); }

Tensor linspace(Scalar start, Scalar end, std::int64_t steps, const TensorOptions& o) {
  const DType dtype = dtype_of_spaced("linspace", start, end, steps, o);
  return placed(progression("linspace", steps, dtype, o.device, spaced(start, end, steps, dtype)), o);
}
// Powers are the cpu's on every device: other libraries' differ in the last digit, which an integer then loses.
Tensor logspace(Scalar start, Scalar end, std::int64_t steps, double base, const TensorOptions& o) {
  const DType dtype = dtype_of_spaced("logspace", start, end, steps, o);
  const DType wide = is_complex(dtype) ? DType::complex128 : DType::float64;
  const Tensor x = progression("logspace", steps, wide, Device(), spaced(start, end, steps, dtype));
  Tensor t = make("logspace", {steps}, dtype);
  const auto fill = [&]<class N>(const N* exponent) {
    parallel_for(steps, kSerial, [&](std::int64_t b, std::int64_t e) {
      for (std::int64_t i = b; i < e; ++i)
        Scalar(std::pow(N(base), exponent[i])).store(dtype, t.impl()->data() + i * size_of(dtype));
    });
  };
  if (is_complex(dtype)) fill(x.const_data<std::complex<double>>());
  else fill(x.const_data<double>());
  return placed(t, o);
}

Tensor eye(std::int64_t n, std::int64_t m, const TensorOptions& o) {
  Tensor t = make("eye", {n, m}, o.dtype.value_or(default_dtype()), o.device);
  fill("eye", t, 0);
  char one[16];
  Scalar(1).store(t.dtype(), one);
  char* const p = t.impl()->data();
  const std::int64_t ones = std::min(n, m);
  if (t.device().is_cpu()) {
    const auto width = std::size_t(size_of(t.dtype()));
    for (std::int64_t i = 0; i < ones; ++i) std::memcpy(p + i * (m + 1) * std::int64_t(width), one, width);
  } else if (ones) {
    Spec diagonal = Spec::dense(t.dtype(), Shape{ones}, t.device());
    diagonal.strides[0] = m + 1, diagonal.finish();
    const Spec number = Spec::dense(t.dtype(), {});
    throw_failure(backend_of(t.device()).assign({p, &diagonal}, {one, &number}), "eye");
  }
  return placed(t, o);
}
Tensor eye(std::int64_t n, const TensorOptions& o) { return eye(n, n, o); }

namespace {
Tensor triangle(const char* op, bool lower, std::int64_t rows, std::int64_t cols, std::int64_t offset,
                TensorOptions o) {
  check<ShapeError>(rows >= 0 && cols >= 0, [&] {
    return std::string(op) + ": expected sizes of at least 0, got " + Shape{rows, cols}.str();
  });
  const DType dtype = o.dtype.value_or(DType::int64);
  check<DTypeError>(dtype == DType::int64 || dtype == DType::int32,
                    [&] { return std::string(op) + ": expected int32 or int64, got " + name(dtype); });
  std::vector<std::int64_t> row, col;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t edge = std::clamp<std::int64_t>(i + offset + (lower ? 1 : 0), 0, cols);
    for (std::int64_t j = lower ? 0 : edge; j < (lower ? edge : cols); ++j) row.push_back(i), col.push_back(j);
  }
  const auto n = std::int64_t(row.size());
  row.insert(row.end(), col.begin(), col.end());
  o.dtype = dtype;
  return tensor_of(row.data(), DType::int64, {2, n}, o);
}
}  // namespace

Tensor tril_indices(std::int64_t row, std::int64_t col, std::int64_t offset, const TensorOptions& o) {
  return triangle("tril_indices", true, row, col, offset, o);
}
Tensor triu_indices(std::int64_t row, std::int64_t col, std::int64_t offset, const TensorOptions& o) {
  return triangle("triu_indices", false, row, col, offset, o);
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
  return placed(t, o);
}

void detail::ragged(std::size_t first, std::size_t other) {
  throw ShapeError("tensor: expected rows of equal length, got " + std::to_string(first) + " and " +
                   std::to_string(other) + " values");
}

}  // namespace neura

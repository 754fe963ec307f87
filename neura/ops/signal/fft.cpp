#include "neura/ops/signal/fft.h"

#include <cmath>

#include "neura/backend/kernels/fft.h"
#include "neura/core/checked_int.h"
#include "neura/op/apply.h"
#include "neura/op/call_error.h"
#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"

namespace neura::fft {
namespace {

using std::int64_t;

void check_dtype(const char* op, const Spec& x, bool complex) {
  const DTypeSet allowed = complex ? dtypes::complexes : bit(DType::float32) | bit(DType::float64);
  check<DTypeError>(bit(x.dtype) & allowed, [&] {
    return std::string(op) + ": expected " + (complex ? "complex64 or complex128" : "float32 or float64") + ", got " +
           x.str() + "; convert it with .to()";
  });
}
Spec with_size(const Spec& x, int64_t dim, int64_t size, DType dtype) {
  Shape shape = x.sizes();
  shape[int(dim)] = size;
  return Spec::dense(dtype, shape, x.device);
}

// The three transforms are linear, and the derivative of each is one of them with the same scale.
struct FftC2C {
  static constexpr Operation op = operation("_fft_c2c").linear();
  Shape dims;
  bool inverse;
  double scale;
  NEURA_FIELDS(dims, inverse, scale)
  void infer(const Spec& x, Spec& y) const {
    check_dtype(op.name, x, true);
    y = Spec::dense(x.dtype, x.sizes(), x.device);
  }
  void run(Context& c, View x, View y) const { c.backend.fft->complex(c, x, y, {dims, scale, inverse, true}); }
  void gradient(Gradient& g) const { g.result[0] = apply(FftC2C{dims, !inverse, scale}, g.g[0]); }
};
// two_fold: bins that represent their conjugates as well count twice, as they must in the derivative of the other.
struct FftR2C {
  static constexpr Operation op = operation("_fft_r2c").linear();
  Shape dims;
  bool two_fold;
  double scale;
  NEURA_FIELDS(dims, two_fold, scale)
  void infer(const Spec& x, Spec& y) const {
    check_dtype(op.name, x, false);
    y = with_size(x, dims.back(), x.shape[dims.back()] / 2 + 1, to_complex(x.dtype));
  }
  void run(Context& c, View x, View y) const { c.backend.fft->real(c, x, y, {dims, scale, false, two_fold}); }
  void gradient(Gradient& g) const;
};
struct FftC2R {
  static constexpr Operation op = operation("_fft_c2r").linear();
  Shape dims;
  int64_t n;  // of the last of them
  bool two_fold;
  double scale;
  NEURA_FIELDS(dims, n, two_fold, scale)
  void infer(const Spec& x, Spec& y) const {
    check_dtype(op.name, x, true);
    y = with_size(x, dims.back(), n, to_real(x.dtype));
  }
  void run(Context& c, View x, View y) const { c.backend.fft->real_inverse(c, x, y, {dims, scale, true, two_fold}); }
  void gradient(Gradient& g) const { g.result[0] = apply(FftR2C{dims, two_fold, scale}, g.g[0]); }
};
void FftR2C::gradient(Gradient& g) const {
  g.result[0] = apply(FftC2R{dims, g.meta[0]->shape[dims.back()], two_fold, scale}, g.g[0]);
}

enum class Needs { complex, real, bins };  // what the transform takes; bins: half of the last dimension
struct Signal {
  Tensor x;
  Shape dims, sizes;  // of the signal: where bins are taken, the last size is that of the real numbers
  double count() const {
    double n = 1;
    for (const int64_t size : sizes) n *= double(size);
    return n;
  }
};

Shape dims_of(const char* op, const Tensor& x, const Lengths& s, const Dimensions& dim) {
  const int rank = x.dim();
  check<ShapeError>(!s || s->size() <= rank, [&] {
    return std::string(op) + ": expected at most one length for each of " + std::to_string(rank) +
           " dimensions, got s " + s->str();
  });
  Shape dims;
  if (dim) {
    check<ShapeError>(!s || s->size() == dim->size(), [&] {
      return std::string(op) + ": expected as many lengths as dimensions, got s " + s->str() + " and dim " + dim->str();
    });
    for (const int64_t d : *dim) {
      check<IndexError>(rank > 0, [&] {
        return std::string(op) + ": expected a tensor with dimension " + std::to_string(d) + ", got a 0-d one";
      });
      dims.push_back(wrap_dim(op, d, rank));
    }
  } else {
    for (int d = s ? rank - s->size() : 0; d < rank; ++d) dims.push_back(d);
  }
  for (int i = 0; i < dims.size(); ++i)
    check<ValueError>(!Shape(dims.data(), std::size_t(i)).contains(dims[i]),
                      [&] { return std::string(op) + ": expected each dimension once, got dim " + dim->str(); });
  return dims;
}

Tensor promoted(const char* op, const Tensor& input, Needs needs) {
  if (const amp::CastScope cast{amp::Name::fft, input}) return promoted(op, cast(input), needs);
  check<DTypeError>(needs != Needs::real || !is_complex(input.dtype()), [&] {
    return std::string(op) + ": expected real numbers, got " + input.spec().str() + "; fft takes complex ones";
  });
  Tensor x = is_integral(input.dtype()) ? to(input, default_dtype()) : input;
  const DTypeSet allowed = bit(DType::float32) | bit(DType::float64) | dtypes::complexes;
  check<DTypeError>(bit(x.dtype()) & allowed, [&] {
    return std::string(op) + ": expected float32, float64 or their complex dtypes, got " + x.spec().str() +
           "; convert it with .to()";
  });
  return needs == Needs::real || is_complex(x.dtype()) ? x : to(x, to_complex(x.dtype()));
}

// Cut, or with zeros after.
Tensor resized(Tensor x, const Shape& dims, const Shape& sizes) {
  std::vector<int64_t> padding(std::size_t(2 * x.dim()), 0);
  bool short_of = false;
  for (int i = 0; i < dims.size(); ++i) {
    const int d = int(dims[i]);
    if (x.size(d) > sizes[i]) x = narrow(x, d, 0, sizes[i]);
    if (x.size(d) < sizes[i]) short_of = true, padding[2 * std::size_t(x.dim() - 1 - d) + 1] = sizes[i] - x.size(d);
  }
  return short_of ? constant_pad_nd(x, padding) : x;
}

Signal signal(const char* op, const Tensor& input, const Lengths& s, const Dimensions& dim, Needs needs) {
  check_given(op, "input", input);
  Signal f;
  f.dims = dims_of(op, input, s, dim);
  check<ValueError>(needs == Needs::complex || !f.dims.empty(),
                    [&] { return std::string(op) + ": expected at least one dimension to transform, got none"; });
  Shape taken;  // of the input
  for (int i = 0; i < f.dims.size(); ++i) {
    const bool halved = needs == Needs::bins && i + 1 == f.dims.size();
    const int64_t own = input.size(int(f.dims[i])), wanted = s ? (*s)[i] : -1;
    const int64_t n = wanted == -1 && halved ? (2 * (CheckedInt(own) - 1)).of(op) : wanted == -1 ? own : wanted;
    check<ShapeError>(n >= 1, [&] {
      return std::string(op) + ": expected at least one element in dimension " + std::to_string(f.dims[i]) + ", got " +
             std::to_string(n) + (halved && wanted == -1 ? " of " + std::to_string(own) + " bins; give n" : "");
    });
    f.sizes.push_back(n), taken.push_back(halved ? n / 2 + 1 : n);
  }
  f.x = resized(promoted(op, input, needs), f.dims, taken);
  return f;
}

double scale_of(const char* op, Norm norm, bool inverse, const Signal& f) {
  check<ValueError>(norm == "backward" || norm == "forward" || norm == "ortho", [&] {
    return std::string(op) + ": expected norm to be 'backward', 'ortho' or 'forward', got '" + std::string(norm) + "'";
  });
  if (norm == "ortho") return 1 / std::sqrt(f.count());
  return (norm == "backward") == inverse ? 1 / f.count() : 1;
}

Tensor complex_of(const char* op, const Tensor& x, const Lengths& s, const Dimensions& dim, Norm norm, bool inverse) {
  const Signal f = signal(op, x, s, dim, Needs::complex);
  const double scale = scale_of(op, norm, inverse, f);
  return f.dims.empty() ? clone(f.x) : apply(FftC2C{f.dims, inverse, scale}, f.x);
}
// inverse: exponents of +i.
Tensor real_of(const char* op, const Tensor& x, const Lengths& s, const Dimensions& dim, Norm norm, bool inverse) {
  const Signal f = signal(op, x, s, dim, Needs::real);
  const Tensor y = apply(FftR2C{f.dims, false, scale_of(op, norm, inverse, f)}, f.x);
  return inverse ? conj(y) : y;
}
Tensor bins_of(const char* op, const Tensor& x, const Lengths& s, const Dimensions& dim, Norm norm, bool inverse) {
  const Signal f = signal(op, x, s, dim, Needs::bins);
  const double scale = scale_of(op, norm, inverse, f);
  return apply(FftC2R{f.dims, f.sizes.back(), true, scale}, inverse ? f.x : conj(f.x));
}
Lengths length(Length n) { return n ? Lengths(Shape{*n}) : Lengths(); }

Tensor frequencies(const char* op, int64_t first, int64_t end, int64_t n, double d, const TensorOptions& o) {
  check<ValueError>(n >= 0,
                    [&] { return std::string(op) + ": expected n not to be negative, got " + std::to_string(n); });
  const DType dtype = o.dtype.value_or(default_dtype());
  check<DTypeError>(differentiable(dtype),
                    [&] { return std::string(op) + ": expected a floating or complex dtype, got " + name(dtype); });
  const Tensor numbers = arange(first, end, {.dtype = DType::int64, .device = o.device});
  Tensor f = mul(to(first < 0 ? roll(numbers, {first}, {0}) : numbers, dtype), 1 / (double(n) * d));
  return o.requires_grad ? f.requires_grad_() : f;
}
Tensor shifted(const char* op, const Tensor& input, const Dimensions& dim, bool back) {
  check_given(op, "input", input);
  const Shape dims = dims_of(op, input, {}, dim);
  if (dims.empty()) return clone(input);
  Shape by;
  for (const int64_t d : dims) by.push_back((input.size(int(d)) + (back ? 1 : 0)) / 2);
  return roll(input, by, dims);
}

}  // namespace

#define NEURA_TRANSFORMS(name, family, inverse)                                         \
  Tensor name(const Tensor& x, Length n, int dim, Norm norm) {                          \
    return family(#name, x, length(n), Dims{dim}, norm, inverse);                       \
  }                                                                                     \
  Tensor name##2(const Tensor& x, const Lengths& s, const Dims& dim, Norm norm) {       \
    return family(#name "2", x, s, dim, norm, inverse);                                 \
  }                                                                                     \
  Tensor name##n(const Tensor& x, const Lengths& s, const Dimensions& dim, Norm norm) { \
    return family(#name "n", x, s, dim, norm, inverse);                                 \
  }
NEURA_TRANSFORMS(fft, complex_of, false)
NEURA_TRANSFORMS(ifft, complex_of, true)
NEURA_TRANSFORMS(rfft, real_of, false)
NEURA_TRANSFORMS(ihfft, real_of, true)
NEURA_TRANSFORMS(irfft, bins_of, true)
NEURA_TRANSFORMS(hfft, bins_of, false)
#undef NEURA_TRANSFORMS

Tensor fftfreq(int64_t n, double d, const TensorOptions& o) {
  return frequencies("fftfreq", -(n / 2), (n + 1) / 2, n, d, o);
}
Tensor rfftfreq(int64_t n, double d, const TensorOptions& o) { return frequencies("rfftfreq", 0, n / 2 + 1, n, d, o); }
Tensor fftshift(const Tensor& input, const Dimensions& dim) { return shifted("fftshift", input, dim, false); }
Tensor ifftshift(const Tensor& input, const Dimensions& dim) { return shifted("ifftshift", input, dim, true); }

}  // namespace neura::fft

NEURA_DEFINE_OPERATION(_fft_c2c, fft::FftC2C);
NEURA_DEFINE_OPERATION(_fft_r2c, fft::FftR2C);
NEURA_DEFINE_OPERATION(_fft_c2r, fft::FftC2R);

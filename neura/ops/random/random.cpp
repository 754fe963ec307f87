#include "neura/ops/random/random.h"

#include <cmath>

#include "neura/backend/kernels/random.h"
#include "neura/core/error_details.h"
#include "neura/core/wrapped.h"
#include "neura/op/apply.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/reduce/expect.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

DTypeSet accepted(Draw::Kind kind) {
  using namespace dtypes;
  if (kind == Draw::uniform || kind == Draw::normal) return floating | complexes;
  if (kind == Draw::bernoulli || kind == Draw::random || kind == Draw::poisson) return ordered;
  return kind == Draw::geometric ? ordered & ~booleans : floating;
}

// Fresh: a tensor `like` what is given or, absent, described. In place: x is the destination, whose values count no
// more. a, b, low, range and p: see kernels/random.h.
template <Draw::Kind kind> struct Random {
  static constexpr Operation op = operation(Draw::kNames[kind]).optional(in(0, 1)).direct().draws();
  PhiloxState numbers = {};
  double a = 0, b = 1;
  std::int64_t low = 0;
  std::uint64_t range = 0;
  Spec like = {};
  NEURA_FIELDS(numbers, a, b, low, range, like)
  void infer(const Spec& x, const Spec&, Spec& y) const {
    const Spec& s = x.rank == kAbsent ? like : x;
    check<UnsupportedDTypeError>(accepted(kind) & bit(s.dtype), [&] {
      return std::string(op.name) + ": expected a " + (accepted(kind) & bit(DType::int64) ? "real" : "floating") +
             " dtype, got " + name(s.dtype);
    });
    y = Spec::dense(s.dtype, s.sizes(), s.device);
  }
  void run(Context& c, View, View p, View y) const {
    c.backend.random->draw(c, {kind, numbers.seed, numbers.offset, a, b, low, range}, p, y);
  }
  void gradient(Gradient& g) const {
    if (g.needs(0)) g.result[0] = zero_gradient(*g.meta[0]);
    if (g.needs(1)) g.result[1] = zero_gradient(*g.meta[1]);
  }
};

template <Draw::Kind kind> Tensor& fill(Tensor& self, Generator* g, const Random<kind>& op, const Tensor& p = {}) {
  return draw_to(g, Destination::in_place, self, op, self, p);
}
template <Draw::Kind kind> Tensor fresh(const Spec& like, Generator* g, Random<kind> op = {}) {
  op.like = like;
  return apply_drawing(g, op, Operand(), Operand());
}
Tensor finished(Tensor t, bool requires_grad) {
  if (requires_grad) t.requires_grad_();
  return t;
}

Spec spec_of(const char* op, const Shape& size, const RandomOptions& o, DType fallback) {
  for (std::int64_t s : size)
    check<ShapeError>(s >= 0, [&] { return std::string(op) + ": expected sizes of at least 0, got " + size.str(); });
  return Spec::dense(o.dtype.value_or(fallback), size, o.device);
}
RandomOptions options(const Tensor& input, const LikeOptions& o, Generator* g) {
  return {.generator = g,
          .dtype = o.dtype.value_or(input.dtype()),
          .device = o.device.value_or(input.device()),
          .requires_grad = o.requires_grad};
}
void check_std(double std) {
  check<ValueError>(std >= 0, [&] { return "normal: expected std of at least 0, got " + std::to_string(std); });
}

Random<Draw::random> integers(std::int64_t low, std::int64_t high) {
  return {.low = low, .range = std::uint64_t(high) - std::uint64_t(low)};
}
void check_range(const char* op, std::int64_t low, std::int64_t high, DType dtype) {
  check<ValueError>(low < high, [&] {
    return std::string(op) + ": expected low less than high, got " + std::to_string(low) + " and " +
           std::to_string(high);
  });
  if (category(dtype) > Category::integer || dtype == DType::int64) return;
  const int bits = size_of(dtype) * 8;
  const bool boolean = dtype == DType::boolean, is_unsigned = dtype == DType::uint8;
  const std::int64_t least = boolean || is_unsigned ? 0 : -(std::int64_t{1} << (bits - 1));
  const std::int64_t greatest = boolean ? 1 : (std::int64_t{1} << (is_unsigned ? bits : bits - 1)) - 1;
  check<ValueError>(low >= least && high - 1 <= greatest, [&] {
    return std::string(op) + ": expected bounds that " + name(dtype) + " holds, got " + std::to_string(low) + " and " +
           std::to_string(high);
  });
}

struct Randperm {
  static constexpr Operation op = operation("randperm").draws();
  PhiloxState numbers;
  std::int64_t n;
  Device device;
  NEURA_FIELDS(numbers, n, device)
  void infer(Spec& y) const {
    check<ValueError>(n >= 0, [&] { return "randperm: expected n of at least 0, got " + std::to_string(n); });
    y = Spec::dense(DType::int64, Shape{n}, device);
  }
  void run(Context& c, View y) const {
    c.backend.random->permutation(c, {.kind = Draw::random, .seed = numbers.seed, .offset = numbers.offset}, y);
  }
};
struct Multinomial {
  static constexpr Operation op = operation("multinomial").draws();
  PhiloxState numbers;
  std::int64_t samples;
  bool replacement;
  NEURA_FIELDS(numbers, samples, replacement)
  void infer(const Spec& w, Spec& y) const { y = Spec::dense(DType::int64, Shape{w.shape[0], samples}, w.device); }
  void run(Context& c, View w, View y) const {
    const Draw draw{.kind = Draw::uniform, .seed = numbers.seed, .offset = numbers.offset};
    c.backend.random->multinomial(c, draw, replacement, w, y);
  }
};

// Whether the device sees to a rule; on the cpu the caller looks, and says which value is wrong.
template <class F> bool left_to_device(Rule rule, const Tensor& t, F&& holds) {
  if (host_looks(t)) return false;
  return expect(rule, holds(t.detach())), true;
}
std::vector<double> host_values(const Tensor& t) {
  return contiguous(innermost(t).detach().to(DType::float64)).to_vector<double>();
}
Tensor probabilities(const char* op, const Tensor& p, const Shape& size, double most) {
  check<DTypeError>(is_floating(p.dtype()), [&] {
    return std::string(op) + ": expected floating probabilities or rates, got " + p.spec().str();
  });
  if (!left_to_device(most == 1 ? Rule::probabilities : Rule::rates, p,
                      [&](const Tensor& t) { return ge(t, 0) & le(t, most); }))
    for (double v : host_values(p))
      check<ValueError>(v >= 0 && v <= most, [&] {
        return std::string(op) + ": expected values of at least 0" + (most == 1 ? " and at most 1" : "") + ", got " +
               std::to_string(v);
      });
  return contiguous(expand(p.detach(), size).to(DType::float64));
}

void check_stds(const Tensor& std) {
  if (left_to_device(Rule::deviations, std, [](const Tensor& t) { return ge(t, 0); })) return;
  for (double v : host_values(std)) check_std(v);
}
void check_weights(const Tensor& input, std::int64_t rows, std::int64_t n) {
  const auto fit = [](const Tensor& w) { return isfinite(w) & ge(w, 0); };
  const auto enough = [](const Tensor& w) { return any(gt(w, 0), {-1}); };
  if (left_to_device(Rule::weights, input, fit) && left_to_device(Rule::enough_weights, input, enough)) return;
  const std::vector<double> w = host_values(input);
  for (std::int64_t r = 0; r < rows; ++r) {
    bool some = false;
    for (std::int64_t i = r * n; i < (r + 1) * n; ++i) {
      const double v = w[std::size_t(i)];
      check<ValueError>(v >= 0 && std::isfinite(v),
                        [&] { return "multinomial: expected finite weights of at least 0, got " + std::to_string(v); });
      some = some || v > 0;
    }
    check<ValueError>(some, [&] {
      return "multinomial: expected a weight above 0 in every row, got none in row " + std::to_string(r);
    });
  }
}

}  // namespace

Tensor rand(const Shape& size, const RandomOptions& o) {
  const Spec s = spec_of("rand", size, o, default_dtype());
  return finished(fresh<Draw::uniform>(s, o.generator), o.requires_grad);
}
Tensor randn(const Shape& size, const RandomOptions& o) {
  const Spec s = spec_of("randn", size, o, default_dtype());
  return finished(fresh<Draw::normal>(s, o.generator), o.requires_grad);
}
Tensor randint(std::int64_t low, std::int64_t high, const Shape& size, const RandomOptions& o) {
  const Spec s = spec_of("randint", size, o, DType::int64);
  check_range("randint", low, high, s.dtype);
  return finished(fresh(s, o.generator, integers(low, high)), o.requires_grad);
}
Tensor randint(std::int64_t high, const Shape& size, const RandomOptions& o) { return randint(0, high, size, o); }
Tensor randperm(std::int64_t n, const RandomOptions& o) {
  const Tensor t = apply_drawing(o.generator, Randperm{.numbers = {}, .n = n, .device = o.device});
  return finished(o.dtype.value_or(DType::int64) == DType::int64 ? t : t.to(*o.dtype), o.requires_grad);
}

Tensor rand_like(const Tensor& input, const LikeOptions& o, Generator* g) {
  return rand(input.shape(), options(input, o, g));
}
Tensor randn_like(const Tensor& input, const LikeOptions& o, Generator* g) {
  return randn(input.shape(), options(input, o, g));
}
Tensor randint_like(const Tensor& input, std::int64_t low, std::int64_t high, const LikeOptions& o, Generator* g) {
  return randint(low, high, input.shape(), options(input, o, g));
}
Tensor randint_like(const Tensor& input, std::int64_t high, const LikeOptions& o, Generator* g) {
  return randint_like(input, 0, high, o, g);
}

Tensor normal(double mean, double std, const Shape& size, const RandomOptions& o) {
  check_std(std);
  const Spec s = spec_of("normal", size, o, default_dtype());
  return finished(fresh<Draw::normal>(s, o.generator, {.a = mean, .b = std}), o.requires_grad);
}
Tensor normal(const Tensor& mean, const Tensor& std, Generator* g) {
  check_stds(std);
  const Shape size = broadcast_shapes("normal", mean.shape(), std.shape());
  const Tensor z = randn(size, {.generator = g, .dtype = promote(mean.dtype(), std.dtype()), .device = mean.device()});
  return add(mul(z, std.detach()), mean.detach());
}
Tensor normal(const Tensor& mean, double std, Generator* g) {
  check_std(std);
  return add(mul(randn_like(mean, {}, g), std), mean.detach());
}
Tensor normal(double mean, const Tensor& std, Generator* g) {
  check_stds(std);
  return add(mul(randn_like(std, {}, g), std.detach()), mean);
}

Tensor bernoulli(const Tensor& input, Generator* g) {
  const Tensor p = probabilities("bernoulli", input, input.shape(), 1);
  return apply_drawing(g, Random<Draw::bernoulli>(), input, p);
}
Tensor bernoulli(const Tensor& input, double p, Generator* g) {
  Tensor t = empty_like(input);
  return bernoulli_(t, p, g);
}
Tensor poisson(const Tensor& input, Generator* g) {
  const Tensor rates = probabilities("poisson", input, input.shape(), INFINITY);
  return apply_drawing(g, Random<Draw::poisson>(), input, rates);
}

Tensor multinomial(const Tensor& input, std::int64_t num_samples, bool replacement, Generator* g) {
  check<ShapeError>(input.dim() == 1 || input.dim() == 2,
                    [&] { return "multinomial: expected weights [n] or [rows, n], got " + input.spec().str(); });
  check<DTypeError>(is_floating(input.dtype()),
                    [&] { return "multinomial: expected floating weights, got " + input.spec().str(); });
  const std::int64_t n = input.size(-1), rows = input.dim() == 2 ? input.size(0) : 1;
  check<ValueError>(num_samples > 0 && (replacement || num_samples <= n), [&] {
    return "multinomial: expected num_samples above 0 and, without replacement, at most " + std::to_string(n) +
           ", got " + std::to_string(num_samples);
  });
  check_weights(input, rows, n);
  const Tensor weights = contiguous(reshape(input.detach(), {rows, n}).to(DType::float64));
  const Multinomial op{.numbers = {}, .samples = num_samples, .replacement = replacement};
  const Tensor out = apply_drawing(g, op, weights);
  return input.dim() == 2 ? out : reshape(out, {num_samples});
}

Tensor& uniform_(Tensor& self, double from, double to, Generator* g) {
  check<ValueError>(from <= to && std::isfinite(to - from), [&] {
    return "uniform: expected from of at most to, got " + std::to_string(from) + " and " + std::to_string(to);
  });
  return fill<Draw::uniform>(self, g, {.a = from, .b = to - from});
}
Tensor& normal_(Tensor& self, double mean, double std, Generator* g) {
  check_std(std);
  return fill<Draw::normal>(self, g, {.a = mean, .b = std});
}
Tensor& log_normal_(Tensor& self, double mean, double std, Generator* g) {
  check<ValueError>(std > 0, [&] { return "log_normal: expected std above 0, got " + std::to_string(std); });
  return fill<Draw::log_normal>(self, g, {.a = mean, .b = std});
}
Tensor& cauchy_(Tensor& self, double median, double sigma, Generator* g) {
  check<ValueError>(sigma > 0, [&] { return "cauchy: expected sigma above 0, got " + std::to_string(sigma); });
  return fill<Draw::cauchy>(self, g, {.a = median, .b = sigma});
}
Tensor& exponential_(Tensor& self, double lambd, Generator* g) {
  check<ValueError>(lambd > 0, [&] { return "exponential: expected lambd above 0, got " + std::to_string(lambd); });
  return fill<Draw::exponential>(self, g, {.a = lambd});
}
Tensor& geometric_(Tensor& self, double p, Generator* g) {
  check<ValueError>(p > 0 && p < 1, [&] { return "geometric: expected p between 0 and 1, got " + std::to_string(p); });
  return fill<Draw::geometric>(self, g, {.a = p});
}
Tensor& bernoulli_(Tensor& self, double p, Generator* g) {
  check<ValueError>(p >= 0 && p <= 1, [&] { return "bernoulli: expected p from 0 to 1, got " + std::to_string(p); });
  return fill<Draw::bernoulli>(self, g, {.a = p});
}
Tensor& bernoulli_(Tensor& self, const Tensor& p, Generator* g) {
  return fill<Draw::bernoulli>(self, g, {}, probabilities("bernoulli", p, self.shape(), 1));
}

Tensor& random_(Tensor& self, std::int64_t from, std::int64_t to, Generator* g) {
  check_range("random", from, to, self.dtype());
  return fill(self, g, integers(from, to));
}
Tensor& random_(Tensor& self, std::int64_t to, Generator* g) { return random_(self, 0, to, g); }
Tensor& random_(Tensor& self, Generator* g) {
  switch (self.dtype()) {
    case DType::boolean:
      return random_(self, 0, 2, g);
    case DType::uint8:
      return random_(self, 0, 256, g);
    case DType::int8:
      return random_(self, 0, 128, g);
    case DType::int16:
      return random_(self, 0, 32768, g);
    case DType::int32:
      return random_(self, 0, std::int64_t{1} << 31, g);
    case DType::bfloat16:
      return random_(self, 0, (1 << 8) + 1, g);
    case DType::float16:
      return random_(self, 0, (1 << 11) + 1, g);
    case DType::float32:
      return random_(self, 0, (1 << 24) + 1, g);
    case DType::float64:
      return random_(self, 0, (std::int64_t{1} << 53) + 1, g);
    default:
      return fill(self, g, integers(0, INT64_MIN));  // 2^63 of them
  }
}

}  // namespace neura

NEURA_DEFINE_OPERATION(uniform, Random<Draw::uniform>);
NEURA_DEFINE_OPERATION(normal, Random<Draw::normal>);
NEURA_DEFINE_OPERATION(log_normal, Random<Draw::log_normal>);
NEURA_DEFINE_OPERATION(cauchy, Random<Draw::cauchy>);
NEURA_DEFINE_OPERATION(exponential, Random<Draw::exponential>);
NEURA_DEFINE_OPERATION(geometric, Random<Draw::geometric>);
NEURA_DEFINE_OPERATION(bernoulli, Random<Draw::bernoulli>);
NEURA_DEFINE_OPERATION(poisson, Random<Draw::poisson>);
NEURA_DEFINE_OPERATION(random, Random<Draw::random>);
NEURA_DEFINE_OPERATION(randperm, Randperm);
NEURA_DEFINE_OPERATION(multinomial, Multinomial);

#include "neura/ops/reduce/reduce.h"

#include "neura/core/error_details.h"
#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/op/safe.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/reduce/reduce_common.h"
#include "neura/ops/reduce/scan.h"
#include "neura/ops/reduce/scan_common.h"

namespace neura {

unsigned dims_mask(const char* op, const Dims& dim, int rank) {
  if (dim.empty()) return (1u << rank) - 1;
  unsigned mask = 0;
  for (std::int64_t d : dim) {
    const unsigned one = 1u << wrap_dim(op, d, std::max(rank, 1));
    check<ValueError>(!(mask & one), [&] {
      return std::string(op) + ": expected different dimensions, got " + std::to_string(d) + " twice in " + dim.str();
    });
    mask |= one;
  }
  return rank ? mask : 0;
}

Shape reduced_sizes(const Shape& sizes, unsigned dims, bool keepdim) {
  Shape out;
  for (int d = 0; d < sizes.size(); ++d)
    if (!(dims >> d & 1)) out.push_back(sizes[d]);
    else if (keepdim) out.push_back(1);
  return out;
}

std::int64_t reduced_count(const Shape& sizes, unsigned dims) {
  std::int64_t n = 1;
  for (int d = 0; d < sizes.size(); ++d)
    if (dims >> d & 1) n *= sizes[d];
  return n;
}

void check_not_empty(const char* op, const Spec& x, unsigned dims) {
  check<IndexError>(reduced_count(x.sizes(), dims) != 0 || reduced_sizes(x.sizes(), dims, false).numel() == 0, [&] {
    return std::string(op) + ": expected at least one element to choose from, got " + x.str() +
           "; give a dim that is not empty";
  });
}

void check_dtype(const char* op, const Spec& x, DTypeSet accepted, const char* kinds) {
  check<UnsupportedDTypeError>(accepted & bit(x.dtype), [&] {
    return std::string(op) + ": expected " + kinds + " numbers, got " + name(x.dtype) +
           "; convert the input with to(dtype)";
  });
}

void Folding::run(Context& c, View x, View y) const { c.backend.reduce->fold(c, fold, computed, dims, x, View(), y); }

namespace {

bool is_safe_sum(const Folding& f, ReduceOp op, const Spec& x, DTypeSet results) {
  return f.fold == op && safe::has_mask(x, f.dims) && (bit(f.result) & results) &&
         is_complex(x.dtype) <= is_complex(f.result) &&
         f.computed == (is_integral(f.result) ? DType::int64 : accumulation(f.result));
}
bool is_safe_extreme(const Folding& f, ReduceOp op, const Spec& x) {
  return f.fold == op && safe::has_mask(x, f.dims) && (bit(x.dtype) & dtypes::ordered) && f.result == x.dtype &&
         f.computed == accumulation(x.dtype) && safe::is_not_empty(x, f.dims);
}

struct Sum : Folding {
  static constexpr Operation op = operation("sum").linear();
  bool is_safe(const Spec& x) const { return is_safe_sum(*this, ReduceOp::sum, x, dtypes::all); }
  void gradient(Gradient& g) const { g.result[0] = expanded(g); }
};
struct Mean : Folding {
  static constexpr Operation op = operation("mean").linear();
  bool is_safe(const Spec& x) const {
    return is_safe_sum(*this, ReduceOp::mean, x, dtypes::floating | dtypes::complexes);
  }
  void gradient(Gradient& g) const {
    const Shape sizes = g.meta[0]->sizes();
    g.result[0] = expand(restore(g.g[0] / double(reduced_count(sizes, dims)), sizes, dims), sizes);
  }
};
struct NanSum : Folding {
  static constexpr Operation op = operation("nansum").saves(0, in(0));
  void gradient(Gradient& g) const { g.result[0] = where(isnan(g.input(0)), Scalar(0.0), expanded(g)); }
};
struct Prod : Folding {
  static constexpr Operation op = operation("prod").saves(0, in(0));
  bool is_safe(const Spec& x) const { return is_safe_sum(*this, ReduceOp::prod, x, dtypes::all); }
  void gradient(Gradient& g) const {
    const Tensor& x = g.input(0);
    g.result[0] = product_gradient(restore(g.g[0], x.shape(), dims), x, dims);
  }
};
// amax, amin: those that tie share the gradient.
struct Extreme : Folding {
  void gradient(Gradient& g) const {
    const Tensor& x = g.input(0);
    const Tensor y = restore(g.output(), x.shape(), dims), best = where(isnan(y), isnan(x), eq(x, y));
    Dims all;
    for (int d = 0; d < x.dim(); ++d)
      if (dims >> d & 1) all.push_back(d);
    const Tensor ties = dims ? sum(best, all, true) : to(best, DType::int64);
    g.result[0] = restore(g.g[0], x.shape(), dims) / ties * best;
  }
};
struct AMax : Extreme {
  static constexpr Operation op = operation("amax").saves(0, in(0), out(0));
  bool is_safe(const Spec& x) const { return is_safe_extreme(*this, ReduceOp::amax, x); }
};
struct AMin : Extreme {
  static constexpr Operation op = operation("amin").saves(0, in(0), out(0));
  bool is_safe(const Spec& x) const { return is_safe_extreme(*this, ReduceOp::amin, x); }
};
struct Any : Folding {
  static constexpr Operation op = operation("any");
};
struct All : Folding {
  static constexpr Operation op = operation("all");
};

template <class Op>
Op folding(ReduceOp fold, const Tensor& x, const Dims& dim, bool keepdim, DType result, DType computed) {
  return Op{{fold, computed, result, dims_mask(Op::op.name, dim, x.dim()), keepdim}};
}
DType summed(const char* op, const Tensor& x, std::optional<DType> dtype) {
  const DType result = dtype ? *dtype : is_integral(x.dtype()) ? DType::int64 : x.dtype();
  check<DTypeError>(bit(result) & dtypes::all, [&] {
    return std::string(op) + ": expected a dtype that can be computed with, got " + name(result);
  });
  return result;
}
template <class Op>
Op summing(ReduceOp fold, const Tensor& x, const Dims& dim, bool keepdim, std::optional<DType> dtype) {
  const DType result = summed(Op::op.name, x, dtype);
  return folding<Op>(fold, x, dim, keepdim, result, is_integral(result) ? DType::int64 : accumulation(result));
}
Mean mean_of(const Tensor& x, const Dims& dim, bool keepdim, std::optional<DType> dtype) {
  const DType result = dtype.value_or(x.dtype());
  check<DTypeError>(bit(result) & (dtypes::floating | dtypes::complexes), [&] {
    return std::string("mean: expected floating or complex numbers, got ") + name(result) + "; give a floating dtype";
  });
  return folding<Mean>(ReduceOp::mean, x, dim, keepdim, result, accumulation(result));
}
template <class Op> Op extreme_of(ReduceOp fold, const Tensor& x, const Dims& dim, bool keepdim) {
  Op op = folding<Op>(fold, x, dim, keepdim, x.dtype(), accumulation(x.dtype()));
  check_dtype(Op::op.name, x.spec(), dtypes::ordered, "real");
  check_not_empty(Op::op.name, x.spec(), op.dims);
  return op;
}
// nansum takes no complex numbers, neither as input nor as dtype.
void check_real(const char* op, DType input, std::optional<DType> dtype) {
  const DType got = bit(input) & dtypes::floating ? dtype.value_or(input) : input;
  check<DTypeError>(bit(got) & dtypes::floating,
                    [&] { return std::string(op) + ": expected real floating numbers, got " + name(got); });
}
template <class Op> Tensor truth(ReduceOp fold, const Tensor& x, const Dims& dim, bool keepdim) {
  const DType result = x.dtype() == DType::uint8 ? DType::uint8 : DType::boolean;
  return apply(folding<Op>(fold, x, dim, keepdim, result, DType::boolean), x);
}
}  // namespace

Tensor sum(const Tensor& input, const Dims& dim, bool keepdim, std::optional<DType> dtype) {
  if (const amp::CastScope cast{amp::Name::sum, input}; !dtype && cast) return sum(cast(input), dim, keepdim, dtype);
  if (dtype == DType::boolean) return any(to(input, DType::boolean), dim, keepdim);
  return apply(summing<Sum>(ReduceOp::sum, input, dim, keepdim, dtype), input);
}
Tensor& sum_out(Tensor& out, const Tensor& input, const Dims& dim, bool keepdim, std::optional<DType> dtype) {
  if (dtype == DType::boolean) {  // as sum(): whether any is not 0
    const Tensor x = to(input, DType::boolean);
    return apply_to(Destination::out, out, folding<Any>(ReduceOp::amax, x, dim, keepdim, dtype.value(), DType::boolean),
                    x);
  }
  return apply_to(Destination::out, out, summing<Sum>(ReduceOp::sum, input, dim, keepdim, dtype), input);
}
Tensor nansum(const Tensor& input, const Dims& dim, bool keepdim, std::optional<DType> dtype) {
  const DType result = summed("nansum", input, dtype);
  if (is_integral(input.dtype()) || is_integral(result)) return sum(input, dim, keepdim, dtype);
  check_real("nansum", input.dtype(), dtype);
  return apply(summing<NanSum>(ReduceOp::nansum, input, dim, keepdim, dtype), input);
}
Tensor mean(const Tensor& input, const Dims& dim, bool keepdim, std::optional<DType> dtype) {
  return apply(mean_of(input, dim, keepdim, dtype), input);
}
Tensor& mean_out(Tensor& out, const Tensor& input, const Dims& dim, bool keepdim, std::optional<DType> dtype) {
  return apply_to(Destination::out, out, mean_of(input, dim, keepdim, dtype), input);
}
Tensor nanmean(const Tensor& input, const Dims& dim, bool keepdim, std::optional<DType> dtype) {
  check_real("nanmean", input.dtype(), dtype);
  const Tensor count = sum(logical_not(isnan(input)), dim, keepdim);
  return nansum(input, dim, keepdim, dtype) / count;
}
Tensor prod(const Tensor& input, const Dims& dim, bool keepdim, std::optional<DType> dtype) {
  if (const amp::CastScope cast{amp::Name::prod, input}; !dtype && cast) return prod(cast(input), dim, keepdim, dtype);
  if (dtype == DType::boolean) return all(to(input, DType::boolean), dim, keepdim);
  return apply(summing<Prod>(ReduceOp::prod, input, dim, keepdim, dtype), input);
}
Tensor trace(const Tensor& input) {
  if (const amp::CastScope cast{amp::Name::trace, input}) return trace(cast(input));
  check<ShapeError>(input.dim() == 2, [&] { return "trace: expected a matrix, got " + input.spec().str(); });
  return sum(diagonal(input));
}

Tensor sum_to_size(const Tensor& input, const Shape& size) {
  if (size.empty()) return sum(input);  // integers become int64; below, an input of this size keeps its dtype
  const int extra = input.dim() - size.size();
  Dims dims;
  bool fits = extra >= 0;
  for (int d = 0; fits && d < input.dim(); ++d) {
    const std::int64_t want = d < extra ? 1 : size[d - extra];
    if (d < extra || (want == 1 && input.size(d) != 1)) dims.push_back(d);
    else fits = want == input.size(d);
  }
  check<ShapeError>(fits, [&] {
    return "sum_to_size: expected a size that broadcasts to " + input.shape().str() + ", got " + size.str();
  });
  return dims.empty() ? input : reshape(sum(input, dims, true), size);
}

Tensor amax(const Tensor& input, const Dims& dim, bool keepdim) {
  return apply(extreme_of<AMax>(ReduceOp::amax, input, dim, keepdim), input);
}
Tensor amin(const Tensor& input, const Dims& dim, bool keepdim) {
  return apply(extreme_of<AMin>(ReduceOp::amin, input, dim, keepdim), input);
}
Tensor& amax_out(Tensor& out, const Tensor& input, const Dims& dim, bool keepdim) {
  return apply_to(Destination::out, out, extreme_of<AMax>(ReduceOp::amax, input, dim, keepdim), input);
}
Tensor& amin_out(Tensor& out, const Tensor& input, const Dims& dim, bool keepdim) {
  return apply_to(Destination::out, out, extreme_of<AMin>(ReduceOp::amin, input, dim, keepdim), input);
}
MinMaxResult aminmax(const Tensor& input, std::optional<int> dim, bool keepdim) {
  const Dims dims = dim ? Dims(*dim) : Dims();
  check_dtype("aminmax", input.spec(), dtypes::ordered, "real");
  check_not_empty("aminmax", input.spec(), dims_mask("aminmax", dims, input.dim()));
  return {amin(input, dims, keepdim), amax(input, dims, keepdim)};
}
Tensor max(const Tensor& input) { return amax(input); }
Tensor min(const Tensor& input) { return amin(input); }

Tensor any(const Tensor& input, const Dims& dim, bool keepdim) {
  return truth<Any>(ReduceOp::amax, input, dim, keepdim);
}
Tensor all(const Tensor& input, const Dims& dim, bool keepdim) {
  return truth<All>(ReduceOp::amin, input, dim, keepdim);
}
Tensor count_nonzero(const Tensor& input, const Dims& dim) { return sum(to(input.detach(), DType::boolean), dim); }

Tensor Tensor::sum(const Dims& dim, bool keepdim) const { return neura::sum(*this, dim, keepdim); }
Tensor Tensor::mean(const Dims& dim, bool keepdim) const { return neura::mean(*this, dim, keepdim); }
Tensor Tensor::argmax(std::optional<int> dim, bool keepdim) const { return neura::argmax(*this, dim, keepdim); }

}  // namespace neura

NEURA_DEFINE_OPERATION(sum, Sum);
NEURA_DEFINE_OPERATION(mean, Mean);
NEURA_DEFINE_OPERATION(nansum, NanSum);
NEURA_DEFINE_OPERATION(prod, Prod);
NEURA_DEFINE_OPERATION(amax, AMax);
NEURA_DEFINE_OPERATION(amin, AMin);
NEURA_DEFINE_OPERATION(any, Any);
NEURA_DEFINE_OPERATION(all, All);

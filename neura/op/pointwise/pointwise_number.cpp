#include "neura/op/pointwise/pointwise_number.h"

#include <algorithm>

#include "neura/core/scalar_range.h"
#include "neura/op/call_error.h"
#include "neura/op/pointwise/rows.h"

namespace neura {
namespace {

// Rows whose result is one of the operands: what no element equals bounds them as the end of the dtype does.
bool chooses(const Row& row) {
  const Row* const rows[] = {&rows::maximum,   &rows::minimum,   &rows::fmax,          &rows::fmin,
                             &rows::clamp_min, &rows::clamp_max, &rows::_clamp_between};
  return std::find(std::begin(rows), std::end(rows), &row) != std::end(rows);
}

[[gnu::cold]] void refuse_exponent(const Call& call) {
  refuse<ValueError>(call, "expected an exponent of at least 0 for integers, got " + call.in[1].scalar.str() +
                               "; convert them to a floating dtype");
}

[[gnu::cold]] void refuse_wide(const Call& call, DType result) {
  refuse<DTypeError>(call, std::string("expected operands that ") + name(result) +
                               " holds, got a wider dtype; convert one of them with .to()");
}

// Of an operand that the computation would wrap: a dtype that holds it.
DType held_in(const Operand& o, DType computed) {
  if (o.is_scalar()) return in_range(o.scalar, computed) ? computed : DType::int64;
  const Spec& s = o.tensor->spec;  // with dimensions its dtype counts anyway
  return s.rank == 0 && is_integral(s.dtype) ? promote(computed, s.dtype) : computed;
}

}  // namespace

void promote_numbers(const Call& call, Dtypes& d) {
  const Row& row = *call.row;
  if (&row == &rows::pow && call.in[1].is_scalar() && call.in[1].scalar.integer() < 0) refuse_exponent(call);
  DType wide = d.computed;
  const bool compares = row.types.result_type == ResultType::as_bool, picks = chooses(row);
  for (int i = row.types.mask_first ? 1 : 0; i < call.inputs; ++i) {
    const Operand& o = call.in[i];
    if (&row == &rows::where || (&row == &rows::heaviside && i == 1 && o.is_scalar())) {
      if (o.is_scalar()) check_storable(row.name, o.scalar, d.result);
    } else if (&row == &rows::heaviside && o.is_tensor()) {
      if (held_in(o, d.result) != d.result) refuse_wide(call, d.result);
    } else if (o.is_scalar() ? !picks : compares || picks || row.types.divides) {
      wide = promote(wide, held_in(o, wide));
    }
  }
  if (wide == d.computed) return;
  d.computed = wide;
  if (!compares) d.natural = wide;
}

const TensorImpl* bound(const Call& call, int i, const Dtypes& d, Tensor& kept) {
  const TensorImpl* t = call.in[i].tensor;
  if (d.natural == d.result || t->spec.rank || !chooses(*call.row)) return t;
  const auto end = [&](std::int64_t beyond) { return saturated(saturated(beyond, d.result), t->spec.dtype); };
  kept = clamp_max(clamp_min(Tensor(Ref<TensorImpl>::share(call.in[i].tensor)), end(INT64_MIN)), end(INT64_MAX));
  return kept.impl();
}

void store_number(const Call& call, int i, DType dtype, char* to) {
  const Scalar& number = call.in[i].scalar;
  if (in_range(number, dtype) || !chooses(*call.row)) return number.store(dtype, to);
  saturated(number, dtype).store(dtype, to);
}

}  // namespace neura

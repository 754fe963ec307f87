#include "neura/op/pointwise/promotion.h"

#include "neura/op/pointwise/pointwise.h"
#include "neura/op/pointwise/rows.h"

namespace neura {
namespace {

void check_arithmetic(const char* op, DType d) {
  check<DTypeError>(category(d) != Category::storage, [&] {
    return std::string(op) + ": expected dtypes with arithmetic, got " + name(d) + "; convert it with .to()";
  });
}
void check_arithmetic(const char* op, const Operand& o) {
  if (o.is_tensor()) check_arithmetic(op, o.tensor->spec.dtype);
}

}  // namespace

DType promote_types(DType type1, DType type2) {
  if (type1 == type2) return type1;
  check_arithmetic("promote_types", type1), check_arithmetic("promote_types", type2);
  return promote(type1, type2);
}

DType result_type(const Operand& a, const Operand& b) {
  check_arithmetic("result_type", a), check_arithmetic("result_type", b);
  Operand in[] = {a, b};
  return promoted({&rows::mul, nullptr, in, 2, nullptr});
}

bool can_cast(DType from, DType to) {
  const auto rank = [](DType d) {
    if (is_unsigned_storage(d)) return Category::integer;
    return category(d) == Category::storage ? Category::floating : category(d);
  };
  return rank(from) <= rank(to);
}

}  // namespace neura

// How `apply` carries out a row: promotion, broadcasting, the flat path for small operands, and the derivative.
#pragma once
#include "neura/backend/plan.h"
#include "neura/op/apply.h"

namespace neura {

// The dtype in which the operands meet. Tensors with dimensions come first, then 0-d tensors, then numbers: a later
// group counts only by a higher category.
DType promoted(const Call&);

struct Dtypes {
  DType common, computed, natural, result;  // of the operands; of the kernel; what it writes; what the call returns
};
Dtypes dtypes_of(const Call&);  // DTypeError where the row does not take them

void check_limits(const Call&);  // ValueError where an attribute of a row that has limits is beyond them
Dtypes infer_pointwise(const Call&, Spec& out);
void run_pointwise(Call&, const Dtypes&);  // into call.out[0], which exists

// Shared by the rows' values and their slopes.
const Backend& quick_backend(Device);               // backend_of, without a lookup for the cpu
std::int64_t padded_to(std::int64_t n, DType);      // n, rounded up to simd_padding()
bool room(const TensorImpl*, std::int64_t padded);  // may so many elements be touched without leaving its block?
void execute_row(const Row&, Device, const Plan&, LineFn*, const double* attributes);

// A slope: operands g, those of the row, its result; what it does not read is absent. Attributes: the row's, and
// whether the operand whose gradient it is was complex. The result is not fitted to that operand yet.
void run_slope(Call&);
Spec infer_slope(const Call&);
// The same as operations, which can be differentiated again. Of operands and result, what the slope reads.
Tensor exact_slope(const Row&, int operand, const Tensor& g, const Tensor* operands, const Tensor& result,
                   const double* attributes);

// Tensors of one dtype and shape, contiguous and small, and numbers that adapt: one line, nothing to plan.
struct Flat {
  const Spec* spec = nullptr;
  LineFn* fn;
  DType result;
  std::int64_t padded;  // kernels have no tails: the padding after the operands is computed too
  Line line;
  alignas(64) char scalars[2][128];

  bool fits(const Call&);
  Tensor fresh();
  void into(TensorImpl* out);

 private:
  bool takes(const Call&) const;
  bool place(int i, const Operand&, DType, std::int64_t bytes, const Row&);
  bool place_number(int i, const Operand&, DType, std::int64_t bytes, const Row&);
};

}  // namespace neura

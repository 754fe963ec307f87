// Copies, conversions and fills.
#pragma once
#include "neura/op/operand.h"

namespace neura {

struct GradientSpec;

// A new tensor with the same values; differentiable. Keeps the order of dimensions where the tensor is dense.
Tensor clone(const Tensor& input);
// A clone that shares the bytes of input until either of the two is first written: free for as long as neither is.
// Views of each side go with their side. A small tensor, a window of a larger one, and memory that came from outside or
// that a pointer was taken to (data(), NumPy) are copied at once.
Tensor lazy_clone(const Tensor& input);
// The same values as that dtype; itself if it has it. Floating to integer truncates towards zero; to bool is != 0.
Tensor to(const Tensor& input, DType dtype);
Tensor to(const Tensor& input, Device device, bool non_blocking = false);  // see ToOptions
Tensor contiguous(const Tensor& input);
Tensor& copy_(Tensor& self, const Operand& source, bool non_blocking = false);
Tensor& fill_(Tensor& self, const Operand& value);
Tensor& zero_(Tensor& self);
// Complex conjugate; itself for real dtypes.
Tensor conj(const Tensor& input);

// Below `apply`, for the library itself.
bool may_overlap(const TensorImpl* a, const TensorImpl* b);  // by their first and last bytes
Tensor number_of(Scalar value, DType, Device);               // without dimensions
Tensor copy_of(const TensorImpl*);                           // dense, no history
Tensor zero_gradient(const GradientSpec& like);              // zeros of that shape, one element expanded
Tensor fit_gradient(Tensor g, const GradientSpec& to);       // undoes broadcasting and promotion of an operand

}  // namespace neura

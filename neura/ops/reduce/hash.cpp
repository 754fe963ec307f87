#include "neura/ops/reduce/hash.h"

#include "neura/op/call_error.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/reduce_common.h"

namespace neura {
namespace {

// The bytes of float64 as int64, in the same memory.
Tensor bits_of(const Tensor& x) {
  const Tensor wide = contiguous(to(x.detach(), DType::float64));
  Spec spec = wide.spec();
  spec.dtype = DType::int64;
  return Tensor(Ref<TensorImpl>::adopt(TensorImpl::make(spec, Ref<Storage>::share(wide.impl()->storage).leave())));
}

}  // namespace

Tensor hash_tensor(const Tensor& input, const Dims& dim, const HashTensorOptions& o) {
  check_given("hash_tensor", "input", input);
  check<ValueError>(o.mode == 0,
                    [&] { return "hash_tensor: expected mode 0, exclusive or, got " + std::to_string(o.mode); });
  check_dtype("hash_tensor", input.spec(), dtypes::floating | dtypes::integers | bit(DType::boolean),
              "real numbers or bool");
  const unsigned dims = dims_mask("hash_tensor", dim, input.dim());
  const Shape sizes = input.shape();
  Dims order;  // what stays, then what is reduced
  for (const bool reduced : {false, true})
    for (int d = 0; d < input.dim(); ++d)
      if ((dims >> d & 1) == reduced) order.push_back(d);
  const Shape kept = reduced_sizes(sizes, dims, false);
  Shape rows = kept;
  rows.push_back(reduced_count(sizes, dims));
  const Tensor bits = is_floating(input.dtype()) ? bits_of(input) : to(input.detach(), DType::int64);
  Tensor x = reshape(permute(bits, order), rows), odd;
  if (!rows.back()) return zeros(reduced_sizes(sizes, dims, o.keepdim), {.dtype = DType::uint64, .device = x.device()});
  while (x.size(-1) > 1) {  // halves against each other; what is left over waits
    const std::int64_t n = x.size(-1), half = n / 2;
    if (n % 2) {
      const Tensor last = narrow(x, -1, n - 1, 1);
      odd = odd ? bitwise_xor(odd, last) : last;
    }
    x = bitwise_xor(narrow(x, -1, 0, half), narrow(x, -1, half, half));
  }
  if (odd) x = bitwise_xor(x, odd);
  return reshape(x.to(DType::uint64), reduced_sizes(sizes, dims, o.keepdim));
}

}  // namespace neura

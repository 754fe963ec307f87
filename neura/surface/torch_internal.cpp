// The names that PyTorch's own code generators call.
#include "neura/ops/nn/torch_internal.h"

#include "neura/ops/nn/norm.h"
#include "neura/ops/nn/softmax.h"
#include "neura/surface/list.h"

namespace neura::surface {

void add_torch_internal(std::deque<Function>& all) {
  using T = const Tensor&;
  const List s(all, "");
  s.add("_chunk_cat(tensors, dim, num_chunks)", &_chunk_cat, function,
        "Tensors cut into chunks along dim, filled with zeros to equal sizes, flattened and side by side.");
  s.add("_unsafe_masked_index(input, mask, indices, fill)", &_unsafe_masked_index, function,
        "input[indices] where mask is True, fill elsewhere.");
  s.add("_unsafe_masked_index_put_accumulate(input, mask, indices, values)", &_unsafe_masked_index_put_accumulate,
        function, "A copy of input to which values are added at indices where mask is True.");
  s.add("_softmax_backward_data(grad_output, output, dim, input_dtype)", &_softmax_backward_data, function,
        "The gradient of softmax along dim, from its output.");
  s.add("_safe_softmax(input, dim, dtype=None)", &_safe_softmax, function,
        "softmax along dim; zeros where everything is -inf.");
  s.add("_native_batch_norm_legit(input, weight?, bias?, running_mean?, running_var?, training, momentum, eps)",
        &native_batch_norm, function, "nn.functional.native_batch_norm, by another name.");
  s.add(
      "_native_batch_norm_legit(input, weight?, bias?, training, momentum, eps)",
      [](T x, T weight, T bias, bool training, double momentum, double eps) {
        return native_batch_norm(x, weight, bias, {}, {}, training, momentum, eps);
      },
      function);
}

}  // namespace neura::surface

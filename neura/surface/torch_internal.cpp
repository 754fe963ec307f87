// The names that PyTorch's own code generators call.
#include "neura/ops/nn/torch_internal.h"

#include "neura/ops/nn/norm.h"
#include "neura/surface/list.h"

namespace neura::surface {

void add_torch_internal(std::deque<Function>& all) {
  using T = const Tensor&;
  const List s(all, "");
#include "neura/surface/entries.h"
#include "neura/tables/functions/torch_internal.def"
#include "neura/tables/functions/end.h"
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

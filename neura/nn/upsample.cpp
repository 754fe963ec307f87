#include "neura/nn/upsample.h"

#include "neura/nn/repr.h"

namespace neura::nn {

NEURA_LAYER_BODY(UpsampleNd)

UpsampleNd::UpsampleNd(const char* name, const UpsampleOptions& o)
    : size(o.size),
      scale_factor(o.scale_factor),
      mode(o.mode),
      align_corners(o.align_corners),
      recompute_scale_factor(o.recompute_scale_factor) {
  check<ValueError>(size.empty() || scale_factor.empty(),
                    [&] { return std::string(name) + ": expected size or scale_factor, got both"; });
}

Tensor UpsampleNd::forward(const Tensor& input) const {
  return interpolate(input, {.size = size,
                             .scale_factor = scale_factor,
                             .mode = mode,
                             .align_corners = align_corners,
                             .recompute_scale_factor = recompute_scale_factor.value_or(false)});
}

std::string UpsampleNd::extra_repr() const {
  if (scale_factor.empty()) return Repr().add("size", size).add("mode", mode);
  std::string factors;
  for (double f : scale_factor) factors += (factors.empty() ? "" : ", ") + python_text(f);
  if (scale_factor.size() > 1) factors = '(' + factors + ')';
  return "scale_factor=" + factors + ", " + std::string(Repr().add("mode", mode));
}

}  // namespace neura::nn

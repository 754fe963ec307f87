// centered: rows less their means, by a kernel of its own.
#include "neura/backend/kernels/norm.h"
#include "neura/op/apply.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/nn/functions.h"
#include "neura/ops/reduce/reduce.h"

namespace neura {
namespace {

struct Centered {
  static constexpr Operation op = operation("centered").linear();
  NEURA_FIELDS()
  void infer(const Spec& x, Spec& y) const {
    check<DTypeError>(bit(x.dtype) & dtypes::floating,
                      [&] { return "centered: expected floating numbers, got " + x.str() + "; convert it with to()"; });
    check<ShapeError>(x.rank > 0, [&] { return "centered: expected at least one dimension, got " + x.str(); });
    y = Spec::dense(x.dtype, x.sizes(), x.device);
  }
  void run(Context& c, View x, View y) const { c.backend.norm->centered(c, x, y); }
  Tensor define(const Tensor& x) const { return x - mean(x, -1, true); }
  void gradient(Gradient& g) const { g.result[0] = centered(g.g[0]); }
};

}  // namespace

Tensor centered(const Tensor& input) { return apply(Centered{}, contiguous(input)); }

}  // namespace neura

NEURA_DEFINE_OPERATION(centered, Centered);

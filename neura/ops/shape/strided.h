// Windows: what a view shows of a buffer with its base's layout. The three operations that close their derivatives are
// linear, and the gradient of each is made of the others. For the library itself; users call as_strided
// (ops/shape/view.h).
#pragma once
#include "neura/op/apply.h"

namespace neura {

struct AsStrided {  // a view: a window on what has the layout of `base`
  static constexpr Operation op = operation("as_strided");
  Spec base, view;
  NEURA_FIELDS(base, view)
  void infer(const Spec& x, Spec& y) const;
  void gradient(Gradient& g) const;
};
struct StridedGather {  // y = the window of x, as a new tensor
  static constexpr Operation op = operation("strided_gather").linear().copies();
  Spec base, view;
  NEURA_FIELDS(base, view)
  void infer(const Spec& x, Spec& y) const;
  void run(Context&, View x, View y) const;
  void gradient(Gradient& g) const;
};
struct StridedSum {  // y = zeros like base, plus x at the window; overlapping elements are added
  static constexpr Operation op = operation("strided_sum").linear().copies();
  Spec base, view;
  NEURA_FIELDS(base, view)
  void infer(const Spec& x, Spec& y) const;
  bool accepts(const Backend&, const Spec& x) const;  // only the cpu adds what overlaps
  Tensor define(const Tensor& x) const;
  void run(Context&, View x, View y) const;
  void gradient(Gradient& g) const;
};
struct StridedPut {  // y = x with the window replaced by `part` (absent: by zeros)
  static constexpr Operation op = operation("strided_put").optional(in(1)).copies();
  Spec base, view;
  NEURA_FIELDS(base, view)
  void infer(const Spec& x, const Spec& part, Spec& y) const;
  void run(Context&, View x, View part, View y) const;
  void gradient(Gradient& g) const;
};

// The same on any device: elsewhere overlapping elements are added by index, from positions made there.
Tensor strided_sum(const Spec& base, const Spec& view, const Tensor& x);

// The gradient of a view that keeps elements: back to their places in zeros, which first order leaves to the engine.
void scatter_window(Gradient& g, const Spec& base, Spec window);
template <class Op> void scatter_view(Gradient& g, const Op& op) {  // the window that op shows of a dense operand
  const Spec base = g.meta[0]->dense();
  Spec window;
  op.infer(base, window), scatter_window(g, base, window);
}

}  // namespace neura

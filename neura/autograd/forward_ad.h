// Forward mode: a level whose tensors have a value, the primal, and its derivative along one direction, the tangent. A
// call gives the primal beneath and the tangent by the slopes of a row, by the call itself where it is linear, else by
// the derivative of its gradient, which is linear in what comes in (Townsend, "A new trick for calculating Jacobian
// vector products", 2017).
#pragma once
#include <vector>

#include "neura/autograd/level.h"

namespace neura {

class DualLevel final : public Level {
 public:
  Tensor make(const Tensor& primal, const Tensor& tangent) const;  // ShapeError, DTypeError
  Tensor primal(const Tensor&) const;                              // itself where it is not of this level
  Tensor tangent(const Tensor&) const;                             // undefined where there is none
  Tensor lift(const Tensor& t) override { return handle_of(t.impl()) ? t : pair(t, {}); }

 private:
  friend struct DualCall;
  struct Dual;
  Tensor pair(Tensor primal, Tensor tangent) const;
  Tensor tangent_of(const TensorImpl*) const;  // of a view: read from the present tangent of its base
  bool spreads(const Call&) const override;
  Tensor adopted(const Tensor& value) override { return pair(value, {}); }
  void run(Call&) override;
  void write(Call&, struct DualCall&);
};

// The arguments of a forward-mode rule: primals and tangents, unwrapped.
struct DualCall {
  DualLevel& level;
  Call& call;
  std::vector<Tensor> in, tangent;  // undefined: of a number or an absent operand; without a tangent
  Tensor out[kMaxOutputs], moved[kMaxOutputs];

  DualCall(DualLevel&, Call&);
  bool moves() const;  // has any operand a tangent?
  void primal();       // computes the primals, into new tensors
  Tensor once(const Row&, const void* op, const std::vector<Tensor>& operands, int result = 0) const;
  void pointwise();
  void slope();
  void linear();                  // of operations linear in each operand, or in all together
  void sum_of_parts(int addend);  // of a product to which operand `addend` is added
  void copies();                  // of an overwrite: the tangent of its second operand, if it has one
  void writes();                  // at indices: both tangents, written alike
  void by_gradient();             // of any other: differentiates its gradient
};

}  // namespace neura

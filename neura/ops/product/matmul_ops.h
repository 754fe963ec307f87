// The two operations that all products are made of, for the library itself; users call ops/product/matmul.h.
#pragma once
#include "neura/op/apply.h"

namespace neura {

// [batch.., m, k] x [batch.., k, n] -> [batch.., m, n]; batches broadcast. Complex operands may be conjugated on the
// fly, so that a derivative needs no conjugated copies. The infer() of all three checks whatever a kernel relies on.
struct MatmulOp {
  static constexpr Operation op = operation("matmul").linear().saves(0, in(1)).saves(1, in(0));
  bool conj_a = false, conj_b = false;
  NEURA_FIELDS(conj_a, conj_b)
  bool is_safe(const Spec&, const Spec&) const { return true; }
  void infer(const Spec& a, const Spec& b, Spec& y) const;
  void run(Context&, View a, View b, View y) const;
  void gradient(Gradient& g) const;
};
// beta * input + alpha * a b, in one pass; input broadcasts to the product, and may be absent.
struct AddmmOp {
  NEURA_OPERANDS(input, mat1, mat2)
  static constexpr Operation op = operation("addmm")
                                      .optional(in(In::input))
                                      .sum_at(In::input)
                                      .saves(In::mat1, in(In::mat2))
                                      .saves(In::mat2, in(In::mat1));
  Scalar beta = 1, alpha = 1;
  bool conj_a = false, conj_b = false;
  NEURA_FIELDS(beta, alpha, conj_a, conj_b)
  bool is_safe(const Spec&, const Spec&, const Spec&) const { return true; }
  void infer(const Spec& input, const Spec& a, const Spec& b, Spec& y) const;
  void run(Context&, View input, View a, View b, View y) const;
  void gradient(Gradient& g) const;
};
// x w^T + bias: [.., k] x [n, k] -> [.., n].
struct LinearOp {
  NEURA_OPERANDS(input, weight, bias)
  static constexpr Operation op = operation("linear")
                                      .optional(in(In::bias))
                                      .sum_at(In::bias)
                                      .saves(In::input, in(In::weight))
                                      .saves(In::weight, in(In::input))
                                      .closed();
  bool conj_x = false, conj_w = false;
  NEURA_FIELDS(conj_x, conj_w)
  bool is_safe(const Spec&, const Spec&, const Spec&) const { return true; }
  void infer(const Spec& x, const Spec& w, const Spec& bias, Spec& y) const;
  void run(Context&, View x, View w, View bias, View y) const;
  Tensor define(const Tensor& x, const Tensor& w, const Tensor& bias) const;
  void gradient(Gradient& g) const;
};

}  // namespace neura

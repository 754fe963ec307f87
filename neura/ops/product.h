// The two operations that all products are made of, for the library itself; users call ops/matmul.h.
#pragma once
#include "neura/ops/apply.h"

namespace neura {

// [batch.., m, k] x [batch.., k, n] -> [batch.., m, n]; batches broadcast. Complex operands may be conjugated on the
// fly, so that a derivative needs no conjugated copies.
struct MatmulOp {
  static constexpr const char* name = "matmul";
  static constexpr bool linear = true, reduced_precision = true;
  static constexpr std::uint16_t reads[] = {2, 1};
  bool conj_a = false, conj_b = false;
  void infer(const Spec& a, const Spec& b, Spec& y) const;
  void run(Context&, View a, View b, View y) const;
  void gradient(Gradient& g) const;
};
// beta * input + alpha * a b, in one pass; input broadcasts to the product, and may be absent.
struct AddmmOp {
  static constexpr const char* name = "addmm";
  static constexpr std::uint8_t optional = 1 << 0;
  static constexpr bool reduced_precision = true;
  static constexpr std::uint16_t reads[] = {0, 4, 2};
  Scalar beta = 1, alpha = 1;
  bool conj_a = false, conj_b = false;
  void infer(const Spec& input, const Spec& a, const Spec& b, Spec& y) const;
  void run(Context&, View input, View a, View b, View y) const;
  void gradient(Gradient& g) const;
};
// x w^T + bias: [.., k] x [n, k] -> [.., n].
struct LinearOp {
  static constexpr const char* name = "linear";
  static constexpr std::uint8_t optional = 1 << 2;
  static constexpr bool reduced_precision = true;
  static constexpr std::uint16_t reads[] = {2, 1, 0};
  bool conj_x = false, conj_w = false;
  void infer(const Spec& x, const Spec& w, const Spec& bias, Spec& y) const;
  void run(Context&, View x, View w, View bias, View y) const;
  void gradient(Gradient& g) const;
};

}  // namespace neura

// The operations of convolution, for the library itself; users call ops/spatial/conv.h. Each is linear in both
// operands, and the gradients of each are the two others.
#pragma once
#include "neura/backend/kernels/conv.h"
#include "neura/op/apply.h"

namespace neura {

NEURA_FIELDS_OF(Conjugated, first, second)

struct ConvolutionShape {  // attributes that the three have in common, one number per spatial dimension
  int dims = 2;
  std::int64_t groups = 1;
  Shape stride, dilation, before, after;  // before, after: zeros around the input
  NEURA_FIELDS(dims, groups, stride, dilation, before, after)
};

// input [n, c, in..], weight [o, c / groups, kernel..], bias [o] or absent -> [n, o, out..]. Contiguous, as all here.
struct ConvolutionOp {
  NEURA_OPERANDS(input, weight, bias)
  static constexpr Operation op = operation("convolution")
                                      .optional(in(In::bias))
                                      .sum_at(In::bias)
                                      .saves(In::input, in(In::weight))
                                      .saves(In::weight, in(In::input));
  static constexpr int addend_dim = 1;  // the bias has a value for each channel
  ConvolutionShape s;
  Conjugated conj = {};
  NEURA_FIELDS(s, conj)
  bool is_safe(const Spec& x, const Spec& w, const Spec& bias) const;
  void infer(const Spec& x, const Spec& w, const Spec& bias, Spec& y) const;
  void run(Context&, View x, View w, View bias, View y) const;
  void gradient(Gradient& g) const;
};
// Gradient of the result, weight -> of the input, whose spatial sizes are `in`. Also the transposed convolution.
struct ConvolutionBackwardInput {
  NEURA_OPERANDS(grad_output, weight)
  static constexpr Operation op = operation("convolution_backward_input")
                                      .linear()
                                      .saves(In::grad_output, in(In::weight))
                                      .saves(In::weight, in(In::grad_output));
  ConvolutionShape s;
  Shape input;
  Conjugated conj = {};
  NEURA_FIELDS(s, input, conj)
  bool is_safe(const Spec& g, const Spec& w) const;
  void infer(const Spec& g, const Spec& w, Spec& x) const;
  void run(Context&, View g, View w, View x) const;
  void gradient(Gradient& g) const;
};
// Input, gradient of the result -> of the weight, whose kernel has the sizes `kernel`.
struct ConvolutionBackwardWeight {
  NEURA_OPERANDS(input, grad_output)
  static constexpr Operation op = operation("convolution_backward_weight")
                                      .linear()
                                      .saves(In::input, in(In::grad_output))
                                      .saves(In::grad_output, in(In::input));
  ConvolutionShape s;
  Shape kernel;
  Conjugated conj = {};
  NEURA_FIELDS(s, kernel, conj)
  void infer(const Spec& x, const Spec& g, Spec& w) const;
  void run(Context&, View x, View g, View w) const;
  void gradient(Gradient& g) const;
};

struct FoldOp;
struct Im2Col {  // [n, c, in..] -> [n, c * kernel, windows]
  static constexpr Operation op = operation("im2col").linear();
  ConvolutionShape s;
  Shape kernel;
  NEURA_FIELDS(s, kernel)
  void infer(const Spec& x, Spec& columns) const;
  void run(Context&, View x, View columns) const;
  void gradient(Gradient& g) const;
};
struct FoldOp {  // and back: the sum of patches, an image of the sizes `input`
  static constexpr Operation op = operation("fold").linear();
  ConvolutionShape s;
  Shape kernel, input;
  NEURA_FIELDS(s, kernel, input)
  void infer(const Spec& columns, Spec& x) const;
  void run(Context&, View columns, View x) const;
  void gradient(Gradient& g) const;
};

}  // namespace neura

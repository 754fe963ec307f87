// Gradients of first and second order against finite differences, where no stored answer is at hand.
#pragma once
#include <functional>
#include <vector>

#include "neura/autograd/gradcheck.h"
#include "tests/support/close.h"

namespace neura::test {

struct GradientCheck {
  bool second = true;  // also the gradient of the gradient
  GradcheckOptions options = {.atol = 1e-6, .rtol = 1e-5};
};
// f at operands of float64 or complex128, with respect to each of them. f must be smooth there; a result that requires
// no gradient is not looked at. Fails as well if every gradient is zero: that would show nothing.
void expect_gradients(const Differentiable& f, std::vector<Tensor> operands, GradientCheck = {},
                      const char* file = __builtin_FILE(), int line = __builtin_LINE());
// The same for functions of one or two operands with one result.
void expect_gradients(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, GradientCheck = {},
                      const char* file = __builtin_FILE(), int line = __builtin_LINE());
void expect_gradients(const std::function<Tensor(const Tensor&, const Tensor&)>& f, const Tensor& a, const Tensor& b,
                      GradientCheck = {}, const char* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace neura::test

// Derivatives against finite differences.
#pragma once
#include <functional>
#include <vector>

#include "neura/core/tensor.h"

namespace neura {

struct GradcheckError : AutogradError {
  using AutogradError::AutogradError;
};

struct GradcheckOptions {
  double eps = 1e-6, atol = 1e-5, rtol = 1e-3;
  bool raise_exception = true;  // else the answer is false
};
using Differentiable = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// Compares the Jacobian that backward gives with central differences, element by element, for every input that requires
// a gradient; these should be float64 or complex128. Raises GradcheckError, which names the input, the output, the
// element and both values. Raises ValueError if no input requires a gradient.
bool gradcheck(const Differentiable& f, const std::vector<Tensor>& inputs, GradcheckOptions = {});
// The same for the derivative of the derivative. `grad_outputs` are drawn where they are left out.
bool gradgradcheck(const Differentiable& f, const std::vector<Tensor>& inputs,
                   const std::vector<Tensor>& grad_outputs = {}, GradcheckOptions = {});

}  // namespace neura

#include "tests/support/gradients.h"

#include "neura/autograd/autograd.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

bool all_zero(const Tensor& t) {
  bool zero = true;
  if (t)
    for_each_index(t.shape(),
                   [&](const Shape& i) { zero &= scalar_at(t, i).real() == 0 && scalar_at(t, i).imag() == 0; });
  return zero;
}

bool some_gradient(const Differentiable& f, const std::vector<Tensor>& operands) {
  std::vector<Tensor> outputs, inputs, directions;
  for (const Tensor& t : f(operands))
    if (t && t.requires_grad()) outputs.push_back(t);
  for (const Tensor& t : operands)
    if (t && t.requires_grad()) inputs.push_back(t);
  for (const Tensor& t : outputs) directions.push_back(sample(t.shape(), t.dtype(), {.low = 1, .high = 2}));
  if (outputs.empty()) return false;
  for (const Tensor& g : grad(outputs, inputs, directions, {.allow_unused = true}))
    if (!all_zero(g)) return true;
  return false;
}

}  // namespace

void expect_gradients(const Differentiable& f, std::vector<Tensor> operands, GradientCheck o, const char* file,
                      int line) {
  for (Tensor& t : operands) {
    if (!t || !differentiable(t.dtype())) continue;
    t = from_loop(t.shape(), t.dtype(), [&](const Shape& i) { return scalar_at(t, i); }).requires_grad_();
  }
  try {
    if (!some_gradient(f, operands))
      ADD_FAILURE_AT(file, line) << "no gradient, or every one is zero: choose operands where it is not";
    gradcheck(f, operands, o.options);
    if (o.second) gradgradcheck(f, operands, {}, o.options);
  } catch (const GradcheckError& e) {
    ADD_FAILURE_AT(file, line) << e.what();
  }
}

void expect_gradients(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, GradientCheck o, const char* file,
                      int line) {
  const Differentiable wrapped = [&](const std::vector<Tensor>& v) { return std::vector{f(v[0])}; };
  expect_gradients(wrapped, std::vector{x}, o, file, line);
}

void expect_gradients(const std::function<Tensor(const Tensor&, const Tensor&)>& f, const Tensor& a, const Tensor& b,
                      GradientCheck o, const char* file, int line) {
  const Differentiable wrapped = [&](const std::vector<Tensor>& v) { return std::vector{f(v[0], v[1])}; };
  expect_gradients(wrapped, std::vector{a, b}, o, file, line);
}

}  // namespace neura::test

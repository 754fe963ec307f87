#include "neura/autograd/gradcheck.h"

#include <cmath>
#include <string>

#include "neura/autograd/autograd.h"
#include "neura/core/extension.h"
#include "neura/ops/create/copy.h"

namespace neura {
namespace {

using Complex = std::complex<double>;

std::vector<Complex> values(const Tensor& t) {
  const Tensor c = to(t.detach(), DType::complex128);
  return c.to_vector<Complex>();
}
std::vector<Tensor> evaluate(const Differentiable& f, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> result;
  for (Tensor& y : f(inputs))
    if (differentiable(y.dtype())) result.push_back(std::move(y));
  return result;
}

// An element that two inputs show is moved in one of them at a time: inputs that share bytes become copies.
std::vector<Tensor> apart(std::vector<Tensor> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      if (!inputs[i] || !inputs[k] || inputs[i].impl()->storage != inputs[k].impl()->storage) continue;
      inputs[i] = copy_of(inputs[i].impl()).requires_grad_(inputs[i].requires_grad());
      break;
    }
  return inputs;
}

// Column `element` (and part: 0 real, 1 imaginary) of the numerical Jacobian: the change of every output.
std::vector<std::vector<Complex>> difference(const Differentiable& f, const std::vector<Tensor>& inputs, std::size_t i,
                                             std::int64_t element, int part, double eps) {
  NoGrad off;
  std::vector<std::vector<Complex>> change;
  for (const double step : {eps, -eps}) {
    std::vector<Tensor> moved;
    for (const Tensor& t : inputs) moved.push_back(t.detach());
    Tensor x = copy_of(inputs[i].detach().to(Device()).impl());
    char* at = x.impl()->data() + element * size_of(x.dtype());
    const Scalar old = Scalar::load(x.dtype(), at);
    Scalar(Complex(old.real() + (part ? 0 : step), old.imag() + (part ? step : 0))).store(x.dtype(), at);
    moved[i] = x.to(inputs[i].device());
    const std::vector<Tensor> y = evaluate(f, moved);
    for (std::size_t j = 0; j < y.size(); ++j) {
      const std::vector<Complex> v = values(y[j]);
      if (step > 0) change.push_back(v);
      else
        for (std::size_t k = 0; k < v.size(); ++k) change[j][k] = (change[j][k] - v[k]) / (2 * eps);
    }
  }
  return change;
}

struct Check {
  const Differentiable& f;
  const std::vector<Tensor>& inputs;
  const GradcheckOptions& o;
  std::vector<Tensor> outputs;

  // Row (j, k, part) of the Jacobian by backward, for all inputs at once.
  std::vector<Tensor> analytic(std::size_t j, std::int64_t k, int part) const {
    Tensor v = Tensor::empty(Spec::dense(outputs[j].dtype(), outputs[j].shape()));
    zero_(v);
    Scalar(part ? Complex(0, 1) : Complex(1, 0)).store(v.dtype(), v.impl()->data() + k * size_of(v.dtype()));
    v = v.to(outputs[j].device());
    return grad({&outputs[j], 1}, inputs, {&v, 1}, {.retain_graph = true, .allow_unused = true});
  }
  bool compare(std::size_t i, std::size_t j, std::int64_t element, std::int64_t k, double got, double want) const {
    if (std::abs(got - want) <= o.atol + o.rtol * std::abs(want) || (std::isnan(got) && std::isnan(want))) return true;
    if (!o.raise_exception) return false;
    throw GradcheckError("gradcheck: expected the derivative of output " + std::to_string(j) + " element " +
                         std::to_string(k) + " with respect to input " + std::to_string(i) + " element " +
                         std::to_string(element) + " to be " + std::to_string(want) + " (central difference), got " +
                         std::to_string(got) + "; they may differ by atol " + Scalar(o.atol).str() + " and rtol " +
                         Scalar(o.rtol).str());
  }
  bool run(std::size_t i) const {
    const int parts = is_complex(inputs[i].dtype()) ? 2 : 1;
    std::vector<std::vector<std::vector<Complex>>> numeric;  // [element * parts + part][output][element of it]
    for (std::int64_t e = 0; e < inputs[i].numel(); ++e)
      for (int part = 0; part < parts; ++part) numeric.push_back(difference(f, inputs, i, e, part, o.eps));
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      if (!outputs[j].requires_grad()) continue;
      for (std::int64_t k = 0; k < outputs[j].numel(); ++k) {
        for (int out_part = 0; out_part < (is_complex(outputs[j].dtype()) ? 2 : 1); ++out_part) {
          const Tensor g = analytic(j, k, out_part)[i];
          const std::vector<Complex> row = g ? values(g) : std::vector<Complex>(std::size_t(inputs[i].numel()));
          for (std::int64_t e = 0; e < inputs[i].numel(); ++e) {
            for (int part = 0; part < parts; ++part) {
              const Complex d = numeric[std::size_t(e * parts + part)][j][std::size_t(k)];
              const Complex a = row[std::size_t(e)];
              if (!compare(i, j, e, k, part ? a.imag() : a.real(), out_part ? d.imag() : d.real())) return false;
            }
          }
        }
      }
    }
    return true;
  }
};

}  // namespace

bool gradcheck(const Differentiable& f, const std::vector<Tensor>& inputs, GradcheckOptions o) {
  EnableGrad on;
  for (const Tensor& t : inputs) check_dense("gradcheck", t);
  bool any = false;
  for (const Tensor& t : inputs) any |= t.defined() && t.requires_grad();
  check<ValueError>(
      any, [] { return "gradcheck: expected an input that requires a gradient, got none; call requires_grad_()"; });
  const std::vector<Tensor> own = apart(inputs);
  const Check check{f, own, o, evaluate(f, own)};
  for (std::size_t i = 0; i < own.size(); ++i)
    if (own[i].requires_grad() && !check.run(i)) return false;
  return true;
}

bool gradgradcheck(const Differentiable& f, const std::vector<Tensor>& inputs, const std::vector<Tensor>& grad_outputs,
                   GradcheckOptions o) {
  EnableGrad on;
  std::vector<Tensor> all = inputs;
  const std::size_t n = inputs.size();
  std::uint64_t seed = 0x9E3779B97F4A7C15u;
  const std::vector<Tensor> outputs = evaluate(f, inputs);
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    if (!outputs[j].requires_grad()) continue;
    Tensor v = j < grad_outputs.size() ? copy_of(grad_outputs[j].impl())
                                       : Tensor::empty(Spec::dense(outputs[j].dtype(), outputs[j].shape()));
    if (j >= grad_outputs.size())
      for (std::int64_t k = 0; k < v.numel(); ++k) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const double a = double(seed >> 11) * 0x1p-53 - 0.5, b = double((seed >> 7) & 1023) / 1024 - 0.5;
        Scalar(Complex(a, b)).store(v.dtype(), v.impl()->data() + k * size_of(v.dtype()));
      }
    all.push_back(v.to(outputs[j].device()).requires_grad_());
  }
  const auto derivative = [&](const std::vector<Tensor>& args) {
    std::vector<Tensor> x, wanted, y;
    for (std::size_t i = 0; i < n; ++i) {
      x.push_back(args[i]);
      if (!differentiable(x[i].dtype()) || !inputs[i].requires_grad()) continue;
      if (!x[i].requires_grad()) x[i] = x[i].detach().requires_grad_();  // a difference is being taken
      wanted.push_back(x[i]);
    }
    EnableGrad recorded;
    for (Tensor& t : evaluate(f, x))
      if (t.requires_grad()) y.push_back(t);
    const std::vector<Tensor> v(args.begin() + std::ptrdiff_t(n), args.end());
    std::vector<Tensor> d = grad(y, wanted, v, {.create_graph = true, .allow_unused = true});
    std::erase_if(d, [](const Tensor& t) { return !t; });
    return d;
  };
  return gradcheck(derivative, all, o);
}

}  // namespace neura

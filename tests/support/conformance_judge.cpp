// Compares a result with PyTorch's stored answer.
#include <algorithm>

#include "neura/autograd/autograd.h"
#include "tests/support/conformance.h"
#include "tests/support/loop.h"

namespace neura::test {
namespace {

// tests/conformance/run.py's, by the dtype of the stored value.
Tolerance stored_tolerance(DType d) {
  switch (to_real(d)) {
    case DType::float64:
      return {1e-8, 1e-7};
    case DType::float32:
      return {2e-5, 2e-5};
    case DType::float16:
      return {2e-3, 2e-3};
    case DType::bfloat16:
      return {4e-2, 4e-2};
    default:
      return {};
  }
}

void flatten(const Value& v, std::vector<const Value*>& to) {
  if (v.kind == Value::list || v.kind == Value::tuple || v.kind == Value::dict)
    for (const Value& x : v.items) flatten(x, to);
  else to.push_back(&v);
}

// Empty if `got` is what is stored.
std::string difference(const Tensor& got, const Value& want, double loose) {
  if (want.kind == Value::tensor) {
    const auto r = close(got, want.data, stored_tolerance(want.data.dtype()).times(loose));
    return r ? "" : r.message();
  }
  if (!want.is_number()) return "";
  if (!got || got.numel() != 1) return "expected a number";
  const std::complex<double> a = got.item<std::complex<double>>(), b(want.scalar.real(), want.scalar.imag());
  const bool same = a == b || (a != a && b != b) || std::abs(a - b) <= 1e-6 * std::max(1.0, std::abs(b)) * loose;
  return same ? "" : got.item().str() + " instead of " + want.scalar.str();
}

struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void compare(const Tensor& got, const Value& want, double loose, const std::string& what) {
  const std::string why = difference(got, want, loose);
  if (!why.empty()) throw Wrong(what + ": " + why);
}

std::vector<Tensor> tensors(const std::vector<Value>& values) {
  std::vector<Tensor> r;
  for (const Value& v : values) r.push_back(v.data);
  return r;
}

void compare_second(const ConformanceCase& c, const std::vector<Tensor>& gradients, std::vector<Tensor> inputs) {
  std::vector<Tensor> outputs;
  for (int i : c.second_of) outputs.push_back(gradients[std::size_t(i)]);
  for (const Tensor& t : outputs)
    if (!t || !t.requires_grad()) throw Wrong("second gradient: the gradient cannot be differentiated");
  const auto second = grad(outputs, inputs, tensors(c.second_directions), {.allow_unused = true});
  for (std::size_t i = 0; i < c.second_gradients.size(); ++i) {
    const Value& want = c.second_gradients[i];
    const std::string what = "second gradient " + std::to_string(i);
    if (!want || want.kind != Value::tensor) continue;
    if (second[i]) {
      compare(second[i], want, 100, what);
    } else if (!close(want.data, from_loop(want.data.shape(), want.data.dtype(), [](const Shape&) { return 0; }), {})) {
      throw Wrong(what + " is missing");
    }
  }
}

void compare_gradients(const ConformanceCase& c, const std::vector<Tensor>& results,
                       const std::vector<Tensor>& leaves) {
  std::vector<Tensor> outputs, inputs = leaves, cotangents = tensors(c.cotangents);
  for (const Tensor& t : results)
    if (t && t.requires_grad()) outputs.push_back(t);
  if (outputs.size() != cotangents.size())
    throw Wrong(std::to_string(outputs.size()) + " results carry a gradient instead of " +
                std::to_string(cotangents.size()));
  if (c.has_second)
    for (Tensor& t : cotangents) t.requires_grad_();
  const auto gradients = grad(outputs, leaves, cotangents, {.create_graph = c.has_second, .allow_unused = true});
  for (std::size_t i = 0; i < c.gradients.size(); ++i) {
    if (!c.gradients[i]) continue;
    if (!gradients[i]) throw Wrong("gradient " + std::to_string(i) + " is missing");
    compare(gradients[i], c.gradients[i], 10, "gradient " + std::to_string(i));
  }
  if (!c.has_second) return;
  inputs.insert(inputs.end(), cotangents.begin(), cotangents.end());
  compare_second(c, gradients, inputs);
}

void compare_case(const ConformanceCase& c, const CaseFunction& call) {
  std::vector<Tensor> leaves = c.leaves();
  for (Tensor& t : leaves) t.requires_grad_();
  const std::vector<Tensor> results = call(c);
  if (c.raises) throw Wrong("accepted a call that must fail");
  std::vector<const Value*> want;
  flatten(c.output, want);
  if (results.size() != want.size())
    throw Wrong(std::to_string(results.size()) + " results instead of " + std::to_string(want.size()));
  for (std::size_t i = 0; i < want.size(); ++i) compare(results[i], *want[i], 1, "result " + std::to_string(i));
  if (c.has_gradients) compare_gradients(c, results, leaves);
}

}  // namespace

Verdict judge(const ConformanceCase& c, const CaseFunction& call) {
  if (!c.unreadable.empty()) return {Verdict::unreadable, c.unreadable};
  try {
    compare_case(c, call);
  } catch (const Wrong& e) {
    return {Verdict::wrong, e.what()};
  } catch (const NotImplementedError& e) {
    return {Verdict::missing, e.what()};
  } catch (const Error& e) {
    return c.raises ? Verdict{} : Verdict{Verdict::error, e.what()};
  }
  return {};
}

}  // namespace neura::test

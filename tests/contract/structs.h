// What the contract tests know of an operation that is no row: how it is called, and operands at which it is smooth.
#pragma once
#include <array>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "neura/core/tensor.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {

using Inputs = std::vector<Tensor>;
struct StructCase {
  std::string name;
  std::function<Inputs(const Inputs&)> f;
  Inputs inputs;
  std::string text;  // of the expression
};
inline std::ostream& operator<<(std::ostream& s, const StructCase& c) { return s << c.name; }

std::vector<StructCase> shape_cases(), index_cases(), reduction_cases(), product_cases(), network_cases(), loss_cases(),
    fourier_cases(), linalg_cases();
const std::vector<StructCase>& struct_cases();  // all of them

// All results of a call in a list.
inline Inputs listed(const Tensor& t) { return {t}; }
inline Inputs listed(const Inputs& l) { return l; }
template <std::size_t N> Inputs listed(const std::array<Tensor, N>& a) { return {a.begin(), a.end()}; }
template <class R>
requires requires(R r) { r.indices; }
Inputs listed(const R& r) { return {r.values, r.indices}; }
inline Inputs listed(const std::pair<Tensor, Tensor>& p) { return {p.first, p.second}; }
template <class R>
requires requires(R r) { r.mean; }
Inputs listed(const R& r) { return {r.spread, r.mean}; }
template <class R>
requires requires(R r) { r.min; }
Inputs listed(const R& r) { return {r.min, r.max}; }
template <class R>
requires requires(R r) { r.c; }
Inputs listed(const R& r) { return {r.output, r.h, r.c}; }

// A case: the expression sees its operands as x[0], x[1], ….
#define CASE(name, expression, ...)                                                                      \
  StructCase {                                                                                           \
    name, [](const Inputs& x) -> Inputs { return listed(expression); }, Inputs{__VA_ARGS__}, #expression \
  }

// Where the tensors are made that an expression brings along.
inline Device constants_on = {};
// Operands: anything, away from 0, positive, all different; complex; whole numbers.
inline Tensor any(const Shape& s, std::uint64_t seed = 1) {
  return sample(s, float64, {.seed = seed}).to(constants_on);
}
inline Tensor off_zero(const Shape& s, std::uint64_t seed = 1) {
  return sample(s, float64, {.seed = seed, .gap = 0.25}).to(constants_on);
}
inline Tensor positive(const Shape& s, std::uint64_t seed = 1) {
  return sample(s, float64, {.low = 0.3, .high = 2, .seed = seed}).to(constants_on);
}
inline Tensor fraction(const Shape& s, std::uint64_t seed = 1) {
  return sample(s, float64, {.low = 0.1, .high = 0.9, .seed = seed}).to(constants_on);
}
inline Tensor distinct(const Shape& s, std::uint64_t seed = 1) {
  return distinct_sample(s, float64, seed, 0.15).to(constants_on);
}
inline Tensor complex_any(const Shape& s, std::uint64_t seed = 1) {
  return sample(s, complex128, {.seed = seed}).to(constants_on);
}
inline Tensor whole(const std::vector<std::int64_t>& v, const Shape& s) {
  std::size_t i = 0;
  return from_loop(s, int64, [&](const Shape&) { return v[i++]; }).to(constants_on);
}
inline Tensor mask(const std::vector<int>& v, const Shape& s) {
  std::size_t i = 0;
  return from_loop(s, boolean, [&](const Shape&) { return v[i++] != 0; }).to(constants_on);
}

}  // namespace neura::test

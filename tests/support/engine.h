// What the tests of the dispatcher and of the engine share: small leaves, and what a derivative is.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "neura/autograd/autograd.h"
#include "neura/core/memory.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"

#define EXPECT_ERROR(type, text, expression)                                                         \
  try {                                                                                              \
    (void)(expression);                                                                              \
    ADD_FAILURE() << "nothing was thrown";                                                           \
  } catch (const type& e) {                                                                          \
    EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << "said \"" << e.what() << "\""; \
  }

namespace neura {

inline double at(const Tensor& t, std::int64_t flat) {
  return to(t.detach(), float64).to_vector<double>()[std::size_t(flat)];
}
inline bool is_near(const Tensor& t, std::initializer_list<double> want, double tolerance = 1e-5) {
  if (!t || t.numel() != std::int64_t(want.size())) return false;
  std::int64_t i = 0;
  for (double v : want) {
    const double got = at(t, i++);
    if (std::abs(got - v) <= tolerance * (1 + std::abs(v))) continue;
    ADD_FAILURE() << "got " << got << ", want " << v;
    return false;
  }
  return true;
}
inline Tensor from(std::initializer_list<double> v, const Shape& s, DType d = float32) {
  return tensor(std::vector<double>(v), s, {.dtype = d});
}
inline Tensor leaf(std::initializer_list<double> v, const Shape& s, DType d = float32) {
  return from(v, s, d).requires_grad_();
}
inline Tensor range(const Shape& s, DType d = float64) {
  Tensor t = Tensor::empty(Spec::dense(d, s));
  for (std::int64_t i = 0; i < t.numel(); ++i)
    Scalar(0.3 + 0.37 * double(i % 11)).store(d, static_cast<char*>(t.raw_data()) + i * size_of(d));
  return t;
}
inline Tensor derivative(const Tensor& y, const Tensor& x, bool create_graph = false) {
  return grad(y, x, {}, {.create_graph = create_graph, .allow_unused = true});
}

}  // namespace neura

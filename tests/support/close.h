// Comparing tensors: |difference| <= absolute + |reference| * relative, from one table by dtype.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "neura/core/tensor.h"

namespace neura::test {

struct Tolerance {
  double absolute = 0, relative = 0;
  Tolerance times(double factor) const { return {absolute * factor, relative * factor}; }
};
// Of a complex dtype: its real dtype's. Integers and bool: none.
Tolerance tolerance(DType);

// Shape, dtype and every element; NaN equals NaN, an infinity the same infinity. The message of a failure has the first
// difference and how many there are.
::testing::AssertionResult close(const Tensor& got, const Tensor& want, Tolerance);
inline ::testing::AssertionResult close(const Tensor& got, const Tensor& want) {
  return close(got, want, tolerance(want.dtype()));
}

// The same as a statement: expect_close(y, reference). A failure names the caller's line.
void expect_close(const Tensor& got, const Tensor& want, Tolerance, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE());
void expect_close(const Tensor& got, const Tensor& want, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE());
// Against numbers in logical order; shape and dtype are got's own.
void expect_close(const Tensor& got, const std::vector<double>& want, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE());
// Bit for bit the same elements (any NaN equals any other).
void expect_same(const Tensor& got, const Tensor& want, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE());

// The sentence of the error that `call` must throw: EXPECT_EQ(error_of<ShapeError>([&] { ... }), "matmul: expected
// ...").
template <class E, class F> std::string error_of(F&& call) {
  try {
    call();
  } catch (const E& e) {
    return e.what();
  } catch (const std::exception& e) {
    return std::string("another type of error: ") + e.what();
  }
  return "no error";
}

}  // namespace neura::test

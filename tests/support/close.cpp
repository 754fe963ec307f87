#include "tests/support/close.h"

#include <cmath>

#include "tests/support/loop.h"

namespace neura::test {

Tolerance tolerance(DType d) {
  switch (to_real(d)) {
    case DType::float64:
      return {1e-10, 1e-10};
    case DType::float32:
      return {1e-5, 1e-5};
    case DType::float16:
      return {1e-3, 2e-3};
    case DType::bfloat16:
      return {1e-2, 1.6e-2};
    case DType::float8_e4m3:
      return {1.0 / 512, 0.0625};
    case DType::float8_e5m2:
      return {1.0 / 65536, 0.125};
    default:
      return {};
  }
}

namespace {
bool near(double got, double want, Tolerance t) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return got == want;
  return std::abs(got - want) <= t.absolute + std::abs(want) * t.relative;
}

bool same_element(const Scalar& got, const Scalar& want, Tolerance t) {
  if (want.category() <= Category::integer) return got.integer() == want.integer();
  return near(got.real(), want.real(), t) && near(got.imag(), want.imag(), t);
}
}  // namespace

::testing::AssertionResult close(const Tensor& got, const Tensor& want, Tolerance t) {
  if (!got || !want) {
    if (!got && !want) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << (got ? "expected no tensor" : "got no tensor");
  }
  if (got.dtype() != want.dtype() || got.shape() != want.shape())
    return ::testing::AssertionFailure() << "got " << got.spec().str() << ", expected " << want.spec().str();
  std::int64_t wrong = 0;
  std::string first;
  for_each_index(want.shape(), [&](const Shape& i) {
    const Scalar a = scalar_at(got, i), b = scalar_at(want, i);
    if (same_element(a, b, t)) return;
    if (!wrong++) first = a.str() + " instead of " + b.str() + " at " + i.str();
  });
  if (!wrong) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << first << " (" << wrong << " of " << want.numel() << " elements differ, "
                                       << want.spec().str() << ")";
}

namespace {
void report(const ::testing::AssertionResult& r, const char* file, int line) {
  if (!r) ADD_FAILURE_AT(file, line) << r.message();
}
}  // namespace

void expect_close(const Tensor& got, const Tensor& want, Tolerance t, const char* file, int line) {
  report(close(got, want, t), file, line);
}

void expect_close(const Tensor& got, const Tensor& want, const char* file, int line) {
  report(want ? close(got, want, tolerance(want.dtype())) : close(got, want, {}), file, line);
}

void expect_close(const Tensor& got, const std::vector<double>& want, const char* file, int line) {
  if (!got) return report(::testing::AssertionFailure() << "got no tensor", file, line);
  if (got.numel() != std::int64_t(want.size()))
    return report(::testing::AssertionFailure() << got.spec().str() << " instead of " << want.size() << " numbers",
                  file, line);
  std::size_t next = 0;
  const Tensor reference = from_loop(got.shape(), got.dtype(), [&](const Shape&) { return Scalar(want[next++]); });
  report(close(got, reference, tolerance(got.dtype())), file, line);
}

void expect_same(const Tensor& got, const Tensor& want, const char* file, int line) {
  report(close(got, want, {}), file, line);
}

}  // namespace neura::test

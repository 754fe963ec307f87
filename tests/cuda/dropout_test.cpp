// Dropout on CUDA drops what it drops on the CPU.
#include "neura/ops/random/dropout.h"

#include <limits>

#include "neura/autograd/autograd.h"
#include "neura/core/random.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "tests/cuda/device.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

class CudaDropout : public CudaTest {};

template <class F> void expect_same_draw(const Tensor& x, const Tensor& on_device, const F& drop) {
  for (const std::uint64_t offset : {std::uint64_t{5}, (std::uint64_t{1} << 32) + 1}) {
    default_generator().set_state({77, offset});
    const Tensor want = drop(x);
    default_generator().set_state({77, offset});
    expect_same(back(drop(on_device)), want);
  }
}

TEST_F(CudaDropout, TheCpusNumbers) {
  for (const DType d : {DType::float32, DType::float64, DType::float16, DType::bfloat16})
    for (const std::int64_t n : {1, 3, 4, 7, 8, 255, 1024, 1030, 100003})
      for (const double p : {0.1, 0.5, 0.999, 1.0}) {
        SCOPED_TRACE(std::to_string(n) + " of " + name(d));
        const Tensor x = sample({n}, d);
        expect_same_draw(x, there(x), [&](const Tensor& t) { return dropout(t, p); });
      }
}
TEST_F(CudaDropout, Sample) {
  const Tensor x = sample({3, 7, 11});
  expect_same_draw(x, there(x), [](const Tensor& t) { return dropout(t, 0.5); });
  expect_same_draw(x, there(x), [](const Tensor& t) { return dropout2d(t, 0.5); });
}
TEST_F(CudaDropout, WholeChannels) {
  for (const DType d : {DType::float32, DType::float64, DType::float16, DType::bfloat16})
    for (const Shape& s :
         {Shape{3, 5, 7}, Shape{2, 9, 4, 4}, Shape{5, 70, 1, 1}, Shape{2, 3, 33, 31}, Shape{4, 2, 2}}) {
      SCOPED_TRACE(s.str() + " of " + name(d));
      const Tensor x = sample(s, d);
      expect_same_draw(x, there(x), [](const Tensor& t) { return dropout2d(t, 0.4); });
      default_generator().set_state({3, 9});
      const Tensor want = alpha_dropout(x, 0.4, true);
      default_generator().set_state({3, 9});
      expect_close(back(alpha_dropout(there(x), 0.4, true)), want);
    }
}
TEST_F(CudaDropout, WhatDoesNotBeginAtAMultipleOf16Bytes) {
  for (const DType d : {DType::float32, DType::bfloat16}) {
    const Tensor x = sample({2051}, d), t = there(x);
    expect_same_draw(x.slice(0, 1, 2051), t.slice(0, 1, 2051), [](const Tensor& v) { return dropout(v, 0.3); });
    const Tensor m = sample({40, 30}, d);
    expect_same_draw(m.t(), there(m).t(), [](const Tensor& v) { return dropout(v, 0.3); });
  }
}
TEST_F(CudaDropout, DroppedInfinitiesAreZero) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor y = back(dropout(there(full({999}, inf)), 0.5));
  int zeros = 0;
  for_each_index(y.shape(), [&](const Shape& i) {
    const double v = at(y, i);
    EXPECT_TRUE(v == 0 || v == inf) << v;
    zeros += v == 0;
  });
  EXPECT_GT(zeros, 400);
  EXPECT_LT(zeros, 600);
}
TEST_F(CudaDropout, BackwardDropsTheSame) {
  Tensor x = there(sample({1000}, DType::float32, {.low = 1, .high = 2}));
  x.requires_grad_();
  const Tensor y = dropout(x, 0.5);
  sum(y).backward();
  expect_close(back(x.grad() * x.detach()), back(y.detach()));
}

}  // namespace
}  // namespace neura::test

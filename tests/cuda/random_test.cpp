// Random numbers on CUDA: those of the cpu for the same seed. What comes by multiplications and additions alone is the
// same to the last bit, and so are permutations; what the two libraries' functions make is within the tolerance.
#include <cmath>
#include <functional>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "tests/cuda/device.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using CudaRandom = CudaTest;
using Fill = std::function<void(Tensor&, Generator*)>;

constexpr std::uint64_t kSeed = 0x123456789abcdef;
constexpr DType kFloating[] = {float32, float64, float16, bfloat16};
constexpr DType kOrdered[] = {float32, float64, float16, bfloat16, boolean, uint8, int8, int16, int32, int64};
const Shape kShapes[] = {{}, {0}, {1}, {5}, {255}, {256, 3}, {1000, 37}, {100003}};

// On both devices with equal generators, the second of whose calls is compared; on dense tensors and in others' gaps.
void both(const Fill& fill, DType d, bool same) {
  SCOPED_TRACE(name(d));
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(shape.str());
    Generator here(kSeed), over(kSeed);
    here.reserve(), over.reserve();
    Tensor want = zeros(shape, {.dtype = d}), got = there(want);
    fill(want, &here), fill(got, &over);
    const Tensor g = back(got);
    same ? expect_same(g, want) : expect_close(g, want, tolerance(d).times(4));
    if (shape.size() != 2) continue;
    Tensor wide = there(zeros({shape[1], 2 * shape[0] + 1}, {.dtype = d}));
    Tensor gaps = wide.slice(1, 1, 2 * shape[0] + 1, 2).t();
    Generator again(kSeed);
    again.reserve(), fill(gaps, &again);
    expect_same(back(gaps), g);
    expect_same(back(wide.slice(1, 0, 2 * shape[0] + 1, 2)), zeros({shape[1], shape[0] + 1}, {.dtype = d}));
    Tensor row = there(zeros({shape.numel() + 1}, {.dtype = d}));
    Tensor shifted = row.slice(0, 1, shape.numel() + 1);  // not aligned
    Generator third(kSeed);
    third.reserve(), fill(shifted, &third);
    expect_same(back(shifted), reshape(g, {shape.numel()}));
  }
}

TEST_F(CudaRandom, UniformNumbersAreTheCpusToTheLastBit) {
  for (const DType d : kFloating) {
    both([](Tensor& t, Generator* g) { uniform_(t, 0, 1, g); }, d, true);
    both([](Tensor& t, Generator* g) { uniform_(t, -0.7, 2.3, g); }, d, true);
  }
  for (const DType d : {complex64, complex128}) both([](Tensor& t, Generator* g) { uniform_(t, 0, 1, g); }, d, true);
}
TEST_F(CudaRandom, NarrowNormalAndExponentialNumbersAreTheCpusToTheLastBit) {
  for (const DType d : {float32, float16, bfloat16, complex64})
    for (const double mean : {0.3, 0.0})
      for (const double deviation : {1.7, 1.0})
        both([=](Tensor& t, Generator* g) { normal_(t, mean, deviation, g); }, d, true);
  for (const DType d : {float32, float16, bfloat16})
    both([](Tensor& t, Generator* g) { exponential_(t, 1.3, g); }, d, true);
}
TEST_F(CudaRandom, OtherDistributionsAreTheCpusButForTheLastDigits) {
  for (const DType d : {float64, complex128}) both([](Tensor& t, Generator* g) { normal_(t, 0.3, 1.7, g); }, d, false);
  both([](Tensor& t, Generator* g) { exponential_(t, 1.3, g); }, float64, false);
  for (const DType d : kFloating) {
    both([](Tensor& t, Generator* g) { log_normal_(t, 0.1, 0.5, g); }, d, false);
    if (d != float16) both([](Tensor& t, Generator* g) { cauchy_(t, 0.3, 1.7, g); }, d, false);
  }
}
TEST_F(CudaRandom, CountsAreTheCpus) {
  for (const DType d : kOrdered) {
    for (const double p : {0.3, 0.0, 1.0, 0x1p-24, 1 - 0x1p-24, 0.5 + 0x1p-30})
      both([=](Tensor& t, Generator* g) { bernoulli_(t, p, g); }, d, true);
    both([](Tensor& t, Generator* g) { random_(t, g); }, d, true);
    if (d == boolean) continue;
    both([](Tensor& t, Generator* g) { geometric_(t, 0.37, g); }, d, true);
    both([](Tensor& t, Generator* g) { random_(t, 3, 100, g); }, d, true);
  }
  both([](Tensor& t, Generator* g) { random_(t, -(std::int64_t{1} << 40), std::int64_t{1} << 50, g); }, int64, true);
}
TEST_F(CudaRandom, ProbabilitiesAndRatesAreReadByElement) {
  for (const DType d : kOrdered)
    both(
        [](Tensor& t, Generator* g) {
          const Tensor p = sample(t.shape(), float32, {.low = 0, .high = 1, .seed = 4}).to(t.device());
          bernoulli_(t, p, g);
        },
        d, true);
  for (const double most : {9.0, 400.0}) {
    Tensor rates = sample({20011}, float64, {.low = 0, .high = most, .seed = 9});
    store_at(rates, {0}, 0.0);
    for (const DType d : {float32, float64}) {
      Generator here(kSeed), over(kSeed);
      const Tensor want = poisson(rates.to(d), &here);
      expect_same(back(poisson(there(rates.to(d)), &over)), want);
    }
  }
}
TEST_F(CudaRandom, ManyNumbersAreTheCpus) {
  constexpr std::int64_t n = (std::int64_t{1} << 24) + 5;  // more than the threads of one launch
  Generator here(kSeed), over(kSeed);
  const auto equal = [](const Tensor& got, const Tensor& want) { return all(eq(back(got), want)).item<bool>(); };
  EXPECT_TRUE(equal(rand({n}, {.generator = &over, .device = kCuda}), rand({n}, {.generator = &here})));
  EXPECT_TRUE(equal(randn({n}, {.generator = &over, .device = kCuda}), randn({n}, {.generator = &here})));
  EXPECT_TRUE(equal(randint(7, {n}, {.generator = &over, .device = kCuda}), randint(7, {n}, {.generator = &here})));
}
TEST_F(CudaRandom, PermutationsAreTheCpus) {
  Generator here(kSeed), over(kSeed);
  for (const std::int64_t n : {0, 1, 2, 3, 7, 100, 255, 256, 257, 5000, 65536, 1000003}) {
    SCOPED_TRACE(n);
    const Tensor want = randperm(n, {.generator = &here});
    const Tensor got = back(randperm(n, {.generator = &over, .device = kCuda}));
    EXPECT_EQ(got.shape(), want.shape());
    EXPECT_TRUE(all(eq(got, want)).item<bool>());
  }
}
TEST_F(CudaRandom, SamplesByWeightAreTheCpus) {
  for (const auto& [shape, samples] : std::vector<std::pair<Shape, std::int64_t>>{{{1}, 5},
                                                                                  {{7}, 1},
                                                                                  {{3, 100}, 50},
                                                                                  {{3, 100}, 95},
                                                                                  {{500, 33}, 9},
                                                                                  {{2048}, 300},
                                                                                  {{2, 2049}, 400},
                                                                                  {{700001}, 1000}}) {
    SCOPED_TRACE(shape.str());
    Tensor w = sample(shape, float32, {.low = 0, .high = 1, .seed = 3});
    if (shape.numel() > 20) w = where(gt(w, 0.3), w, 0.0);
    Generator here(kSeed), over(kSeed);
    expect_same(back(multinomial(there(w), samples, true, &over)), multinomial(w, samples, true, &here));
    if (samples > shape[shape.size() - 1]) continue;
    expect_same(back(multinomial(there(w), samples, false, &over)), multinomial(w, samples, false, &here));
  }
}
TEST_F(CudaRandom, WhatIsNoProbabilityIsNamed) {
  const auto values = [](double last) { return there(tensor({0.5, 0.25, last}, {.dtype = float32})); };
  // The device looks at the values; the next place that waits says so.
  EXPECT_EQ(error_of<ValueError>([&] { back(bernoulli(values(1.5))); }),
            "bernoulli: expected values of at least 0 and at most 1, got others");
  EXPECT_EQ(error_of<ValueError>([&] { back(poisson(values(-2))); }),
            "poisson: expected values of at least 0, got others");
  EXPECT_EQ(error_of<ValueError>([&] { back(normal(0.0, values(-1))); }).find("normal: expected std of at least 0"),
            0u);
  EXPECT_EQ(error_of<ValueError>([&] { back(multinomial(values(INFINITY), 1)); }),
            "multinomial: expected finite weights of at least 0, got others");
  const Tensor nothing = there(zeros({3}));
  EXPECT_EQ(error_of<ValueError>([&] { back(multinomial(nothing, 1)); }).find("multinomial: expected"), 0u);
  EXPECT_EQ(back(multinomial(values(0), 3))[2].item<int>(), 2);  // what weighs nothing comes last, as on the cpu
  EXPECT_EQ(back(bernoulli(values(1))).numel(), 3);              // and goes on
}
TEST_F(CudaRandom, AGeneratorMovesOnAlikeOnBothDevices) {
  Generator here(3), over(3);
  for (int i = 0; i < 3; ++i) {
    rand({5}, {.generator = &here}), rand({5}, {.generator = &over, .device = kCuda});
    EXPECT_EQ(over.state().offset, here.state().offset);
  }
  expect_same(back(randn({9}, {.generator = &over, .device = kCuda})), randn({9}, {.generator = &here}));
}

}  // namespace
}  // namespace neura::test

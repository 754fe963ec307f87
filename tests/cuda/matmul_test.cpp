// Products on a CUDA device against the cpu's: every way in which operands lie, batches, what is added, integers.
#include "neura/ops/product/matmul.h"

#include <functional>
#include <optional>
#include <thread>

#include "neura/core/precision.h"
#include "neura/cuda/stream.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/product/matmul_ops.h"
#include "neura/ops/random/random.h"
#include "neura/ops/shape/join.h"
#include "tests/cuda/device.h"

namespace neura::test {
namespace {

using CudaMatmul = CudaTest;
constexpr DType kFloats[] = {float32, float64, float16, bfloat16, complex64, complex128};
constexpr DType kIntegers[] = {uint8, int8, int16, int32, int64};

Tensor numbers(const Shape& sizes, DType d) {
  if (is_integral(d)) return randint(d == uint8 ? 0 : -100, 100, sizes).to(d);
  return is_complex(d) ? randn(sizes, {.dtype = d}) : randn(sizes).to(d);
}
Tolerance of_sums(DType d) { return is_integral(d) ? Tolerance{} : tolerance(d).times(16); }
void expect_alike(const std::function<Tensor(const std::vector<Tensor>&)>& f, const std::vector<Tensor>& inputs,
                  const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  std::vector<Tensor> moved;
  for (const Tensor& t : inputs) moved.push_back(t ? there(t) : t);
  const Tensor want = f(inputs);
  expect_close(back(f(moved)), want, of_sums(want.dtype()), file, line);
}
#define PRODUCT(f) [&]([[maybe_unused]] const std::vector<Tensor>& x) { return f; }

TEST_F(CudaMatmul, OperandsMayLieInAnyWay) {
  for (const DType d : {float32, float64, float16, bfloat16, complex64, complex128, int8, int64}) {
    SCOPED_TRACE(name(d));
    for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {1, 64, 33}, {70, 1, 65}, {64, 128, 96}, {67, 35, 129}}) {
      SCOPED_TRACE(Shape({m, n, k}).str());
      const Tensor a = numbers({m, k}, d), b = numbers({k, n}, d);
      const Tensor at = numbers({k, m}, d).t(), bt = numbers({n, k}, d).t();
      for (const Tensor& left : {a, at})
        for (const Tensor& right : {b, bt}) expect_alike(PRODUCT(matmul(x[0], x[1])), {left, right});
      const Tensor wide = numbers({m + 2, 2 * k + 3}, d), high = numbers({2 * k + 1, n + 5}, d);
      expect_alike(
          PRODUCT(matmul(x[0].slice(0, 1, m + 1).slice(1, 3, k + 3), x[1].slice(0, 1, k + 1).slice(1, 2, n + 2))),
          {wide, high});
      expect_alike(
          PRODUCT(matmul(x[0].slice(0, 1, m + 1).slice(1, 0, 2 * k, 2), x[1].slice(0, 0, 2 * k, 2).slice(1, 5, n + 5))),
          {wide, high});
      expect_alike(PRODUCT(matmul(x[0].expand({m, k}), x[1])), {numbers({1, k}, d), b});
    }
  }
}

TEST_F(CudaMatmul, BatchesMeetAndRepeat) {
  for (const DType d : {float32, bfloat16, complex64, int32}) {
    SCOPED_TRACE(name(d));
    const auto product = PRODUCT(matmul(x[0], x[1]));
    const Tensor a = numbers({3, 5, 6, 17}, d), w = numbers({17, 9}, d);
    expect_alike(product, {a, w});                          // more rows of one matrix
    expect_alike(product, {a.transpose(0, 1), w});          // rows that do not go on
    expect_alike(product, {a.slice(2, 0, 1), w});           // one row each
    expect_alike(product, {a.slice(2, 1, 4), w});           // gaps between the matrices
    expect_alike(product, {a, numbers({3, 5, 17, 4}, d)});  // one batch
    expect_alike(product, {a, numbers({5, 17, 4}, d)});     // the second repeats outside
    expect_alike(product, {a, numbers({3, 1, 17, 4}, d)});  // and inside
    expect_alike(product, {a.slice(0, 0, 1), numbers({3, 5, 17, 4}, d)});
    expect_alike(product, {numbers({6, 17}, d), numbers({3, 5, 17, 4}, d)});
    expect_alike(product, {numbers({5, 3, 6, 17}, d).transpose(0, 1), numbers({3, 5, 17, 4}, d)});
    expect_alike(product, {numbers({3, 6, 5, 17}, d).transpose(1, 2), numbers({3, 17, 5, 4}, d).transpose(1, 2)});
    expect_alike(product, {numbers({17, 5}, d).t().expand({4, 5, 17}), numbers({17, 4}, d).expand({2, 1, 17, 4})});
    expect_alike(product, {numbers({0, 3, 4}, d), numbers({4, 5}, d)});
  }
  for (const DType d : {float32, int16}) {  // more than a launch takes at once
    const Tensor a = numbers({66000, 2, 3}, d), b = numbers({66000, 3, 2}, d);
    expect_alike(PRODUCT(matmul(x[0], x[1])), {a, b});
    expect_alike(PRODUCT(baddbmm(x[2], x[0], x[1])), {a, b, numbers({2}, d)});
    expect_alike(PRODUCT(baddbmm(x[2], x[0], x[1], {.beta = 3})), {a, b, numbers({66000, 2, 2}, d)});
  }
}

TEST_F(CudaMatmul, WhatIsAddedIsARowAMatrixOrAnythingThatBroadcasts) {
  for (const DType d : kFloats) {
    SCOPED_TRACE(name(d));
    for (const auto& [m, n, k] : {std::tuple{48, 64, 32}, {7, 13, 5}, {1, 24, 8}, {9, 1, 4}}) {
      SCOPED_TRACE(Shape({m, n, k}).str());
      const Tensor a = numbers({m, k}, d), b = numbers({k, n}, d), wide = numbers({n + 1}, d);
      for (const Tensor& init :
           {numbers({n}, d), numbers({1, n}, d), numbers({m, n}, d), numbers({n, m}, d).t(), numbers({m, 1}, d),
            numbers({1}, d), numbers({}, d), numbers({2 * n}, d).slice(0, 0, 2 * n, 2)})
        for (const AddProductOptions o : {AddProductOptions{}, {.beta = 0.5, .alpha = 2}, {.beta = 1, .alpha = -1.5}})
          expect_alike(PRODUCT(addmm(x[0], x[1], x[2], o)), {init, a, b});
      expect_alike(PRODUCT(addmm(x[0].slice(0, 1, n + 1), x[1], x[2])), {wide, a, b});  // at an odd address
      const Tensor nothing = full({n}, std::numeric_limits<double>::quiet_NaN()).to(d);
      expect_alike(PRODUCT(addmm(x[0], x[1], x[2], {.beta = 0})), {nothing, a, b});
    }
    const Tensor a = numbers({3, 0}, d), b = numbers({0, 2}, d);
    expect_alike(PRODUCT(addmm(x[2], x[0], x[1], {.beta = 3})), {a, b, numbers({3, 2}, d)});
    expect_alike(PRODUCT(addmm(x[2], x[0], x[1])), {a, b, numbers({2}, d)});
  }
}

TEST_F(CudaMatmul, LinearHasItsBiasInOneCall) {
  for (const DType d : {float32, float16, bfloat16, float64, complex64}) {
    SCOPED_TRACE(name(d));
    for (const std::int64_t out : {1, 7, 64}) {
      const Tensor w = numbers({out, 40}, d), bias = numbers({out}, d);
      for (const Tensor& input : {numbers({40}, d), numbers({32, 40}, d), numbers({2, 5, 40}, d),
                                  numbers({5, 2, 40}, d).transpose(0, 1), numbers({2, 0, 40}, d)}) {
        expect_alike(PRODUCT(linear(x[0], x[1], x[2])), {input, w, bias});
        expect_alike(PRODUCT(linear(x[0], x[1])), {input, w});
      }
    }
  }
}

TEST_F(CudaMatmul, ConjugatesNeedNoCopies) {
  for (const DType d : {complex64, complex128})
    for (const bool left : {false, true})
      for (const bool right : {false, true})
        for (const bool turned : {false, true}) {
          const Tensor a = turned ? numbers({12, 5}, d).t() : numbers({5, 12}, d), b = numbers({3, 12, 4}, d);
          expect_alike(PRODUCT(apply(MatmulOp{left, right}, x[0], x[1])), {a, b});
          expect_alike(PRODUCT(apply(AddmmOp{0.5, 2, left, right}, x[2], x[0], x[1])), {a, b, numbers({4}, d)});
        }
}

TEST_F(CudaMatmul, IntegersWrapAround) {
  for (const DType d : kIntegers) {
    SCOPED_TRACE(name(d));
    const Tensor a = numbers({2, 130, 67}, d), b = numbers({67, 65}, d), c = numbers({130, 1}, d);
    expect_alike(PRODUCT(matmul(x[0], x[1])), {a, b});
    expect_alike(PRODUCT(matmul(x[1].t(), x[0].transpose(1, 2))), {a, b});
    expect_alike(PRODUCT(apply(AddmmOp{2.9, -3}, x[2], x[0], x[1])), {a, b, c});
    expect_alike(PRODUCT(addmm(x[2], x[0].slice(0, 0, 1).squeeze(0), x[1], {.beta = 0})), {a, b, numbers({65}, d)});
    const Tensor large = full({3, 3}, d == int64 ? double(1ll << 62) : d == int32 ? double(1 << 30) : 100).to(d);
    expect_alike(PRODUCT(matmul(x[0], x[0])), {large});
    expect_alike(PRODUCT(matmul(x[0], x[1])), {numbers({2, 0}, d), numbers({0, 3}, d)});
  }
}

TEST_F(CudaMatmul, LargeOnesToo) {  // several tiles, split sums
  for (const DType d : {float32, bfloat16, float16}) {
    SCOPED_TRACE(name(d));
    const Tensor a = numbers({300, 515}, d), b = numbers({515, 260}, d), row = numbers({1, 8192}, d);
    const Tensor far = numbers({8192, 3}, d);
    expect_close(back(matmul(there(a), there(b))), matmul(a.to(float64), b.to(float64)).to(d), of_sums(d).times(2));
    expect_close(back(matmul(there(row), there(far))), matmul(row.to(float64), far.to(float64)).to(d),
                 of_sums(d).times(8));
  }
}

TEST_F(CudaMatmul, VectorsMeetMatricesOfEveryShape) {
  for (const DType d : {float32, float64, float16, bfloat16}) {
    SCOPED_TRACE(name(d));
    const double factor = d == float32 ? 8 : 2;
    for (const auto& [lines, k] :
         {std::tuple{1, 1}, {1, 100003}, {3, 8192}, {64, 4096}, {5000, 33}, {5000, 64}, {2, 70000}}) {
      SCOPED_TRACE(Shape({lines, k}).str());
      const Tensor a = numbers({lines, k}, d), x = numbers({k}, d), at = numbers({k, lines}, d).t();
      const Tensor wide = numbers({2 * k}, d), init = numbers({lines}, d);
      const auto check = [&](const auto& f, const std::vector<Tensor>& inputs) {
        std::vector<Tensor> moved, exact;
        for (const Tensor& t : inputs) moved.push_back(there(t)), exact.push_back(t.to(float64));
        expect_close(back(f(moved)), f(exact).to(d), of_sums(d).times(factor));
      };
      for (const Tensor& m : {a, at}) {
        check(PRODUCT(matmul(x[0], x[1])), {m, x});
        check(PRODUCT(matmul(x[1], x[0].t())), {m, x});
        check(PRODUCT(matmul(x[0], x[1].slice(0, 0, x[1].size(0), 2))), {m, wide});
        check(PRODUCT(matmul(x[1].slice(0, 1, x[1].size(0), 2), x[0].t())), {m, wide});
        check(PRODUCT(addmv(x[2], x[0], x[1], {.beta = 0.5, .alpha = 2})), {m, x, init});
        check(PRODUCT(linear(x[1], x[0], x[2])), {m, x, init});
      }
    }
    const auto product = PRODUCT(matmul(x[0], x[1]));
    expect_alike(product, {numbers({6, 1, 40}, d), numbers({6, 40, 17}, d)});
    expect_alike(product, {numbers({2, 3, 1, 40}, d), numbers({3, 40, 64}, d)});
    expect_alike(product, {numbers({6, 24, 40}, d), numbers({6, 40, 1}, d)});
    expect_alike(product, {numbers({6, 40, 24}, d).transpose(1, 2), numbers({2, 1, 40, 1}, d)});
  }
}

TEST_F(CudaMatmul, TF32OnlyWhereItIsAllowed) {
  const Tensor a = randn({256, 256}), b = randn({256, 256}), exact = matmul(a.to(float64), b.to(float64)).to(float32);
  const Tensor fine = back(matmul(there(a), there(b)));
  expect_close(fine, exact, of_sums(float32));
  set_float32_matmul_precision("high");
  const Tensor coarse = back(matmul(there(a), there(b)));
  set_float32_matmul_precision("highest");
  expect_close(coarse, exact, {0.1, 0.01});
  EXPECT_FALSE(close(coarse, exact, of_sums(float32)));
  expect_same(back(matmul(there(a), there(b))), fine);
}

TEST_F(CudaMatmul, ThreadsMultiplyAtOnceOnTheirStreams) {
  const Tensor a = randn({200, 300}), b = randn({300, 100}), c = randn({100});
  const Tensor want = addmm(c, a, b);
  std::vector<std::thread> threads;
  std::vector<Tensor> got(4);
  for (std::size_t n = 0; n < got.size(); ++n)
    threads.emplace_back([&, n] {
      const cuda::Stream own;
      std::optional<cuda::StreamGuard> guard;
      if (n) guard.emplace(own);  // the first one works on the device's stream
      const Tensor x = there(a), y = there(b), z = there(c);
      Tensor mine;
      for (int i = 0; i < 50; ++i) mine = addmm(z, x, y);
      got[n] = mine.to(Device());
    });
  for (std::thread& t : threads) t.join();
  for (const Tensor& t : got) expect_close(t, want, of_sums(float32));
}

}  // namespace
}  // namespace neura::test

// Reading and writing by index on CUDA: the CPU's results, byte for byte where nothing is computed, repeated indices in
// their order, and indices outside of their range.
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>

#include "neura/core/precision.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "tests/cuda/device.h"

namespace neura::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

using CudaIndex = CudaTest;

Tensor sample(const Shape& s, DType d) { return (is_integral(d) ? (randn(s) * 40).to(int64) : randn(s) * 3).to(d); }
Tensor numbers(std::int64_t bound, const Shape& s, DType d = int64) { return randint(bound, s).to(d); }

TEST_F(CudaIndex, SelectMovesBytesOfEveryWidth) {
  for (int k = 0; k < kDTypes; ++k)
    for (const Shape& s : {Shape{13}, Shape{40, 8}, Shape{7, 5, 33}, Shape{3, 4, 5, 64}})
      for (int dim = 0; dim < s.size(); ++dim) {
        SCOPED_TRACE(s.str() + " " + name(DType(k)) + " " + std::to_string(dim));
        const Tensor h = sample(s, DType(k)), at = numbers(s[dim], {67}), d = there(h);
        const Tensor strided = at.slice(0, 1, 67, 3), small = at.to(int32);
        expect_same(back(index_select(d, dim, there(at))), index_select(h, dim, at));
        expect_same(back(index_select(d, dim, there(small).slice(0, 1, 67, 3))), index_select(h, dim, strided));
        const int last = s.size() - 1, other = dim == 0 ? last : dim == last ? 0 : dim;  // of a view that is not dense
        const Tensor t = h.transpose(0, -1), u = d.transpose(0, -1);
        expect_same(back(index_select(u, other, there(at))), index_select(t, other, at));
        const Tensor part = h.slice(0, 1, s[0]), same = d.slice(0, 1, s[0]);
        const Tensor few = numbers(part.size(dim), {9});
        expect_same(back(index_select(same, dim, there(few))), index_select(part, dim, few));
      }
  expect_same(back(index_select(there(full({}, 2.5)), 0, there(zeros({1}, {.dtype = int64})))),
              full({1}, 2.5).reshape({}));
  EXPECT_EQ(index_select(there(ones({3, 0})), 0, there(numbers(3, {5}))).shape(), (Shape{5, 0}));
  const Tensor wide = randn({300, 4099}), at = numbers(300, {1000});
  expect_same(back(index_select(there(wide), 0, there(at))), index_select(wide, 0, at));
}

TEST_F(CudaIndex, GatherTakesIndicesOfAnyStrides) {
  for (const DType d : {boolean, float16, float32, float64, complex128})
    for (const Shape& s : {Shape{50}, Shape{6, 70}, Shape{5, 6, 33}})
      for (int dim = 0; dim < s.size(); ++dim) {
        SCOPED_TRACE(s.str() + " " + name(d) + " " + std::to_string(dim));
        Shape wanted = s;
        wanted[dim] = 41;
        const Tensor h = sample(s, d), x = there(h), at = numbers(s[dim], wanted);
        expect_same(back(gather(x, dim, there(at))), gather(h, dim, at));
        expect_same(back(gather(x, dim, there(at.to(int32)))), gather(h, dim, at));
        Shape reversed;
        for (int i = s.size() - 1; i >= 0; --i) reversed.push_back(wanted[i]);
        Dims order;
        for (int i = s.size() - 1; i >= 0; --i) order.push_back(i);
        const Tensor turned = permute(numbers(s[dim], reversed), order),
                     view = permute(there(permute(turned, order)), order);
        expect_same(back(gather(x, dim, view)), gather(h, dim, turned));
        expect_same(back(take_along_dim(x, there(at), dim)), take_along_dim(h, at, dim));
      }
  // One index for a whole row: rows are moved.
  const Tensor h = sample({90, 64}, bfloat16), at = numbers(90, {200, 1});
  expect_same(back(gather(there(h), 0, there(at).expand({200, 64}))), gather(h, 0, at.expand({200, 64})));
  expect_same(back(gather(there(h), 0, there(at).expand({200, 7}))), gather(h, 0, at.expand({200, 7})));
}

TEST_F(CudaIndex, TheLastOfSeveralWritesWins) {
  // Few indices are compared with each other; many claim their places.
  for (const std::int64_t n : {1, 2, 300, 20000})
    for (const Shape& s : {Shape{50}, Shape{11, 6}, Shape{64, 16}, Shape{3, 40, 5}})
      for (const DType d : {uint8, bfloat16, int32, float64, complex128}) {
        const int dim = s.size() == 3 ? 1 : 0;
        SCOPED_TRACE(s.str() + " " + name(d) + " " + std::to_string(n));
        Shape source_shape = s;
        source_shape[dim] = n;
        const Tensor h = sample(s, d), source = sample(source_shape, d), at = numbers(s[dim], {n});
        const Tensor want = index_copy(h, dim, at, source);
        expect_same(back(index_copy(there(h), dim, there(at), there(source))), want);
        Tensor view = there(h.transpose(0, -1)).transpose(0, -1);
        expect_same(back(index_copy_(view, dim, there(at.to(int32)), there(source))), want);
        expect_same(back(index_fill(there(h), dim, there(at), 3)), index_fill(h, dim, at, 3));
        if (n > 300 && s.size() == 3) continue;
        const Tensor grid = numbers(s[dim], source_shape);
        const Tensor placed = scatter(h, dim, grid, source);
        expect_same(back(scatter(there(h), dim, there(grid), there(source))), placed);
        expect_same(back(scatter(there(h), dim, there(grid), 5)), scatter(h, dim, grid, 5));
        const Tensor rows = at.reshape(dim ? Shape{1, n, 1} : s.size() == 1 ? Shape{n} : Shape{n, 1});
        expect_same(back(scatter(there(h), dim, there(rows).expand(source_shape), there(source))),
                    scatter(h, dim, rows.expand(source_shape), source));
      }
  const Tensor h = sample({70, 9}, float32), at = numbers(630, {50}), values = randn({50});
  expect_same(back(put(there(h), there(at - 630), there(values))), put(h, at - 630, values));
  expect_same(back(take(there(h), there(at - 630))), take(h, at - 630));
}

class CudaIndexSums : public CudaTest {
 protected:
  void SetUp() override { use_deterministic_algorithms(true), CudaTest::SetUp(); }
  void TearDown() override { use_deterministic_algorithms(false); }
};
TEST_F(CudaIndexSums, HaveTheOrderOfTheIndices) {
  for (const DType d :
       {boolean, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64, complex128})
    for (const std::string_view mode : {"sum", "prod", "mean", "amax", "amin"})
      for (const bool self : {true, false}) {
        if (mode[0] == 'a' && is_complex(d)) continue;
        SCOPED_TRACE(std::string(name(d)) + " " + std::string(mode) + (self ? " with self" : ""));
        const Tensor h = sample({20, 7}, d), source = sample({60, 7}, d), at = numbers(20, {60}),
                     grid = numbers(20, {60, 7});
        // Runs are short: one after the other, as on the CPU. Halves are rounded once, not at every step.
        const bool exact = mode[0] == 'a' || is_integral(d) || (d == float32 && mode == "sum");
        const Tolerance t = exact ? Tolerance() : tolerance(d).times(8);
        expect_close(back(scatter_reduce(there(h), 0, there(grid), there(source), mode, self)),
                     scatter_reduce(h, 0, grid, source, mode, self), t);
        if (mode == "sum") continue;
        expect_close(back(index_reduce(there(h), 0, there(at), there(source), mode, self)),
                     index_reduce(h, 0, at, source, mode, self), t);
      }
  const Tensor nan = tensor({1., kNan, -0., 0., 5., kNan}, {.dtype = float32}),
               at = tensor({0, 0, 1, 1, 2, 2}, {.dtype = int64}), zero = zeros({4});
  for (const std::string_view mode : {"amax", "amin", "sum", "mean"})
    expect_same(back(scatter_reduce(there(zero), 0, there(at), there(nan), mode, false)),
                scatter_reduce(zero, 0, at, nan, mode, false));
}

TEST_F(CudaIndexSums, OfLongRunsAreAddedByPieces) {
  for (const Shape& s : {Shape{3}, Shape{700}, Shape{5, 31}, Shape{2, 40}, Shape{40, 1000}, Shape{1, 5, 3}})
    for (const std::int64_t n : {64, 65, 129, 5000, 70000}) {
      const int dim = s.size() == 3 ? 1 : 0;
      Shape source_shape = s;
      source_shape[dim] = n;
      if (source_shape.numel() > 6000000) continue;
      SCOPED_TRACE(s.str() + " " + std::to_string(n));
      const Tensor h = sample(s, float32), source = sample(source_shape, float32), at = numbers(s[dim], {n});
      const Tensor want = index_add(h.to(float64), dim, at, source.to(float64));
      const Tensor got = index_add(there(h), dim, there(at), there(source));
      expect_close(back(got.to(float64)), want, {1e-3, 1e-4});
      expect_same(back(index_add(there(h), dim, there(at), there(source))), back(got));  // and again
      const Tensor whole = sample(source_shape, int64), start = sample(s, int64);
      expect_same(back(index_add(there(start), dim, there(at), there(whole))), index_add(start, dim, at, whole));
      const Tensor one = zeros({n}, {.dtype = int64});  // all in one place
      expect_same(back(index_add(there(start), dim, there(one), there(whole))), index_add(start, dim, one, whole));
      expect_same(back(index_reduce(there(start), dim, there(at), there(whole), "mean", true)),
                  index_reduce(start, dim, at, whole, "mean", true));
    }
  const Tensor many = ones({5000}, {.dtype = bfloat16}), none = zeros({2}, {.dtype = bfloat16});
  EXPECT_EQ(back(index_add(there(none), 0, there(zeros({5000}, {.dtype = int64})), there(many)))[0].item<float>(),
            4992);
}

TEST_F(CudaIndex, SumsInAnyOrderAreTheSameNumbers) {
  for (const DType d : {int32, int64, float32, float64, complex64, complex128})
    for (const Shape& s : {Shape{1000}, Shape{7}, Shape{40, 6}, Shape{3, 50, 4}}) {
      const int dim = s.size() == 3 ? 1 : 0;
      Shape many = s;
      many[dim] = 3000;
      SCOPED_TRACE(s.str() + " " + name(d));
      const Tensor h = sample(s, d), source = sample(many, d), at = numbers(s[dim], {3000}),
                   grid = numbers(s[dim], many);
      const Tolerance t = is_integral(d) ? Tolerance() : Tolerance{1e-3, 1e-4};
      expect_close(back(index_add(there(h), dim, there(at.to(int32)), there(source))), index_add(h, dim, at, source),
                   t);
      expect_close(back(scatter_add(there(h), dim, there(grid), there(source))), scatter_add(h, dim, grid, source), t);
    }
  const Tensor one = ones({20000}), place = zeros({20000}, {.dtype = int64});  // whole numbers: exact in any order
  expect_same(back(index_add(there(zeros({2})), 0, there(place), there(one))),
              tensor({20000., 0.}, {.dtype = float32}));
}

TEST_F(CudaIndex, BracketsAndMasksAreTheCpus) {
  const Tensor h = sample({9, 8, 7}, float32), i = numbers(9, {5, 1}), j = numbers(7, {4}) - 7,
               mask = randn({9, 8}) > 0;
  const Tensor x = there(h);
  using List = std::vector<Index>;
  expect_same(back(index(x, List{there(i), Slice(), there(j)})), index(h, List{i, Slice(), j}));
  expect_same(back(index(x, List{there(mask)})), index(h, List{mask}));
  expect_same(back(masked_select(x, there(h > 0.5))), masked_select(h, h > 0.5));
  const Tensor values = randn({5, 4, 8}), few = randn({9 * 8 * 7});
  for (const bool add : {false, true})
    expect_close(back(index_put(x, List{there(i), Slice(), there(j)}, there(values), add)),
                 index_put(h, List{i, Slice(), j}, values, add));
  expect_same(back(masked_scatter(x, there(h > 0), there(few))), masked_scatter(h, h > 0, few));
  const Tensor five = sample({2, 3, 2, 3, 2}, float32), a = numbers(2, {20}), b = numbers(3, {20});
  expect_same(back(index(there(five), List{there(a), there(b), there(a), there(b), there(a)})),
              index(five, List{a, b, a, b, a}));
}

TEST_F(CudaIndex, NonzeroKeepsTheOrder) {
  for (int k = 0; k < kDTypes; ++k)
    for (const Shape& s :
         {Shape{}, Shape{1}, Shape{5000}, Shape{33, 129}, Shape{3, 5, 700}, Shape{0, 4}, Shape{1 << 17}}) {
      SCOPED_TRACE(s.str() + " " + name(DType(k)));
      const Tensor x = (randn(s) > 0.7).to(DType(k));
      expect_same(back(nonzero(there(x))), nonzero(x));
    }
  const Tensor large = rand({5000001}) > 0.5;
  expect_same(back(nonzero(there(large))), nonzero(large));
  const Tensor special = tensor({0., -0., kNan, 1e-45, kInfinity}, {.dtype = float32});
  expect_same(back(nonzero(there(special))), tensor({2, 3, 4}, {.dtype = int64}).reshape({3, 1}));
  EXPECT_EQ(nonzero(there(zeros({100, 3}))).shape(), (Shape{0, 2}));
}

TEST_F(CudaIndex, TrianglesAreTheCpus) {
  for (const DType d : {boolean, float16, int32, float64, complex128})
    for (const Shape& s : {Shape{1, 1}, Shape{7, 5}, Shape{64, 64}, Shape{3, 33, 16}, Shape{2, 2, 5, 100}})
      for (const std::int64_t diagonal : {-200, -3, -1, 0, 1, 4, 200}) {
        const Tensor h = sample(s, d), x = there(h);
        expect_same(back(tril(x, diagonal)), tril(h, diagonal));
        expect_same(back(triu(x.transpose(-1, -2), diagonal)), triu(h.transpose(-1, -2), diagonal));
      }
}

class CudaIndexErrors : public CudaTest {
 protected:
  const Tensor h = randn({3, 4});
  // Reported at the next wait, with the operation, the value and the bound; then all continues.
  void expect_report(const std::string& text, const std::function<void(const Tensor&)>& f) {
    const std::string said = error_of<IndexError>([&] {
      const Tensor x = there(h);
      f(x);
      x.to(Device());  // a wait
    });
    EXPECT_EQ(said.find(text), 0u) << said;
    const Tensor x = there(h);
    expect_same(back(index_select(x, 0, there(tensor({2, 0})))), index_select(h, 0, tensor({2, 0})));
    expect_close(back(sum(x, 1)), sum(h, 1));
  }
};
TEST_F(CudaIndexErrors, AreReportedAtTheNextWaitAndTheDeviceGoesOn) {
  const Tensor bad = there(tensor({1, 7})), row = there(randn({2, 4})),
               grid = there(tensor({0, 1, 2, 9}).reshape({1, 4}));
  using List = std::vector<Index>;
  expect_report("index_select: expected indices from 0 to 2, got 7", [&](const Tensor& x) { index_select(x, 0, bad); });
  expect_report("gather: expected indices from 0 to 2, got 9", [&](const Tensor& x) { gather(x, 0, grid); });
  expect_report("index_add: expected indices from 0 to 2, got 7", [&](const Tensor& x) { index_add(x, 0, bad, row); });
  expect_report("index_copy: expected indices from 0 to 2, got 7",
                [&](const Tensor& x) { index_copy(x, 0, bad, row); });
  expect_report("scatter: expected indices from 0 to 2, got 9", [&](const Tensor& x) { scatter(x, 0, grid, x); });
  expect_report("scatter_add: expected indices from 0 to 2, got 9",
                [&](const Tensor& x) { scatter_add(x, 0, grid, x); });
  expect_report("index: expected indices from 0 to 2, got 7", [&](const Tensor& x) { index(x, List{bad}); });
  expect_report("index_put: expected indices from 0 to 2, got -4", [&](const Tensor& x) {
    Tensor y = x.clone();
    index_put_(y, List{there(tensor({0, -4}))}, row);
    expect_same(y.slice(0, 1, 3).to(Device()), h.slice(0, 1, 3));
  });
  expect_report("take: expected indices from 0 to 11, got 12", [&](const Tensor& x) { take(x, there(tensor({12}))); });
}
TEST_F(CudaIndexErrors, OnlyTheFirstIsToldAndGoodIndicesAreServed) {
  const Tensor x = there(h), at = there(tensor({2, 3, 0}));
  Tensor y = x.clone(), z;
  index_copy_(y, 0, at, there(h));
  index_select(x, 1, there(tensor({100})));
  EXPECT_EQ(error_of<IndexError>([&] { z = y.to(Device()); }).find("index_copy: expected indices from 0 to 2, got 3"),
            0u);
  z = y.to(Device());  // told once
  expect_same(z[2], h[0]), expect_same(z[0], h[2]), expect_same(z[1], h[1]);
}

// The variable is read once per process: the test runs itself again with it.
TEST_F(CudaIndexErrors, WithLaunchBlockingTheCallItselfThrows) {
  const char* blocking = std::getenv("NEURA_CUDA_LAUNCH_BLOCKING");
  if (!blocking || *blocking != '1') {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    const std::string command =
        "env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX -u GTEST_OUTPUT "
        "NEURA_CUDA_LAUNCH_BLOCKING=1 '" +
        self + "' --gtest_brief=1 --gtest_filter='CudaIndexErrors.WithLaunch*'";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return;
  }
  const Tensor x = there(h), bad = there(tensor({1, 7}));
  for (int again = 0; again < 2; ++again) {
    const std::string said = error_of<IndexError>([&] { index_select(x, 0, bad); });
    EXPECT_EQ(said.find("index_select: expected indices from 0 to 2, got 7"), 0u) << said;
  }
  expect_same(back(x), h);
}

}  // namespace
}  // namespace neura::test

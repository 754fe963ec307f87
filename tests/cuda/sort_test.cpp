// Sorting and selection on CUDA: every sort is stable there as on the cpu, so that values and indices are the same. Of
// equal elements topk and kthvalue take the first.
#include <cmath>
#include <limits>

#include "neura/cuda/graph.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/sort/sort.h"
#include "tests/cuda/device.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using CudaSort = CudaTest;

constexpr DType kOrdered[] = {float32, float64, float16, bfloat16, boolean, uint8, int8, int16, int32, int64};
// Lines of every length at which the kernels change their ways, few and many, along each dimension.
const Shape kShapes[] = {{},          {1},          {7},       {8},          {9},       {5, 33},     {700, 3},
                         {3, 257, 5}, {40, 256},    {2, 2047}, {2048, 4},    {1, 2049}, {3, 5000},   {2500, 7},
                         {70003},     {2, 3000, 3}, {300, 64}, {1, 1, 4097}, {5, 4096}, {4, 2100, 1}};

// Many equal elements, and what is special in a floating dtype.
Tensor numbers(const Shape& shape, DType d, std::uint64_t seed, bool nan = true) {
  const Tensor t = sample(shape, float32, {.low = -40, .high = 40, .seed = seed}), coarse = round(t);
  Dice dice{seed};
  Tensor x = (dice.below(2) ? coarse : t).to(d);
  if (!is_floating(d) || !x.numel()) return x;
  const double special[] = {nan ? std::nan("") : 1.0, INFINITY, -INFINITY, -0.0, 0.0};
  Tensor flat = reshape(x, {x.numel()});
  for (std::int64_t i = 0; i < x.numel() / 4; ++i) store_at(flat, {dice.below(x.numel())}, special[dice.below(5)]);
  return reshape(flat, shape);
}
template <class F> void for_lines(F&& f) {
  std::uint64_t seed = 1;
  for (const DType d : kOrdered)
    for (const Shape& shape : kShapes)
      for (int dim = 0; dim < std::max(1, shape.size()); ++dim) {
        SCOPED_TRACE(std::string(name(d)) + " " + shape.str() + " along " + std::to_string(dim));
        const std::int64_t n = shape.empty() ? 1 : shape[dim];
        f(numbers(shape, d, seed++), dim, n);
      }
}
// expect_same says where they differ; whether they do is found sooner.
void expect_alike(const Tensor& got, const Tensor& want) {
  const bool comparable = got.shape() == want.shape() && got.dtype() == want.dtype();
  if (!comparable || !all(eq(got, want) | (ne(got, got) & ne(want, want))).item<bool>()) expect_same(got, want);
}
void expect_equal(const SortResult& got, const SortResult& want) {
  expect_alike(back(got.values), want.values);
  expect_alike(back(got.indices), want.indices);
}
SortResult first(const SortResult& sorted, int dim, std::int64_t k) {
  if (!sorted.values.dim()) return sorted;
  return {narrow(sorted.values, dim, 0, k), narrow(sorted.indices, dim, 0, k)};
}

TEST_F(CudaSort, SortsAreTheCpus) {
  for_lines([](const Tensor& h, int dim, std::int64_t) {
    for (const bool descending : {false, true}) expect_equal(sort(there(h), dim, descending), sort(h, dim, descending));
  });
}
TEST_F(CudaSort, TheFirstOfASortAreTheTop) {
  for_lines([](const Tensor& h, int dim, std::int64_t n) {
    const Tensor x = there(h);
    for (const bool largest : {false, true}) {
      const SortResult sorted = sort(h, dim, largest);
      for (const std::int64_t k : {std::int64_t{1}, std::min<std::int64_t>(n, 5), n / 3, n})
        expect_equal(topk(x, k, dim, largest), first(sorted, dim, k));
    }
  });
}
TEST_F(CudaSort, TheKthIsWhereASortHasIt) {
  for_lines([](const Tensor& h, int dim, std::int64_t n) {
    const Tensor x = there(h);
    const SortResult sorted = sort(h, dim);
    for (const std::int64_t k : {std::int64_t{1}, (n + 1) / 2, n}) {
      const SortResult want =
          h.dim() ? SortResult{narrow(sorted.values, dim, k - 1, 1), narrow(sorted.indices, dim, k - 1, 1)} : sorted;
      expect_equal(kthvalue(x, k, dim, true), want);
    }
  });
}
TEST_F(CudaSort, MediansAreTheCpus) {
  for_lines([](const Tensor& h, int dim, std::int64_t) {
    const auto check = [&](const SortResult& got, const SortResult& want) {
      expect_alike(back(got.values), want.values);  // which of equal elements it is, is left open
      if (h.dim()) expect_alike(gather(h, dim, back(got.indices)), want.values);
    };
    check(median(there(h), dim, true), median(h, dim, true));
    check(nanmedian(there(h), dim, true), nanmedian(h, dim, true));
    expect_alike(back(median(there(h))), median(h));
    expect_alike(back(nanmedian(there(h))), nanmedian(h));
  });
}
TEST_F(CudaSort, ModesAreTheCpus) {
  for_lines([](const Tensor& h, int dim, std::int64_t) { expect_equal(mode(there(h), dim), mode(h, dim)); });
}
TEST_F(CudaSort, LinesWithoutElementsAndNoLines) {
  for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{0, 3}, Shape{0, 5000}}) {
    const Tensor h = zeros(shape);
    expect_equal(sort(there(h), -1), sort(h, -1));
    expect_equal(topk(there(h), 0, -1), topk(h, 0, -1));
  }
}
TEST_F(CudaSort, LongOnesAreTheCpus) {
  const auto equal = [](const Tensor& got, const Tensor& want) { return all(eq(back(got), want)).item<bool>(); };
  for (const Shape& shape : {Shape{(1 << 21) + 3}, Shape{300, 9001}})
    for (const DType d : {float32, float64, int16}) {
      SCOPED_TRACE(shape.str() + " " + name(d));
      const Tensor h = sample(shape, d, {.low = -1e4, .high = 1e4, .seed = 5}), x = there(h);
      const SortResult want = sort(h), got = sort(x), top = topk(x, 100), down = sort(h, -1, true);
      EXPECT_TRUE(equal(got.values, want.values));
      EXPECT_TRUE(equal(got.indices, want.indices));
      EXPECT_TRUE(equal(top.values, first(down, h.dim() - 1, 100).values));
      EXPECT_TRUE(equal(top.indices, first(down, h.dim() - 1, 100).indices));
      EXPECT_TRUE(equal(median(x, -1).values, median(h, -1).values));
    }
}
// Lines that a block holds, a cluster of blocks, and none: results that one block sorts, and more.
TEST_F(CudaSort, SelectionsAreTheBeginningsOfSorts) {
  for (const Shape& shape : {Shape{130, 1500}, Shape{3, 17000}, Shape{70, 33000}, Shape{2, 70000}, Shape{3, 140000}})
    for (const DType d : {float32, float64, bfloat16, uint8}) {
      SCOPED_TRACE(shape.str() + " " + name(d));
      const Tensor h = numbers(shape, d, 11), x = there(h);
      for (const bool largest : {false, true}) {
        const SortResult sorted = sort(x, -1, largest);
        for (const std::int64_t k : {1, 60, 256, 300, 2000})
          if (k <= shape[1] / 4) {
            const SortResult got = topk(x, k, -1, largest), want = first(sorted, 1, k);
            EXPECT_TRUE(all(eq(got.indices, want.indices)).item<bool>()) << k;
            expect_alike(back(got.values), back(want.values));
          }
      }
      const SortResult sorted = sort(x), middle = median(x, 1), numbers_only = nanmedian(x, 1);
      for (const std::int64_t k : {std::int64_t{1}, shape[1] / 3, shape[1]})
        EXPECT_TRUE(all(eq(kthvalue(x, k, 1).indices, select(sorted.indices, 1, k - 1))).item<bool>()) << k;
      expect_alike(back(middle.values), median(h, 1).values);
      expect_alike(back(numbers_only.values), nanmedian(h, 1).values);
    }
}
TEST_F(CudaSort, OfEqualElementsTheFirstAreTaken) {
  for (const std::int64_t n : {2000, 20000, 300000}) {
    const Tensor x = zeros({2, n}, {.device = kCuda});
    for (const std::int64_t k : {7, 400}) {
      const Tensor indices = back(topk(x, k).indices);
      EXPECT_TRUE(all(eq(indices, arange(double(k), {.dtype = int64}))).item<bool>()) << n << " " << k;
    }
    EXPECT_TRUE(all(eq(kthvalue(x, n / 2, 1).indices, n / 2 - 1)).item<bool>()) << n;
  }
}
TEST_F(CudaSort, ALongLineKeepsTheSignsOfZerosAndWhatIsTrue) {
  constexpr std::int64_t n = 30000;
  for (const DType d : {float32, float64, float16, bfloat16}) {
    Tensor h = round(sample({n}, float32, {.low = -3, .high = 3, .seed = 6})).to(d);
    h = h * 0.5;
    for (const bool descending : {false, true}) {
      const SortResult want = sort(h, 0, descending), got = sort(there(h), 0, descending);
      expect_same(back(got.indices), want.indices);
      expect_same(back(signbit(got.values)), signbit(want.values));
    }
  }
  const Tensor flags = sample({n}, int64, {.low = 0, .high = 2, .seed = 7}).to(boolean);
  expect_equal(sort(there(flags)), sort(flags));
}
TEST_F(CudaSort, RowsAreUniqueAsOnTheCpu) {
  for (const DType d : kOrdered)
    for (const Shape& shape : {Shape{1, 1}, Shape{300, 2}, Shape{5000, 3}, Shape{40, 2, 5}}) {
      SCOPED_TRACE(std::string(name(d)) + " " + shape.str());
      const Tensor h = sample(shape, int64, {.low = 0, .high = 3, .seed = 8}).to(d);
      for (const std::optional<int> dim : {std::optional<int>(), std::optional<int>(0), std::optional<int>(-1)}) {
        const UniqueResult want = unique(h, true, true, true, dim), got = unique(there(h), true, true, true, dim);
        expect_same(back(got.values), want.values);
        expect_same(back(got.inverse), want.inverse);
        expect_same(back(got.counts), want.counts);
      }
    }
}
TEST_F(CudaSort, PlacesInASequenceAreTheCpus) {
  for (const DType d : {float32, float64, float16, uint8, int32, int64})
    for (const auto& [s, v] : std::vector<std::pair<Shape, Shape>>{{{1}, {5}},
                                                                   {{0}, {3}},
                                                                   {{100}, {4, 70}},
                                                                   {{3, 40}, {3, 9}},
                                                                   {{2, 3, 7}, {2, 3, 300}},
                                                                   {{50000}, {100001}}}) {
      SCOPED_TRACE(std::string(name(d)) + " " + s.str() + " " + v.str());
      const Tensor sequence = s.numel()
                                  ? sort(round(sample(s, float32, {.low = 0, .high = 60, .seed = 1})).to(d)).values
                                  : zeros(s, {.dtype = d});
      const Tensor values = numbers(v, d, 3);
      for (const bool right : {false, true})
        for (const bool narrow_result : {false, true})
          expect_same(back(searchsorted(there(sequence), there(values), narrow_result, right)),
                      searchsorted(sequence, values, narrow_result, right));
    }
}
TEST_F(CudaSort, GraphsCaptureIt) {
  Tensor x = zeros({3, 9001}, {.device = kCuda});
  const Tensor sequence = there(arange(100.0, {.dtype = float32}));
  const auto work = [&] {
    const Tensor some = narrow(x, 1, 5, 300), flat = reshape(x, {x.numel()});
    return std::vector<Tensor>{sort(x).indices,
                               topk(x, 7).indices,
                               median(x, 1).values,
                               mode(x).values,
                               sort(some, 0).indices,
                               topk(some, 4).indices,
                               mode(some).values,
                               median(x),
                               kthvalue(flat, 9).values,
                               searchsorted(sequence, x),
                               randperm(5000, {.device = kCuda})};
  };
  work();
  std::vector<Tensor> got;
  cuda::Graph graph;
  graph.capture([&] { got = work(); });
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    x.copy_(there(numbers({3, 9001}, float32, seed)));
    manual_seed(seed);
    const std::vector<Tensor> want = work();
    manual_seed(seed), graph.replay();
    for (std::size_t i = 0; i < got.size(); ++i) expect_same(back(got[i]), back(want[i]));
  }
}

}  // namespace
}  // namespace neura::test

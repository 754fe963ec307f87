#include <algorithm>
#include <cmath>
#include <numeric>

#include "neura/backend/kernels/sort.h"
#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

using SortKernels = Kernels<sort_kernels>;
using Places = std::vector<std::int64_t>;

// Places of a line in a stable order.
Places ordered(const std::vector<float>& line, bool descending) {
  Places p(line.size());
  std::iota(p.begin(), p.end(), 0);
  std::stable_sort(p.begin(), p.end(), [&](std::int64_t a, std::int64_t b) {
    const float u = line[std::size_t(a)], v = line[std::size_t(b)];
    return descending ? u > v : u < v;
  });
  return p;
}

TEST_F(SortKernels, RanksAlongAnyDimensionAndKeepsEqualOnesInOrder) {
  Array<float> x = eighths({3, 100, 2}), values({3, 100, 2});
  Array<std::int64_t> places({3, 100, 2});
  for (const bool descending : {false, true}) {
    run(&sort_kernels::select, descending ? Selection::largest : Selection::smallest, 1, 0, x, values, places);
    for (int o = 0; o < 3; ++o)
      for (int i = 0; i < 2; ++i) {
        std::vector<float> line;
        for (int k = 0; k < 100; ++k) line.push_back(x(o, k, i));
        const Places want = ordered(line, descending);
        for (int k = 0; k < 100; ++k) {
          ASSERT_EQ(places(o, k, i), want[std::size_t(k)]);
          ASSERT_EQ(values(o, k, i), line[std::size_t(want[std::size_t(k)])]);
        }
      }
  }
}
TEST_F(SortKernels, SelectsMediansModesAndTheKth) {
  Array<float> x({6}, {4, 1, NAN, 4, 2, 3}), value({1});
  Array<std::int64_t> place({1});
  const auto selected = [&](Selection selection, std::int64_t k) {
    run(&sort_kernels::select, selection, 0, k, x, value, place);
    return place.at(0);
  };
  EXPECT_EQ(selected(Selection::kth, 1), 4);
  EXPECT_EQ(value.at(0), 2);
  EXPECT_EQ(selected(Selection::median, 0), 2);  // the NaN
  selected(Selection::nanmedian, 0);
  EXPECT_EQ(value.at(0), 3);
  EXPECT_EQ(selected(Selection::mode, 0), 3);
  EXPECT_EQ(selected(Selection::largest, 0), 2);  // NaN is the greatest
  Array<float> two({2});
  Array<std::int64_t> at({2});
  run(&sort_kernels::select, Selection::smallest, 0, 0, x, two, at);
  EXPECT_EQ(two.values(), (std::vector<float>{1, 2}));
  EXPECT_EQ(at.values(), (Places{1, 4}));
}
TEST_F(SortKernels, OrdersTheRowsOfAMatrix) {
  Array<std::int64_t> x({4, 2}, {2, 1, 1, 9, 2, 0, 1, 9}), order({4});
  run(&sort_kernels::rows, x, order);
  EXPECT_EQ(order.values(), (Places{1, 3, 2, 0}));
}
TEST_F(SortKernels, SearchesInSequences) {
  Array<float> sequence({2, 3}, {1, 3, 3, 0, 5, 6}), wanted({2, 2}, {3, 0, 7, 5});
  Array<std::int64_t> y({2, 2});
  run(&sort_kernels::search, false, sequence, wanted, y);
  EXPECT_EQ(y.values(), (Places{1, 0, 3, 1}));
  Array<std::int32_t> narrow({2, 2});
  run(&sort_kernels::search, true, sequence, wanted, narrow);
  EXPECT_EQ(narrow.values(), (std::vector<std::int32_t>{3, 0, 3, 2}));
}
TEST_F(SortKernels, OfNothing) {
  Array<float> x({0, 4}), values({0, 4}), none({0}), row({4, 0});
  Array<std::int64_t> places({0, 4}), order({0}), all({4});
  run(&sort_kernels::select, Selection::smallest, 1, 0, x, values, places);
  run(&sort_kernels::select, Selection::smallest, 0, 0, x, values, places);
  run(&sort_kernels::rows, x, order);
  run(&sort_kernels::rows, row, all);
  EXPECT_EQ(all.values(), (Places{0, 1, 2, 3}));
  Array<float> wanted({2}, {1, 2});
  Array<std::int64_t> y = filled<std::int64_t>({2}, 7);
  run(&sort_kernels::search, false, none, wanted, y);
  EXPECT_EQ(y.values(), (Places{0, 0}));
}
TEST_F(SortKernels, SameOnAnyNumberOfThreads) {
  Array<float> x = eighths({64, 1500});
  for (const Selection selection : {Selection::smallest, Selection::largest, Selection::kth, Selection::median,
                                    Selection::nanmedian, Selection::mode})
    for (const int dim : {0, 1})
      expect_same_on_any_threads([&] {
        const bool all = selection <= Selection::largest;
        Shape size = x.spec().sizes();
        size[dim] = all ? size[dim] : 1;
        Array<float> values(size);
        Array<std::int64_t> places(size);
        run(&sort_kernels::select, selection, dim, 5, x, values, places);
        return values.bytes() + places.bytes();
      });
  Array<float> steps({1000}), wanted = eighths({50, 1000}, 3);
  for (std::int64_t i = 0; i < 1000; ++i) steps.at(i) = float(i) / 125 - 4;
  expect_same_on_any_threads([&] {
    Array<std::int64_t> y({50, 1000});
    run(&sort_kernels::search, true, steps, wanted, y);
    return y.bytes();
  });
}

}  // namespace
}  // namespace neura::test

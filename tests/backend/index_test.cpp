#include "neura/backend/kernels/index.h"

#include <algorithm>

#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

using IndexKernels = Kernels<index_kernels>;
using Places = Array<std::int64_t>;

// As plain loops put it over [outer, n, inner] along the middle; as many indices as source is long there.
template <class T> void put(Array<T>& out, Places index, Array<T> source, ScatterReduce::Mode mode, bool each) {
  const Shape s = source.spec().sizes();
  for (std::int64_t o = 0; o < s[0]; ++o)
    for (std::int64_t k = 0; k < s[1]; ++k)
      for (std::int64_t i = 0; i < s[2]; ++i) {
        T &to = out(o, each ? index(o, k, i) : index.at(k), i), from = source(o, k, i);
        to = mode == ScatterReduce::copy   ? from
             : mode == ScatterReduce::add  ? to + from
             : mode == ScatterReduce::amax ? std::max(to, from)
             : mode == ScatterReduce::amin ? std::min(to, from)
                                           : to * from;
      }
}
Places drawn(const Shape& size, std::int64_t below) {
  Places p = eighths<std::int64_t>(size, 9);
  for (std::int64_t i = 0; i < p.numel(); ++i) p.at(i) %= below;
  return p;
}

TEST_F(IndexKernels, SelectsAlongAnyDimensionOfAnyStrides) {
  const Array<float> x = eighths({3, 5, 4});
  Places index({4}, {2, 0, 2, 1});
  Array<std::int32_t> narrow = Array<std::int32_t>({4}, {2, 0, 2, 1}).spread();
  for (Array<float> from : {x, x.spread()}) {
    Array<float> y({3, 4, 4}), z({3, 4, 4});
    run(&index_kernels::select, from, index, y, 1);
    run(&index_kernels::select, from, narrow, z, 1);
    for (int o = 0; o < 3; ++o)
      for (int k = 0; k < 4; ++k)
        for (int i = 0; i < 4; ++i) EXPECT_EQ(y(o, k, i), from(o, index.at(k), i));
    EXPECT_EQ(z.values(), y.values());
  }
}
TEST_F(IndexKernels, WritesInOrder) {
  for (const ScatterReduce::Mode mode :
       {ScatterReduce::copy, ScatterReduce::add, ScatterReduce::prod, ScatterReduce::amax, ScatterReduce::amin}) {
    Array<float> out = eighths({3, 5, 4}), want = out;
    const Array<float> source = eighths({3, 7, 4}, 2);
    Places index = drawn({7}, 5);  // some twice
    put(want, index, source, mode, false);
    Array<float> from = source.spread();
    run(&index_kernels::write, out, index, from, 1, ScatterReduce{mode, true});
    EXPECT_EQ(out.values(), want.values()) << int(mode);
  }
}
TEST_F(IndexKernels, MeansCountWhatWasThere) {
  Array<float> out({3}, {9, 9, 9}), again = out, source({3}, {1, 5, 30});
  Places index({3}, {0, 0, 2});
  run(&index_kernels::write, out, index, source, 0, ScatterReduce{ScatterReduce::mean, true});
  EXPECT_EQ(out.values(), (std::vector<float>{5, 9, 19.5}));
  run(&index_kernels::write, again, index, source, 0, ScatterReduce{ScatterReduce::mean, false});
  EXPECT_EQ(again.values(), (std::vector<float>{3, 9, 30}));
}
TEST_F(IndexKernels, GathersAndScattersElementByElement) {
  const Array<float> x = eighths({3, 5, 4});
  Places index = drawn({3, 7, 4}, 5);
  for (Array<float> from : {x, x.spread()}) {
    Array<float> y({3, 7, 4});
    run(&index_kernels::gather, from, index, y, 1);
    for (int o = 0; o < 3; ++o)
      for (int k = 0; k < 7; ++k)
        for (int i = 0; i < 4; ++i) EXPECT_EQ(y(o, k, i), from(o, index(o, k, i), i));
  }
  for (const ScatterReduce::Mode mode : {ScatterReduce::copy, ScatterReduce::add, ScatterReduce::amax}) {
    Array<float> out = x, want = x;
    const Array<float> source = eighths({3, 7, 4}, 2);
    put(want, index, source, mode, true);
    Array<float> from = source.spread();
    run(&index_kernels::scatter, out, index, from, 1, ScatterReduce{mode, true});
    EXPECT_EQ(out.values(), want.values()) << int(mode);
  }
}
TEST_F(IndexKernels, CoordinatesBecomePositions) {
  Places rows({3}, {0, 1, -1}), out({3});
  Array<std::int32_t> columns = Array<std::int32_t>({3}, {2, -3, 1}).spread();
  const View coordinates[] = {rows, columns};
  const std::int64_t sizes[] = {2, 3};
  run(&index_kernels::linear, coordinates, sizes, 2, out);
  EXPECT_EQ(out.values(), (std::vector<std::int64_t>{2, 3, 4}));
}
TEST_F(IndexKernels, NonzerosAndHowMany) {
  Array<float> x({2, 3}, {0, 1, -0.0f, 2, 0, NAN});
  EXPECT_EQ(run(&index_kernels::count_nonzero, x), 3);
  Places places({3, 2});
  run(&index_kernels::nonzero, x, places);
  EXPECT_EQ(places.values(), (std::vector<std::int64_t>{0, 1, 1, 0, 1, 2}));
}
TEST_F(IndexKernels, WhatLiesOutsideIsReportedAndNothingWritten) {
  Array<float> x = eighths({3, 5}), out = x, source = eighths({2, 5}, 2), y({2, 5});
  Places bad({2}, {1, 3}), negative({2}, {-1, 0}), each = filled<std::int64_t>({2, 5}, 8);
  EXPECT_EQ(refused(&index_kernels::select, x, bad, y, 0), (Index{3, 3}));
  EXPECT_EQ(refused(&index_kernels::write, out, negative, source, 0, ScatterReduce{}), (Index{-1, 3}));
  EXPECT_EQ(refused(&index_kernels::scatter, out, each, source, 0, ScatterReduce{}), (Index{8, 3}));
  EXPECT_EQ(out.values(), x.values());
  EXPECT_EQ(refused(&index_kernels::gather, x, each, y, 0), (Index{8, 3}));
  const View coordinates[] = {bad};
  const std::int64_t size = 3;
  Places at({2});
  EXPECT_EQ(refused(&index_kernels::linear, coordinates, &size, 1, at), (Index{3, 3}));
}
TEST_F(IndexKernels, OfNothing) {
  Array<float> x = eighths({3, 4}), same = x, y({0, 4}), none({3, 0});
  Places index({0}), each({0, 4}), places({0, 2}), few({2}, {0, 1}), nowhere({0});
  run(&index_kernels::select, x, index, y, 0);
  run(&index_kernels::write, x, index, y, 0, ScatterReduce{});
  run(&index_kernels::write, none, few, none, 0, ScatterReduce{});
  run(&index_kernels::gather, x, each, y, 0);
  run(&index_kernels::scatter, x, each, y, 0, ScatterReduce{});
  EXPECT_EQ(x.values(), same.values());
  EXPECT_EQ(run(&index_kernels::count_nonzero, none), 0);
  run(&index_kernels::nonzero, none, places);
  const View coordinates[] = {index};
  const std::int64_t size = 3;
  run(&index_kernels::linear, coordinates, &size, 1, nowhere);
}
TEST_F(IndexKernels, SameOnAnyNumberOfThreads) {
  Array<float> x = eighths({300, 500}), source = eighths({900, 500}, 2);
  for (std::int64_t i = 0; i < source.numel(); ++i) source.at(i) = 1 / (source.at(i) + 5);  // no exact sums
  Places index = drawn({900}, 64), each = drawn({900, 500}, 64), some = drawn({300, 500}, 2);
  expect_same_on_any_threads([&] {
    Array<float> taken({900, 500}), one = taken, out = x, into = x;
    run(&index_kernels::select, x, index, taken, 0);
    run(&index_kernels::gather, x, each, one, 0);
    run(&index_kernels::write, out, index, source, 0, ScatterReduce{ScatterReduce::add, true});
    run(&index_kernels::scatter, into, each, source, 0, ScatterReduce{ScatterReduce::add, true});
    const std::int64_t count = run(&index_kernels::count_nonzero, some);
    Places found({count, 2}), at({300, 500});
    run(&index_kernels::nonzero, some, found);
    const View coordinates[] = {some, some};
    const std::int64_t sizes[] = {2, 2};
    run(&index_kernels::linear, coordinates, sizes, 2, at);
    return taken.bytes() + one.bytes() + out.bytes() + into.bytes() + found.bytes() + at.bytes();
  });
}

}  // namespace
}  // namespace neura::test

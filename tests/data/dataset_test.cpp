#include "neura/data/dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "neura/data/collate.h"
#include "neura/data/combine.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::data {
namespace {

using test::error_of;
using test::expect_same;
using test::sample;
using Indices = std::vector<std::int64_t>;

TEST(VectorDataset, GivesItsItems) {
  const VectorDataset<std::string> d({"a", "b"});
  EXPECT_EQ(d.size(), 2);
  EXPECT_EQ(d.get(1), "b");
  EXPECT_EQ(error_of<IndexError>([&] { d.get(2); }), "dataset: expected an index in [0, 2), got 2");
  EXPECT_EQ(error_of<IndexError>([&] { d.get(-1); }), "dataset: expected an index in [0, 2), got -1");
}

TEST(TensorDataset, GivesRowsOfEveryTensor) {
  const Tensor x = sample({5, 2, 3}), y = sample({5}, int64);
  const TensorDataset d(x, y);
  EXPECT_EQ(d.size(), 5);
  const auto [image, label] = d.get(3);
  expect_same(image, x.select(0, 3));
  expect_same(label, y.select(0, 3));
  const Indices order = {4, 0, 4};
  const auto [images, labels] = d.get_batch(order);
  EXPECT_EQ(images.shape(), (Shape{3, 2, 3}));
  for (std::int64_t i = 0; i < 3; ++i) expect_same(images.select(0, i), x.select(0, order[std::size_t(i)]));
  EXPECT_EQ(labels.shape(), Shape{3});
  EXPECT_EQ(TensorDataset(x).size(), 5);
}

TEST(TensorDataset, DemandsEqualLengths) {
  EXPECT_EQ(error_of<ShapeError>([] {
              TensorDataset(sample({5, 2}), sample({4}));
            }),
            "TensorDataset: expected tensors of equal first dimension, got [5, 2] at position 0 and [4] at position 1");
  EXPECT_NE(error_of<ShapeError>([] { TensorDataset(sample({})); }), "no error");
  const TensorDataset d(sample({5}));
  EXPECT_NE(error_of<IndexError>([&] { d.get(5); }), "no error");
  EXPECT_NE(error_of<IndexError>([&] { d.get_batch(Indices{0, 7}); }), "no error");
}

TEST(GatherRows, TakesAnyLayoutAndDType) {
  for (int dtype = 0; dtype < int(complex128); ++dtype) {
    const Tensor t = sample({4, 3}, DType(dtype));
    for (const Tensor& x : {t, t.transpose(0, 1)}) {
      const Tensor rows = gather_rows(x, Indices{2, 0});
      expect_same(rows.select(0, 0), x.select(0, 2));
      expect_same(rows.select(0, 1), x.select(0, 0));
    }
  }
  EXPECT_EQ(gather_rows(sample({4, 3}), {}).shape(), (Shape{0, 3}));
  EXPECT_EQ(gather_rows(sample({4, 0}), Indices{1}).shape(), (Shape{1, 0}));
}

TEST(Subset, MapsIndicesAndKeepsTheFastPath) {
  const Tensor x = sample({6, 2});
  const Subset s{TensorDataset{x}, {5, 1, 3}};
  static_assert(BatchStyle<decltype(s)>);
  EXPECT_EQ(s.size(), 3);
  expect_same(s.get(0)[0], x.select(0, 5));
  expect_same(s.get_batch(Indices{2})[0].select(0, 0), x.select(0, 3));
  EXPECT_NE(error_of<IndexError>([&] { s.get(3); }), "no error");
  EXPECT_NE(error_of<IndexError>([&] { Subset{TensorDataset{x}, {6}}; }), "no error");
}

TEST(ConcatDataset, PutsSetsAfterEachOther) {
  const VectorDataset<int> a({1, 2}), none({}), b({3});
  const ConcatDataset all(a, none, b);
  EXPECT_EQ(all.size(), 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(all.get(i), i + 1);
  EXPECT_NE(error_of<IndexError>([&] { all.get(3); }), "no error");
  struct Squares : Dataset<int> {
    int get(std::int64_t i) const override { return int(i * i); }
    std::int64_t size() const override { return 3; }
  };
  const ConcatDataset<int> mixed(std::vector<AnyDataset<int>>{a, std::make_shared<const Squares>()});
  EXPECT_EQ(mixed.get(4), 4);
}

TEST(Map, CallsTheFunctionWhenAskedFor) {
  const auto d = map(VectorDataset<int>({1, 2, 3}), [](int x) { return x * 10; });
  EXPECT_EQ(d.get(2), 30);
  EXPECT_EQ(d.size(), 3);
}

TEST(RandomSplit, IsDisjointCompleteAndRepeatable) {
  std::vector<int> numbers(103);
  for (int i = 0; i < 103; ++i) numbers[std::size_t(i)] = i;
  const VectorDataset<int> d(numbers);
  const auto parts = random_split(d, {0.8, 0.1, 0.1}, {.seed = 7});
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].size(), 83);  // 82, and the one that rounding leaves
  EXPECT_EQ(parts[1].size(), 10);
  EXPECT_EQ(parts[2].size(), 10);
  std::multiset<int> seen;
  for (const auto& p : parts)
    for (std::int64_t i = 0; i < p.size(); ++i) seen.insert(p.get(i));
  EXPECT_EQ(seen, std::multiset<int>(numbers.begin(), numbers.end()));
  EXPECT_EQ(random_split(d, {0.8, 0.1, 0.1}, {.seed = 7})[1].indices(), parts[1].indices());
  EXPECT_NE(random_split(d, {0.8, 0.1, 0.1}, {.seed = 8})[1].indices(), parts[1].indices());
  const std::int64_t n = 3;
  EXPECT_EQ(random_split(d, {103 - n, n})[1].size(), 3);
  EXPECT_EQ(
      error_of<ValueError>([&] {
        random_split(d, {100, 4});
      }),
      "random_split: expected lengths whose sum is the number of items, 103, or fractions whose sum is 1, got 104");
}

TEST(Collate, StacksTensorsAndNumbers) {
  const Tensor a = sample({2, 3}), b = sample({2, 3}, float32, {.seed = 1});
  const Tensor batch = default_collate(std::vector{a, b.transpose(0, 1).transpose(0, 1)});
  EXPECT_EQ(batch.shape(), (Shape{2, 2, 3}));
  expect_same(batch.select(0, 1), b);
  EXPECT_EQ(default_collate(std::vector<int>{1, 2}).dtype(), int64);
  EXPECT_EQ(default_collate(std::vector<std::uint8_t>{1, 2}).dtype(), int64);
  EXPECT_EQ(default_collate(std::vector<float>{1, 2}).dtype(), float32);
  EXPECT_EQ(default_collate(std::vector<double>{1, 2}).dtype(), float64);
  EXPECT_EQ(default_collate(std::vector<bool>{true, false}).dtype(), boolean);
}

TEST(Collate, GoesIntoPairsTuplesListsAndMaps) {
  using Item = std::tuple<std::pair<Tensor, int>, std::vector<float>, std::string, std::array<double, 2>,
                          std::map<std::string, int>>;
  const std::vector<Item> items(3, Item{{sample({2}), 4}, {1.f, 2.f}, "x", {1., 2.}, {{"k", 5}}});
  const auto [pair, list, text, array, dict] = default_collate(items);
  EXPECT_EQ(pair.first.shape(), (Shape{3, 2}));
  EXPECT_EQ(pair.second.shape(), Shape{3});
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[1].data<float>()[2], 2.f);
  EXPECT_EQ(text, std::vector<std::string>(3, "x"));
  EXPECT_EQ(array[1].data<double>()[0], 2.);
  EXPECT_EQ(dict.at("k").data<std::int64_t>()[2], 5);
}

TEST(Collate, SaysWhatDoesNotFit) {
  EXPECT_EQ(error_of<ShapeError>([] {
              default_collate(std::vector{sample({3}), sample({3}), sample({4})});
            }),
            "collate: expected tensors of equal shape in a batch, got [3] at place 0 and [4] at place 2; pad them in a "
            "collate function of your own");
  EXPECT_EQ(error_of<DTypeError>([] {
              default_collate(std::vector{sample({3}), sample({3}, float64)});
            }),
            "collate: expected tensors of equal dtype in a batch, got float32 at place 0 and float64 at place 1");
  EXPECT_NE(error_of<ShapeError>([] { default_collate(std::vector<std::vector<int>>{{1}, {1, 2}}); }), "no error");
  EXPECT_EQ(error_of<ValueError>([] {
              default_collate(std::vector<std::map<std::string, int>>{{{"a", 1}}, {}});
            }),
            "collate: expected the key \"a\" in every item, got none at place 1");
}

TEST(Collate, CustomFunctionPadsSequences) {
  const auto pad = [](const std::vector<std::vector<std::int64_t>>& items) {
    std::size_t longest = 0;
    for (const auto& i : items) longest = std::max(longest, i.size());
    std::vector<std::vector<std::int64_t>> padded = items;
    std::vector<std::int64_t> lengths;
    for (auto& p : padded) lengths.push_back(std::int64_t(p.size())), p.resize(longest, -1);
    return std::pair(default_collate(padded), default_collate(lengths));
  };
  const auto [steps, lengths] = pad({{1, 2, 3}, {4}});
  EXPECT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[2].data<std::int64_t>()[1], -1);
  EXPECT_EQ(lengths.data<std::int64_t>()[1], 1);
}

}  // namespace
}  // namespace neura::data

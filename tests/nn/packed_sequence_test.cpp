#include "neura/nn/packed_sequence.h"

#include <gtest/gtest.h>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/random/random.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"
#include "tests/support/gradients.h"

namespace neura::nn::utils::rnn {
namespace {

using test::error_of;
using test::expect_close;
using test::expect_gradients;
using test::expect_same;

Tensor numbers(std::int64_t from, std::int64_t n) { return arange(from, from + n); }
std::vector<Tensor> three() { return {numbers(1, 2), numbers(3, 3), numbers(6, 1)}; }
Tensor uniform(const Shape& s) { return rand(s, {.dtype = float64}) + 0.5; }

TEST(PadSequence, FillsUpAtEitherSide) {
  expect_close(pad_sequence(three(), true), {1, 2, 0, 3, 4, 5, 6, 0, 0});
  expect_close(pad_sequence(three(), true, -1, "left"), {-1, 1, 2, 3, 4, 5, -1, -1, 6});
  const Tensor time_first = pad_sequence(three());
  EXPECT_EQ(time_first.dtype(), int64);
  expect_close(time_first, {1, 3, 6, 2, 4, 0, 0, 5, 0});
  EXPECT_EQ(pad_sequence({zeros({2, 4, 5}), zeros({3, 4, 5})}).shape(), (Shape{3, 2, 4, 5}));
  EXPECT_EQ(pad_sequence({zeros({0}), zeros({0})}).shape(), (Shape{0, 2}));
  expect_close(pad_sequence({ones({1}), numbers(5, 2)}, true), {1, 0, 5, 6});
}

TEST(PadSequence, RefusesWhatDoesNotFit) {
  EXPECT_EQ(error_of<ValueError>([] { pad_sequence({}); }), "pad_sequence: expected at least one sequence, got none");
  EXPECT_EQ(error_of<ValueError>([] { pad_sequence(three(), false, 0, "top"); }),
            "pad_sequence: expected padding_side \"right\" or \"left\", got \"top\"");
  EXPECT_EQ(error_of<ShapeError>([] {
              pad_sequence({zeros({2, 3}), zeros({2, 4})});
            }),
            "pad_sequence: expected sequences that differ in their first size alone, got float32 [2, 3] and float32 "
            "[2, 4]");
  EXPECT_EQ(error_of<ShapeError>([] { pad_sequence({zeros({})}); }),
            "pad_sequence: expected sequences that differ in their first size alone, got float32 [] and float32 []");
}

TEST(UnpadSequence, GivesTheSequencesBackAsCopies) {
  for (const bool batch_first : {false, true}) {
    const Tensor padded = pad_sequence(three(), batch_first);
    const std::vector<Tensor> back = unpad_sequence(padded, tensor({2, 3, 1}), batch_first);
    ASSERT_EQ(back.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) expect_same(back[i], three()[i]);
    Tensor(back[0]).fill_(9);
    expect_same(padded, pad_sequence(three(), batch_first));
  }
  EXPECT_EQ(error_of<ShapeError>([] {
              unpad_sequence(zeros({3, 2}), tensor({1, 2, 3}));
            }),
            "unpad_sequence: expected 2 lengths, got 3");
}

TEST(Pack, OrdersByTimeThenByLength) {
  const PackedSequence p = pack_sequence(three(), false);
  expect_close(p.data, {3, 1, 6, 4, 2, 5});
  expect_close(p.batch_sizes, {3, 2, 1});
  expect_close(p.sorted_indices, {1, 0, 2});
  expect_close(p.unsorted_indices, {1, 0, 2});
  const PackedSequence sorted = pack_sequence({numbers(3, 3), numbers(1, 2), numbers(6, 1)});
  expect_same(sorted.data, p.data);
  EXPECT_FALSE(sorted.sorted_indices.defined() || sorted.unsorted_indices.defined());
  const PackedSequence four = pack_padded_sequence(zeros({2, 4, 3}), tensor({1, 2, 2, 1}), false, false);
  expect_close(four.sorted_indices, {1, 2, 0, 3});
  expect_close(four.unsorted_indices, {2, 0, 1, 3});
  EXPECT_EQ(four.data.shape(), (Shape{6, 3}));
}

TEST(Pack, PaddingAgainIsTheInverse) {
  const Tensor lengths = tensor({3, 5, 1, 5});
  for (const bool batch_first : {false, true}) {
    const Tensor x = uniform(batch_first ? Shape{4, 6, 2, 3} : Shape{6, 4, 2, 3});
    const PackedSequence p = pack_padded_sequence(x, lengths, batch_first, false);
    const auto [back, n] = pad_packed_sequence(p, batch_first, -1.0, 7);
    expect_same(n, lengths);
    const auto steps = [&](const Tensor& t, std::int64_t i) { return batch_first ? t[i] : t.select(1, i); };
    for (std::int64_t i = 0; i < 4; ++i) {
      const std::int64_t length = lengths[i].item<std::int64_t>();
      expect_same(steps(back, i).narrow(0, 0, length), steps(x, i).narrow(0, 0, length));
      expect_same(steps(back, i).narrow(0, length, 7 - length), full({7 - length, 2, 3}, -1.0, {.dtype = float64}));
    }
    const std::vector<Tensor> all = unpack_sequence(p);
    ASSERT_EQ(all.size(), 4u);
    for (std::int64_t i = 0; i < 4; ++i)
      expect_same(all[std::size_t(i)], steps(x, i).narrow(0, 0, lengths[i].item<std::int64_t>()));
  }
}

TEST(Pack, GradientsFlowThrough) {
  const Tensor lengths = tensor({2, 3});
  expect_gradients(
      [&](const Tensor& x) {
        const PackedSequence p = pack_padded_sequence(x * x, lengths, false, false);
        return pad_packed_sequence({p.data * p.data, p.batch_sizes, p.sorted_indices, p.unsorted_indices}, true).first;
      },
      uniform({4, 2, 2}));
  expect_gradients(
      [](const Tensor& a, const Tensor& b) {
        return cat(unpad_sequence(pad_sequence({a * b.narrow(0, 0, 2), b}), tensor({2, 3})));
      },
      uniform({2, 2}), uniform({3, 2}));
}

TEST(Pack, RefusesWhatDoesNotFit) {
  const Tensor x = zeros({3, 2});
  EXPECT_EQ(
      error_of<ShapeError>([&] { pack_padded_sequence(x, tensor({3})); }),
      "pack_padded_sequence: expected one length for each of the sequences of float32 [3, 2], at least one, got 1");
  EXPECT_EQ(error_of<ValueError>([&] {
              pack_padded_sequence(x, tensor({4, 1}));
            }),
            "pack_padded_sequence: expected lengths from 1 to 3, got 4");
  EXPECT_EQ(error_of<ValueError>([&] {
              pack_padded_sequence(x, tensor({2, 0}));
            }),
            "pack_padded_sequence: expected lengths from 1 to 3, got 0");
  EXPECT_EQ(
      error_of<ValueError>([&] {
        pack_padded_sequence(x, tensor({1, 2}));
      }),
      "pack_padded_sequence: expected lengths in descending order, got tensor([1, 2]); set enforce_sorted to false "
      "to have them sorted");
  EXPECT_EQ(error_of<ShapeError>([&] {
              pack_padded_sequence(x, tensor({1., 2.}));
            }),
            "pack_padded_sequence: expected lengths to be a vector of integers, got float32 [2]");
  EXPECT_EQ(error_of<ShapeError>([&] { pack_padded_sequence(zeros({3}), tensor({3})); }),
            "pack_padded_sequence: expected an input of at least two dimensions, got float32 [3]");
  const PackedSequence p = pack_sequence({zeros({3}), zeros({1})});
  EXPECT_EQ(error_of<ValueError>([&] { pad_packed_sequence(p, false, 0, 2); }),
            "pad_packed_sequence: expected total_length to be at least 3, the longest, got 2");
  EXPECT_EQ(
      error_of<ShapeError>([&] {
        pad_packed_sequence({p.data, tensor({2, 1}), {}, {}});
      }),
      "pad_packed_sequence: expected batch_sizes that sum to the size of data, got tensor([2, 1]) and float32 [4]");
  EXPECT_EQ(error_of<ValueError>([&] {
              pad_packed_sequence({p.data, tensor({1, 3}), {}, {}});
            }),
            "pad_packed_sequence: expected batch_sizes that are positive and never rise, got tensor([1, 3])");
  EXPECT_EQ(error_of<ValueError>([&] {
              pad_packed_sequence({p.data, p.batch_sizes, {}, tensor({1, 1})});
            }),
            "pad_packed_sequence: expected each number from 0 to 1 once, got 1 at position 1");
  EXPECT_EQ(error_of<ValueError>([] {
              invert_permutation(tensor({0, 2}));
            }),
            "invert_permutation: expected each number from 0 to 1 once, got 2 at position 1");
}

}  // namespace
}  // namespace neura::nn::utils::rnn

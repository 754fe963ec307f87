// Numbers that a user gives and that are then multiplied, added up or counted to: too large is an error, and at once.
#include <gtest/gtest.h>

#include <functional>

#include "neura/neura.h"

namespace neura {
namespace {

constexpr std::int64_t kMost = INT64_MAX, k32 = std::int64_t(1) << 32, k62 = std::int64_t(1) << 62;

struct Huge {
  const char* op;
  std::function<void()> call;
};
Tensor picture() { return ones({1, 4, 2, 2}); }
Tensor nothing() { return ones({0, 2}); }
Tensor endless() { return expand(ones({1}), {std::int64_t(1) << 40}); }

TEST(HugeSizes, ADiagonalOutsideOfTheMatrixIsAsFarAsItsCorner) {
  const Tensor x = ones({2, 3, 3});
  for (const std::int64_t far : {std::int64_t(3), kMost - 1, kMost}) {
    EXPECT_EQ(triu(x, far).sum().item<double>(), 0) << far;
    EXPECT_EQ(tril(x, far).sum().item<double>(), 18) << far;
    EXPECT_EQ(triu(x, -far).sum().item<double>(), 18) << far;
    EXPECT_EQ(tril(x, -far).sum().item<double>(), 0) << far;
  }
  EXPECT_EQ(tril(x, -kMost - 1).sum().item<double>(), 0);
}

TEST(HugeSizes, AreRefusedInTheNameOfTheOperation) {
  const Huge all[] = {
      {"combinations", [] { combinations(arange(60), 30); }},
      {"combinations", [] { combinations(arange(60), 40, true); }},
      {"tril_indices", [] { tril_indices(k62, k62); }},
      {"one_hot", [] { one_hot(full({1}, kMost)); }},
      {"triu_indices", [] { triu_indices(k62, k62, -kMost); }},
      {"arange", [] { arange(-kMost - 1, kMost); }},
      {"pixel_shuffle", [] { pixel_shuffle(picture(), k32); }},
      {"pixel_shuffle",
       [] {
         pixel_shuffle(ones({1, 0, 2, 2}), k62);
       }},
      {"pixel_unshuffle",
       [] {
         pixel_unshuffle(ones({1, 4, 0, 0}), k32);
       }},
      {"repeat",
       [] {
         repeat(nothing(), {k62, k62});
       }},
      {"repeat_interleave", [] { repeat_interleave(nothing(), kMost, 1); }},
      {"repeat_interleave",
       [] {
         repeat_interleave(tensor(std::vector<std::int64_t>{kMost, kMost}));
       }},
      {"repeat_interleave", [] { repeat_interleave(tensor(std::vector<std::int64_t>{k62})); }},
      {"kron", [] { kron(endless(), endless()); }},
      {"reshape",
       [] {
         reshape(nothing(), {k32, k32});
       }},
      {"split",
       [] {
         split(ones({4}), std::vector<std::int64_t>{k62, k62, k62, k62, 4});
       }},
      {"split", [] { split(endless(), 1); }},
      {"unbind", [] { unbind(endless()); }},
      {"chunk", [] { chunk(nothing(), k62); }},
      {"tensor_split", [] { tensor_split(nothing(), k62); }},
      {"hsplit",
       [] {
         hsplit(ones({2, 0}), k62);
       }},
      {"vsplit", [] { vsplit(nothing(), k62); }},
      {"combinations", [] { combinations(ones({3}), k62); }},
      {"pad",
       [] {
         pad(ones({2, 3}), {kMost, kMost});
       }},
      {"pad",
       [] {
         pad(ones({1, 1, 3}), {k62 / 8, k62 / 8}, "replicate");
       }},
      {"diag_embed", [] { diag_embed(ones({2}), INT64_MIN); }},
      {"as_strided_scatter",
       [] {
         as_strided_scatter(ones({4}), ones({2, 2}), {2, 2}, {k62, k62}, 0);
       }},
      {"interpolate",
       [] {
         interpolate(ones({1, 1, 2}), {.size = {k62 / 8}});
       }},
      {"interpolate",
       [] {
         interpolate(ones({1, 1, 2}), {.size = {k62 / 8}, .mode = "linear"});
       }},
      {"unfold",
       [] {
         unfold(picture(), {k32, k32}, {.padding = k32});
       }},
      {"fold",
       [] {
         fold(ones({1, 1, 1}), {k32, k32}, {k32, k32});
       }},
      {"conv1d",
       [] {
         conv1d(ones({1, 1, 2}), ones({1, 1, 2}), {}, {.dilation = k62});
       }},
      {"conv_transpose1d",
       [] {
         conv_transpose1d(ones({1, 1, 2}), ones({1, 1, 2}), {}, {.stride = k62});
       }},
      {"max_pool1d",
       [] {
         max_pool1d(ones({1, 2}), kMost);
       }},
      {"mvlgamma", [] { mvlgamma(ones({2}), INT32_MAX); }},
      {"rnn_tanh",
       [] {
         rnn_tanh(ones({1, 1, 2}), ones({1, 1, 2}), {}, {.num_layers = k62});
       }},
      {"lstm",
       [] {
         lstm(ones({1, 1, 2}), {ones({1, 1, 2}), ones({1, 1, 2})}, {}, {.num_layers = k62 + 1});
       }},
  };
  for (const Huge& h : all) {
    try {
      h.call();
      ADD_FAILURE() << h.op << ": nothing was thrown";
    } catch (const Error& e) {
      EXPECT_EQ(std::string(e.what()).rfind(h.op, 0), 0u) << h.op << ": " << e.what();
    }
  }
}

TEST(HugeSizes, LayersAreRefusedBeforeTheyAreMade) {
  EXPECT_THROW(nn::LSTM(2, 2, {.num_layers = k62}), OutOfMemoryError);
  EXPECT_THROW(nn::GRU(2, kMost / 2), ValueError);
  EXPECT_THROW(nn::Transformer(2, 1, {{.dim_feedforward = 2}, k62, 1}), OutOfMemoryError);
}

TEST(HugeSizes, MvlgammaIsTheSumOfItsTerms) {
  const Tensor x = tensor(std::vector<double>{3, 4.5, 9}), y = mvlgamma(x, 4);
  for (int i = 0; i < 3; ++i) {
    double sum = 3 * std::log(3.14159265358979323846);
    for (int j = 0; j < 4; ++j) sum += std::lgamma(x.data<double>()[i] - 0.5 * j);
    EXPECT_NEAR(y.data<double>()[i], sum, 1e-12);
  }
}

}  // namespace
}  // namespace neura

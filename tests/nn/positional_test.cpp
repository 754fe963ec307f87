#include "neura/nn/positional.h"

#include <gtest/gtest.h>

#include <cmath>

#include "neura/nn/nn.h"
#include "neura/ops/create/create.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"
#include "tests/support/gradients.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::nn {
namespace {

using test::error_of;
using test::sample;

TEST(PositionalEncoding, AddsSinesAndCosines) {
  for (const std::int64_t width : {1, 4, 5}) {
    const PositionalEncoding m(width, {.dropout = 0, .max_len = 50, .dtype = float64});
    const Tensor x = sample({7, 3, width}, float64);
    const Tensor want = test::from_loop(x.shape(), float64, [&](const Shape& i) {
      const double angle = double(i[0]) * std::exp(-std::log(10000.0) * double(i[2] - i[2] % 2) / double(width));
      return test::at(x, i) + (i[2] % 2 ? std::cos(angle) : std::sin(angle));
    });
    test::expect_close(m(x), want, {1e-12, 1e-12});
    const PositionalEncoding batches(width, {.dropout = 0, .max_len = 7, .batch_first = true, .dtype = float64});
    test::expect_close(batches(x.transpose(0, 1)), want.transpose(0, 1), {1e-12, 1e-12});
    test::expect_gradients([&](const Tensor& t) { return m(t * t); }, x);
  }
}

TEST(PositionalEncoding, TellsThePlacesOfASequenceApart) {  // no two rows of the table are alike
  const PositionalEncoding m(16, {.dropout = 0, .max_len = 200});
  const Tensor rows = m(zeros({200, 1, 16})).squeeze(1);
  for (std::int64_t i = 0; i < 200; i += 13)
    for (std::int64_t j = 0; j < 200; ++j) EXPECT_EQ(i == j, bool(test::close(rows[i], rows[j], {1e-3, 0}))) << i << j;
}

TEST(PositionalEncoding, DropsInTrainingAloneAndHoldsABuffer) {
  PositionalEncoding m(4, {.dropout = 0.5, .max_len = 6});
  EXPECT_EQ(m.str(), "PositionalEncoding(d_model=4, dropout=0.5, max_len=6)");
  EXPECT_TRUE(m.parameters().empty());
  EXPECT_EQ(m.state_dict().keys(), std::vector<std::string>{"pe"});
  const Tensor x = ones({6, 8, 4});
  EXPECT_FALSE(bool(test::close(m(x), x + m.pe)));
  m.eval();
  test::expect_same(m(x), x + m.pe);
  EXPECT_EQ(m.clone()->str(), m.str());
}

TEST(PositionalEncoding, NamesMistakes) {
  const PositionalEncoding m(4, {.max_len = 5});
  EXPECT_EQ(error_of<ShapeError>([&] {
              m(ones({6, 2, 4}));
            }),
            "PositionalEncoding: expected an input of [at most 5, N, 4], got float32 [6, 2, 4]");
  EXPECT_THROW(m(ones({5, 2, 3})), ShapeError);
  EXPECT_THROW(m(ones({5, 4})), ShapeError);
  EXPECT_THROW(PositionalEncoding(0), ValueError);
  EXPECT_THROW(PositionalEncoding(4, {.dropout = 1.5}), ValueError);
  EXPECT_THROW(PositionalEncoding(std::int64_t(1) << 40, {.max_len = std::int64_t(1) << 40}), Error);
}

}  // namespace
}  // namespace neura::nn

// The in-place forms of operations that are no rows: on windows of a larger storage, and while recording.
#include "neura/autograd/autograd.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "tests/contract/in_place.h"
#include "tests/contract/row_case.h"
#include "tests/contract/structs.h"

namespace neura::test {
namespace {

class InPlaceContract : public ::testing::TestWithParam<InPlaceCase> {};

TEST_P(InPlaceContract, WritesWhatTheFreshFormGivesAndNothingElse) {
  for (const DType d : {float64, float32, bfloat16, int64, complex64}) {
    SCOPED_TRACE(neura::name(d));
    if (d == int64 && std::string(GetParam().name) == "index_reduce") continue;
    const Tensor x = sample({3, 3}, d), o = sample({2, 3}, d, {.seed = 2});
    Tensor want;
    try {
      want = GetParam().fresh(x, o);
    } catch (const Error&) {
      continue;  // not for this dtype
    }
    for (const Shape& strides : {Shape{3, 1}, Shape{1, 3}, Shape{6, 2}, Shape{1, 4}}) {
      const Tensor all = from_loop({40}, d, [](const Shape&i) { return Scalar(1 + i[0] % 5); }),
                   before = converted(all, d);
      Tensor self = as_strided(all, {3, 3}, strides, 5);
      for_each_index({3, 3}, [&](const Shape& i) { store_at(self, i, scalar_at(x, i)); });
      const std::uint32_t version = self.version();
      EXPECT_TRUE(GetParam().write(self, o).is_same(self));
      expect_same(self, want);
      EXPECT_NE(self.version(), version);
      std::vector<bool> inside(40);
      for_each_index({3, 3},
                     [&](const Shape& i) { inside[std::size_t(5 + i[0] * strides[0] + i[1] * strides[1])] = true; });
      for (std::int64_t i = 0; i < 40; ++i)
        if (!inside[std::size_t(i)])
          EXPECT_EQ(scalar_at(all, {i}).real(), scalar_at(before, {i}).real()) << "outside, at " << i;
    }
    count_case();
  }
}

TEST_P(InPlaceContract, ALazyCloneKeepsItsValues) {
  const Tensor all = full({5000}, 1.5, {.dtype = float64}), lazy = lazy_clone(all);
  ASSERT_EQ(lazy.const_raw_data(), all.const_raw_data());
  Tensor self = as_strided(all, {3, 3}, {6, 2}, 5);
  GetParam().write(self, any({2, 3}, 2));
  EXPECT_NE(lazy.const_raw_data(), all.const_raw_data());
  std::int64_t written = 0;
  for (std::int64_t i = 0; i < 5000; ++i) {
    EXPECT_EQ(scalar_at(lazy, {i}).real(), 1.5) << i;
    written += scalar_at(all, {i}).real() != 1.5;
  }
  EXPECT_GT(written, 0);
  count_case();
}

TEST_P(InPlaceContract, DifferentiatesLikeTheFreshForm) {
  for (const bool on_view : {false, true}) {
    const auto run = [&](bool in_place) {
      Tensor x = any({3, 3}).requires_grad_(), o = any({2, 3}, 2).requires_grad_();
      const Tensor scaled = neura::mul(x, 2);
      Tensor base = on_view ? neura::mul(scaled.expand({2, 3, 3}), 1) : scaled;
      Tensor self = on_view ? base.select(0, 1).transpose(0, 1) : base, y;
      if (in_place) GetParam().write(self, o), y = self;
      else y = GetParam().fresh(self, o);
      const Tensor g = any({3, 3}, 3);
      const std::vector<Tensor> leaves = {x, o};
      std::vector<Tensor> result = grad({&y, 1}, leaves, {&g, 1}, {.allow_unused = true});
      for (Tensor& r : result)
        if (!r) r = sample(Shape{}, float64, {.low = 0, .high = 0});
      result.push_back(y.detach());
      return result;
    };
    const std::vector<Tensor> got = run(true), want = run(false);
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (want[i].dim() == got[i].dim()) expect_close(got[i], want[i]);
      else {  // zeros, or no gradient
        const Tensor& some = want[i].dim() ? want[i] : got[i];
        for_each_index(some.shape(), [&](const Shape& at) { EXPECT_EQ(scalar_at(some, at).real(), 0); });
      }
    }
  }
  count_case();
}

INSTANTIATE_TEST_SUITE_P(Operations, InPlaceContract, ::testing::ValuesIn(in_place_cases()),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace neura::test

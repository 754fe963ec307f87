// The in-place forms of operations that are no rows: on windows of a larger storage, and while recording.
#include "neura/autograd/autograd.h"
#include "neura/ops/copy.h"
#include "neura/ops/create.h"
#include "neura/ops/index.h"
#include "neura/ops/rows_more.h"
#include "neura/ops/shape.h"
#include "neura/ops/view.h"
#include "tests/contract/row_case.h"
#include "tests/contract/structs.h"

namespace neura::test {
namespace {

struct InPlaceCase {
  const char* name;
  Tensor& (*write)(Tensor& self, const Tensor& other);
  Tensor (*fresh)(const Tensor& self, const Tensor& other);
};
std::ostream& operator<<(std::ostream& s, const InPlaceCase& c) { return s << c.name; }

Tensor rows() { return whole({2, 0}, {2}); }
Tensor places() { return whole({0, 2, 1, 0, 2, 2}, {2, 3}); }
Tensor which() { return mask({1, 0, 1, 0, 0, 1, 1, 0, 0}, {3, 3}); }

// self is [3, 3], other [2, 3].
const InPlaceCase kCases[] = {
    {"copy", [](Tensor& x, const Tensor& o) -> Tensor& { return copy_(x, o.select(0, 1)); },
     [](const Tensor& x, const Tensor& o) { return neura::add(neura::mul(x, 0), o.select(0, 1)); }},
    {"fill", [](Tensor& x, const Tensor& o) -> Tensor& { return fill_(x, o.select(0, 0).select(0, 0)); },
     [](const Tensor& x, const Tensor& o) { return neura::add(neura::mul(x, 0), o.select(0, 0).select(0, 0)); }},
    {"zero", [](Tensor& x, const Tensor&) -> Tensor& { return zero_(x); },
     [](const Tensor& x, const Tensor&) { return neura::mul(x, 0); }},
    {"tril", [](Tensor& x, const Tensor&) -> Tensor& { return tril_(x, 1); },
     [](const Tensor& x, const Tensor&) { return tril(x, 1); }},
    {"triu", [](Tensor& x, const Tensor&) -> Tensor& { return triu_(x); },
     [](const Tensor& x, const Tensor&) { return triu(x); }},
    {"index_add", [](Tensor& x, const Tensor& o) -> Tensor& { return index_add_(x, 0, rows(), o, 2); },
     [](const Tensor& x, const Tensor& o) { return index_add(x, 0, rows(), o, 2); }},
    {"index_copy", [](Tensor& x, const Tensor& o) -> Tensor& { return index_copy_(x, 0, rows(), o); },
     [](const Tensor& x, const Tensor& o) { return index_copy(x, 0, rows(), o); }},
    {"index_fill", [](Tensor& x, const Tensor&) -> Tensor& { return index_fill_(x, 1, rows(), 2.0); },
     [](const Tensor& x, const Tensor&) { return index_fill(x, 1, rows(), 2.0); }},
    {"index_reduce", [](Tensor& x, const Tensor& o) -> Tensor& { return index_reduce_(x, 0, rows(), o, "mean"); },
     [](const Tensor& x, const Tensor& o) { return index_reduce(x, 0, rows(), o, "mean"); }},
    {"scatter", [](Tensor& x, const Tensor& o) -> Tensor& { return scatter_(x, 1, places(), o); },
     [](const Tensor& x, const Tensor& o) { return scatter(x, 1, places(), o); }},
    {"scatter_add", [](Tensor& x, const Tensor& o) -> Tensor& { return scatter_add_(x, 1, places(), o); },
     [](const Tensor& x, const Tensor& o) { return scatter_add(x, 1, places(), o); }},
    {"scatter_reduce", [](Tensor& x, const Tensor& o) -> Tensor& { return scatter_reduce_(x, 0, places(), o, "sum"); },
     [](const Tensor& x, const Tensor& o) { return scatter_reduce(x, 0, places(), o, "sum"); }},
    {"put",
     [](Tensor& x, const Tensor& o) -> Tensor& {
       return put_(x, whole({0, 3, 8, 4, 5, 1}, {2, 3}), o);
     },
     [](const Tensor& x, const Tensor& o) {
       return put(x, whole({0, 3, 8, 4, 5, 1}, {2, 3}), o);
     }},
    {"masked_scatter", [](Tensor& x, const Tensor& o) -> Tensor& { return masked_scatter_(x, which(), o); },
     [](const Tensor& x, const Tensor& o) { return masked_scatter(x, which(), o); }},
    {"masked_fill", [](Tensor& x, const Tensor&) -> Tensor& { return masked_fill_(x, which(), 2.0); },
     [](const Tensor& x, const Tensor&) { return masked_fill(x, which(), 2.0); }},
    {"index_put", [](Tensor& x, const Tensor& o) -> Tensor& { return index_put_(x, {rows()}, o); },
     [](const Tensor& x, const Tensor& o) { return index_put(x, {rows()}, o); }},
    {"index_put_accumulate", [](Tensor& x, const Tensor& o) -> Tensor& { return index_put_(x, {rows()}, o, true); },
     [](const Tensor& x, const Tensor& o) { return index_put(x, {rows()}, o, true); }},
};

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

INSTANTIATE_TEST_SUITE_P(Operations, InPlaceContract, ::testing::ValuesIn(kCases),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace neura::test

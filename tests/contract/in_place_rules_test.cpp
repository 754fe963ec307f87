// The rules of writing in place (docs/autograd.md has them as a table), for every row and every other operation that
// has an in-place form: when it is refused and what is said, when it is recorded, who sees it, and that a refusal
// changes nothing.
#include "neura/autograd/autograd.h"
#include "neura/core/error_details.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "tests/contract/in_place.h"
#include "tests/contract/row_case.h"
#include "tests/contract/structs.h"

namespace neura::test {
namespace {

struct Write {
  std::string name, said;  // of the case, and as errors call the operation
  DType dtype;
  std::function<Tensor&(Tensor&)> call;  // on a tensor of [3, 3]
  Tensor start;                          // what it is meant for
};
std::ostream& operator<<(std::ostream& s, const Write& w) { return s << w.name; }

std::vector<Write> writes() {
  std::vector<Write> all;
  for (const RowCase& c : row_cases()) {
    const DType d = c.row->types.accepts(float64) ? float64 : complex128;
    if (!c.row->types.accepts(d) || c.row->types.mask_first) continue;  // integers and bool are never recorded
    if (category(c.row->types.result(d)) > category(d)) continue;
    const std::vector<Tensor> in = operands(c, d, equal_shapes(c, {3, 3}), 7), rest(in.begin() + 1, in.end());
    all.push_back(
        {c.name, c.row->name, d, [c, rest](Tensor& x) -> Tensor& { return call_in_place(c, x, rest); }, in[0]});
  }
  for (const InPlaceCase& c : in_place_cases()) {
    const std::string name = c.name, said = name.substr(0, name.find("_accumulate"));
    const Tensor other = any({2, 3}, 2);
    all.push_back(
        {"op_" + name, said, float64, [c, other](Tensor& x) -> Tensor& { return c.write(x, other); }, any({3, 3}, 4)});
  }
  return all;
}

class InPlaceRules : public ::testing::TestWithParam<Write> {
 protected:
  const Write& w = GetParam();
  Tensor fresh() const { return w.start.clone(); }
  Tensor leaf() const { return fresh().requires_grad_(); }
  Tensor result(const Tensor& leaf) const { return neura::mul(leaf, 1); }
  Tensor written() const {
    Tensor x = fresh();
    return w.call(x);
  }
  // The write is refused with these words, and changes nothing.
  void expect_refused(Tensor& x, std::initializer_list<const char*> words) const {
    const Tensor before = x.detach().clone();
    const std::uint32_t version = x.version();
    try {
      w.call(x);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const InplaceError& e) {
      const std::string text = e.what();
      EXPECT_EQ(text.find(w.said), 0u) << text;
      for (const char* word : words) EXPECT_NE(text.find(word), text.npos) << text;
      EXPECT_FALSE(details_of(e).operands.empty());
    }
    expect_same(x.detach(), before);
    EXPECT_EQ(x.version(), version);
  }
};

TEST_P(InPlaceRules, ALeafIsRefusedWhileRecordingAndWrittenOtherwise) {
  Tensor x = leaf(), whole = x.view({3, 3});
  expect_refused(x, {"expected no leaf that requires gradients", "NoGrad"});
  expect_refused(whole, {"expected no view of a leaf that requires gradients", "NoGrad"});
  {
    NoGrad off;
    EXPECT_TRUE(w.call(x).is_same(x));
  }
  EXPECT_TRUE(x.is_leaf() && x.requires_grad());
  expect_same(x.detach(), written());
  count_case();
}

TEST_P(InPlaceRules, AResultIsRecordedAndSoIsAViewOfOne) {
  Tensor x = leaf(), y = result(x);
  EXPECT_TRUE(w.call(y).is_same(y));
  EXPECT_TRUE(y.requires_grad() && !y.is_leaf());
  expect_same(y.detach(), written());
  Tensor base = neura::mul(x.expand({2, 3, 3}), 1), view = base.select(0, 1);
  w.call(view);
  EXPECT_TRUE(base.requires_grad());
  EXPECT_STREQ(base.grad_fn(), "copy_slices");
  expect_same(base.detach().select(0, 1).clone(), written());
  expect_same(base.detach().select(0, 0).clone(), w.start);
  Tensor unrecorded = result(x);
  {
    NoGrad off;
    w.call(unrecorded);
  }
  EXPECT_STREQ(unrecorded.grad_fn(), "mul");
  count_case();
}

TEST_P(InPlaceRules, ViewsThatCannotBeFollowedAreRefused) {
  Tensor x = leaf(), base = neura::mul(x.expand({2, 3, 3}), 1), one = unbind(base)[0], unseen;
  expect_refused(one, {"one of several made by one call"});
  {
    NoGrad off;
    unseen = base.select(0, 1);
    w.call(one);
  }
  expect_refused(unseen, {"made under NoGrad"});
  Tensor made;
  {
    InferenceMode on;
    made = fresh();
    w.call(made);
  }
  EXPECT_EQ(error_of<InplaceError>([&] { w.call(made); }).find(w.said), 0u);
  count_case();
}

TEST_P(InPlaceRules, ASavedValueIsMissedByBackward) {
  for (const bool through_a_view : {false, true}) {
    Tensor x = leaf(), y = result(x);
    const Tensor z = neura::mul(y, y);
    Tensor target = through_a_view ? y.detach() : y;
    w.call(target);
    const std::string said = error_of<InplaceError>([&] { sum(is_complex(w.dtype) ? neura::abs(z) : z).backward(); });
    EXPECT_NE(said.find("mul: expected its saved operand 0"), said.npos) << said;
    EXPECT_NE(said.find(w.said + "_ changed it in place"), said.npos) << said;
  }
  count_case();
}

TEST_P(InPlaceRules, DetachedTensorsSeeItAndClonesDoNot) {
  Tensor x = fresh();
  const Tensor detached = x.detach(), view = x.view({9}), clone = x.clone(), lazy = lazy_clone(x);
  w.call(x);
  expect_same(detached, x);
  expect_same(view.reshape({3, 3}), x);
  expect_same(clone, w.start);
  expect_same(lazy, w.start);
  EXPECT_EQ(detached.version(), x.version());
  count_case();
}

INSTANTIATE_TEST_SUITE_P(Operations, InPlaceRules, ::testing::ValuesIn(writes()),
                         [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace neura::test

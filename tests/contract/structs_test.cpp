// Every operation that is no row: derivatives, memory layouts, narrow dtypes, nothing at all, and dtypes that are not
// for it.
#include "tests/contract/structs.h"

#include "neura/autograd/autograd.h"
#include "neura/ops/create/create.h"
#include "tests/contract/row_case.h"
#include "tests/support/gradients.h"

namespace neura::test {

namespace {

class StructContract : public ::testing::TestWithParam<StructCase> {
 protected:
  const StructCase& c = GetParam();
  Inputs as(DType real) const {
    Inputs all;
    for (const Tensor& t : c.inputs) all.push_back(converted(t, is_complex(t.dtype()) ? to_complex(real) : real));
    return all;
  }
  // Leaves bytes of its own in the memory that results of these sizes will take next.
  static void soil(const std::vector<Tensor>& like) {
    std::vector<Tensor> dirty;
    for (const Tensor& t : like)
      for (int i = 0; t && i < 4; ++i)
        dirty.push_back(full({std::max<std::int64_t>(1, t.nbytes())}, 0x55 + i, {.dtype = uint8}));
  }
  // A result, or an error of ours: never anything else.
  void expect_answer(const Inputs& in) const {
    try {
      const std::vector<Tensor> once = c.f(in);
      soil(once);
      const std::vector<Tensor> again = c.f(in);
      ASSERT_EQ(again.size(), once.size());
      for (std::size_t i = 0; i < once.size(); ++i)
        if (once[i]) expect_same(again[i], once[i]);  // of memory that nobody wrote to something else is seen
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(": "), std::string::npos) << e.what();
    } catch (const std::exception& e) {
      ADD_FAILURE() << "an error of another kind: " << e.what();
    }
    count_case();
  }
};

TEST_P(StructContract, FirstAndSecondDerivativesMatchFiniteDifferences) {
  expect_gradients(Differentiable(c.f), c.inputs), count_case();
}

TEST_P(StructContract, EveryLayoutEqualsTheContiguousAnswer) {
  const Inputs want = c.f(c.inputs);
  for (std::size_t k = 0; k < c.inputs.size(); ++k)
    for (const Tensor& laid : layouts(c.inputs[k])) {
      Inputs moved = c.inputs;
      moved[k] = laid;
      const Inputs got = c.f(moved);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < got.size(); ++i) expect_close(got[i], want[i]);
    }
  count_case();
}

// Values and first derivatives, with and without a graph.
std::vector<Tensor> differentiated(const StructCase& c, Inputs in, bool create_graph) {
  for (Tensor& t : in) t.requires_grad_();
  std::vector<Tensor> outputs, directions, all;
  for (const Tensor& y : c.f(in)) {
    all.push_back(y.detach());
    if (!y.requires_grad()) continue;
    std::int64_t k = 0;
    outputs.push_back(y);
    directions.push_back(from_loop(y.shape(), y.dtype(), [&](const Shape&) { return 0.5 * double(1 + k++ % 3); }));
  }
  for (const Tensor& g : grad(outputs, in, directions, {.create_graph = create_graph, .allow_unused = true}))
    all.push_back(g ? g.detach() : g);
  return all;
}

TEST_P(StructContract, SingleDerivativesAreTheSameWithAGraph) {
  const auto plain = differentiated(c, as(float64), false), recorded = differentiated(c, as(float64), true);
  ASSERT_EQ(plain.size(), recorded.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (!plain[i] || !recorded[i]) continue;  // zero, or not there
    expect_close(plain[i], recorded[i]);
  }
  count_case();
}

// What arrives may be expanded (from a sum) or transposed.
TEST_P(StructContract, EveryLayoutOfWhatArrivesGivesTheSameGradient) {
  Inputs in = as(float64);
  for (Tensor& t : in) t.requires_grad_();
  for (const Tensor& y : c.f(in)) {
    if (!y.requires_grad()) continue;
    const auto gradient = [&](const Tensor& g) {
      return grad({&y, 1}, in, {&g, 1}, {.retain_graph = true, .allow_unused = true});
    };
    const auto expect_equal = [&](const Tensor& g, const Tensor& plain) {
      const std::vector<Tensor> got = gradient(g), want = gradient(plain);
      for (std::size_t i = 0; i < in.size(); ++i) {
        ASSERT_EQ(got[i].defined(), want[i].defined());
        if (want[i]) expect_close(got[i], want[i]);
      }
    };
    const Tensor g = sample(y.shape(), y.dtype(), {.seed = 21});
    for (const Tensor& laid : layouts(g)) expect_equal(laid, g);
    const Tensor one = sample({}, y.dtype(), {.low = 0.5, .seed = 22}), spread = one.expand(y.shape());
    expect_equal(spread, converted(spread, y.dtype()));
  }
  count_case();
}

TEST_P(StructContract, SingleAndHalfDTypesAreCloseToDouble) {
  for (const DType d : {float32, bfloat16, float16}) {
    SCOPED_TRACE(neura::name(d));
    if (d != float32)
      for (const Tensor& t : c.inputs)
        if (is_complex(t.dtype())) return;
    Inputs narrow = as(d), wide;
    for (const Tensor& t : narrow) wide.push_back(converted(t, is_complex(t.dtype()) ? complex128 : float64));
    std::vector<Tensor> got;
    try {
      got = differentiated(c, narrow, false);
    } catch (const Error& e) {  // a half may be refused, float32 never
      EXPECT_NE(d, float32) << e.what();
      continue;
    }
    const std::vector<Tensor> want = differentiated(c, wide, false);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (!got[i] || !want[i]) continue;
      if (is_integral(want[i].dtype())) continue;  // halves tie where doubles do not
      // Chains of operations round each result to a half.
      expect_close(got[i], converted(want[i], got[i].dtype()), tolerance(d).times(6));
    }
    count_case();
  }
}

TEST_P(StructContract, EmptyInputIsNoCrash) {
  for (int d = 0; d < 5; ++d)
    for (std::size_t which = 0; which <= c.inputs.size(); ++which) {  // one of them, or all
      Inputs in = c.inputs;
      for (std::size_t k = 0; k < in.size(); ++k) {
        if (which != k && which != in.size()) continue;
        Shape s = in[k].shape();
        if (d < s.size()) s[d] = 0;
        in[k] = sample(s, in[k].dtype());
      }
      expect_answer(in);
    }
}

TEST_P(StructContract, OtherDTypesGiveAnAnswerOrATypedError) {
  for (int i = 0; i < kDTypes; ++i) {
    SCOPED_TRACE(neura::name(DType(i)));
    Inputs in;
    for (const Tensor& t : c.inputs) in.push_back(converted(t, DType(i)));
    expect_answer(in);
    if (in.size() > 1) in[0] = c.inputs[0], expect_answer(in);
  }
}

TEST_P(StructContract, WrongRanksAreNoCrash) {
  for (std::size_t k = 0; k < c.inputs.size(); ++k)
    for (const Shape& s : {Shape{}, Shape{1}, Shape{2, 2}, Shape{1, 2, 3}, Shape{1, 1, 2, 2, 2, 2}}) {
      Inputs in = c.inputs;
      in[k] = sample(s, in[k].dtype());
      expect_answer(in);
    }
}

INSTANTIATE_TEST_SUITE_P(Operations, StructContract, ::testing::ValuesIn(struct_cases()),
                         [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace neura::test

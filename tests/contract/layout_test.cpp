// Every operation on operands and incoming gradients in which each subset of dimensions is expanded and the others lie
// in any order, with gaps, at the end of what may be read. The answer of contiguous operands with the same elements is
// the reference; what that answer is worth other tests say.
#include "neura/autograd/autograd.h"
#include "neura/core/error.h"
#include "neura/ops/create/create.h"
#include "neura/ops/product/matmul.h"
#include "tests/contract/row_case.h"
#include "tests/contract/structs.h"
#include "tests/support/layouts.h"

namespace neura::test {
namespace {

unsigned subsets(const Tensor& t) { return 1u << std::min(t.dim(), 4); }

struct Target {
  std::function<Inputs(const Inputs&)> f;
  bool differentiable = true;
};
struct Answer {
  Inputs results, gradients;
};
// Results and, of those that have one, gradients for the given incoming gradients (drawn where `arrive` is empty).
Answer answer(const Target& f, Inputs in, Inputs& arrive, Inputs* plain_arrive, Dice& dice) {
  for (Tensor& t : in)
    if (f.differentiable && (is_floating(t.dtype()) || is_complex(t.dtype()))) t = t.detach().requires_grad_();
  Answer a;
  Inputs outputs;
  for (const Tensor& y : f.f(in)) {
    a.results.push_back(y.detach());
    if (y.requires_grad()) outputs.push_back(y);
  }
  if (plain_arrive)
    for (const Tensor& y : outputs) {
      const Tensor g = sample(y.shape(), y.dtype(), {.seed = dice.bits()});
      Layout l = drawn_layout(g, unsigned(dice.below(subsets(g))), dice);
      arrive.push_back(l.laid), plain_arrive->push_back(l.plain);
    }
  Inputs wanted;
  for (const Tensor& t : in)
    if (t.requires_grad()) wanted.push_back(t);
  if (!outputs.empty() && !wanted.empty()) a.gradients = grad(outputs, wanted, arrive, {.allow_unused = true});
  return a;
}

void expect_equal(const Inputs& got, const Inputs& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(bool(got[i]), bool(want[i])) << what << ' ' << i;
    // Sums are taken in another order.
    if (want[i]) EXPECT_TRUE(close(got[i], want[i], tolerance(want[i].dtype()).times(8))) << what << ' ' << i;
  }
}

// The function at operands of this kind in a drawn layout, against the same elements side by side.
void expect_layouts_agree(const Target& f, const Inputs& in, const std::vector<unsigned>& expanded, Dice& dice) {
  Inputs laid, plain, arrive, plain_arrive;
  std::string text;
  for (std::size_t k = 0; k < in.size(); ++k) {
    Layout l = drawn_layout(in[k], expanded[k], dice);
    laid.push_back(l.laid), plain.push_back(l.plain), text += "\n  operand " + std::to_string(k) + " " + l.text;
  }
  try {
    const Answer got = answer(f, laid, arrive, &plain_arrive, dice);
    const Answer want = answer(f, plain, plain_arrive, nullptr, dice);
    for (const Tensor& g : arrive)
      text += "\n  arrives " + g.shape().str() + " strides " + Shape(g.spec().strides, std::size_t(g.dim())).str();
    expect_equal(got.results, want.results, "result" + text);
    expect_equal(got.gradients, want.gradients, "gradient" + text);
  } catch (const Error& e) {
    ADD_FAILURE() << e.what() << text;
  }
}

// Every subset of one operand's dimensions, the other operands expanded by chance.
void expect_every_subset(const Target& f, const Inputs& in, std::uint64_t seed) {
  Dice dice{seed};
  for (std::size_t k = 0; k < in.size(); ++k)
    for (unsigned set = 0; set < subsets(in[k]); ++set) {
      std::vector<unsigned> expanded;
      for (const Tensor& t : in) expanded.push_back(unsigned(dice.below(2) * dice.below(subsets(t))));
      expanded[k] = set;
      expect_layouts_agree(f, in, expanded, dice);
    }
  count_case();
}

class StructLayout : public ::testing::TestWithParam<StructCase> {};

// Elements that must differ would be equal in an expanded operand: which of them is chosen is not defined.
bool chooses(const std::string& name) {
  for (const char* word : {"sort", "topk", "kthvalue", "median", "mode", "max", "min", "unique", "quantile", "aminmax",
                           "norm_inf", "cummax", "cummin", "renorm", "corrcoef", "searchsorted", "bucketize"})
    if (name.find(word) != std::string::npos) return true;
  return false;
}

TEST_P(StructLayout, ExpandedTransposedAndSlicedOperandsEqualContiguousOnes) {
  const StructCase& c = GetParam();
  if (chooses(c.name)) {
    Dice dice{7};
    const std::vector<unsigned> none(c.inputs.size(), 0);
    for (int i = 0; i < 6; ++i) expect_layouts_agree({c.f}, c.inputs, none, dice);
    return;
  }
  for (const DType d : {float64, float32}) {
    Inputs in;
    for (const Tensor& t : c.inputs)
      in.push_back(is_integral(t.dtype()) ? t : converted(t, is_complex(t.dtype()) ? to_complex(d) : d));
    expect_every_subset({c.f}, in, 11);
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, StructLayout, ::testing::ValuesIn(struct_cases()),
                         [](const auto& i) { return i.param.name; });

class RowLayout : public RowTest {};

TEST_P(RowLayout, ExpandedTransposedAndSlicedOperandsEqualContiguousOnes) {
  DType dtype = float32;
  for (int i = 0; i < kDTypes && !c.row->types.accepts(dtype); ++i) dtype = DType(i);  // one that it takes
  const Inputs in = operands(c, dtype, broadcasting_shapes(c), 5);
  expect_every_subset({[&](const Inputs& x) { return Inputs{call(c, x)}; }, c.row->differentiable}, in, 13);
}

INSTANTIATE_TEST_SUITE_P(Rows, RowLayout, ::testing::ValuesIn(row_cases()), [](const auto& i) { return i.param.name; });

// Sizes around those of vectors, tiles and blocks decide which way a product goes.
TEST(ProductLayout, ProductsOfDrawnSizesEqualThoseOfContiguousOperands) {
  constexpr std::int64_t kSizes[] = {1, 2, 4, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 130};
  Dice dice{17};
  const auto size = [&] { return kSizes[dice.below(std::int64_t(std::size(kSizes)))]; };
  const auto draw = [&](const Shape& s, DType d) { return sample(s, d, {.seed = dice.bits()}); };
  for (int i = 0; i < 400; ++i) {
    const DType d = std::array{float32, float64, float32, bfloat16, complex64}[std::size_t(dice.below(5))];
    const std::int64_t m = size(), n = size(), k = size(), b = 1 + dice.below(3);
    const auto any_set = [&](int rank) { return unsigned(dice.below(1 << rank)); };
    const Shape sizes{b, m, k, n};
    SCOPED_TRACE(std::string(neura::name(d)) + " " + sizes.str());
    expect_layouts_agree({[](const Inputs& x) { return Inputs{matmul(x[0], x[1])}; }},
                         {draw({m, k}, d), draw({k, n}, d)}, {any_set(2), any_set(2)}, dice);
    expect_layouts_agree({[](const Inputs& x) { return Inputs{matmul(x[0], x[1])}; }},
                         {draw({b, m, k}, d), draw({b, k, n}, d)}, {any_set(3), any_set(3)}, dice);
    expect_layouts_agree({[](const Inputs& x) { return Inputs{linear(x[0], x[1], x[2])}; }},
                         {draw({m, k}, d), draw({n, k}, d), draw({n}, d)}, {any_set(2), any_set(2), any_set(1)}, dice);
    expect_layouts_agree({[](const Inputs& x) { return Inputs{addmm(x[0], x[1], x[2], {.beta = 0.5, .alpha = 2})}; }},
                         {draw({m, n}, d), draw({m, k}, d), draw({k, n}, d)}, {any_set(2), any_set(2), any_set(2)},
                         dice);
    if (HasFailure()) return;
  }
}

TEST(ProductLayout, AMeanOverSamplesBeforeTheLossGivesTheWeightItsGradient) {
  const Tensor x = sample({5, 8}), w = sample({4, 8}, float32, {.seed = 2}).requires_grad_();
  const Tensor y = linear(x, w, Tensor()), g = sample({4}, float32, {.seed = 3});
  y.backward(g.expand({5, 4}));
  expect_close(w.grad(), matmul(g.unsqueeze(1), x.sum({0}, true)));
  expect_close(matmul(ones({4, 1}).expand({4, 8}), ones({8, 8})), std::vector<double>(32, 8));
}

}  // namespace
}  // namespace neura::test

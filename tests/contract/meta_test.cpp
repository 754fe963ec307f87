// The device meta: every operation says there what its results are, forward and backward, as on the cpu, and computes
// nothing.
#include "neura/core/meta.h"

#include <algorithm>
#include <set>

#include "neura/neura.h"
#include "tests/contract/row_case.h"
#include "tests/contract/structs.h"

namespace neura::test {
namespace {

const Device meta = "meta";

std::vector<Tensor> there(const std::vector<Tensor>& all) {
  std::vector<Tensor> moved;
  for (const Tensor& t : all) moved.push_back(t ? t.to(meta) : t);
  return moved;
}
void expect_like(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.defined(), want.defined());
  if (!want) return;
  EXPECT_EQ(got.device(), meta);
  EXPECT_EQ(got.dtype(), want.dtype());
  EXPECT_EQ(got.shape(), want.shape());
  if (want.numel()) EXPECT_EQ(got.strides(), want.strides()) << want.spec().str();
  EXPECT_EQ(got.requires_grad(), want.requires_grad());
}
void expect_like(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) expect_like(got[i], want[i]);
}
// What f throws, without the words that only meta adds.
struct Thrown {
  bool of_sizes = false;  // or of dtypes
  std::string text;
};
template <class F> Thrown thrown(F&& f) {
  try {
    f();
    return {};
  } catch (const Error& e) {
    std::string text = e.what();
    for (std::size_t at; (at = text.find(" on meta")) != text.npos;) text.erase(at, 8);
    return {dynamic_cast<const ShapeError*>(&e) || dynamic_cast<const DTypeError*>(&e), text};
  }
}
bool says_no_values(const Thrown& t) { return t.text.find("expected a tensor with values") != t.text.npos; }

class RowsOnMeta : public RowTest {};
class GradientsOnMeta : public RowTest {};
class StructsOnMeta : public ::testing::TestWithParam<StructCase> {
 protected:
  void TearDown() override { constants_on = Device(); }
  const StructCase& c = GetParam();
  Inputs called(Device on, const Inputs& in) const {
    constants_on = on;
    return c.f(in);
  }
  std::vector<Tensor> differentiated(Device on, int order) const {
    constants_on = on;
    Inputs in;
    for (const Tensor& t : c.inputs) in.push_back(t.to(on).clone().requires_grad_());
    return derived(c.f(in), in, order);
  }
};

TEST_P(RowsOnMeta, EveryDTypeShapeLayoutAndDestinationIsTheSame) {
  for_accepted([&](DType d) {
    for (const auto& shapes : {broadcasting_shapes(c), equal_shapes(c, {67}), equal_shapes(c, {0, 3})}) {
      const std::vector<Tensor> in = operands(c, d, shapes, 3);
      expect_like(call(c, there(in)), call(c, in));
    }
    std::vector<Tensor> in = operands(c, d, equal_shapes(c, {5, 7}), 4);
    for (Tensor& t : in) t = t.t().contiguous().t();
    const Tensor want = call(c, in);
    expect_like(call(c, there(in)), want);
    Tensor out = empty({3}, {.dtype = want.dtype(), .device = meta});
    expect_like(call_out(c, out, there(in)), want.contiguous());
    if (category(want.dtype()) > category(in[0].dtype())) return;
    const std::vector<Tensor> moved = there(in);
    Tensor self = moved[0];
    EXPECT_TRUE(call_in_place(c, self, {moved.begin() + 1, moved.end()}).is_same(moved[0]));
    expect_like(self, in[0]);
  });
}

TEST_P(GradientsOnMeta, AreLikeTheCpus) {
  const std::vector<Tensor> points = smooth_operands(c, row.types.accepts(float64) ? float64 : complex128);
  if (points.empty()) return;
  const auto gradients = [&](Device on, int order) {
    std::vector<Tensor> in, wanted;
    for (std::size_t i = 0; i < points.size(); ++i) {
      Tensor t = points[i].to(on);
      if (t.dtype() != boolean && row.slopes[i].exists) wanted.push_back(t = t.clone().requires_grad_());
      in.push_back(t);
    }
    return derived({call(c, in)}, wanted, order);
  };
  for (const int order : {1, 2}) expect_like(gradients(meta, order), gradients(Device(), order));
}

// How large their results are, or how they are computed, depends on values.
const std::set<std::string> kNeedValues = {"index_mask", "linalg_lstsq_by_values", "masked_scatter", "masked_select",
                                           "repeat_interleave_tensor"};

TEST_P(StructsOnMeta, ResultsAndDerivativesAreLikeTheCpus) {
  if (kNeedValues.count(c.name)) {
    EXPECT_TRUE(says_no_values(thrown([&] { differentiated(meta, 0); })));
    return;
  }
  for (const int order : {0, 1, 2}) expect_like(differentiated(meta, order), differentiated(Device(), order));
  count_case();
}

TEST_P(StructsOnMeta, EveryLayoutIsTheSame) {
  if (kNeedValues.count(c.name)) return;
  for (std::size_t k = 0; k < c.inputs.size(); ++k) {
    if (c.inputs[k].dim() < 2) continue;
    Inputs in = c.inputs;
    in[k] = c.inputs[k].transpose(0, 1).contiguous().transpose(0, 1);
    expect_like(called(meta, there(in)), called(Device(), in));
  }
}

// What the cpu refuses for sizes and dtypes, meta refuses in the same words.
TEST_P(StructsOnMeta, RefusesWhatTheCpuRefuses) {
  const auto compare = [&](const Inputs& in) {
    const Thrown want = thrown([&] { called(Device(), in); });
    if (!want.of_sizes) return;
    const Thrown got = thrown([&] { called(meta, there(in)); });
    if (!says_no_values(got)) EXPECT_EQ(got.text, want.text);
  };
  for (std::size_t k = 0; k < c.inputs.size(); ++k)
    for (const Shape& s : {Shape{}, Shape{1}, Shape{2, 2}, Shape{1, 2, 3}, Shape{1, 1, 2, 2, 2, 2}}) {
      Inputs in = c.inputs;
      in[k] = sample(s, in[k].dtype());
      compare(in);
    }
  for (int i = 0; i < kDTypes; ++i) {
    Inputs in;
    for (const Tensor& t : c.inputs) in.push_back(converted(t, DType(i)));
    compare(in);
  }
}

std::vector<RowCase> rows(bool differentiable) {
  std::vector<RowCase> some;
  for (const RowCase& c : row_cases())
    if (c.row->differentiable || !differentiable) some.push_back(c);
  return some;
}
const auto name_of = [](const auto& i) { return i.param.name; };
INSTANTIATE_TEST_SUITE_P(Rows, RowsOnMeta, ::testing::ValuesIn(rows(false)), name_of);
INSTANTIATE_TEST_SUITE_P(Rows, GradientsOnMeta, ::testing::ValuesIn(rows(true)), name_of);
INSTANTIATE_TEST_SUITE_P(Structs, StructsOnMeta, ::testing::ValuesIn(struct_cases()), name_of);

}  // namespace
}  // namespace neura::test

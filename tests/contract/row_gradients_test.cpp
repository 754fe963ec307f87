// Every differentiable row: first and second derivatives against finite differences, the fused slope against the exact
// one, narrow dtypes against double.
#include "neura/autograd/autograd.h"
#include "neura/autograd/gradcheck.h"
#include "neura/op/pointwise/rows.h"
#include "tests/contract/row_case.h"
#include "tests/support/loop.h"

namespace neura::test {
namespace {

class RowGradients : public RowTest {
 protected:
  std::vector<DType> doubles() const {
    std::vector<DType> d;
    for (const DType each : {float64, complex128})
      if (row.types.accepts(each)) d.push_back(each);
    return d;
  }
  // As leaves; those whose slope exists require a gradient.
  std::vector<Tensor> leaves(const std::vector<Tensor>& points, DType d) const {
    std::vector<Tensor> in;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const bool condition = points[i].dtype() == boolean;
      Tensor t = converted(points[i], condition ? boolean : d);
      if (!condition && row.slopes[i].exists) t.requires_grad_();
      in.push_back(t);
    }
    return in;
  }
  std::vector<Tensor> gradients(const std::vector<Tensor>& in, bool create_graph) const {
    const Tensor y = call(c, in);
    std::vector<Tensor> wanted, none;
    for (const Tensor& t : in)
      if (t.requires_grad()) wanted.push_back(t);
    std::int64_t k = 0;
    const Tensor g = from_loop(y.shape(), y.dtype(), [&](const Shape&) -> Scalar {
      const double v = double(k++ % 3) - 0.75;
      return is_complex(y.dtype()) ? Scalar(std::complex<double>(v, 0.5)) : Scalar(v);
    });
    return grad({&y, 1}, wanted, {&g, 1}, {.create_graph = create_graph, .allow_unused = true});
  }
};

TEST_P(RowGradients, FirstAndSecondMatchFiniteDifferences) {
  for (const DType d : doubles()) {
    SCOPED_TRACE(neura::name(d));
    const std::vector<Tensor> points = smooth_operands(c, d);
    ASSERT_FALSE(points.empty()) << "no smooth operands";
    const Differentiable f = [&](const std::vector<Tensor>& in) { return std::vector{call(c, in)}; };
    const GradcheckOptions options{.eps = 1e-6, .atol = 1e-6, .rtol = 1e-5};
    try {
      const std::vector<Tensor> in = leaves(points, d);
      gradcheck(f, in, options), count_case();
      gradgradcheck(f, in, {}, options), count_case();
    } catch (const Error& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

TEST_P(RowGradients, FusedSlopeEqualsTheExactOne) {
  for (const DType d : {float32, float64, complex64, complex128}) {
    if (!row.types.accepts(d)) continue;
    SCOPED_TRACE(neura::name(d));
    const std::vector<Tensor> points = smooth_operands(c, is_complex(d) ? complex128 : float64);
    ASSERT_FALSE(points.empty());
    const std::vector<Tensor> fused = gradients(leaves(points, d), false), exact = gradients(leaves(points, d), true);
    ASSERT_EQ(fused.size(), exact.size());
    for (std::size_t i = 0; i < fused.size(); ++i) {
      ASSERT_EQ(fused[i].defined(), exact[i].defined());
      if (fused[i]) expect_close(fused[i], exact[i].detach());
    }
    count_case();
  }
}

TEST_P(RowGradients, NarrowDTypesAreCloseToDouble) {
  const auto compare = [&](DType d, DType wide) {
    if (!row.types.accepts(d) || !row.types.accepts(wide)) return;
    SCOPED_TRACE(neura::name(d));
    const std::vector<Tensor> points = smooth_operands(c, wide);
    ASSERT_FALSE(points.empty());
    const std::vector<Tensor> want = gradients(leaves(points, wide), false), got = gradients(leaves(points, d), false);
    // A slope that reads the result gets it rounded, and may be that much steeper; sums over broadcast dimensions are
    // of several terms.
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(want[i].defined(), got[i].defined());
      if (!want[i]) continue;
      EXPECT_EQ(got[i].dtype(), d);
      expect_close(got[i], converted(want[i], d), tolerance(d).times(4));
    }
    count_case();
  };
  compare(float32, float64), compare(bfloat16, float64), compare(float16, float64), compare(complex64, complex128);
}

// What the derivative reads may be what the in-place form destroys.
TEST_P(RowGradients, InPlaceDifferentiatesLikeTheFreshForm) {
  if (row.types.mask_first) return;  // self is the condition
  for (const DType d : doubles()) {
    if (row.types.result(d) != d) continue;
    SCOPED_TRACE(neura::name(d));
    std::vector<Tensor> points = smooth_operands(c, d);
    ASSERT_FALSE(points.empty());
    points[0] =
        converted(points[0].expand(c.row->inputs == 1 ? points[0].shape() : Shape{2, 3}), d);  // self does not grow
    for (const bool on_view : {false, true}) {
      const auto run = [&](bool in_place) {
        const std::vector<Tensor> in = leaves(points, d);
        const Tensor scaled = neura::mul(in[0], 1);
        Tensor base = on_view ? neura::mul(scaled.expand({2, 2, 3}), 1) : scaled,
               self = on_view ? base.select(0, 1) : base;
        const std::vector<Tensor> rest(in.begin() + 1, in.end());
        std::vector<Tensor> all = rest;
        all.insert(all.begin(), self);
        Tensor y;
        if (in_place) call_in_place(c, self, rest), y = on_view ? base.sum(Dims(0)) : self;
        else y = on_view ? neura::add(base.select(0, 0), call(c, all)) : call(c, all);
        std::vector<Tensor> wanted;
        for (const Tensor& t : in)
          if (t.requires_grad()) wanted.push_back(t);
        const Tensor g = from_loop(y.shape(), d, [](const Shape& i) { return 1.0 + double(i[1]); });
        std::vector<Tensor> result = grad({&y, 1}, wanted, {&g, 1}, {.allow_unused = true});
        result.push_back(y.detach());
        return result;
      };
      const std::vector<Tensor> got = run(true), want = run(false);
      for (std::size_t i = 0; i < want.size(); ++i) {
        ASSERT_EQ(got[i].defined(), want[i].defined());
        if (want[i]) expect_close(got[i], want[i]);
      }
    }
    count_case();
  }
}

TEST_P(RowGradients, EveryLayoutGivesTheSameGradient) {
  for (const DType d : doubles()) {
    SCOPED_TRACE(neura::name(d));
    std::vector<Tensor> points = smooth_operands(c, d);
    ASSERT_FALSE(points.empty());
    for (Tensor& t : points) t = converted(t.expand({2, 3}), t.dtype());
    const std::vector<Tensor> want = gradients(leaves(points, d), false);
    for (std::size_t k = 0; k < points.size(); ++k)
      for (const Tensor& laid : layouts(points[k])) {
        std::vector<Tensor> in = leaves(points, d);
        in[k] = laid;
        if (points[k].dtype() != boolean && row.slopes[k].exists) in[k].requires_grad_();
        const std::vector<Tensor> got = gradients(in, false);
        for (std::size_t i = 0; i < want.size(); ++i)
          if (want[i]) expect_same(got[i], want[i]);
      }
    // What arrives: transposed, with gaps, or one number expanded.
    const std::vector<Tensor> in = leaves(points, d);
    const Tensor y = call(c, in);
    std::vector<Tensor> wanted;
    for (const Tensor& t : in)
      if (t.requires_grad()) wanted.push_back(t);
    const auto given = [&](const Tensor& g) {
      return grad({&y, 1}, wanted, {&g, 1}, {.retain_graph = true, .allow_unused = true});
    };
    const Tensor g = from_loop(y.shape(), y.dtype(), [](const Shape& i) { return 0.5 + double(i[0] - i[1]); });
    const Tensor one = from_loop({}, y.dtype(), [](const Shape&) { return 0.75; }).expand(y.shape());
    std::vector<Tensor> arriving = layouts(g);
    arriving.push_back(one);
    for (const Tensor& a : arriving) {
      const std::vector<Tensor> got = given(a), plain = given(converted(a, a.dtype()));
      for (std::size_t i = 0; i < plain.size(); ++i)
        if (plain[i]) expect_same(got[i], plain[i]);
    }
    count_case();
  }
}

class ManyOperandGradients : public RowGradients {};

TEST_P(ManyOperandGradients, NumbersAreConstants) {
  for (const DType d : doubles()) {
    SCOPED_TRACE(neura::name(d));
    const std::vector<Tensor> points = smooth_operands(c, d);
    ASSERT_FALSE(points.empty());
    for (std::size_t k = row.types.mask_first ? 1 : 0; k < points.size(); ++k) {
      const Scalar number = scalar_at(points[k], Shape::filled(points[k].dim(), 0));
      const auto run = [&](bool as_number, bool create_graph) {
        std::vector<Tensor> in = leaves(points, d), wanted;
        for (std::size_t i = 0; i < in.size(); ++i)
          if (i != k && in[i].requires_grad()) wanted.push_back(in[i]);
        std::vector<Operand> mixed(in.begin(), in.end());
        const Tensor constant = from_loop({}, d, [&](const Shape&) { return number; });
        mixed[k] = as_number ? Operand(number) : Operand(constant);
        const Tensor y = call(c, mixed);
        if (wanted.empty()) return wanted;
        const Tensor g =
            from_loop(y.shape(), y.dtype(), [](const Shape& i) { return i.size() ? 1.5 + double(i.back()) : 1.0; });
        return grad({&y, 1}, wanted, {&g, 1}, {.create_graph = create_graph, .allow_unused = true});
      };
      const std::vector<Tensor> want = run(false, false);
      for (const bool create_graph : {false, true}) {
        const std::vector<Tensor> got = run(true, create_graph);
        for (std::size_t i = 0; i < want.size(); ++i)
          if (want[i]) expect_close(got[i].detach(), want[i]);
      }
    }
    count_case();
  }
}

// Each gradient is of its operand's dtype.
TEST_P(ManyOperandGradients, OfMixedDTypes) {
  const std::vector<Tensor> points = smooth_operands(c, float64);
  ASSERT_FALSE(points.empty());
  const std::vector<Tensor> want = gradients(leaves(points, float64), false);
  for (const bool create_graph : {false, true})
    for (std::size_t k = 0; k < points.size(); ++k) {
      std::vector<Tensor> in = leaves(points, float64);
      if (!in[k].requires_grad()) continue;
      in[k] = converted(points[k], float32).requires_grad_();
      const std::vector<Tensor> got = gradients(in, create_graph);
      for (std::size_t i = 0, at = 0; i < in.size(); ++i)
        if (in[i].requires_grad()) {
          ASSERT_EQ(got[at].defined(), want[at].defined());
          if (want[at]) expect_close(got[at].detach(), converted(want[at], in[i].dtype()));
          ++at;
        }
    }
  count_case();
}

TEST_P(ManyOperandGradients, OfRealOperandsAmongComplexOnes) {
  if (!row.types.accepts(complex128)) return;
  const std::vector<Tensor> points = smooth_operands(c, complex128);
  ASSERT_FALSE(points.empty());
  const Differentiable f = [&](const std::vector<Tensor>& in) { return std::vector{call(c, in)}; };
  for (std::size_t k = 0; k < points.size(); ++k) {
    std::vector<Tensor> in = leaves(points, complex128);
    if (!in[k].requires_grad()) continue;
    in[k] = converted(points[k], float64).requires_grad_();
    try {
      gradcheck(f, in, {.eps = 1e-6, .atol = 1e-6, .rtol = 1e-5});
      gradgradcheck(f, in, {}, {.eps = 1e-6, .atol = 1e-5, .rtol = 1e-4});
    } catch (const Error& e) {
      ADD_FAILURE() << "operand " << k << ": " << e.what();
    }
  }
  count_case();
}

TEST_P(RowGradients, OutIsRefusedWhileRecording) {
  for (const DType d : doubles()) {
    const std::vector<Tensor> in = leaves(operands(c, d, equal_shapes(c, {3})), d);
    Tensor out = call(c, in).detach().clone();
    EXPECT_EQ(
        error_of<AutogradError>([&] { call_out(c, out, in); }).find(std::string(row.name) + ": expected no gradient"),
        0u);
    count_case();
  }
}

TEST_P(RowGradients, OfNothingIsNothing) {
  for (const DType d : doubles()) {
    std::vector<Tensor> in;
    for (const Tensor& t : operands(c, d, equal_shapes(c, {0, 3})))
      in.push_back(t.dtype() == boolean ? t : converted(t, d).requires_grad_());
    const Tensor y = call(c, in);
    if (!y.requires_grad()) continue;
    std::vector<Tensor> wanted;
    for (std::size_t i = 0; i < in.size(); ++i)
      if (in[i].requires_grad() && row.slopes[i].exists) wanted.push_back(in[i]);
    for (const Tensor& g : grad({&y, 1}, wanted, {&y, 1}, {.allow_unused = true}))
      if (g) EXPECT_EQ(g.shape(), (Shape{0, 3}));
    count_case();
  }
}

std::vector<RowCase> with_several_operands() {
  std::vector<RowCase> some;
  for (const RowCase& c : differentiable_row_cases())
    if (c.row->inputs > 1) some.push_back(c);
  return some;
}
INSTANTIATE_TEST_SUITE_P(Tables, ManyOperandGradients, ::testing::ValuesIn(with_several_operands()),
                         [](const auto& i) { return i.param.name; });
INSTANTIATE_TEST_SUITE_P(Tables, RowGradients, ::testing::ValuesIn(differentiable_row_cases()),
                         [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace neura::test

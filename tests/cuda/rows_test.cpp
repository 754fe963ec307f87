// Every row of the tables on CUDA against the CPU: values, layouts, gradients and second gradients.
#include <complex>
#include <cstdio>
#include <cstring>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "tests/contract/row_case.h"
#include "tests/cuda/device.h"
#include "tests/support/loop.h"

namespace neura::test {
namespace {

class CudaRows : public CudaTest {
 protected:
  // f(row, dtype) for every row of the library and every dtype that it takes.
  template <class F> void for_rows(F&& f) {
    for (const RowCase& c : row_cases()) {
      if (c.row->own) continue;  // a table of the tests
      for (int d = 0; d < kDTypes; ++d) {
        if (!c.row->types.accepts(DType(d))) continue;
        SCOPED_TRACE(c.name + " " + name(DType(d)));
        try {
          f(c, DType(d)), count_case(), ++cases_;
        } catch (const Error& e) {
          ADD_FAILURE() << e.what();
        }
      }
    }
    RecordProperty("cases", cases_);
    std::printf("%d cases\n", cases_);
  }
  int cases_ = 0;
};

std::vector<Tensor> moved(const std::vector<Tensor>& in) {
  std::vector<Tensor> out;
  for (const Tensor& t : in) out.push_back(there(t));
  return out;
}
// Both libraries' functions differ in their last digits, which a narrow dtype rounds to another number.
Tolerance between_devices(DType d) { return tolerance(d).times(4); }

TEST_F(CudaRows, ValuesAreTheCpus) {
  for_rows([&](const RowCase& c, DType d) {
    for (const bool anywhere : {false, true})
      for (const auto& shapes : {broadcasting_shapes(c), equal_shapes(c, {67}), equal_shapes(c, {3, 1025})}) {
        const std::vector<Tensor> in = operands(c, d, shapes, 7, anywhere);
        const Tensor want = call(c, in), got = call(c, moved(in));
        expect_close(back(got), want, between_devices(want.dtype()));
      }
  });
}

TEST_F(CudaRows, EveryLayoutGivesTheSame) {
  for_rows([&](const RowCase& c, DType d) {
    const std::vector<Tensor> in = moved(operands(c, d, equal_shapes(c, {5, 7}), 4));
    const Tensor want = back(call(c, in));
    const Tolerance t = tolerance(want.dtype());  // one kernel contracts a b + c where the other does not
    for (std::size_t k = 0; k < in.size(); ++k) {
      std::vector<Tensor> strided = in;
      strided[k] = contiguous(in[k].t()).t();
      expect_close(back(call(c, strided)), want, t);
      Tensor wide = there(zeros({5, 15}, {.dtype = in[k].dtype()}));
      strided[k] = wide.slice(1, 1, 15, 2).copy_(in[k]);
      expect_close(back(call(c, strided)), want, t);
    }
    Tensor out = there(zeros({7, 5}, {.dtype = want.dtype()})).t();
    expect_close(back(call_out(c, out, in)), want, t);
  });
}

TEST_F(CudaRows, NumbersOfTheCpuMayMeetThem) {
  for_rows([&](const RowCase& c, DType d) {
    if (c.row->inputs < 2) return;
    std::vector<Tensor> in = operands(c, d, equal_shapes(c, {6}), 5);
    in.back() = from_loop({}, in.back().dtype(), [&](const Shape&) { return scalar_at(in.back(), {0}); });
    const Tensor want = call(c, in);
    for (std::size_t k = 0; k + 1 < in.size(); ++k) in[k] = there(in[k]);
    expect_close(back(call(c, in)), want, between_devices(want.dtype()));
  });
}

std::vector<Tensor> gradients(const RowCase& c, const std::vector<Tensor>& points, DType d, Device device, bool twice) {
  std::vector<Tensor> in, wanted;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool condition = points[i].dtype() == boolean;
    Tensor t = converted(points[i], condition ? boolean : d).to(device);
    if (!condition && c.row->slopes[i].exists) wanted.push_back(t.requires_grad_());
    in.push_back(t);
  }
  const Tensor y = call(c, in);
  std::int64_t k = 0;
  const Tensor g =
      from_loop(y.shape(), y.dtype(), [&](const Shape&) { return Scalar(double(k++ % 3) - 0.75); }).to(device);
  std::vector<Tensor> first = grad({&y, 1}, wanted, {&g, 1}, {.create_graph = twice, .allow_unused = true});
  if (!twice) return first;
  std::vector<Tensor> roots, ones;
  for (const Tensor& t : first)
    if (t && t.requires_grad()) roots.push_back(t), ones.push_back(ones_like(t));
  return roots.empty() ? roots : grad(roots, wanted, ones, {.allow_unused = true});
}

TEST_F(CudaRows, GradientsAreTheCpus) {
  for_rows([&](const RowCase& c, DType d) {
    if (!differentiable(d) || !c.row->differentiable) return;
    const std::vector<Tensor> points = smooth_operands(c, is_complex(d) ? complex128 : float64);
    for (const bool twice : {false, true}) {
      const auto want = gradients(c, points, d, Device(), twice), got = gradients(c, points, d, kCuda, twice);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < want.size(); ++i) {
        ASSERT_EQ(got[i].defined(), want[i].defined());
        if (want[i]) expect_close(back(got[i].detach()), want[i].detach(), between_devices(d).times(4));
      }
    }
  });
}

// Floats whose upper halves are all there are, each with lower halves on both sides of what rounding turns on.
Tensor floats_of_every_kind() {
  constexpr std::uint32_t low[] = {0, 1, 0xfff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x3001, 0x7fff, 0x8000, 0x8001, 0xffff};
  const Tensor t = Tensor::empty(Spec::dense(float32, Shape{1 << 16, 12}));
  auto* words = static_cast<char*>(t.raw_data());
  for (std::uint32_t high = 0; high < 1 << 16; ++high)
    for (const std::uint32_t l : low) {
      const std::uint32_t word = high << 16 | l;
      std::memcpy(words, &word, 4), words += 4;
    }
  return t;
}

TEST_F(CudaRows, HalvesAreRoundedAsByTheCpu) {
  const Tensor x = floats_of_every_kind(), odd = x.reshape({-1}).slice(0, 3, x.numel());
  for (const DType d : {float16, bfloat16}) {
    const Tensor h = x.to(d);
    expect_same(back(there(x).to(d)), h);
    expect_same(back(there(h).to(float32)), h.to(float32));
    expect_same(back(there(x).reshape({-1}).slice(0, 3, x.numel()).to(d)), odd.to(d));  // no packs
    expect_same(back(neg(there(h))), neg(h));
  }
}

TEST_F(CudaRows, FractionsThatFitNoIntegerAreTheCpus) {
  const std::vector<double> numbers = {0.9,   -0.9,   127.9,     128.0,      -128.9,   -129.0, 255.5,
                                       300.7, -300.7, 40000.0,   1e10,       -1e10,    1e19,   -1e19,
                                       3e38,  -3e38,  1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0};
  const Tensor x = from_loop({std::int64_t(numbers.size())}, float64,
                             [&](const Shape& at) { return Scalar(numbers[std::size_t(at[0])]); });
  for (const DType from : {float64, float32, float16, bfloat16, complex64})
    for (const DType to : {uint8, int8, int16, int32, int64, boolean}) {
      SCOPED_TRACE(std::string(name(from)) + " " + name(to));
      const Tensor h = x.to(from);
      expect_same(back(there(h).to(to)), h.to(to));
      expect_same(back(there(h).slice(0, 1, h.numel(), 2).to(to)), h.slice(0, 1, h.numel(), 2).to(to));
    }
  const Tensor imaginary = full({3}, Scalar(std::complex<double>(0, 2)), {.dtype = complex64});
  expect_same(back(there(imaginary).to(boolean)), ones({3}).to(boolean));
}

TEST_F(CudaRows, HalvesInPacksOfEverySize) {
  std::vector<std::int64_t> sizes = {2047, 2048, 2049, 100003};
  for (std::int64_t n = 1; n < 34; ++n) sizes.push_back(n);
  for (const DType d : {float16, bfloat16})
    for (const std::int64_t n : sizes) {
      SCOPED_TRACE(std::string(name(d)) + " " + std::to_string(n));
      const Tensor a = randn({n}).to(d), b = randn({n}).to(d), wide = randn({n}), m = randn({n}) > 0;
      const Tensor ca = there(a), cb = there(b);
      expect_same(back(ca + cb), a + b);
      expect_same(back(ca * 0.75), a * 0.75);
      expect_same(back(ca > cb), a > b);
      expect_same(back(ca + there(wide)), a + wide);
      expect_same(back(where(there(m), ca, cb)), where(m, a, b));
      Tensor out = there(zeros({n + 9}, {.dtype = d})), part = out.slice(0, 0, n);
      part.copy_(ca), mul_(part, cb);
      expect_same(back(out.slice(0, 0, n)), a * b);
      expect_same(back(out.slice(0, n, n + 9)), zeros({9}, {.dtype = d}));  // nothing beyond the end is written
      expect_same(back(there(wide).to(d)), wide.to(d));
      expect_same(back(ca.to(float32)), a.to(float32));
      for (const char* form : {"none", "tanh"}) {
        for (const Tensor& x : {a, wide})
          expect_close(back(gelu(there(x), {.approximate = form})), gelu(x, {.approximate = form}),
                       between_devices(x.dtype()));
        part.copy_(ca), gelu_(part, {.approximate = form});
        expect_close(back(part), gelu(a, {.approximate = form}), between_devices(d));
        expect_same(back(out.slice(0, n, n + 9)), zeros({9}, {.dtype = d}));
      }
    }
}

// What a distribution function near 1 would lose: of float32, beside float64 on the cpu.
TEST_F(CudaRows, GeluHasTheDigitsOfTheLeftTail) {
  const Tensor x = from_loop({4001}, float32, [](const Shape& i) { return -double(i[0]) * 13 / 4000; });
  const auto relative = [](const Tensor& got, const Tensor& right) {
    return max(abs(back(got).to(float64) / right - 1.0).slice(0, 1, 4001)).item<double>();
  };
  const auto both = [](const Tensor& at, const char* form) {
    const Tensor leaf = at.clone().requires_grad_(), y = gelu(leaf, {.approximate = form});
    y.sum().backward();
    return std::pair(y.detach(), leaf.grad());
  };
  const auto [y, slope] = both(there(x), "none");
  const auto [want, want_slope] = both(x.to(float64), "none");
  EXPECT_LT(relative(y, want), 2e-6);
  expect_close(back(slope), want_slope.to(float32), {1e-6, 2e-6});
  const auto [z, curve] = both(there(x).slice(0, 0, 1801), "tanh");  // to -5.85, where it is 1e-12
  const auto [want_z, want_curve] = both(x.to(float64).slice(0, 0, 1801), "tanh");
  EXPECT_LT(max(abs(back(z).to(float64) / want_z - 1.0).slice(0, 1, 1801)).item<double>(), 1e-5);
  expect_close(back(curve), want_curve.to(float32), {1e-6, 1e-5});
}

TEST_F(CudaRows, HalvesRepeatAlongRowsAndColumns) {
  for (const DType d : {float16, bfloat16})
    for (const std::int64_t inner : {1, 3, 4, 8, 12, 20, 24, 1032}) {
      SCOPED_TRACE(std::string(name(d)) + " " + std::to_string(inner));
      const Tensor a = randn({37, inner}).to(d), row = randn({inner}).to(d), column = randn({37, 1}).to(d);
      const Tensor one = randn({}).to(d), m = randn({37, 1}) > 0;
      expect_same(back(there(a) + there(row)), a + row);
      expect_same(back(there(a) * there(column)), a * column);
      expect_same(back(there(column) - there(a)), column - a);
      expect_same(back(there(a) < there(row)), a < row);
      expect_same(back(where(there(m), there(a), there(one))), where(m, a, one));
      expect_same(back(where(there(a) > there(column), there(row), there(a))), where(a > column, row, a));
    }
}

}  // namespace
}  // namespace neura::test

// Every row of the tables on CUDA against the CPU: values, layouts, gradients and second gradients.
#include <cstdio>

#include "neura/autograd/autograd.h"
#include "neura/ops/copy.h"
#include "neura/ops/create.h"
#include "neura/ops/rows.h"
#include "neura/ops/view.h"
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
        if (!c.row->cls.accepts(DType(d))) continue;
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

}  // namespace
}  // namespace neura::test

// Every operation that is no row on CUDA against the CPU: results, first and second derivatives, in every floating
// dtype that the CPU takes; and strided operands.
#include <cstdlib>

#include "neura/autograd/autograd.h"
#include "neura/core/random.h"
#include "neura/ops/create/create.h"
#include "neura/ops/shape/view.h"
#include "tests/contract/row_case.h"
#include "tests/contract/structs.h"
#include "tests/cuda/device.h"

namespace neura::test {
namespace {

class CudaStructs : public ::testing::TestWithParam<StructCase> {
 protected:
  const StructCase& c = GetParam();
  void SetUp() override {
    if (const std::string why = unavailable(DeviceType::cuda); !why.empty()) GTEST_SKIP() << why;
  }
  void TearDown() override { constants_on = Device(); }

  Inputs as(DType real) const {
    Inputs all;
    for (const Tensor& t : c.inputs) all.push_back(converted(t, is_complex(t.dtype()) ? to_complex(real) : real));
    return all;
  }
  Inputs called(const Inputs& in, Device device) const {
    constants_on = device;
    manual_seed(3);
    return c.f(in);
  }
  // Results, gradients of all of them together, and gradients of those.
  std::vector<Inputs> differentiated(const Inputs& points, Device device, int orders) const {
    Inputs in;
    for (const Tensor& t : points) in.push_back(t.to(device).clone().requires_grad_());
    std::vector<Inputs> all = {called(in, device)};
    for (int order = 0; order < orders; ++order) {
      Inputs roots, seeds;
      for (const Tensor& t : all.back())
        if (t && t.requires_grad()) roots.push_back(t), seeds.push_back(ones_like(t));
      if (roots.empty()) break;
      all.push_back(grad(roots, in, seeds, {.create_graph = order + 1 < orders, .allow_unused = true}));
    }
    return all;
  }
  static void expect_equal(const Inputs& got, const Inputs& want, double times) {
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(got[i].defined(), want[i].defined()) << "number " << i;
      if (want[i]) expect_close(back(got[i].detach()), want[i].detach(), tolerance(want[i].dtype()).times(times));
    }
  }
  // What the CPU refuses in this dtype, CUDA refuses as well.
  void expect_the_cpus(DType real, int orders, double times) const {
    SCOPED_TRACE(name(real));
    const Inputs points = as(real);
    std::vector<Inputs> want;
    try {
      want = differentiated(points, Device(), orders);
    } catch (const Error&) {
      constants_on = kCuda;
      EXPECT_THROW(differentiated(points, kCuda, orders), Error);
      return count_case();
    }
    try {
      const std::vector<Inputs> got = differentiated(points, kCuda, orders);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t order = 0; order < want.size(); ++order) {
        SCOPED_TRACE("order " + std::to_string(order));
        expect_equal(got[order], want[order], times);
      }
    } catch (const Error& e) {
      ADD_FAILURE() << e.what();
    }
    count_case();
  }
};

TEST_P(CudaStructs, ResultsAndDerivativesAreTheCpus) { expect_the_cpus(DType::float64, 2, 1); }

// Sums in another order, and functions of another library, differ by a few units in the last place of the terms.
TEST_P(CudaStructs, SinglesAreTheCpus) { expect_the_cpus(DType::float32, 1, 16); }
TEST_P(CudaStructs, HalvesAreTheCpus) {
  for (const DType d : {DType::bfloat16, DType::float16}) expect_the_cpus(d, 0, 4);
}

TEST_P(CudaStructs, EveryLayoutEqualsTheContiguousAnswer) {
  Inputs in;
  for (const Tensor& t : c.inputs) in.push_back(there(t));
  try {
    const Inputs want = called(in, kCuda);
    for (std::size_t k = 0; k < in.size(); ++k) {
      if (in[k].dim() < 1) continue;
      Inputs strided = in;
      const int last = in[k].dim() - 1;
      Shape wide = in[k].shape();
      wide[last] = wide[last] * 2 + 1;
      strided[k] = zeros(wide, {.dtype = in[k].dtype(), .device = kCuda}).slice(last, 1, wide[last], 2).copy_(in[k]);
      const Inputs got = called(strided, kCuda);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < want.size(); ++i)
        if (want[i]) expect_close(back(got[i]), back(want[i]), tolerance(want[i].dtype()));
    }
  } catch (const Error& e) {
    ADD_FAILURE() << e.what();
  }
  count_case();
}

const auto name_of = [](const auto& i) { return i.param.name; };
INSTANTIATE_TEST_SUITE_P(Operations, CudaStructs, ::testing::ValuesIn(struct_cases()), name_of);

// Float32 products and convolutions are compared with the CPU's, so they must be float32's.
[[maybe_unused]] const bool exact =
    (setenv("NEURA_CUDNN_ALLOW_TF32", "0", 0), setenv("NEURA_MATMUL_ALLOW_TF32", "0", 0), true);

}  // namespace
}  // namespace neura::test

// The exam of a back end that is registered at run time (docs/backend.md): every operation on its device gives what it
// gives on the cpu, and so do first and second derivatives.
//     NEURA_BACKENDS=./libmine.so NEURA_CONTRACT_DEVICE=mine bin/tests/contract --gtest_filter='*Exam*'
#include <cmath>
#include <cstdlib>
#include <limits>

#include "neura/backend/registered.h"
#include "neura/op/registry.h"
#include "neura/ops/create/create.h"
#include "tests/contract/row_case.h"
#include "tests/contract/structs.h"
#include "tests/support/close.h"
#include "tests/support/loop.h"

namespace neura::test {
namespace {

const char* examined() { return std::getenv("NEURA_CONTRACT_DEVICE"); }
Device device() { return Device(examined()); }
std::vector<Tensor> moved(const std::vector<Tensor>& all) {
  std::vector<Tensor> there;
  for (const Tensor& t : all) there.push_back(t ? t.to(device()) : t);
  return there;
}
void expect_there(const Tensor& got, const Tensor& want) {
  EXPECT_EQ(got.device(), device());
  expect_close(got.detach().to(Device()), want.detach());
}
void expect_there(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(got[i].defined(), want[i].defined());
    if (want[i]) expect_there(got[i], want[i]);
  }
}
// A gradient that depends on nothing is absent or zero: a definition knows that of its parts, a kernel does not.
void expect_gradients_there(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  const auto expect_zero = [](const Tensor& t) {
    expect_close(t.detach().to(Device()), zeros(t.shape(), {.dtype = t.dtype()}));
  };
  for (std::size_t i = 0; i < std::max(got.size(), want.size()); ++i) {
    const Tensor a = i < got.size() ? got[i] : Tensor(), b = i < want.size() ? want[i] : Tensor();
    if (a && b) expect_there(a, b);
    else if (a || b) expect_zero(a ? a : b);
  }
}

struct ExamOfRows : RowTest {};
struct ExamOfGradients : RowTest {};
class ExamOfStructs : public ::testing::TestWithParam<StructCase> {
 protected:
  void TearDown() override { constants_on = Device(); }
  std::vector<Tensor> differentiated(Device on, int order) const {
    constants_on = on;
    Inputs in;
    for (const Tensor& t : GetParam().inputs) in.push_back(t.to(on).clone().requires_grad_());
    return derived(GetParam().f(in), in, order);
  }
};

TEST(ExamOfNames, EveryKernelBelongsToAnOperation) {
  if (!examined()) GTEST_SKIP() << "no device is examined";
  for (const auto& [name, kernel] : registered(device().type).kernels)
    EXPECT_TRUE(find_operation(name)) << "there is no operation " << name;
}

TEST_P(ExamOfRows, EveryDTypeShapeAndDestinationIsTheSame) {
  for_accepted([&](DType d) {
    for (const auto& shapes : {broadcasting_shapes(c), equal_shapes(c, {67}), equal_shapes(c, {0, 3})}) {
      const std::vector<Tensor> in = operands(c, d, shapes, 3), there = moved(in);
      expect_there(call(c, there), call(c, in));
    }
    const std::vector<Tensor> in = operands(c, d, equal_shapes(c, {5, 7}), 4), there = moved(in);
    const Tensor want = call(c, in);
    Tensor out = zeros({7, 5}, {.dtype = want.dtype(), .device = device()}).t();
    expect_there(call_out(c, out, there), want);
    if (category(want.dtype()) > category(in[0].dtype())) return;
    Tensor whole = zeros({5, 14}, {.dtype = in[0].dtype(), .device = device()}), self = whole.slice(1, 0, 14, 2);
    self.copy_(there[0]);
    expect_there(call_in_place(c, self, {there.begin() + 1, there.end()}), want.to(in[0].dtype()));
    expect_there(whole.slice(1, 1, 14, 2), zeros({5, 7}, {.dtype = in[0].dtype()}));
  });
}

TEST_P(ExamOfRows, InfinityAndNaNAreTheSame) {
  constexpr double inf = std::numeric_limits<double>::infinity(), values[] = {NAN, inf, -inf, 0, 1.5, -2};
  for (const DType d : {float32, float64}) {
    if (!row.types.accepts(d)) continue;
    std::vector<Tensor> in = operands(c, d, equal_shapes(c, {6, 6}), 5);
    for (std::size_t k = 0; k < in.size(); ++k)
      if (is_floating(in[k].dtype()))
        in[k] = from_loop({6, 6}, d, [&](const Shape& i) { return values[std::size_t(i[int(k) % 2])]; });
    expect_there(call(c, moved(in)), call(c, in));
  }
}

TEST_P(ExamOfGradients, AreTheSame) {
  const std::vector<Tensor> points = smooth_operands(c, row.types.accepts(float64) ? float64 : complex128);
  if (points.empty()) return;  // smooth nowhere
  const auto gradients = [&](Device on, int order) {
    std::vector<Tensor> in, wanted;
    for (std::size_t i = 0; i < points.size(); ++i) {
      Tensor t = points[i].to(on);
      if (t.dtype() != boolean && row.slopes[i].exists) wanted.push_back(t = t.clone().requires_grad_());
      in.push_back(t);
    }
    return derived({call(c, in)}, wanted, order);
  };
  for (const int order : {1, 2}) expect_gradients_there(gradients(device(), order), gradients(Device(), order));
}

TEST_P(ExamOfStructs, ValuesAndDerivativesAreTheSame) {
  expect_there(differentiated(device(), 0), differentiated(Device(), 0));
  for (const int order : {1, 2})
    expect_gradients_there(differentiated(device(), order), differentiated(Device(), order));
  count_case();
}

TEST_P(ExamOfStructs, EveryLayoutIsTheSame) {
  const StructCase& c = GetParam();
  const Inputs want = c.f(c.inputs);
  constants_on = device();
  for (std::size_t k = 0; k < c.inputs.size(); ++k) {
    if (c.inputs[k].dim() < 2) continue;
    Inputs in = moved(c.inputs);
    in[k] = c.inputs[k].transpose(0, 1).contiguous().to(device()).transpose(0, 1);
    expect_there(c.f(in), want);
  }
}

template <class T> std::vector<T> if_examined(std::vector<T> all) {
  return examined() ? std::move(all) : std::vector<T>();
}
std::vector<RowCase> rows(bool differentiable) {
  std::vector<RowCase> some;
  for (const RowCase& c : row_cases())
    if (c.row->differentiable || !differentiable) some.push_back(c);
  return some;
}
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ExamOfRows);  // where no device is examined
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ExamOfGradients);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ExamOfStructs);
const auto name_of = [](const auto& i) { return i.param.name; };
INSTANTIATE_TEST_SUITE_P(Rows, ExamOfRows, ::testing::ValuesIn(if_examined(rows(false))), name_of);
INSTANTIATE_TEST_SUITE_P(Rows, ExamOfGradients, ::testing::ValuesIn(if_examined(rows(true))), name_of);
INSTANTIATE_TEST_SUITE_P(Structs, ExamOfStructs, ::testing::ValuesIn(if_examined(struct_cases())), name_of);

}  // namespace
}  // namespace neura::test

// Every operation that is no row, on another device: values, first and second derivatives, and operands that are apart.
#include "neura/autograd/autograd.h"
#include "neura/graph/trace.h"
#include "neura/op/apply.h"
#include "neura/op/attributes.h"
#include "neura/op/row.h"
#include "neura/ops/create/create.h"
#include "tests/contract/row_case.h"
#include "tests/contract/structs.h"
#include "tests/device/device.h"

namespace neura::test {
namespace {

class DeviceStructs : public ::testing::TestWithParam<StructCase> {
 protected:
  const StructCase& c = GetParam();
  void TearDown() override { constants_on = Device(); }

  // Results, gradients of all of them together, and gradients of those.
  std::vector<Inputs> differentiated(Device device) const { return differentiated(operands_on(device)); }
  Inputs operands_on(Device device) const {
    constants_on = device;
    Inputs in;
    for (const Tensor& t : c.inputs) in.push_back(t.to(device).clone().requires_grad_());
    return in;
  }
  std::vector<Inputs> differentiated(const Inputs& in) const {
    std::vector<Inputs> all = {c.f(in)};
    for (int order = 0; order < 2; ++order) {
      Inputs roots, seeds;
      for (const Tensor& t : all.back())
        if (t && t.requires_grad()) roots.push_back(t), seeds.push_back(ones_like(t));
      if (roots.empty()) break;
      all.push_back(grad(roots, in, seeds, {.create_graph = order == 0, .allow_unused = true}));
    }
    return all;
  }
};

struct DeviceStructsOfMany : DeviceStructs {};

TEST_P(DeviceStructs, ValuesAndDerivativesAreTheSameAndThere) {
  const std::vector<Inputs> want = differentiated(Device());
  const std::int64_t work = host_device().work();
  const std::vector<Inputs> got = differentiated(kDevice);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t order = 0; order < want.size(); ++order) {
    ASSERT_EQ(got[order].size(), want[order].size());
    for (std::size_t i = 0; i < want[order].size(); ++i) {
      ASSERT_EQ(got[order][i].defined(), want[order][i].defined());
      if (!want[order][i]) continue;
      EXPECT_EQ(got[order][i].device(), kDevice) << "order " << order << ", number " << i;
      expect_close(got[order][i].detach().to(Device()), want[order][i].detach());
    }
  }
  EXPECT_GT(host_device().work(), work);
  count_case();
}

// Names and attributes of all calls in order, as an interceptor sees them.
struct Calls : Interceptor {
  std::vector<std::string> all;
  void call(Call& c) override {
    std::string text = std::string(c.row->name) + " " + Attributes::of(*c.row, c.op).fixed().str();
    for (std::size_t at; (at = text.find("cuda:0")) != std::string::npos;) text.replace(at, 6, "cpu");
    // Apart from what is made on the host, and from bytes that only the cpu shares until one of two writes.
    if (!text.starts_with("to_device") && !text.starts_with("lazy_clone")) all.push_back(text);
    apply(c);
  }
};
TEST_P(DeviceStructs,
       TheTracedCallsAreTheSameOnEveryDevice) {  // as the host looks at values of the cpu where it is not traced
  std::vector<std::string> calls;
  const graph::Function traced = [&](std::span<const Tensor> in) {
    const Calls seen;
    const Inputs results = c.f({in.begin(), in.end()});
    return calls = seen.all, results;
  };
  const auto calls_on = [&](Device device) {
    const Inputs in = operands_on(device);
    graph::trace(traced, in);
    return calls;
  };
  try {
    calls_on(Device());
  } catch (const Error& e) {
    GTEST_SKIP() << "is no program: " << e.what();
  }
  EXPECT_EQ(calls_on(kDevice), calls_on(Device()));
  count_case();
}

TEST_P(DeviceStructsOfMany, OperandsOfTwoDevicesDoNotMeet) {
  constants_on = kOther;
  for (std::size_t k = 0; k < c.inputs.size(); ++k) {
    if (c.inputs[k].dim() == 0) continue;  // as good as a number
    Inputs in = moved(c.inputs, kOther);
    in[k] = c.inputs[k].to(kDevice);
    const std::string said = error_of<DeviceError>([&] { c.f(in); });
    EXPECT_NE(said.find("expected "), said.npos) << said;
    EXPECT_NE(said.find("cuda:0"), said.npos) << said;
    EXPECT_NE(said.find("cuda:1"), said.npos) << said;
  }
  count_case();
}

TEST_P(DeviceStructs, FailuresAreTypedAndNamed) {
  constants_on = kDevice;
  const Inputs in = moved(c.inputs);
  const auto expect_named = [](const std::string& said) {  // what needs no memory and no kernel, such as a view, works
    for (const char* inner : {"allocate", "scratch", "copy: expected the device", "another type"})
      EXPECT_NE(said.find(inner), 0u) << said;
  };
  host_device().kernels_fail = true;
  expect_named(error_of<CudaError>([&] { c.f(in); }));
  host_device().kernels_fail = false, host_device().memory_fails = true;
  expect_named(error_of<OutOfMemoryError>([&] { c.f(in); }));
  host_device().memory_fails = false;
  EXPECT_NO_THROW(c.f(in)) << "the device stays usable";
  count_case();
}

std::vector<StructCase> cases_of_many() {
  std::vector<StructCase> some;
  for (const StructCase& c : struct_cases())
    if (c.inputs.size() > 1) some.push_back(c);
  return some;
}
const auto name_of = [](const auto& i) { return i.param.name; };
INSTANTIATE_TEST_SUITE_P(Operations, DeviceStructs, ::testing::ValuesIn(struct_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Operations, DeviceStructsOfMany, ::testing::ValuesIn(cases_of_many()), name_of);

}  // namespace
}  // namespace neura::test

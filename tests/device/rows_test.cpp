// Every row on another device: that its kernel runs there and on nothing else, what comes out, what may meet, and what
// is said when the device fails.
#include "neura/autograd/autograd.h"
#include "neura/op/row.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "tests/contract/row_case.h"
#include "tests/device/device.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

// The rows of the library, without the table of the tests, whose kernels are of the cpu alone.
template <class F> std::vector<RowCase> rows_that(F&& f) {
  std::vector<RowCase> some;
  for (const RowCase& c : row_cases())
    if (!c.row->own && f(*c.row)) some.push_back(c);
  return some;
}
struct DeviceRows : RowTest {};
struct DeviceRowsOfMany : RowTest {};
struct DeviceRowGradients : RowTest {};

TEST_P(DeviceRows, RunsThereAndGivesTheSame) {
  for_accepted([&](DType d) {
    for (const auto& shapes : {broadcasting_shapes(c), equal_shapes(c, {67})}) {
      const std::vector<Tensor> in = operands(c, d, shapes, 3), there = moved(in);
      const Tensor want = call(c, in);
      const std::int64_t before = host_device().rows, copies = host_device().from_device;
      const Tensor got = call(c, there);
      const bool looks = row.types.divides && is_integral(d);  // for zeros among the divisors, without waiting
      EXPECT_EQ(host_device().rows, before + 1 + 2 * looks);
      EXPECT_EQ(host_device().from_device, copies) << "something waited for the device";
      expect_there(got, want);
      const std::int64_t after = host_device().rows;
      call(c, in);
      EXPECT_EQ(host_device().rows, after) << "operands of the cpu went to the device";
    }
  });
}

TEST_P(DeviceRows, WritesThere) {
  for_accepted([&](DType d) {
    const std::vector<Tensor> in = operands(c, d, equal_shapes(c, {5, 7}), 4), there = moved(in);
    const Tensor want = call(c, in);
    Tensor out = zeros({7, 5}, {.dtype = want.dtype(), .device = kDevice}).t();
    expect_there(call_out(c, out, there), want);
    if (category(want.dtype()) > category(in[0].dtype())) return;
    Tensor self = there[0].clone();
    expect_there(call_in_place(c, self, {there.begin() + 1, there.end()}), want.to(in[0].dtype()));
    Tensor elsewhere = zeros({5, 7}, {.dtype = want.dtype()});
    const std::string said = error_of<DeviceError>([&] { call_out(c, elsewhere, there); });
    EXPECT_EQ(said.find(std::string(row.name) + ": expected a destination on cuda:0, got "), 0u) << said;
  });
}

TEST_P(DeviceRowsOfMany, OperandsOfTwoDevicesDoNotMeet) {
  for_accepted([&](DType d) {
    const std::vector<Tensor> in = operands(c, d, equal_shapes(c, {3}), 5);
    for (std::size_t k = 0; k < in.size(); ++k)
      for (const Device other : {kDevice, kOther}) {
        std::vector<Tensor> mixed = moved(in, other.index ? kDevice : Device());
        mixed[k] = in[k].to(other);
        const std::string said = error_of<DeviceError>([&] { call(c, mixed); });
        EXPECT_EQ(said.find(std::string(row.name) + ": expected all tensors on the same device, got "), 0u) << said;
        EXPECT_NE(said.find(mixed[0].device().str()), said.npos) << said;
        EXPECT_NE(said.find(other.str()), said.npos) << said;
        EXPECT_NE(said.find("move one with .to()"), said.npos) << said;
        const std::string in_place = error_of<DeviceError>([&] {
          Tensor self = mixed[0];
          call_in_place(c, self, {mixed.begin() + 1, mixed.end()});
        });
        EXPECT_EQ(in_place.find(std::string(row.name) + ": expected all tensors on the same device"), 0u) << in_place;
      }
  });
}

TEST_P(DeviceRowsOfMany, ANumberOfTheCpuMayMeetThem) {
  for_accepted([&](DType d) {
    std::vector<Tensor> in = operands(c, d, equal_shapes(c, {6}), 5);
    in.back() = from_loop({}, in.back().dtype(), [&](const Shape&) { return scalar_at(in.back(), {0}); });
    const Tensor want = call(c, in);
    for (std::size_t k = 0; k + 1 < in.size(); ++k) in[k] = in[k].to(kDevice);
    expect_there(call(c, in), want);
  });
}

TEST_P(DeviceRowGradients, AreThere) {
  const std::vector<Tensor> points = smooth_operands(c, row.types.accepts(float64) ? float64 : complex128);
  if (points.empty()) return;  // smooth nowhere
  const auto gradients = [&](Device device, bool twice) {
    std::vector<Tensor> in, wanted;
    for (std::size_t i = 0; i < points.size(); ++i) {
      Tensor t = points[i].to(device);
      if (t.dtype() != boolean && row.slopes[i].exists) wanted.push_back(t = t.clone().requires_grad_());
      in.push_back(t);
    }
    const Tensor y = call(c, in), g = ones_like(y);
    std::vector<Tensor> first = grad({&y, 1}, wanted, {&g, 1}, {.create_graph = twice, .allow_unused = true});
    if (!twice) return first;
    std::vector<Tensor> roots, seeds;
    for (const Tensor& t : first)
      if (t && t.requires_grad()) roots.push_back(t), seeds.push_back(ones_like(t));
    return roots.empty() ? roots : grad(roots, wanted, seeds, {.allow_unused = true});
  };
  for (const bool twice : {false, true}) {
    const std::vector<Tensor> want = gradients(Device(), twice), got = gradients(kDevice, twice);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(got[i].defined(), want[i].defined());
      if (!want[i]) continue;
      EXPECT_EQ(got[i].device(), kDevice);
      expect_close(got[i].detach().to(Device()), want[i].detach());
    }
  }
}

TEST_P(DeviceRows, AFailureIsTypedAndNamed) {
  for_accepted([&](DType d) {
    const std::vector<Tensor> in = moved(operands(c, d, equal_shapes(c, {3}), 6));
    host_device().kernels_fail = true;
    const std::string broken = error_of<CudaError>([&] { call(c, in); });
    host_device().kernels_fail = false, host_device().memory_fails = true;
    const std::string full = error_of<OutOfMemoryError>([&] { call(c, in); });
    host_device().memory_fails = false;
    if (row.types.divides && is_integral(d)) EXPECT_NE(broken.find(": expected the device"), broken.npos) << broken;
    else
      EXPECT_EQ(broken, std::string(row.name) + ": expected the device to work, got a failure that a test asked for");
    if (!row.types.divides || !is_integral(d)) EXPECT_EQ(full.find(std::string(row.name) + ": expected "), 0u) << full;
    EXPECT_NE(full.find(": expected "), full.npos) << full;
    EXPECT_NO_THROW(call(c, in)) << "the device stays usable";
  });
}

const auto name_of = [](const auto& i) { return i.param.name; };
INSTANTIATE_TEST_SUITE_P(Tables, DeviceRows, ::testing::ValuesIn(rows_that([](const Row&) { return true; })), name_of);
INSTANTIATE_TEST_SUITE_P(Tables, DeviceRowsOfMany,
                         ::testing::ValuesIn(rows_that([](const Row& r) { return r.inputs > 1; })), name_of);
INSTANTIATE_TEST_SUITE_P(Tables, DeviceRowGradients,
                         ::testing::ValuesIn(rows_that([](const Row& r) { return r.differentiable; })), name_of);

}  // namespace
}  // namespace neura::test

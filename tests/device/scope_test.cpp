// Device scopes: what is made without a device goes where the innermost scope of the thread says.
#include "neura/core/device_scope.h"

#include <thread>

#include "neura/neura.h"
#include "tests/device/device.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

const Device kCpu;
Device made() { return ones({2}).device(); }

TEST(DeviceScope, TensorsGoWhereTheInnermostOneSays) {
  EXPECT_EQ(made(), kCpu);
  EXPECT_FALSE(chosen_device());
  {
    const DeviceScope on("cuda:0");
    EXPECT_EQ(made(), kDevice);
    {
      const DeviceScope other(kOther);
      EXPECT_EQ(made(), kOther);
      {
        const DeviceScope back("cpu");
        EXPECT_EQ(made(), kCpu);
        EXPECT_EQ(chosen_device(), kCpu);
      }
      EXPECT_EQ(made(), kOther);
    }
    EXPECT_EQ(made(), kDevice);
    EXPECT_EQ(ones({2}, {.device = kCpu}).device(), kCpu);  // what is said counts
  }
  EXPECT_EQ(made(), kCpu);
  EXPECT_FALSE(chosen_device());
}

TEST(DeviceScope, EndsWithAnException) {
  EXPECT_THROW(with_device(kDevice, [] { (void)ones({-1}); }), ShapeError);
  EXPECT_EQ(made(), kCpu);
  {
    const DeviceScope on(kOther);
    EXPECT_THROW(with_device("cuda:2", [] { (void)ones({1}); }), DeviceError);
    EXPECT_EQ(made(), kOther);
  }
}

TEST(DeviceScope, WithDeviceGivesWhatItsFunctionReturns) {
  const Tensor x = with_device(kDevice, [] { return arange(3); });
  EXPECT_EQ(x.device(), kDevice);
  int n = 1;
  int& same = with_device(kDevice, [&]() -> int& { return n; });
  EXPECT_EQ(&same, &n);
  static_assert(std::is_void_v<decltype(with_device(kDevice, [] {}))>);
}

TEST(DeviceScope, BelongsToItsThread) {
  const DeviceScope on(kDevice);
  std::thread([] {
    EXPECT_EQ(made(), kCpu);
    const DeviceScope other(kOther);
    EXPECT_EQ(made(), kOther);
  }).join();
  EXPECT_EQ(made(), kDevice);
}

TEST(DeviceScope, TheDefaultLiesBelowAllScopes) {
  set_default_device(kOther);
  EXPECT_EQ(made(), kOther);
  {
    const DeviceScope on(kDevice);
    set_default_device(kCpu);
    EXPECT_EQ(made(), kDevice);
    const DeviceScope again(kOther);
    EXPECT_EQ(made(), kOther);
  }
  EXPECT_EQ(made(), kCpu);
  EXPECT_EQ(chosen_device(), kCpu);
  set_default_device({});
  EXPECT_FALSE(chosen_device());
}

TEST(DeviceScope, CoversEveryFunctionThatMakesTensors) {
  const DeviceScope on(kDevice);
  const std::int64_t two[] = {1, 2};
  for (const Tensor& t : {empty({2}),
                          empty_strided({2}, {1}),
                          empty_permuted({2}, {0}),
                          zeros({2}),
                          ones({2}),
                          full({2}, 3),
                          scalar_tensor(1),
                          arange(3),
                          arange(1, 3),
                          linspace(0, 1, 3),
                          logspace(0, 1, 3),
                          eye(2),
                          tril_indices(2, 2),
                          triu_indices(2, 2),
                          tensor(1),
                          tensor({1, 2}),
                          tensor({{1., 2.}}),
                          tensor(std::vector<bool>{true}),
                          tensor_of(two, int64, {2}),
                          rand({2}),
                          randn({2}),
                          randint(3, {2}),
                          randperm(3),
                          normal(0, 1, {2}),
                          windows::hann(4)})
    EXPECT_EQ(t.device(), kDevice) << t.str();
  const Tensor here = ones({2}, {.device = kCpu});
  for (const Tensor& t : {ones_like(here), new_zeros(here, {2}), rand_like(here), normal(here), here + 1})
    EXPECT_EQ(t.device(), kCpu) << t.str();  // a tensor's companion is where the tensor is
}
TEST(DeviceScope, ChangesNoRandomNumber) {
  manual_seed(3);
  const Tensor want = randn({5});
  manual_seed(3);
  expect_there(with_device(kDevice, [] { return randn({5}); }), want);
}

TEST(DeviceScope, HoldsModulesWithTheirInitialisation) {
  const auto networks = [] {
    std::vector<Ref<nn::Module>> all;
    all.push_back(nn::make<nn::Sequential>(nn::Conv2d(1, 2, 3), nn::ConvTranspose2d(2, 2, 3), nn::BatchNorm2d(2),
                                           nn::PReLU(), nn::GroupNorm(1, 2)));
    all.push_back(nn::make<nn::Sequential>(nn::Linear(3, 2), nn::LayerNorm(Shape{2}), nn::RMSNorm(Shape{2})));
    all.push_back(nn::make<nn::LSTM>(2, 3));
    all.push_back(nn::make<nn::GRUCell>(2, 3));
    all.push_back(nn::make<nn::Embedding>(3, 2));
    all.push_back(nn::make<nn::EmbeddingBag>(3, 2));
    all.push_back(nn::make<nn::Bilinear>(2, 2, 2));
    all.push_back(nn::make<nn::TransformerEncoderLayer>(4, 2, nn::TransformerLayerOptions{.dim_feedforward = 3}));
    return all;
  };
  manual_seed(4);
  const auto want = networks();
  manual_seed(4);
  const auto got = with_device(kDevice, networks);
  for (std::size_t i = 0; i < want.size(); ++i) {
    const nn::StateDict a = want[i]->state_dict(), b = got[i]->state_dict();
    ASSERT_EQ(a.keys(), b.keys());
    for (const auto& [name, t] : a) {
      SCOPED_TRACE(name);
      expect_there(b.at(name), t);
    }
  }
}
TEST(DeviceScope, InitialisersLeaveAParameterWhereItIs) {
  const Tensor here = zeros({6, 3});
  for (const auto& init : std::vector<void (*)(const Tensor&)>{
           [](const Tensor& t) { nn::init::orthogonal_(t); }, [](const Tensor& t) { nn::init::sparse_(t, 0.3); },
           [](const Tensor& t) { nn::init::trunc_normal_(t); }, [](const Tensor& t) { nn::init::eye_(t); },
           [](const Tensor& t) { nn::init::kaiming_uniform_(t); }}) {
    manual_seed(6);
    init(here);
    const Tensor want = here.clone(), there = zeros({6, 3}, {.device = kDevice});
    const DeviceScope on(kDevice);
    manual_seed(6);
    init(here);
    expect_same(here, want);
    manual_seed(6);
    init(there);
    expect_there(there, want);
  }
}

// What operations make for themselves belongs to their operands, not to the scope.
TEST(DeviceScope, OperationsOnTheCpuStayThere) {
  const Tensor x = sample({2, 3, 4, 4}), rows = sample({3, 5}), maps = sample({2, 2, 3});
  const auto run = [&] {
    manual_seed(7);
    const auto packed = nn::utils::rnn::pack_padded_sequence(sample({4, 2, 3}), tensor({4, 2}, {.device = kCpu}));
    return std::vector<Tensor>{interpolate(x, {.size = Shape{3, 5}, .mode = "bilinear"}),
                               interpolate(x, {.size = Shape{3, 5}, .mode = "bicubic"}),
                               interpolate(x, {.size = Shape{2, 3}, .mode = "bicubic", .antialias = true}),
                               grid_sample(x, affine_grid(maps, {2, 3, 2, 2})),
                               hash_tensor(rows, {1}),
                               hash_tensor(zeros({3, 0}, {.device = kCpu}), {1}),
                               cov(rows),
                               fractional_max_pool2d_with_indices(x, {2, 2}, {.output_size = {2, 2}}).first,
                               packed.data,
                               packed.batch_sizes,
                               sort(rows).values,
                               quantile(rows, 0.3),
                               histc(rows, 4),
                               pad(x, {1, 1, 1, 1}, "reflect"),
                               cross_entropy(rows, tensor({0, 1, 2}, {.device = kCpu})),
                               multi_margin_loss(rows, tensor({0, 1, 2}, {.device = kCpu}))};
  };
  const std::vector<Tensor> want = run(), got = with_device(kDevice, run);
  for (std::size_t i = 0; i < want.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(got[i].device(), kCpu);
    expect_same(got[i], want[i]);
  }
}
TEST(DeviceScope, BackwardAndStepsFollowTheirTensors) {
  const Tensor w = sample({3, 2}).requires_grad_(), x = sample({4, 3});
  const DeviceScope on(kDevice);
  optim::AdamW optimizer({w}, {.lr = 0.1});
  x.matmul(w).sum().backward();
  optimizer.step();
  EXPECT_EQ(w.grad().device(), kCpu);
  EXPECT_EQ(w.device(), kCpu);
}

TEST(DeviceScope, LoadersMadeInItPutTheirBatchesThere) {
  const data::TensorDataset set(arange(6), arange(6) * 2);
  const auto devices = [&](data::DataLoaderOptions o) {
    o.batch_size = 2;
    data::DataLoader loader(set, o);
    const DeviceScope other(kOther);  // of the pass: has no say
    std::vector<Device> all;
    for (auto [a, b] : loader) all.push_back(a.device()), all.push_back(b.device());
    return all;
  };
  const auto six = [](Device d) { return std::vector<Device>(6, d); };
  EXPECT_EQ(devices({}), six(kCpu));
  const DeviceScope on(kDevice);
  EXPECT_EQ(devices({}), six(kDevice));
  EXPECT_EQ(devices({.num_workers = 2}), six(kDevice));
  EXPECT_EQ(devices({.device = kCpu}), six(kCpu));
}
struct Made {  // a data set whose items are made when they are asked for
  std::int64_t size() const { return 3; }
  Tensor get(std::int64_t i) const { return full({1}, i); }
};
TEST(DeviceScope, ItemsAreMadeOnTheCpu) {
  const DeviceScope on(kDevice);
  for (int workers : {0, 2}) {
    const std::int64_t before = host_device().to_device;
    data::DataLoader loader(Made(), {.batch_size = 3, .num_workers = workers});
    for (const Tensor& batch : loader) {
      EXPECT_EQ(batch.device(), kDevice);
      EXPECT_EQ(batch.sum().item<std::int64_t>(), 3);
    }
    EXPECT_EQ(host_device().to_device, before + 1);
  }
}

}  // namespace
}  // namespace neura::test

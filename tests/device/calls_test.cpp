// A whole training step is calls through the dispatcher: an interceptor sees every computation, on the cpu as on a
// device.
#include "neura/neura.h"
#include "neura/op/apply.h"
#include "tests/device/device.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

struct Calls : Interceptor {
  std::string seen;
  void begin(const char* part) { seen += std::string(seen.empty() ? "" : "\n") + part + ":"; }
  void call(Call& c) override { seen += std::string(" ") + c.row->name, apply(c); }
};

struct Net : nn::Module {
  nn::Conv2d conv{2, 4, 3, {.padding = {1, 1}}};
  nn::BatchNorm2d norm{4};
  nn::Linear last{16, 3};
  nn::Dropout drop{0.5};
  NEURA_MODULE(Net, conv, norm, last, drop)
  Tensor forward(const Tensor& x) { return drop(last(flatten(max_pool2d(relu(norm(conv(x))), 2), 1))); }
};

// The names of all calls of one step, a line for each part; the step before it made the optimizer's state.
std::string step_on(Device device) {
  manual_seed(1);
  Net net;
  net.to(device);
  optim::AdamW optimizer(net.parameters(), {.lr = 1e-2});
  const Tensor x = sample({6, 2, 4, 4}).to(device), labels = tensor({0, 1, 2, 2, 1, 0}).to(device);
  const auto step = [&](const auto& begin) {
    begin("forward");
    const Tensor y = net.forward(x);
    begin("loss");
    const Tensor loss = cross_entropy(y, labels);
    begin("backward");
    loss.backward();
    begin("clip");
    nn::utils::clip_grad_norm_(net.parameters(), 1);
    begin("step");
    optimizer.step();
    begin("zero_grad");
    optimizer.zero_grad();
  };
  step([](const char*) {});
  Calls calls;
  step([&](const char* part) { calls.begin(part); });
  return calls.seen;
}

// As a constant of this file.
std::string to_paste(const std::string& seen) {
  std::string out = "    \"";
  for (const char c : seen) out += c == '\n' ? "\\n\"\n    \"" : std::string(1, c);
  return "\nconst char* const kCalls =\n" + out + "\";\n";
}

const char* const kCalls =
    "forward: convolution add batch_norm relu max_pool view linear dropout\n"
    "loss: cross_entropy\n"
    "backward: full cross_entropy_backward dropout permute linear permute matmul sum view view "
    "max_pool_backward relu_backward batch_norm_backward convolution_backward_weight sum\n"
    "clip: get_total_norm clip_grad_norm_\n"
    "step: adam_step\n"
    "zero_grad:";

TEST(DeviceCalls, OfATrainingStepAreTheStoredOnes) {
  const std::string seen = step_on(kDevice);
  EXPECT_EQ(seen, kCalls) << to_paste(seen);
}
TEST(DeviceCalls, OnTheCpuAreTheSame) {
  const std::string seen = step_on(Device());
  EXPECT_EQ(seen, kCalls) << to_paste(seen);
}
// What runs on the device runs within a call: between two calls it has nothing to do.
TEST(DeviceCalls, AreAllThatTheDeviceDoes) {
  struct Between : Interceptor {
    std::int64_t last = host_device().work(), outside = 0;
    std::string after = "the beginning", where;
    void call(Call& c) override {
      if (host_device().work() != last) outside += host_device().work() - last, where += after + " ";
      apply(c);
      last = host_device().work(), after = c.row->name;
    }
  };
  Between between;
  step_on(kDevice);
  EXPECT_EQ(between.outside, 0) << "after " << between.where;
}

}  // namespace
}  // namespace neura::test

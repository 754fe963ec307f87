// A training run with what a loop needs around it: clipping, a schedule, the best weights, early stopping, checkpoints.
// The loop stays the program's own. A run that is stopped in the middle of an epoch, and started again by a new
// process, ends bit for bit as one that was not.
#include <neura/neura.h>
#include <neura/train/run.h>

#include <filesystem>

#include "example.h"

using namespace neura;

struct Data {  // is the product of two numbers positive?
  Tensor x, y, test_x, test_y;
  explicit Data(Device device) {
    Generator own(7);
    const auto make = [&](std::int64_t n) { return randn({n, 2}, {.generator = &own}).to(device); };
    x = make(512), test_x = make(512);
    y = (prod(x, 1) > 0).to(int64), test_y = (prod(test_x, 1) > 0).to(int64);
  }
};

struct Result {
  nn::StateDict weights;
  double accuracy = 0;
  std::int64_t steps = 0;
};

// What a process does from its start to its end; `stop_at`: it is killed after so many steps (0: never).
Result process(const Data& data, const std::string& folder, int epochs, std::int64_t stop_at) {
  manual_seed(1);
  nn::Sequential net{nn::Linear(2, 32), nn::Tanh(), nn::Dropout(0.05), nn::Linear(32, 2)};
  net.to(data.x.device());
  optim::AdamW optimizer(net.parameters(), {.lr = 0.02});
  data::DataLoader loader(data::TensorDataset(data.x, data.y), {.batch_size = 32, .shuffle = true});
  optim::lr_scheduler::CosineAnnealingLR schedule(optimizer, epochs * loader.size());
  train::Run run({.model = &net,
                  .optimizer = &optimizer,
                  .scheduler = &schedule,
                  .clip_norm = 1.0,
                  .folder = folder,
                  .save_every = 10,
                  .monitor = "test/accuracy",
                  .maximize = true,
                  .patience = 8,
                  .log_every = 16,
                  .on_log = {},
                  .on_save = {}});
  if (run.resume()) std::printf("continues after step %lld\n", (long long)run.steps());
  Result result;
  while (run.next_epoch(epochs)) {
    for (auto& [x, y] : run.batches(loader)) {
      run.step([&, &x = x, &y = y] { return cross_entropy(net(x), y); });
      if (run.steps() == stop_at) return result;
    }
    const NoGrad guard;
    net.eval();
    result.accuracy = mean(eq(net(data.test_x).argmax(1), data.test_y).to(float32)).item<double>();
    net.train();
    run.log({{"test/accuracy", result.accuracy}});
    std::printf("epoch %2lld  step %3lld  loss %.4f  accuracy %.3f\n", (long long)run.epoch() + 1,
                (long long)run.steps(), run.values().at("loss"), result.accuracy);
  }
  for (const auto& [name, t] : net.state_dict()) result.weights.set(name, t.clone());
  result.steps = run.steps();
  return result;
}

int main(int argc, char** argv) {
  const auto [device, quick] = example::options(argc, argv, "A training run that can be stopped and continues.");
  const int epochs = quick ? 12 : 20;
  const auto folder = std::filesystem::temp_directory_path() / "neura-trainer-example";
  std::filesystem::remove_all(folder);
  const Data data(device);

  const Result whole = process(data, (folder / "whole").string(), epochs, 0);
  std::printf("again, stopped after 39 steps\n");
  process(data, (folder / "parts").string(), epochs, 39);
  const Result parts = process(data, (folder / "parts").string(), epochs, 0);

  bool same = whole.steps == parts.steps;
  for (const auto& [name, t] : whole.weights) same &= equal(t, parts.weights.at(name));
  example::check(whole.accuracy > 0.9, "the network learned");
  example::check(same, "the run that was stopped ends with the same weights, bit for bit");
  example::check(std::filesystem::exists(folder / "whole" / "best.safetensors"), "the best weights are in a file");
  std::filesystem::remove_all(folder);
}

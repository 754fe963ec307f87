// From tensors to batches: a data set, the two usual orders in which it is gone through, and the loader that makes
// batches of it. How many there are, and of which sizes, follows from the sizes given, and is checked.
#include <neura/neura.h>

#include <numeric>

#include "example.h"

using namespace neura;

constexpr std::int64_t kItems = 100, kFeatures = 5, kBatch = 32;

// One pass: prints and checks the batches, and returns the numbers of the items in the order in which they came.
template <class Loader> std::vector<std::int64_t> pass(const char* name, Loader& loader, bool drop_last) {
  const std::int64_t expected = drop_last ? kItems / kBatch : (kItems + kBatch - 1) / kBatch;
  std::printf("%s: %lld batches\n", name, (long long)loader.size());
  std::vector<std::int64_t> order;
  std::int64_t batches = 0;
  bool shapes = loader.size() == expected;
  for (const auto& [features, numbers] : loader) {
    const std::int64_t count = std::min(kBatch, kItems - batches * kBatch);  // the last batch has what is left
    std::printf("  features %s, numbers %s\n", features.shape().str().c_str(), numbers.shape().str().c_str());
    shapes &= features.shape() == Shape{count, kFeatures} && numbers.shape() == Shape{count};
    // Rows stay together: each row of the features begins with the number of its item.
    shapes &= equal(features.select(1, 0), numbers.to(float32));
    for (const std::int64_t i : numbers.template to_vector<std::int64_t>()) order.push_back(i);
    ++batches;
  }
  example::check(shapes && batches == expected, "as many batches as planned, of the planned sizes");
  return order;
}

int main(int argc, char** argv) {
  const auto [device, quick] = example::options(argc, argv, "Data sets, samplers, and loaders that make batches.");
  manual_seed(1);
  const Tensor numbers = arange(kItems);
  const Tensor features = cat({numbers.to(float32).unsqueeze(1), randn({kItems, kFeatures - 1})}, 1);
  const data::TensorDataset set(features, numbers);
  std::vector<std::int64_t> in_order(kItems);
  std::iota(in_order.begin(), in_order.end(), 0);

  // Without another word a loader goes from the first item to the last.
  data::DataLoader sequential(set, {.batch_size = kBatch});
  example::check(pass("sequential", sequential, false) == in_order, "sequential: the order of the data set");

  // The same by name; and shuffle = true is a RandomSampler.
  data::DataLoader random(
      set, {.batch_size = kBatch, .sampler = std::make_shared<data::RandomSampler>(kItems), .drop_last = true});
  const std::vector<std::int64_t> once = pass("random, without a last batch that is not full", random, true);
  example::check(once != std::vector(in_order.begin(), in_order.begin() + std::int64_t(once.size())),
                 "random: another order");

  data::DataLoader shuffled(set, {.batch_size = kBatch, .shuffle = true, .device = device});
  std::vector<std::int64_t> first = pass("shuffled", shuffled, false), second = pass("and again", shuffled, false);
  example::check(first != second, "every epoch has an order of its own");
  std::sort(first.begin(), first.end());
  example::check(first == in_order, "each item comes exactly once");

  // A training loop over it: the sum of a row, learned in a few epochs.
  nn::Linear model(kFeatures, 1, {.device = device});
  nn::init::zeros_(model.weight);
  optim::Adam optimizer(model.parameters(), {.lr = 0.05});
  double start = 0, loss_now = 0;
  for (int epoch = 0; epoch < (quick ? 20 : 60); ++epoch)
    for (const auto& [x, y] : shuffled) {
      const Tensor scaled = x / 50, loss = mse_loss(model(scaled), sum(scaled, 1, true));
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      loss_now = loss.item<double>();
      if (start == 0) start = loss_now;
    }
  std::printf("loss %.4f -> %.4f\n", start, loss_now);
  example::check(loss_now < start / 4, "the model learned from the batches");
}

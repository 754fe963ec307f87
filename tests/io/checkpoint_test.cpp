// A training run in one file.
#include "neura/io/checkpoint.h"

#include <gtest/gtest.h>

#include "neura/core/file.h"
#include "neura/nn/nn.h"
#include "neura/ops/loss/loss.h"
#include "neura/optim/optimizers.h"
#include "tests/io/folder.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura {
namespace {

using optim::Optimizer;
using test::error_of;
using test::Folder;
using test::sample;

using Maker = std::unique_ptr<Optimizer> (*)(std::vector<Tensor>);
struct Kind {
  const char* name;
  Maker make;
};
#define OPTIMIZER(Name, ...) \
  {#Name,                    \
   [](std::vector<Tensor> p) -> std::unique_ptr<Optimizer> { return std::make_unique<optim::Name>(std::move(p)); }},
const Kind kKinds[] = {
#include "neura/tables/optimizers.def"
};

// Everything that a run has; dropout draws from the generator.
struct Training {
  explicit Training(const Kind& kind) : optimizer(kind.make(net.parameters())) {}
  nn::Sequential net{nn::Linear(5, 8), nn::ReLU(), nn::Dropout(0.5), nn::BatchNorm1d(8), nn::Linear(8, 2)};
  std::unique_ptr<Optimizer> optimizer;
  optim::lr_scheduler::StepLR scheduler{*optimizer, 2, 0.5};
  Checkpoint parts() { return {&net, optimizer.get(), &scheduler, &default_generator()}; }

  void train(int from, int to) {
    for (int i = from; i < to; ++i) {
      const Tensor x = sample({6, 5}, DType::float32, {.seed = std::uint64_t(i)});
      optimizer->zero_grad();
      mse_loss(net(x), sample({6, 2})).backward();
      optimizer->step();
      scheduler.step();
    }
  }
};

class EveryRun : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Table, EveryRun, testing::ValuesIn(kKinds), [](const auto& i) { return i.param.name; });

TEST_P(EveryRun, GoesOnFromAFileAsIfItHadNeverStopped) {
  const Folder folder;
  manual_seed(3);
  Training whole(GetParam());
  whole.train(0, 3);
  save_checkpoint(folder / "run", whole.parts(), nn::Dict{{{"epoch", 3}}});
  whole.train(3, 6);

  Training resumed(GetParam());
  const nn::Dict extra = load_checkpoint(folder / "run", resumed.parts(), "cpu");
  EXPECT_EQ(extra.find("epoch")->number(), 3);
  resumed.train(3, 6);
  const nn::StateDict a = whole.net.state_dict(), b = resumed.net.state_dict();
  ASSERT_EQ(a.keys(), b.keys());
  for (const auto& [name, tensor] : a) {
    SCOPED_TRACE(name);
    test::expect_same(b.at(name), tensor);
  }
  EXPECT_EQ(resumed.scheduler.get_last_lr(), whole.scheduler.get_last_lr());
}

TEST(Checkpoint, ChangesNothingWhereAPartIsMissing) {
  const Folder folder;
  Training a(kKinds[0]), b(kKinds[0]);
  save_checkpoint(folder / "run", {.model = &a.net});
  const Tensor before = b.net.state_dict().at("0.weight").clone();
  EXPECT_EQ(error_of<ValueError>([&] { load_checkpoint(folder / "run", b.parts()); }),
            (folder / "run") + ": expected a checkpoint with \"generator\", got none in this file");
  test::expect_same(b.net.state_dict().at("0.weight"), before);
}

}  // namespace
}  // namespace neura

// Runs: accumulation, the clock, checkpoints; stopped anywhere, a run ends with the weights of one that never was.
#include "neura/train/run.h"

#include <gtest/gtest.h>

#include <cmath>

#include "neura/core/file.h"
#include "neura/core/parallel.h"
#include "neura/data/loader.h"
#include "neura/io/checkpoint.h"
#include "neura/nn/nn.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/loss/loss.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "neura/optim/optimizers.h"
#include "neura/train/files.h"
#include "tests/io/folder.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura {
namespace {

using test::error_of;
using test::Folder;
using test::sample;
using train::Loss;
using train::RunOptions;

struct Stop {};

// Items that are drawn anew in every epoch.
struct Noisy {
  using Item = std::pair<Tensor, Tensor>;
  std::int64_t size() const { return 22; }
  Item get(std::int64_t i) const {
    return {sample({5}, DType::float32, {.seed = std::uint64_t(i)}) + randn({5}), full({2}, double(i) / 22)};
  }
};

struct Setting {
  const char* name;
  int workers, accumulate;
  bool half, scaled;
};
const Setting kSettings[] = {{"plain", 0, 1, false, false},
                             {"workers", 2, 1, false, false},
                             {"accumulation", 0, 4, false, false},
                             {"everything", 2, 2, true, true}};

struct Training {
  Training(const Setting& s, const std::string& folder, int left = -1)
      : left_(left),
        run_(options(s, folder)),
        loader_(Noisy{}, {.batch_size = 4, .shuffle = true, .num_workers = s.workers}) {}

  RunOptions options(const Setting& s, const std::string& folder) {
    return {.model = &net,
            .optimizer = &adam,
            .scheduler = &schedule,
            .scaler = s.scaled ? &scaler : nullptr,
            .precision = s.half ? std::optional(DType::bfloat16) : std::nullopt,
            .accumulate = s.accumulate,
            .clip_norm = 1.0,
            .ema = 0.9,
            .folder = folder,
            .save_every = 2,
            .monitor = "val/loss",
            .log_every = 3,
            .on_step = [this](train::Run&) { happen(); },
            .on_log = [this](train::Run&, const train::Values&) { happen(); },
            .on_save = [this](train::Run&, const std::string&) { happen(); }};
  }
  void happen() {
    if (left_ >= 0 && --left_ < 0) throw Stop();
  }
  void train() {
    run_.resume();
    while (run_.next_epoch(3)) {
      for (auto& [x, y] : run_.batches(loader_)) {
        run_.step([&, &x = x, &y = y] {
          happen();
          const Tensor out = net(x);
          run_.tally("positive", sum(gt(out, 0)), double(y.numel()));
          return Loss(mse_loss(out, y, {.reduction = Reduction::sum}), double(y.numel()));
        });
        rand({1});  // what comes after the step belongs to it
      }
      run_.log({{"val/loss", sum(net.parameters()[0]).item<double>()}});
    }
  }

  int left_;
  nn::Sequential net{nn::Linear(5, 8), nn::ReLU(), nn::Dropout(0.5), nn::BatchNorm1d(8), nn::Linear(8, 2)};
  optim::AdamW adam{net.parameters(), {.lr = 1e-2}};
  optim::lr_scheduler::CosineAnnealingLR schedule{adam, 40};
  amp::GradScaler scaler{{.init_scale = 256}};
  train::Run run_;
  data::DataLoader<Noisy> loader_;
};

void expect_same(const nn::StateDict& a, const nn::StateDict& b) {
  ASSERT_EQ(a.keys(), b.keys());
  for (const auto& [name, t] : a) EXPECT_TRUE(equal(t, b.at(name))) << name;
}

class EveryRun : public testing::TestWithParam<Setting> {};
INSTANTIATE_TEST_SUITE_P(Table, EveryRun, testing::ValuesIn(kSettings), [](const auto& i) { return i.param.name; });

TEST_P(EveryRun, StoppedAnywhereEndsAsIfItHadNeverStoppedOnOneAndTwoThreads) {
  const int before = get_num_threads();
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    const Folder one, other;
    manual_seed(3);
    Training whole(GetParam(), one.path());
    whole.train();
    EXPECT_GE(whole.run_.steps(), 4);
    EXPECT_GT(whole.run_.values().at("positive"), 0);
    EXPECT_LE(whole.run_.values().at("positive"), 1);
    int stops = 0;
    for (int left = 5;; left = 4 + (left * 7 + 3) % 13) {
      manual_seed(3);
      Training part(GetParam(), other.path(), left);
      try {
        part.train();
        expect_same(whole.net.state_dict(), part.net.state_dict());
        expect_same(whole.run_.average(), part.run_.average());
        EXPECT_EQ(whole.run_.steps(), part.run_.steps());
        EXPECT_EQ(whole.run_.values(), part.run_.values());
        EXPECT_EQ(whole.run_.best(), part.run_.best());
        break;
      } catch (const Stop&) {
        ++stops;
      }
      ASSERT_LT(stops, 100);
    }
    EXPECT_GE(stops, 2);
  }
  set_num_threads(before);
}

TEST(Run, StepsOverUnequalBatchesAsOverOneLargeBatch) {
  const Tensor x = sample({16, 4}), y = sample({16, 3}, DType::float32, {.seed = 2});
  manual_seed(1);
  nn::Linear large(4, 3);
  manual_seed(1);
  nn::Linear small(4, 3);
  const Tensor first = large.weight.clone();
  optim::SGD a(large.parameters(), {.lr = 0.3}), b(small.parameters(), {.lr = 0.3});
  train::Run whole({.model = &large, .optimizer = &a}), parts({.model = &small, .optimizer = &b, .accumulate = 4});
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(whole.step([&] { return mse_loss(large(x), y); }));
    std::int64_t at = 0;
    for (const std::int64_t n : {1, 9, 0, 6}) {
      const Tensor u = narrow(x, 0, at, n), v = narrow(y, 0, at, n);
      at += n;
      EXPECT_EQ(
          parts.step([&] { return Loss(mse_loss(small(u), v, {.reduction = Reduction::sum}), double(v.numel())); }),
          at == 16);
    }
  }
  EXPECT_EQ(parts.steps(), 5);
  EXPECT_LE(max(abs(large.weight - small.weight)).item<float>(), 1e-6f);
  EXPECT_GT(max(abs(large.weight - first)).item<float>(), 1e-2f);
}

TEST(Run, CountsNoStepThatTheScalerLeavesOut) {
  nn::Linear net(3, 1);
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  optim::lr_scheduler::StepLR schedule(sgd, 1, 0.5);
  amp::GradScaler scaler({.init_scale = 1024});
  train::Run run({.model = &net, .optimizer = &sgd, .scheduler = &schedule, .scaler = &scaler});
  EXPECT_FALSE(run.step([&] { return sum(net(ones({2, 3}))) * INFINITY; }));
  EXPECT_EQ(run.steps(), 0);
  EXPECT_EQ(schedule.last_epoch(), 0);
  EXPECT_TRUE(run.step([&] { return sum(net(ones({2, 3}))); }));
  EXPECT_EQ(schedule.last_epoch(), 1);
  EXPECT_FALSE(run.step([&] { return Loss(sum(net(ones({2, 3}))), 0); }));
  EXPECT_EQ(run.steps(), 1);
}

TEST(Run, KeepsTheNewestAndTheBestAndEndsWhenNothingImproves) {
  const Folder folder;
  nn::Linear net(3, 1);
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  train::Run run(
      {.model = &net, .optimizer = &sgd, .folder = folder.path(), .monitor = "v", .maximize = true, .patience = 2});
  const double values[] = {1, 3, 2, 3, 9};
  int epochs = 0;
  Tensor best;
  while (run.next_epoch(5)) {
    run.step([&] { return mean(square(net(ones({2, 3})))); });
    if (epochs == 1) best = net.weight.clone();
    run.log({{"v", values[epochs++]}});
  }
  EXPECT_EQ(epochs, 4);
  EXPECT_EQ(run.stopped(), "v has not improved for 2 times");
  EXPECT_EQ(folder.files(), 3);
  EXPECT_EQ(train::checkpoints(folder.path()).back().first, 4);
  const nn::Value file = load_value(folder / "best.safetensors");
  EXPECT_TRUE(equal(*file.get<nn::Dict>()->find("model")->get<nn::Dict>()->find("weight")->get<Tensor>(), best));
  train::Run again({.model = &net, .optimizer = &sgd, .folder = folder.path(), .monitor = "v", .maximize = true});
  io::write_file(folder / "step-000000005.safetensors.tmp-1-0", "half");
  EXPECT_TRUE(again.resume());
  EXPECT_EQ(folder.files(), 3);
  EXPECT_FALSE(again.next_epoch(5));
}

TEST(Run, ThatGoesBackLeavesTheCheckpointsOfLaterSteps) {
  const Folder folder;
  nn::Linear net(3, 1);
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  const auto options = [&](int keep) {
    return RunOptions{.model = &net, .optimizer = &sgd, .folder = folder.path(), .keep = keep};
  };
  const auto save = [&](train::Run& run, std::int64_t until) {
    while (run.steps() < until) {
      run.step([&] { return sum(net(ones({1, 3}))); });
      run.save();
    }
    std::vector<std::int64_t> there;
    for (const auto& [step, path] : train::checkpoints(folder.path())) there.push_back(step);
    return there;
  };
  train::Run run(options(3)), other(options(1)), fresh(options(2));
  EXPECT_EQ(save(run, 6), (std::vector<std::int64_t>{4, 5, 6}));
  EXPECT_EQ(save(fresh, 2), (std::vector<std::int64_t>{1, 2, 4, 5, 6}));  // it does not touch what is another's
  other.resume(train::checkpoint_path(folder.path(), 4));
  EXPECT_EQ(save(other, 5), (std::vector<std::int64_t>{5}));
}

TEST(Run, LogsMeansOfWhatIsTalliedSinceTheLastTime) {
  nn::Linear net(3, 1);
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  std::vector<double> logged;
  train::Run run({.model = &net, .optimizer = &sgd, .log_every = 2, .on_log = [&](train::Run&, const train::Values& v) {
                    logged.push_back(v.at("part"));
                  }});
  for (const double hits : {1, 5, 2, 3})
    run.step([&] {
      run.tally("part", full({}, hits), hits == 1 ? 2 : 6);
      return sum(net(ones({1, 3})));
    });
  EXPECT_EQ(logged, (std::vector<double>{6.0 / 8, 5.0 / 12}));
  EXPECT_EQ(error_of<ValueError>([&] { run.tally("part", full({}, 1), 0); }),
            "tally: expected a positive weight of \"part\", got 0.000000");
}

TEST(Run, RefusesWhatCannotBe) {
  const Folder folder;
  nn::Linear net(3, 1);
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  EXPECT_EQ(error_of<ValueError>([&] { train::Run({.model = &net}); }),
            "Run: expected a model and an optimizer, got null");
  EXPECT_EQ(error_of<ValueError>([&] { train::Run({.model = &net, .optimizer = &sgd, .accumulate = 0}); }),
            "Run: expected accumulate of 1 or more");
  train::Run run({.model = &net, .optimizer = &sgd, .accumulate = 2, .folder = folder.path()});
  EXPECT_FALSE(run.resume());
  run.step([&] { return sum(net(ones({1, 3}))); });
  EXPECT_EQ(error_of<ValueError>([&] { run.save(); }),
            "save: expected a group of 2 batches to be complete, got 1; call flush()");
  EXPECT_TRUE(run.flush());
  const std::string path = run.save();
  amp::GradScaler scaler;
  train::Run other({.model = &net, .optimizer = &sgd, .scaler = &scaler});
  EXPECT_EQ(error_of<ValueError>([&] { other.resume(path); }),
            "resume: expected a state of \"scaler\", as this run needs, in " + path);
  neura::save(folder / "x", nn::Dict{{{"a", 1}}});
  EXPECT_EQ(error_of<FormatError>([&] { run.resume(folder / "x"); }),
            "resume: expected a checkpoint of a run, got another file: " + (folder / "x"));
}

TEST(Run, EndsWithASentenceWhereLossesAreNotFinite) {
  const Folder folder;
  for (const std::int64_t log_every : {1, 1000}) {  // found when it is logged; before a checkpoint
    nn::Linear net(3, 1);
    optim::SGD sgd(net.parameters(), {.lr = 1e30});
    train::Run run({.model = &net, .optimizer = &sgd, .folder = folder.path(), .log_every = log_every});
    const std::string text = error_of<ValueError>([&] {
      while (run.next_epoch(2))
        for (int i = 0; i < 8; ++i) run.step([&] { return mean(square(net(ones({2, 3})))); });
    });
    EXPECT_EQ(text.find("Run: expected finite losses, got "), 0u) << text;
    EXPECT_NE(text.find("with a lower learning rate"), std::string::npos) << text;
    EXPECT_FALSE(run.resume());  // nothing was saved
  }
  nn::Linear net(3, 1);
  optim::SGD sgd(net.parameters(), {.lr = 1e30});
  train::Run run({.model = &net, .optimizer = &sgd, .log_every = 1, .check_finite = false});
  for (int i = 0; i < 8; ++i) run.step([&] { return mean(square(net(ones({2, 3})))); });
  EXPECT_FALSE(std::isfinite(run.values().at("loss")));
}

TEST(Run, RefusesACheckpointWhoseCountsAreNoIntegers) {
  const Folder folder;
  nn::Linear net(3, 1);
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  train::Run run({.model = &net, .optimizer = &sgd, .folder = folder.path()});
  const std::string path = run.save();
  const Tensor before = net.weight.clone();
  for (const nn::Value& wrong : {nn::Value(std::nan("")), nn::Value(1e300), nn::Value(2.0)}) {
    nn::Value file = load_value(path, MapLocation(Device()));
    nn::Dict all = *file.get<nn::Dict>(), extra = *all.find("extra")->get<nn::Dict>();
    nn::Dict position = *extra.find("run")->get<nn::Dict>(), model = *all.find("model")->get<nn::Dict>();
    position["steps"] = wrong, extra["run"] = position, all["extra"] = extra;
    model["weight"] = nn::Value(zeros({1, 3})), all["model"] = model;
    neura::save(folder / "wrong", all);
    EXPECT_EQ(error_of<FormatError>([&] { run.resume(folder / "wrong"); }),
              "resume: expected an integer for \"steps\", got float");
    EXPECT_TRUE(equal(net.weight, before));  // nothing was read into the model
  }
}

}  // namespace
}  // namespace neura

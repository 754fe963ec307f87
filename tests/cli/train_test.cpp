// The program on a tiny data set: training, stopping, continuing, testing, predicting, and what it says when it cannot.
#include "neura/data/png.h"
#include "tests/cli/fit.h"

namespace neura {
namespace {

using test::Cli;
using test::expect_same_run;

struct FitFashion : test::Fits {
  void SetUp() override { Cli::SetUp(); }
};

TEST_F(FitFashion, LearnsTestsAndPredicts) {
  ASSERT_EQ(run({"train", "fashion-mnist", ".", "--batch-size", "25", "--epochs", "6", "--out", "r"}), 0) << err();
  EXPECT_NE(out().find("cnn with "), std::string::npos) << out();
  EXPECT_NE(out().find("epoch 6/6  loss "), std::string::npos) << out();
  EXPECT_NE(out().find("report: r/report.html"), std::string::npos) << out();
  EXPECT_GT(printed("accuracy "), 90) << out();
  expect_page("r/report.html", {"class=matrix", "Accuracy, %", "Surest mistakes", "<th>accuracy<th>validation loss"});
  const auto log = json_lines(test::text_of(folder / "r/log.jsonl"));
  for (const char* name : {"accuracy", "val/accuracy", "seconds"})
    EXPECT_TRUE(std::any_of(log.begin(), log.end(), [&](const auto& j) { return j.contains(name); })) << name;

  ASSERT_EQ(run({"eval", "r"}), 0) << err();
  EXPECT_GT(printed("accuracy "), 90) << out();
  EXPECT_NE(out().find("of 100 pictures"), std::string::npos) << out();
  std::filesystem::create_directories(folder / "more");
  test::make_data(folder / "more", 20, 40);
  ASSERT_EQ(run({"eval", "r", "more"}), 0) << err();
  EXPECT_NE(out().find("of 40 pictures"), std::string::npos) << out();

  ASSERT_EQ(run({"predict", "r", "3"}), 0) << err();
  EXPECT_NE(out().find("picture 3 of the test set: Dress"), std::string::npos) << out();
  const Tensor dress = data::read_idx(folder / "t10k-images-idx3-ubyte.gz").select(0, 3);
  data::write_png(folder / "p.png", dress);
  ASSERT_EQ(run({"predict", "r", "p.png", "4", "--json"}), 0) << err();
  const auto lines = json_lines(out());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["class"], "Dress");
  EXPECT_EQ(lines[1]["class"], "Coat");
  Tensor inverse = dress.clone();
  for (std::int64_t i = 0; i < inverse.numel(); ++i) inverse.data<std::uint8_t>()[i] ^= 255;
  data::write_png(folder / "i.png", inverse);
  ASSERT_EQ(run({"predict", "r", "p.png"}), 0) << err();
  const std::string want = out();
  EXPECT_NE(want.find("Dress"), std::string::npos);
  ASSERT_EQ(run({"predict", "r", "i.png", "--invert"}), 0) << err();
  EXPECT_EQ(out(), want);
}

TEST_F(FitFashion, ShowsPicturesOfMistakesAndAnotherRun) {
  ASSERT_EQ(run(train({"--quick", "--out", "one", "--lr", "1e-9"})), 0) << err();
  ASSERT_EQ(run(train({"--epochs", "2", "--out", "two"})), 0) << err();
  ASSERT_EQ(run({"eval", "one", "--report", "r.html", "--compare", "two"}), 0) << err();
  expect_page("r.html", {"data:image/png;base64,", " taken for ", "training, two</span>", "<th>validation loss, two",
                         "class=three", "<dt>device<dd>cpu"});
  EXPECT_NE(fails(2, {"eval", "one", "--compare", "two"}).find("--report"), std::string::npos);
  EXPECT_NE(fails(1, {"eval", "one", "--report", "r.html", "--compare", "none"}).find("none"), std::string::npos);
}

TEST_F(FitFashion, IsTheSameForAnyNumberOfThreadsAndAnotherForAnotherSeed) {
  for (const std::string m : {"cnn", "mlp"}) {
    ASSERT_EQ(run(train({"--epochs", "2", "--model", m, "--threads", "1", "--out", m + "1"})), 0) << err();
    ASSERT_EQ(run(train({"--epochs", "2", "--model", m, "--threads", "3", "--out", m + "3"})), 0) << err();
    expect_same_run(last_checkpoint(m + "1"), last_checkpoint(m + "3"));
    expect_same_log(m + "1", m + "3");
  }
  ASSERT_EQ(run(train({"--epochs", "2", "--seed", "1", "--out", "other"})), 0) << err();
  const std::string weight = "model.1.weight";
  EXPECT_FALSE(test::close(load(last_checkpoint("other")).at(weight), load(last_checkpoint("cnn1")).at(weight)));
}

TEST_F(FitFashion, GoesOnAfterCtrlCAsIfItHadNeverStopped) {
  expect_resumes({"train", "fashion-mnist", ".", "--batch-size", "50", "--epochs", "8"}, "epoch 1/8");
  EXPECT_EQ(fails(1, train({"--resume", "parts", "--model", "mlp"})),
            "neura: --model differs from the run in \"parts\"; leave it out to continue with that run\n");
  test::make_data(folder.path(), 310, 100);
  EXPECT_EQ(fails(1, {"train", "fashion-mnist", "--resume", "parts"}),
            "neura: fashion-mnist: expected the 300 pictures that the run began with, got 310\n");
}

TEST_F(Cli, SaysInOneSentenceWhatIsWrong) {
  EXPECT_EQ(fails(1, {"eval", "none"}),
            "neura: expected the folder of a run, got \"none\", which does not exist; neura train makes one and says "
            "where\n");
  EXPECT_NE(fails(1, {"train", "fashion-mnist", "nowhere"})
                .find("neura: no train-images-idx3-ubyte and no train-images-idx3-ubyte.gz in \""),
            std::string::npos);
  EXPECT_NE(fails(1, train({"--device", "cuda"})).find("cuda"), std::string::npos);
  EXPECT_NE(fails(1, train({"--device", "toaster"})).find("toaster"), std::string::npos);
  EXPECT_NE(fails(2, {}).find("--help"), std::string::npos);
  EXPECT_EQ(fails(2, {"dance"}).find("neura: expected a command, got \"dance\"; there are info, eval, predict"), 0u);
  EXPECT_NE(fails(2, {}).find("expected a command, got none; there are "), std::string::npos);
  EXPECT_EQ(fails(2, {"train", "cifar"}),
            "neura: train: expected what to train, got \"cifar\"; there are images, table, text and fashion-mnist; see "
            "\"neura train --help\"\n");
  EXPECT_NE(fails(2, {"train"}).find("expected what to train, got none; there are images"), std::string::npos);
  EXPECT_NE(fails(2, train({"more"})).find("more"), std::string::npos);
  EXPECT_NE(fails(2, train({"--epochs", "0"})).find("--epochs"), std::string::npos);
  EXPECT_NE(fails(2, train({"--model", "rnn"})).find("--model"), std::string::npos);
  for (const std::string rate : {"fast", "0", "1e4"})
    EXPECT_EQ(fails(2, train({"--lr", rate})), "neura: --lr: expected a number from 1e-12 to 1000, got \"" + rate +
                                                   "\"; see \"neura train fashion-mnist --help\"\n");
  EXPECT_NE(fails(2, {"predict"}).find("RUN"), std::string::npos);

  ASSERT_EQ(run(train({"--epochs", "1", "--out", "m"})), 0) << err();
  data::write_png(folder / "p.png", test::sample({1, 5, 5}, uint8));
  EXPECT_EQ(fails(1, {"predict", "m", "p.png"}),
            "neura: p.png: expected a picture of 10 x 8 pixels, got 5 x 5; scale it\n");
  EXPECT_EQ(fails(1, {"predict", "m"}),
            "neura: predict: expected pictures, got none; name PNG files, or numbers of test pictures\n");
  EXPECT_EQ(fails(1, {"predict", "m", "100"}), "neura: expected a picture below 100, got 100\n");
  EXPECT_NE(fails(1, {"predict", "m", "none.png"}).find("none.png"), std::string::npos);
  const std::string file = folder / "m/best.safetensors", whole = test::text_of(file);
  std::ofstream(file, std::ios::binary) << whole.substr(0, whole.size() - 100);
  EXPECT_NE(fails(1, {"eval", "m"}).find("the file may have been cut off"), std::string::npos);
}

TEST_F(Cli, HelpsAndInforms) {
  for (std::vector<std::string> a : {std::vector<std::string>{"--help"},
                                     {"train", "--help"},
                                     {"train", "fashion-mnist", "--help"},
                                     {"train", "images", "--help"},
                                     {"train", "table", "--help"},
                                     {"train", "text", "--help"},
                                     {"eval", "--help"},
                                     {"predict", "--help"},
                                     {"info", "--help"}}) {
    EXPECT_EQ(run(a), 0);
    EXPECT_NE(out().find("--help"), std::string::npos) << out();
  }
  EXPECT_EQ(run({"--version"}), 0);
  EXPECT_EQ(out(), "neura 0.1.0\n");
  EXPECT_EQ(run({"info"}), 0);
  for (const char* word : {"compiler", "processor", "instructions", "threads", "memory", "cuda"})
    EXPECT_NE(out().find(word), std::string::npos) << word;
}

}  // namespace
}  // namespace neura

// The program on a tiny data set: training, stopping, going on, testing, predicting, and what it says when it cannot.
#include "neura/data/png.h"
#include "tests/cli/tiny.h"

namespace neura {
namespace {

using test::Cli;
using test::expect_same_run;
using test::interrupt_after;
using test::Program;

TEST_F(Cli, LearnsSavesTestsAndPredicts) {
  ASSERT_EQ(run({"train", "fashion-mnist", "--data", folder.path(), "--batch-size", "25", "--epochs", "6", "--save",
                 "m.safetensors", "--report", "r.html"}),
            0)
      << err();
  EXPECT_NE(out().find("epoch 6/6  loss "), std::string::npos) << out();
  EXPECT_NE(out().find("saved as m.safetensors"), std::string::npos);
  const std::string page = test::text_of(folder / "r.html");
  for (const char* part : {"<svg", "data:image/png;base64,", "prefers-color-scheme: dark", "class=matrix"})
    if (std::string(part).find("png") == std::string::npos || page.find("None.") == std::string::npos)
      EXPECT_NE(page.find(part), std::string::npos) << part;
  for (const char* foreign : {"http://", "https://", "<script", "@import", "url("})
    EXPECT_EQ(page.find(foreign), std::string::npos);

  ASSERT_EQ(run({"eval", "m.safetensors", "--data", folder.path()}), 0) << err();
  const std::size_t at = out().find("accuracy ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_GT(std::stod(out().substr(at + 9)), 90) << out();

  ASSERT_EQ(run({"predict", "3", "--model", "m.safetensors", "--data", folder.path()}), 0) << err();
  EXPECT_NE(out().find("picture 3 of the test set: Dress"), std::string::npos) << out();
  data::write_png(folder / "p.png", data::read_idx(folder / "t10k-images-idx3-ubyte.gz").select(0, 3));
  ASSERT_EQ(run({"predict", "p.png", "--model", "m.safetensors"}), 0) << err();
  EXPECT_NE(out().find("Dress"), std::string::npos);
}

TEST_F(Cli, IsTheSameForAnyNumberOfThreadsAndAnotherForAnotherSeed) {
  for (const char* model : {"cnn", "mlp"}) {
    const std::string m = model;
    ASSERT_EQ(run(train({"--epochs", "2", "--model", m, "--threads", "1", "--save", m + "1"})), 0) << err();
    ASSERT_EQ(run(train({"--epochs", "2", "--model", m, "--threads", "3", "--save", m + "3"})), 0) << err();
    expect_same_run(folder / (m + "1"), folder / (m + "3"));
  }
  ASSERT_EQ(run(train({"--epochs", "2", "--seed", "1", "--save", "other"})), 0) << err();
  EXPECT_FALSE(test::close(load(folder / "other").at("model.0.weight"), load(folder / "cnn1").at("model.0.weight")));
}

TEST_F(Cli, StoppedByCtrlCAndResumedEqualsARunThatNeverStopped) {
  ASSERT_EQ(run(train({"--epochs", "8", "--save", "whole"})), 0) << err();
  for (const char* moment : {"cnn with", "epoch 2/8"}) {
    int code = 0;
    for (int attempt = 0; code == 0 && attempt < 20; ++attempt) {  // 0: it was done before the signal came
      Program p(folder.path(), train({"--epochs", "8", "--save", "parts"}));
      code = interrupt_after(p, moment);
      if (code != 0)
        EXPECT_NE(p.out().find("go on with: neura train fashion-mnist --resume parts"), std::string::npos) << p.out();
    }
    ASSERT_EQ(code, 130) << err();
    ASSERT_EQ(run({"train", "fashion-mnist", "--data", folder.path(), "--resume", "parts", "--save", "rest"}), 0)
        << err();
    expect_same_run(folder / "whole", folder / "rest");
  }
}

TEST_F(Cli, ResumedAfterAnEpochEqualsARunThatNeverStopped) {
  ASSERT_EQ(run(train({"--epochs", "3", "--save", "whole"})), 0) << err();
  // A copy of what stood in the file after epoch 2, taken from a run that is stopped there.
  Program p(folder.path(), train({"--epochs", "3", "--save", "two"}));
  const int code = interrupt_after(p, "epoch 2/3");
  if (code == 130) {
    ASSERT_EQ(run({"train", "fashion-mnist", "--data", folder.path(), "--resume", "two"}), 0) << err();
  }
  expect_same_run(folder / "whole", folder / "two");
}

TEST_F(Cli, RefusesOtherSettingsWhenResumed) {
  ASSERT_EQ(run(train({"--epochs", "1", "--save", "m"})), 0) << err();
  EXPECT_EQ(run(train({"--resume", "m", "--model", "mlp"})), 1);
  EXPECT_EQ(err(), "neura: --model differs from the run in \"m\"; leave it out to go on with that run\n");
  EXPECT_EQ(run(train({"--resume", "m"})), 0);
  EXPECT_NE(out().find("m is already trained"), std::string::npos) << out();
}

TEST_F(Cli, SaysInOneSentenceWhatIsWrong) {
  EXPECT_EQ(fails(1, {"eval", "none.safetensors"}),
            "neura: cannot open \"none.safetensors\": No such file or directory\n");
  EXPECT_EQ(fails(1, {"train", "fashion-mnist", "--data", "nowhere"}),
            "neura: no train-images-idx3-ubyte and no train-images-idx3-ubyte.gz in \"nowhere\"\n");
  EXPECT_NE(fails(1, train({"--device", "cuda"})).find("cuda"), std::string::npos);
  EXPECT_NE(fails(1, train({"--device", "toaster"})).find("toaster"), std::string::npos);
  EXPECT_NE(fails(2, {}).find("--help"), std::string::npos);
  EXPECT_NE(fails(2, {"dance"}).find("--help"), std::string::npos);
  EXPECT_EQ(fails(2, {"train", "cifar"}),
            "neura: train: expected a data set, got \"cifar\"; there is fashion-mnist; see \"neura --help\"\n");
  EXPECT_NE(fails(2, {"train"}).find("expected a data set, got none; there is fashion-mnist"), std::string::npos);
  EXPECT_NE(fails(2, train({"more"})).find("more"), std::string::npos);
  EXPECT_NE(fails(2, train({"--epochs", "0"})).find("--epochs"), std::string::npos);
  EXPECT_NE(fails(2, train({"--model", "rnn"})).find("--model"), std::string::npos);
  EXPECT_NE(fails(2, {"predict"}).find("PICTURE"), std::string::npos);

  save(folder / "weights", nn::StateDict{{"w", test::sample({2})}});
  EXPECT_EQ(fails(1, {"eval", "weights"}),
            "neura: weights: expected a checkpoint with \"extra\", got none in this file\n");
  ASSERT_EQ(run(train({"--epochs", "1", "--save", "m"})), 0) << err();
  const std::string whole = test::text_of(folder / "m");
  std::ofstream(folder / "cut", std::ios::binary) << whole.substr(0, whole.size() - 100);
  EXPECT_NE(fails(1, {"eval", "cut"}).find("the file may have been cut off"), std::string::npos);
  data::write_png(folder / "p.png", test::sample({1, 5, 5}, uint8));
  EXPECT_EQ(fails(1, {"predict", "p.png", "--model", "m"}),
            "neura: p.png: expected a picture of 10 x 8 pixels, got 5 x 5; scale it\n");
  EXPECT_EQ(fails(1, {"predict", "100", "--model", "m", "--data", folder.path()}),
            "neura: expected a picture below 100, got 100\n");
}

TEST_F(Cli, HelpsAndInforms) {
  for (std::vector<std::string> a : {std::vector<std::string>{"--help"},
                                     {"train", "--help"},
                                     {"train", "fashion-mnist", "--help"},
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

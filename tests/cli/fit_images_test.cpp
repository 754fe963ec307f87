// neura train images, eval and predict, on a folder of small pictures.
#include "tests/cli/fit.h"

namespace neura {
namespace {

struct FitImages : test::Fits {
  void SetUp() override { draw(folder / "bars", 40); }
  std::vector<std::string> fit(std::vector<std::string> more) const {
    std::vector<std::string> all = {"train", "images", "bars", "--batch-size", "8", "--set", "crop=1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_F(FitImages, LearnsTestsAndPredicts) {
  ASSERT_EQ(run(fit({"--epochs", "6", "--out", "r"})), 0) << err();
  for (const char* part :
       {"2 classes, 64 pictures to train and 16 to validate with (split at random", "as 16 x 16 pixels",
        "chosen for 64 pictures to train with: --model cifar_resnet8 --lr 0.005 ", "cifar_resnet8 with ",
        "epoch 6/6  loss ", "report: r/report.html"})
    EXPECT_NE(out().find(part), std::string::npos) << part << "\n" << out();
  EXPECT_GT(printed("best: loss "), 0);
  EXPECT_GT(printed("accuracy "), 90) << out();
  for (const char* file : {"config.json", "log.jsonl", "best.safetensors"})
    EXPECT_TRUE(std::filesystem::exists(folder / ("r/" + std::string(file)))) << file;
  expect_page("r/report.html", {"across taken for down", "Accuracy, %", "validation"});
  const auto log = json_lines(test::text_of(folder / "r/log.jsonl"));
  EXPECT_EQ(std::count_if(log.begin(), log.end(), [](const auto& j) { return j.contains("val/accuracy"); }), 6);

  ASSERT_EQ(run({"eval", "r"}), 0) << err();
  const double held = printed("accuracy ");
  EXPECT_GT(held, 90) << out();
  draw(folder / "more", 5);
  ASSERT_EQ(run({"eval", "r", "more", "--report", "more.html"}), 0) << err();
  EXPECT_NE(out().find("of 10 pictures"), std::string::npos) << out();
  expect_page("more.html", {"across taken for down"});

  ASSERT_EQ(run({"predict", "r", "more/down/1.png"}), 0) << err();
  EXPECT_EQ(out().find("down"), 0u) << out();
  ASSERT_EQ(run({"predict", "r", "more/down/1.png", "more/across/2.png", "--json"}), 0) << err();
  const auto lines = json_lines(out());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["file"], "more/down/1.png");
  EXPECT_EQ(lines[0]["class"], "down");
  EXPECT_EQ(lines[1]["class"], "across");
  const std::string odd = "odd \xe9.png";  // a name that is no UTF-8
  std::filesystem::copy(folder / "more/down/1.png", folder / odd);
  ASSERT_EQ(run({"predict", "r", odd, "--json"}), 0) << err();
  EXPECT_EQ(json_lines(out()).at(0)["file"], "odd \ufffd.png");
  EXPECT_NEAR(double(lines[0]["probabilities"]["down"]) + double(lines[0]["probabilities"]["across"]), 1, 1e-6);
}

TEST_F(FitImages, GoesOnAfterCtrlCAsIfItHadNeverStopped) {
  expect_resumes({"train", "images", "bars", "--batch-size", "4", "--epochs", "4", "--set", "crop=0.5", "--set",
                  "flip=0.5", "--model", "mlp"},
                 "epoch 1/4");
  EXPECT_EQ(fails(1, {"train", "images", "--resume", "parts", "--lr", "1"}),
            "neura: --lr differs from the run in \"parts\"; leave it out to continue with that run\n");
  EXPECT_EQ(fails(1, {"train", "text", "--resume", "parts"}),
            "neura: --resume: expected a run of train text, got one of train images in parts\n");
  EXPECT_NE(fails(1, fit({"--out", "parts"})).find("expected a folder without a run, got \"parts\""),
            std::string::npos);
  std::filesystem::remove(folder / "bars/down/3.png");
  EXPECT_NE(fails(1, {"train", "images", "--resume", "parts"}).find("expected the 80 pictures that the run began with"),
            std::string::npos);
}

TEST_F(FitImages, TakesFoldersOfTrainingAndValidation) {
  draw(folder / "two/train", 8), draw(folder / "two/val", 3);
  ASSERT_EQ(run({"train", "images", "two", "--quick", "--model", "resnet18", "--batch-size", "8"}), 0) << err();
  EXPECT_NE(out().find("16 pictures to train and 6 to validate with, of "), std::string::npos) << out();
  EXPECT_TRUE(std::filesystem::exists(folder / "runs/two/config.json"));
  ASSERT_EQ(run({"train", "images", "two", "--quick", "--model", "mobilenet_v2", "--batch-size", "8", "--out", "m"}), 0)
      << err();
  EXPECT_NE(out().find("mobilenet_v2 with "), std::string::npos) << out();
  ASSERT_EQ(run({"eval", "runs/two"}), 0) << err();
  EXPECT_NE(out().find("of 6 pictures"), std::string::npos) << out();
}

nlohmann::json config_of(const std::filesystem::path& run) {
  return nlohmann::json::parse(test::text_of(run / "config.json"));
}

TEST_F(FitImages, ChoosesByTheirNumberWhatNobodySays) {
  ASSERT_EQ(run({"train", "images", "bars", "--quick", "--out", "few"}), 0) << err();
  EXPECT_NE(out().find("chosen for 64 pictures to train with: --model cifar_resnet8 --batch-size 16 --lr 0.005 --set "
                       "crop=1 --set size=16; few pictures are learned best by a small network"),
            std::string::npos)
      << out();
  const auto few = config_of(folder / "few");
  EXPECT_EQ(few["model"], "cifar_resnet8");
  EXPECT_EQ(few["batch_size"], 16);
  EXPECT_EQ(few["settings"]["crop"], 1);
  EXPECT_EQ(few["facts"]["network"], nlohmann::json::parse(R"({"architecture": "cifar_resnet8",
                                                               "arguments": {"num_classes": 2}})"));
  ASSERT_EQ(run({"train", "images", "--resume", "few", "--model", "auto"}), 0) << err();
  ASSERT_EQ(run({"train", "images", "bars", "--quick", "--model", "lenet", "--batch-size", "8", "--lr", "1e-3", "--set",
                 "size=20", "--set", "crop=0.9", "--set", "flip=0.5", "--out", "said"}),
            0)
      << err();
  EXPECT_EQ(out().find("chosen for"), std::string::npos) << out();
  EXPECT_EQ(config_of(folder / "said")["lr"], 1e-3);
  EXPECT_EQ(config_of(folder / "said")["facts"]["network"]["arguments"]["image_size"], 20);
}

TEST_F(FitImages, TrainsNetworksOfTheZoo) {
  for (const std::string name : {"vgg11_bn", "vit_tiny", "cifar_resnet20", "mobilenet_v2"}) {
    SCOPED_TRACE(name);
    ASSERT_EQ(run({"train", "images", "bars", "--quick", "--model", name, "--out", name}), 0) << err();
    EXPECT_NE(out().find(name + " with "), std::string::npos) << out();
    ASSERT_EQ(run({"predict", name, "bars/down/1.png", "--json"}), 0) << err();
    EXPECT_EQ(json_lines(out()).at(0)["probabilities"].size(), 2u);
  }
  EXPECT_EQ(config_of(folder / "vgg11_bn")["facts"]["size"], 32);  // the least that it takes, of pictures of 16
  EXPECT_EQ(config_of(folder / "vit_tiny")["lr"], 5e-4);
  EXPECT_EQ(
      fails(1, {"train", "images", "bars", "--model", "vit_b_16", "--set", "size=20"}),
      "neura: vit_b_16: expected pictures of 16 pixels a side or more, in steps of 16, got 20; pass --set size=32\n");
}

TEST_F(FitImages, LeavesOutPicturesThatCannotBeRead) {
  write("bars/across/torn.png", test::text_of(folder / "bars/across/1.png").substr(0, 60));
  write("bars/down/text.jpg", "no picture");
  ASSERT_EQ(run(fit({"--quick", "--out", "r"})), 0) << err();
  EXPECT_NE(out().find("2 pictures cannot be read and are left out: "), std::string::npos) << out();
  EXPECT_NE(out().find("bars/across/torn.png"), std::string::npos) << out();
  EXPECT_NE(out().find("64 pictures to train and 16 to validate"), std::string::npos) << out();
  ASSERT_EQ(run({"train", "images", "--resume", "r"}), 0) << err();
  EXPECT_NE(fails(1, {"predict", "r", "bars/across/torn.png"}).find("torn.png"), std::string::npos);
  ASSERT_EQ(run({"predict", "r", "bars/down/1.png", "bars/down/text.jpg", "none.png", "bars/down/2.png"}), 1);
  EXPECT_NE(out().find("bars/down/2.png: "), std::string::npos) << out();  // the others have their answers
  EXPECT_NE(err().find("neura: bars/down/text.jpg: expected a "), std::string::npos) << err();
  EXPECT_NE(err().find("none.png"), std::string::npos) << err();
}

TEST_F(FitImages, SaysWhatIsWrong) {
  EXPECT_EQ(fails(1, {"train", "images", "nowhere"}).find("neura: images: expected a folder with a folder of pictures"),
            0u);
  write("file", "x");
  EXPECT_NE(fails(1, {"train", "images", "file"}).find("/file\", which is none"), std::string::npos);
  EXPECT_NE(
      fails(1, {"train", "images", "bars/down"}).find("/bars/down\", got no folder; put the pictures of each class"),
      std::string::npos);
  std::filesystem::create_directories(folder / "one");
  std::filesystem::copy(folder / "bars/down", folder / "one/down");
  EXPECT_NE(fails(1, {"train", "images", "one"}).find("two classes or more, got only \"down\" in "), std::string::npos);
  std::filesystem::create_directories(folder / "one/empty");
  EXPECT_NE(fails(1, {"train", "images", "one"}).find("expected pictures of every class, got none in "),
            std::string::npos);
  EXPECT_NE(fails(1, {"train", "images"}).find("train images: expected data, got none"), std::string::npos);
  EXPECT_NE(fails(1, fit({"--set", "colour=1"})).find("--set: expected KEY=NUMBER with one of size, crop"),
            std::string::npos);
  EXPECT_NE(fails(1, fit({"--set", "flip=2"})).find("--set flip: expected a part from 0 to 1, got \"2\""),
            std::string::npos);
  EXPECT_NE(fails(1, fit({"--device", "toaster"})).find("toaster"), std::string::npos);
  EXPECT_NE(fails(2, fit({"--model", "gpt"})).find("--model"), std::string::npos);
  EXPECT_NE(fails(1, {"train", "images", "--resume", "bars"}).find("config.json"), std::string::npos);
  EXPECT_NE(fails(1, {"predict", "bars"}).find("config.json"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder / "runs"));  // nothing is left of what never began
}

}  // namespace
}  // namespace neura

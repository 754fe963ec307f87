// neura train CONFIG.toml: any task from one file.
#include "tests/cli/fit.h"

namespace neura {
namespace {

struct TrainFile : test::Fits {
  void SetUp() override {
    write("probe.toml", "a = = 1");
    run({"train", "probe.toml"});
    if (err().find("built with toml++") != std::string::npos) GTEST_SKIP() << "built without toml++";
    write_table(folder / "t.csv", 60);
  }
  std::string refused(const std::string& text, std::vector<std::string> more = {}) {
    write("c.toml", text);
    more.insert(more.begin(), {"train", "c.toml"});
    return fails(1, more);
  }
};

TEST_F(TrainFile, TrainsAndItsRunHasAFileThatTrainsTheSameAgain) {
  std::filesystem::create_directories(folder / "sub");
  write("sub/c.toml",
        "task = \"table\"\ndata = \"../t.csv\"  # from here\ntarget = \"y\"\nepochs = 3\n[settings]\nhidden = 8\n");
  ASSERT_EQ(run({"train", "sub/c.toml", "--set", "lr=1e-2", "--set", "layers=1", "--set", "settings.dropout=0", "--set",
                 "out=a"}),
            0)
      << err();
  const auto config = nlohmann::json::parse(test::text_of(folder / "a/config.json"));
  EXPECT_EQ(config["lr"], 1e-2);
  EXPECT_EQ(config["epochs"], 3);
  EXPECT_EQ(config["settings"]["hidden"], 8);
  EXPECT_EQ(config["settings"]["layers"], 1);
  EXPECT_EQ(config["settings"]["dropout"], 0);
  ASSERT_EQ(run({"train", "a/config.toml", "--set", "out=b"}), 0) << err();
  EXPECT_EQ(test::text_of(folder / "b/config.toml"), test::text_of(folder / "a/config.toml"));
  test::expect_same_run(last_checkpoint("a"), last_checkpoint("b"));
}

TEST_F(TrainFile, ARunOfTheCommandLineHasOneTooWithAllThatWasChosen) {
  draw(folder / "bars \"x\"", 6);
  ASSERT_EQ(run({"train", "images", "bars \"x\"", "--quick", "--out", "a"}), 0) << err();
  const std::string file = test::text_of(folder / "a/config.toml");
  for (const char* line : {"task = \"images\"", "bars \\\"x\\\"\"\n", "model = \"cifar_resnet8\"", "quick = true",
                           "[settings]", "size = 16", "crop = 1"})
    EXPECT_NE(file.find(line), std::string::npos) << line << "\n" << file;
  ASSERT_EQ(run({"train", "a/config.toml", "--set", "out=b"}), 0) << err();
  test::expect_same_run(last_checkpoint("a"), last_checkpoint("b"));
}

TEST_F(TrainFile, SaysWhatIsWrongWithTheNearestName) {
  EXPECT_EQ(refused("a = = 1").find("neura: c.toml: expected TOML, got an error in line 1: "), 0u);
  EXPECT_EQ(refused("task = \"images\"\nepochz = 3"),
            "neura: c.toml: expected the keys of a run, got \"epochz\"; did you mean \"epochs\"?\n");
  EXPECT_EQ(refused("task = \"images\"\nepochs = \"many\""),
            "neura: c.toml: expected epochs to be a whole number from 1 to 100000, got 'many'\n");
  EXPECT_EQ(refused("task = \"images\"\nlr = 0").find("neura: c.toml: expected lr to be a number from "), 0u);
  EXPECT_EQ(refused("task = \"image\""), "neura: c.toml: expected a task, got \"image\"; did you mean \"images\"?\n");
  EXPECT_EQ(refused("data = \"x\""),
            "neura: c.toml: expected task = \"images\" or another, got none; there are images, table, text, "
            "fashion-mnist\n");
  EXPECT_EQ(refused("task = \"images\"\nmodel = \"resnet19\""),
            "neura: c.toml: expected a model of images, got \"resnet19\"; did you mean \"resnet18\"?\n");
  EXPECT_EQ(refused("task = \"images\"\n[settings]\ncrp = 1"),
            "neura: c.toml: expected a setting of images, got \"crp\"; did you mean \"crop\"?\n");
  EXPECT_EQ(refused("task = \"images\"\n[settings]\ncrop = true"),
            "neura: c.toml: expected settings.crop to be a number from -1e+300 to 1e+300, got true\n");
  EXPECT_EQ(refused("task = \"images\"", {"--set", "quik=true"}),
            "neura: c.toml: expected a setting of images, got \"quik\"; did you mean \"quick\"?\n");
  EXPECT_EQ(refused("task = \"images\"", {"--set", "epochs=0"}),
            "neura: --set: expected epochs to be a whole number from 1 to 100000, got 0\n");
  EXPECT_NE(refused("task = \"table\"\ndata = \"t.csv\"").find("expected --target COLUMN, got none"),
            std::string::npos);
  EXPECT_NE(fails(1, {"train", "none.toml"}).find("none.toml"), std::string::npos);
  EXPECT_NE(fails(2, {"train", "toaster"}).find("expected what to train, got \"toaster\""), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder / "runs"));
}

}  // namespace
}  // namespace neura

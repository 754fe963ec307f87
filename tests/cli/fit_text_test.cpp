// neura train text, eval and predict, on a text that repeats a line.
#include "tests/cli/fit.h"

namespace neura {
namespace {

struct FitText : test::Fits {
  void SetUp() override { write_poem("poem.txt", 150); }
  std::vector<std::string> fit(std::vector<std::string> more) const {
    std::vector<std::string> all = {"train", "text", "poem.txt", "--batch-size", "8"};
    for (const char* knob : {"context=24", "width=32", "layers=1", "heads=2", "dropout=0"})
      all.insert(all.end(), {"--set", knob});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_F(FitText, LearnsAndWritesWithBothNetworks) {
  for (const std::string model : {"gpt", "lstm"}) {
    SCOPED_TRACE(model);
    ASSERT_EQ(run(fit({"--model", model, "--epochs", "12", "--lr", "0.01", "--out", model})), 0) << err();
    EXPECT_NE(out().find("3240 tokens to train and the last 360 to validate with, of 13 different characters"),
              std::string::npos)
        << out();
    EXPECT_LT(printed("perplexity "), 1.5) << out();
    EXPECT_NE(out().find("two three"), std::string::npos) << out();  // the sample
    expect_page(model + "/report.html", {"What it writes", "perplexity"});
    ASSERT_EQ(run({"eval", model, "poem.txt"}), 0) << err();
    EXPECT_LT(printed("perplexity "), 1.5) << out();
    ASSERT_EQ(run({"predict", model, "one two", "--length", "30", "--temperature", "0.1"}), 0) << err();
    EXPECT_EQ(out().find("one two three four five\none two"), 0u) << out();
    ASSERT_EQ(run({"predict", model, "one", "two", "--length", "6", "--temperature", "0.1", "--json"}), 0) << err();
    const auto lines = json_lines(out());
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0]["prompt"], "one two");
    EXPECT_EQ(lines[0]["text"], " three");
  }
}

TEST_F(FitText, GoesOnAfterCtrlCAsIfItHadNeverStopped) {
  std::vector<std::string> arguments = fit({"--epochs", "4", "--set", "dropout=0.2"});
  expect_resumes(arguments, "epoch 1/4");
}

TEST_F(FitText, TakesAFolderAndATokenizer) {
  std::filesystem::create_directories(folder / "all/deep");
  write_poem("all/a.txt", 60), write_poem("all/deep/b.txt", 60);
  write("tokenizer.json",
        R"({"model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "one": 1, "two": 2, "three": 3, "four": 4,
      "five": 5}, "unk_token": "[UNK]"}, "pre_tokenizer": {"type": "Whitespace"}})");
  ASSERT_EQ(run({"train", "text", "all", "--tokenizer", "tokenizer.json", "--epochs", "3", "--set", "context=8",
                 "--set", "width=16", "--set", "layers=1", "--set", "heads=2", "--lr", "0.01", "--out", "r"}),
            0)
      << err();
  EXPECT_NE(out().find("540 tokens to train and the last 60 to validate with, of 6 in the vocabulary"),
            std::string::npos)
      << out();
  std::filesystem::remove(folder / "tokenizer.json");  // the run has its own
  ASSERT_EQ(run({"predict", "r", "one two", "--length", "2", "--temperature", "0.1"}), 0) << err();
  EXPECT_NE(out().find("three four"), std::string::npos) << out();
}

TEST_F(FitText, SaysWhatIsWrong) {
  write("words.json", "no tokenizer");
  EXPECT_EQ(
      fails(1, {"train", "text", "poem.txt", "--tokenizer", "words.json"}).find("neura: --tokenizer words.json: "), 0u);
  write("tiny.txt", "hi");
  EXPECT_NE(fails(1, {"train", "text", "tiny.txt"}).find("got 1 and 1; take a longer text\n"), std::string::npos);
  write("short.txt", "one two");
  EXPECT_NE(fails(1, {"train", "text", "short.txt"})
                .find("text: expected more than 128 tokens to train and to validate with, got 6 and 1"),
            std::string::npos);
  EXPECT_NE(fails(1, {"train", "text", "nowhere.txt"}).find("nowhere.txt"), std::string::npos);
  std::filesystem::create_directories(folder / "empty");
  EXPECT_NE(fails(1, {"train", "text", "empty"}).find("expected files .txt in "), std::string::npos);
  EXPECT_NE(
      fails(1, fit({"--set", "heads=3"})).find("expected a width that the heads divide, got width 32 and 3 heads"),
      std::string::npos);
  ASSERT_EQ(run(fit({"--quick", "--out", "r"})), 0) << err();
  EXPECT_NE(fails(1, {"predict", "r", "ONE"}).find("expected characters that the run was trained with, got 3 others"),
            std::string::npos);
}

}  // namespace
}  // namespace neura

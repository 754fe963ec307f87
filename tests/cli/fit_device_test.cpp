// neura train images, table and text with a device: what the cpu gives.
#include <cstdlib>

#include "tests/cli/fit.h"

namespace neura {
namespace {

// The device for tests (tests/device) as the program's CUDA: its kernels are the cpu's, so is every bit.
struct FitDevice : test::Fits {
  void SetUp() override {
    if (!std::filesystem::exists(std::filesystem::path(NEURA_HOST_DEVICE).parent_path() / "libneura.so"))
      GTEST_SKIP() << "the device for tests needs shared libraries";
    ::setenv("NEURA_CUDA_LIBRARY", NEURA_HOST_DEVICE, 1);
    draw(folder / "bars", 20);
    write_table(folder / "t.csv", 100);
    write_poem("poem.txt", 60);
  }
  void TearDown() override { ::unsetenv("NEURA_CUDA_LIBRARY"); }
};

TEST_F(FitDevice, TrainsTestsAndPredictsAsTheCpu) {
  const std::vector<std::string> text = {"text",     "poem.txt", "--set",    "context=16", "--set",
                                         "width=16", "--set",    "layers=1", "--set",      "heads=2"};
  const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> tasks = {
      {{"images", "bars", "--batch-size", "8"}, {"bars/down/1.png"}},
      {{"table", "t.csv", "--target", "z"}, {"t.csv"}},
      {text, {"one", "--length", "20"}}};
  for (const auto& [task, question] : tasks) {
    SCOPED_TRACE(task[0]);
    std::vector<std::string> said;
    for (const std::string device : {"cpu", "cuda"}) {
      const std::string name = task[0] + device;
      std::vector<std::string> train{"train"}, predict{"predict", name, "--device", device};
      train.insert(train.end(), task.begin(), task.end());
      train.insert(train.end(), {"--epochs", "2", "--device", device, "--out", name});
      predict.insert(predict.end(), question.begin(), question.end());
      ASSERT_EQ(run(train), 0) << err();
      if (device == "cuda") EXPECT_NE(out().find("cuda:0 (a device for tests)"), std::string::npos) << out();
      ASSERT_EQ(run(predict), 0) << err();
      said.push_back(out());
    }
    EXPECT_EQ(said[0], said[1]);
    test::expect_same_run(last_checkpoint(task[0] + "cpu"), last_checkpoint(task[0] + "cuda"));
    expect_same_log(task[0] + "cpu", task[0] + "cuda");
  }
}

}  // namespace
}  // namespace neura

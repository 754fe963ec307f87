// The program with another device, and without: training, testing and resuming there, what is said where the
// library, its version, the driver or the device is not right.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tests/cli/tiny.h"

namespace neura {
namespace {

using test::Cli;
using test::expect_same_run;
using test::interrupt_after;
using test::Program;

const std::string kLibraries = std::filesystem::path(NEURA_HOST_DEVICE).parent_path().string();

class Variable {  // of the environment, for programs that are started while it lives
 public:
  Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  Variable(const Variable&) = delete;
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

// The device for tests (tests/device) as the program's CUDA: its kernels are the cpu's, so is every bit.
struct CliDevice : Cli {
  Variable library{"NEURA_CUDA_LIBRARY", NEURA_HOST_DEVICE};
  void SetUp() override {
    if (!std::filesystem::exists(kLibraries + "/libneura.so"))
      GTEST_SKIP() << "the device for tests needs shared libraries";
    Cli::SetUp();
  }
};

TEST_F(CliDevice, TrainsTestsAndPredictsAsTheCpu) {
  for (const std::string model : {"cnn", "mlp"}) {
    std::vector<std::string> said;
    for (const std::string device : {"cpu", "cuda"}) {
      ASSERT_EQ(run(train({"--epochs", "2", "--model", model, "--out", model + device, "--device", device})), 0)
          << err();
      if (device == "cuda")
        EXPECT_NE(out().find("batches of 50, cuda:0 (a device for tests)"), std::string::npos) << out();
      for (const std::string there : {"cpu", "cuda:1"})  // whatever it was trained on
        for (const std::vector<std::string>& use :
             {std::vector<std::string>{"eval", model + device}, {"predict", model + device, "3"}}) {
          std::vector<std::string> elsewhere = use;
          elsewhere.insert(elsewhere.end(), {"--device", there});
          ASSERT_EQ(run(elsewhere), 0) << err();
          said.push_back(out().substr(0, out().rfind(" in ")));
        }
    }
    expect_same_run(last_checkpoint(model + "cpu"), last_checkpoint(model + "cuda"));
    for (std::size_t i = 2; i < said.size(); ++i) EXPECT_EQ(said[i], said[i % 2]) << i;
  }
}

TEST_F(CliDevice, GoesOnWhereAnotherDeviceStopped) {
  ASSERT_EQ(run(train({"--epochs", "6", "--out", "whole"})), 0) << err();
  for (const auto& [first, then] : {std::pair{"cuda", "cpu"}, std::pair{"cpu", "cuda:1"}}) {
    int code = 0;
    for (int attempt = 0; code == 0 && attempt < 20; ++attempt) {  // 0: it was done before the signal came
      std::filesystem::remove_all(folder / "parts");
      Program p(folder.path(), train({"--epochs", "6", "--out", "parts", "--device", first}));
      code = interrupt_after(p, "epoch 1/6");
    }
    ASSERT_EQ(code, 130) << err();
    ASSERT_EQ(run({"train", "fashion-mnist", "--resume", "parts", "--device", then}), 0) << err();
    expect_same_run(last_checkpoint("whole"), last_checkpoint("parts"));
  }
}

TEST_F(CliDevice, NamesTheDevicesThatThereAre) {
  EXPECT_NE(fails(1, train({"--device", "cuda:2"})).find("expected cuda:0 to cuda:1, got cuda:2"), std::string::npos);
}

TEST_F(CliDevice, InfoListsDevices) {
  ASSERT_EQ(run({"info"}), 0);
  EXPECT_NE(out().find("\ncuda           yes"), std::string::npos) << out();
  for (const char* line : {"\nlibraries      cuBLAS 1.2.3, cuDNN not found, NVRTC ",
                           "\ncuda:0         a device for tests, compute capability", "\ncuda:1         a device"})
    EXPECT_NE(out().find(line), std::string::npos) << out();
}

// Without CUDA: the same program, and one sentence about what is missing.
TEST_F(Cli, SaysWhatOfCudaIsMissing) {
  const struct {
    std::string library, refuses, said;
  } cases[] = {
      {folder / "nothing.so", "", "its library cannot be loaded (" + (folder / "nothing.so") + ": cannot open"},
      {kLibraries + "/libneura.so", "", "is no back end of Neura; use the cpu, or install the build with CUDA"},
      {NEURA_REFUSING, "layout",
       "was built with another version of Neura; install both from one build, or use the cpu"},
      {NEURA_REFUSING, "version",
       "was built with another version of Neura (0.0.9, not 0.1.0); install both from one build, or use the cpu"},
      {NEURA_REFUSING, "nothing", "offers no back end; use the cpu, or install the build with CUDA again"},
      {NEURA_REFUSING, "driver", "no NVIDIA driver was found; install one, or use the cpu"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.said);
    const Variable library("NEURA_CUDA_LIBRARY", c.library), refuses("NEURA_REFUSES", c.refuses);
    ASSERT_EQ(run({"info"}), 0) << err();
    EXPECT_NE(out().find("\ncuda           no: "), std::string::npos) << out();
    EXPECT_NE(out().find(c.said), std::string::npos) << out();
    EXPECT_EQ(out().find("cuda:0"), std::string::npos) << out();
    const std::string said = fails(1, train({"--device", "cuda"}));
    EXPECT_EQ(said.find("neura: device: expected one that can be used, got cuda:0: "), 0u) << said;
    EXPECT_NE(said.find(c.said), std::string::npos) << said;
    ASSERT_EQ(run(train({"--epochs", "1", "--model", "mlp"})), 0) << err();  // the cpu needs none of it
  }
}
TEST_F(Cli, TheCpuAloneDoesNotLoadTheLibrary) {
  const Variable library("NEURA_CUDA_LIBRARY", NEURA_REFUSING), mark("NEURA_MARK", folder / "mark");
  ASSERT_EQ(run(train({"--epochs", "1", "--model", "mlp", "--out", "m"})), 0) << err();
  ASSERT_EQ(run({"eval", "m"}), 0) << err();
  EXPECT_FALSE(std::filesystem::exists(folder / "mark"));
  ASSERT_EQ(run({"info"}), 0);
  EXPECT_TRUE(std::filesystem::exists(folder / "mark"));
}

}  // namespace
}  // namespace neura

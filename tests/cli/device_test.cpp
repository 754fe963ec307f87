// The program with another device, and without: training, testing and resuming there, graphs, what is said where the
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
// The lines of two epochs, without their times.
std::string epochs(const std::string& text) {
  std::string kept;
  for (std::size_t at = text.find("epoch 1/2"); at < text.size() && text[at] == 'e'; at = text.find('\n', at) + 1) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    kept += line.substr(0, line.rfind("  ")) + "\n";
  }
  return kept;
}

TEST_F(CliDevice, TrainsTestsAndPredictsAsTheCpu) {
  for (const char* model : {"cnn", "mlp"}) {
    ASSERT_EQ(run(train({"--epochs", "2", "--model", model, "--save", "here"})), 0) << err();
    const std::string here = out();
    ASSERT_EQ(run(train({"--epochs", "2", "--model", model, "--save", "there", "--device", "cuda"})), 0) << err();
    EXPECT_NE(out().find("batches of 50, cuda:0 (a device for tests)"), std::string::npos) << out();
    EXPECT_EQ(epochs(out()), epochs(here));
    expect_same_run(folder / "here", folder / "there");
  }
  for (const std::vector<std::string>& use : {std::vector<std::string>{"eval", "here", "--data", folder.path()},
                                              {"predict", "3", "--model", "here", "--data", folder.path()}}) {
    ASSERT_EQ(run(use), 0) << err();
    const std::string want = out();
    std::vector<std::string> elsewhere = use;
    std::replace(elsewhere.begin(), elsewhere.end(), std::string("here"), std::string("there"));
    ASSERT_EQ(run(elsewhere), 0) << err();  // a network that was saved there, on the cpu
    EXPECT_EQ(out().substr(0, out().rfind(" in ")), want.substr(0, want.rfind(" in ")));
    elsewhere.insert(elsewhere.end(), {"--device", "cuda:1"});
    ASSERT_EQ(run(elsewhere), 0) << err();
    EXPECT_EQ(out().substr(0, out().rfind(" in ")), want.substr(0, want.rfind(" in ")));
  }
}

TEST_F(CliDevice, GoesOnWhereAnotherDeviceStopped) {
  ASSERT_EQ(run(train({"--epochs", "6", "--save", "whole"})), 0) << err();
  for (const auto& [first, then] : {std::pair{"cuda", "cpu"}, std::pair{"cpu", "cuda:1"}}) {
    int code = 0;
    for (int attempt = 0; code == 0 && attempt < 20; ++attempt) {  // 0: it was done before the signal came
      Program p(folder.path(), train({"--epochs", "6", "--save", "parts", "--device", first}));
      code = interrupt_after(p, "epoch 2/6");
    }
    ASSERT_EQ(code, 130) << err();
    ASSERT_EQ(run({"train", "fashion-mnist", "--data", folder.path(), "--resume", "parts", "--save", "rest", "--device",
                   then}),
              0)
        << err();
    expect_same_run(folder / "whole", folder / "rest");
  }
}

TEST_F(CliDevice, SaysWhyItRunsWithoutAGraph) {
  ASSERT_EQ(run(train({"--epochs", "1", "--device", "cuda"})), 0) << err();
  EXPECT_NE(out().find("steps run without a CUDA graph: this device has none"), std::string::npos) << out();
  ASSERT_EQ(run(train({"--epochs", "1", "--device", "cuda", "--graph", "off"})), 0) << err();
  EXPECT_EQ(out().find("graph"), std::string::npos) << out();
  EXPECT_EQ(fails(1, train({"--device", "cuda", "--graph", "on"})),
            "neura: train: expected --graph off or auto, got on: this device has none\n");
  EXPECT_EQ(fails(1, train({"--graph", "on"})), "neura: train: expected --device cuda with --graph on, got the cpu\n");
  EXPECT_NE(fails(2, train({"--graph", "perhaps"})).find("--graph"), std::string::npos);
  EXPECT_NE(fails(1, train({"--device", "cuda:2"})).find("expected cuda:0 to cuda:1, got cuda:2"), std::string::npos);
}

TEST_F(CliDevice, InfoListsDevices) {
  ASSERT_EQ(run({"info"}), 0);
  EXPECT_NE(out().find("\ncuda           yes"), std::string::npos) << out();
  for (const char* line : {"\nlibraries      cuBLAS 1.2.3, cuDNN not found, NVRTC ",
                           "\ncuda:0         a device for tests, compute capability", "\ncuda:1         a device"})
    EXPECT_NE(out().find(line), std::string::npos) << out();
}

TEST_F(Cli, ShowsAnotherRunBesideItsOwn) {
  ASSERT_EQ(run(train({"--epochs", "1", "--save", "one", "--seed", "1"})), 0) << err();
  ASSERT_EQ(run(train({"--epochs", "2", "--save", "two", "--report", "r.html", "--compare", "one"})), 0) << err();
  const std::string page = test::text_of(folder / "r.html");
  for (const char* part : {"training, one</span>", "<th>test loss, one", "class=three", "<dt>device<dd>cpu"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  ASSERT_EQ(run({"eval", "two", "--data", folder.path(), "--report", "s.html", "--compare", "one"}), 0) << err();
  EXPECT_NE(test::text_of(folder / "s.html").find("training, one</span>"), std::string::npos);
  EXPECT_NE(fails(2, train({"--compare", "one"})).find("--report"), std::string::npos);
  EXPECT_NE(fails(1, train({"--epochs", "1", "--report", "r.html", "--compare", "none"})).find("none"),
            std::string::npos);
}

// Without CUDA: the same program, and one sentence about what is missing.
TEST_F(Cli, SaysWhatOfCudaIsMissing) {
  const struct {
    std::string library, refuses, said;
  } cases[] = {
      {folder / "nothing.so", "", "its library cannot be loaded (" + (folder / "nothing.so") + ": cannot open"},
      {kLibraries + "/libneura.so", "", "is no back end of Neura; use the cpu, or install the build with CUDA"},
      {NEURA_REFUSING, "version",
       "was built with another version of Neura; install both from one build, or use the cpu"},
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
  ASSERT_EQ(run(train({"--epochs", "1", "--model", "mlp", "--save", "m"})), 0) << err();
  ASSERT_EQ(run({"eval", "m", "--data", folder.path()}), 0) << err();
  EXPECT_FALSE(std::filesystem::exists(folder / "mark"));
  ASSERT_EQ(run({"info"}), 0);
  EXPECT_TRUE(std::filesystem::exists(folder / "mark"));
}

}  // namespace
}  // namespace neura

// The program with files .neura.
#include "cli/npy.h"
#include "neura/core/file.h"
#include "neura/graph/trace.h"
#include "neura/io/program.h"
#include "neura/nn/linear.h"
#include "neura/onnx/export.h"
#include "neura/ops/reduce/scan.h"
#include "tests/cli/tiny.h"

namespace neura {
namespace {

using test::Cli;

struct CliProgram : Cli {
  Tensor x = test::sample({2, 6});
  nn::Linear net{6, 5};
  void SetUp() override {
    const auto f = [&](std::span<const Tensor> in) { return std::vector<Tensor>{net.forward(in[0])}; };
    const std::vector<graph::Named> names{{"weight", net.weight}, {"bias", net.bias}};
    save_program(folder / "net.neura", graph::trace(f, std::vector{x}, names), {{"x"}, {"y"}, {{"licence", "mine"}}});
    cli::write_npy(folder / "x.npy", x);
  }
};

TEST_F(CliProgram, SaysWhatAFileHolds) {
  ASSERT_EQ(run({"info", "net.neura"}), 0) << err();
  for (const char* part : {"net.neura, program, ", "input        x : float32 [2,6]", "output       y : float32 [2,5]",
                           "nodes        1 of 1 operations", "linear", "licence : mine", "weight  float32   [5, 6]"})
    EXPECT_NE(out().find(part), std::string::npos) << part << "\n" << out();
  EXPECT_EQ(out().find("neura.program"), std::string::npos) << out();
}
TEST_F(CliProgram, RunsAndMeasures) {
  ASSERT_EQ(run({"run", "net.neura", "--input", "x=x.npy", "--output", "y.npy"}), 0) << err();
  test::expect_same(cli::read_npy(folder / "y.npy"), net.forward(x).detach());
  EXPECT_NE(fails(1, {"run", "net.neura"}).find("expected a file for the input \"x\""), std::string::npos);
  ASSERT_EQ(run({"bench", "net.neura", "--runs", "3"}), 0) << err();
  EXPECT_NE(out().find("x float32 [2, 6]"), std::string::npos) << out();
  EXPECT_NE(out().find("runs       3: least"), std::string::npos) << out();
}
TEST_F(CliProgram, WritesOneOfAnOnnxFile) {
  onnx::export_model(net, std::vector{x}, folder / "net.onnx", {.input_names = {"x"}, .output_names = {"y"}});
  ASSERT_EQ(run({"export", "net.onnx", "--output", "other.neura"}), 0) << err();
  EXPECT_NE(out().find("written: other.neura"), std::string::npos);
  ASSERT_EQ(run({"run", "other.neura", "--input", "x.npy", "--output", "y.npy"}), 0) << err();
  test::expect_close(cli::read_npy(folder / "y.npy"), net.forward(x).detach());
}
TEST_F(Cli, ExportsAProgramOfWhatItTrainedForAnyNumberOfItems) {
  ASSERT_EQ(run(train({"--epochs", "1", "--out", "m"})), 0) << err();
  ASSERT_EQ(run({"export", "m", "--output", "m.neura"}), 0) << err();
  const ProgramFile one = load_program(folder / "m.neura");
  EXPECT_EQ(one.program.values[0].str(), "uint8 [1, 1, 10, 8]");
  EXPECT_EQ(one.metadata.at("classes").substr(0, 2), "[\"");
  ASSERT_EQ(run({"export", "m", "--output", "m.neura", "--batch", "3"}), 0) << err();
  EXPECT_EQ(load_program(folder / "m.neura").program.values[0].str(), "uint8 [3, 1, 10, 8]");
  EXPECT_EQ(run({"export", "m", "--output", "m.neura", "--batch", "0"}), 2);
}
TEST_F(CliProgram, RefusesUncheckedOperationsAndDamage) {
  const auto f = [](std::span<const Tensor> in) { return std::vector<Tensor>{cumprod(in[0], 0)}; };
  save_program(folder / "f.neura", graph::trace(f, std::vector{x}));
  EXPECT_NE(fails(1, {"run", "f.neura", "--input", "x.npy"}).find("cumprod"), std::string::npos);
  EXPECT_EQ(run({"run", "f.neura", "--input", "x.npy", "--trust"}), 0) << err();
  io::write_file(folder / "bad.neura", io::read_file(folder / "net.neura").substr(0, 400));
  EXPECT_NE(fails(1, {"run", "bad.neura", "--input", "x.npy"}).find("bad.neura"), std::string::npos);
}

}  // namespace
}  // namespace neura

// The program with files of models: what they hold, running, measuring and writing them.
#include "cli/npy.h"
#include "neura/nn/linear.h"
#include "neura/onnx/export.h"
#include "neura/onnx/model.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/reduce/reduce.h"
#include "tests/cli/tiny.h"

namespace neura {
namespace {

using test::Cli;

struct CliModel : Cli {
  Tensor x = test::sample({2, 6});
  nn::Linear net{6, 5};
  void SetUp() override {
    onnx::export_model(net, std::vector{x}, folder / "net.onnx",
                       {.input_names = {"x"}, .output_names = {"y"}, .dynamic = {{0, 0, "batch"}}});
    cli::write_npy(folder / "x.npy", x);
  }
};

TEST_F(CliModel, SaysWhatAFileHolds) {
  ASSERT_EQ(run({"info", "net.onnx"}), 0) << err();
  for (const char* part : {"opset        ai.onnx 18; IR 8", "x : float32 [batch, 6]", "y : float32 [batch, 5]", "Gemm",
                           "weight", "[5, 6]", "120 bytes"})
    EXPECT_NE(out().find(part), std::string::npos) << part << "\n" << out();
  save(folder / "w.safetensors", {{"a.weight", net.weight}});
  ASSERT_EQ(run({"info", "w.safetensors"}), 0) << err();
  EXPECT_NE(out().find("a.weight  float32   [5, 6]"), std::string::npos) << out();
  EXPECT_EQ(fails(1, {"info", "x.npy"}), "neura: info: expected a file .onnx, .neura or .safetensors, got x.npy\n");
  EXPECT_NE(fails(1, {"info", "none.onnx"}).find("none.onnx"), std::string::npos);
}

TEST_F(CliModel, RunsAModelOnFilesOfNumPy) {
  ASSERT_EQ(run({"run", "net.onnx", "--input", "x=x.npy", "--output", "y.npy"}), 0) << err();
  test::expect_close(cli::read_npy(folder / "y.npy"), net.forward(x).detach());
  ASSERT_EQ(run({"run", "net.onnx", "--input", "x.npy", "-o", "results"}), 0) << err();
  test::expect_close(cli::read_npy(folder / "results/y.npy"), net.forward(x).detach());
  EXPECT_EQ(fails(1, {"run", "net.onnx"}),
            "neura: expected a file for the input \"x\", got none; add --input x=FILE.npy\n");
  EXPECT_EQ(fails(1, {"run", "net.onnx", "--input", "z=x.npy"}),
            "neura: expected inputs of the model (x), got \"z\"\n");
  EXPECT_EQ(fails(1, {"run", "x.npy"}), "neura: expected a file .onnx, got x.npy; neura export makes one of a run\n");
}

TEST_F(CliModel, MeasuresAModel) {
  ASSERT_EQ(run({"bench", "net.onnx", "--runs", "3", "--size", "batch=4", "--threads", "1"}), 0) << err();
  EXPECT_NE(out().find("x float32 [4, 6]"), std::string::npos) << out();
  EXPECT_NE(out().find("runs       3: least "), std::string::npos) << out();
  EXPECT_EQ(fails(1, {"bench", "net.onnx", "--size", "batch"}),
            "neura: bench: expected --size NAME=NUMBER, got batch\n");
}

TEST_F(CliModel, WritesAModelAnew) {
  ASSERT_EQ(run({"export", "net.onnx", "--output", "old.onnx", "--opset", "13"}), 0) << err();
  EXPECT_NE(out().find("written: old.onnx, opset 13"), std::string::npos);
  const Tensor other = test::sample({7, 6});
  test::expect_close(onnx::load(folder / "old.onnx")->forward({onnx::Value(other)})[0].tensor,
                     net.forward(other).detach());
  EXPECT_EQ(run({"export", "net.onnx", "-o", "old.onnx", "--opset", "12"}), 2);
}

TEST_F(CliModel, GivesProgramsNamesThatTheyMayHave) {
  onnx::export_model(net, std::vector{x}, folder / "odd.onnx",
                     {.input_names = {"onnx::Gemm_0"}, .output_names = {"a b"}, .dynamic = {}});
  ASSERT_EQ(run({"export", "odd.onnx", "-o", "odd.neura"}), 0) << err();
  ASSERT_EQ(run({"run", "odd.neura", "--input", "onnx__Gemm_0=x.npy", "-o", "results"}), 0) << err();
  test::expect_close(cli::read_npy(folder / "results/a_b.npy"), net.forward(x).detach());
  ASSERT_EQ(run({"export", "odd.onnx", "-o", "same.onnx"}), 0) << err();
  EXPECT_EQ(onnx::load(folder / "same.onnx")->input_names(), std::vector<std::string>{"onnx::Gemm_0"});
}

TEST_F(CliModel, WritesWeightsOfEightBits) {
  nn::Linear large(20, 30);
  const Tensor in = test::sample({1, 20});
  onnx::export_model(large, std::vector{in}, folder / "large.onnx",
                     {.input_names = {"x"}, .output_names = {"y"}, .dynamic = {{0, 0, "batch"}}});
  cli::write_npy(folder / "in.npy", in);
  ASSERT_EQ(run({"quantize", "large.onnx", "-o", "small.neura"}), 0) << err();
  EXPECT_NE(out().find("1 weights of 8 bits take 720 bytes instead of 2,400"), std::string::npos) << out();
  EXPECT_NE(out().find("results differ by "), std::string::npos) << out();
  ASSERT_EQ(run({"run", "small.neura", "--input", "in.npy", "-o", "y.npy"}), 0) << err();
  const Tensor y = large.forward(in).detach(), z = cli::read_npy(folder / "y.npy");
  EXPECT_LT(amax(abs(sub(y, z))).item<float>(), 0.02 * amax(abs(y)).item<float>());
  EXPECT_EQ(fails(1, {"quantize", "large.onnx", "-o", "small.onnx"}),
            "neura: quantize: expected a file .neura to write, got small.onnx; rename it\n");
  EXPECT_EQ(fails(1, {"quantize", "net.onnx", "-o", "n.neura"}),
            "neura: quantize: expected a model with float32 weights of products or convolutions, 256 numbers or more, "
            "got none in net.onnx; leave it as it is\n");
  EXPECT_EQ(fails(1, {"quantize", "x.npy", "-o", "n.neura"}),
            "neura: quantize: expected a file .neura or .onnx, got x.npy; neura export makes one of a run\n");
  EXPECT_EQ(fails(1, {"quantize", "small.neura", "-o", "n.neura", "--size", "batch=2"}),
            "neura: quantize: expected no --size for a program, whose sizes are fixed, got batch=2\n");
}

TEST_F(Cli, ExportsWhatItTrained) {
  ASSERT_EQ(run(train({"--epochs", "1", "--out", "m"})), 0) << err();
  ASSERT_EQ(run({"export", "m", "--output", "m.onnx"}), 0) << err();
  ASSERT_EQ(run({"info", "m.onnx"}), 0) << err();
  EXPECT_NE(out().find("input : uint8 [batch, 1, 10, 8]"), std::string::npos) << out();
  EXPECT_NE(out().find("output : float32 [batch, 10]"), std::string::npos) << out();
}

}  // namespace
}  // namespace neura

// neura deploy: programs that have a model within, and C sources.
#include <cstdlib>
#include <sstream>

#include "cli/npy.h"
#include "cli/runner/appended.h"
#include "neura/core/file.h"
#include "neura/core/version.h"
#include "neura/graph/trace.h"
#include "neura/io/program.h"
#include "neura/nn/linear.h"
#include "neura/onnx/export.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/scan.h"
#include "tests/cli/tiny.h"

namespace neura {
namespace {

using test::Cli;

struct CliDeploy : Cli {
  Tensor x = test::sample({2, 3});
  nn::Linear net{3, 4};
  Tensor want = net.forward(x).detach();
  void SetUp() override {
    const auto f = [&](std::span<const Tensor> in) { return std::vector<Tensor>{net.forward(in[0])}; };
    const std::vector<graph::Named> names{{"weight", net.weight}, {"bias", net.bias}};
    save_program(folder / "net.neura", graph::trace(f, std::vector{x}, names), {{"x"}, {"y"}, {{"licence", "mine"}}});
    cli::write_npy(folder / "x.npy", x);
    save(folder / "x.safetensors", {{"x", x}, {"other", want}});
  }
  // A command of the shell in the folder, with the environment of nobody; its exit code.
  int sh(const std::string& command) {
    const int status = std::system(
        ("cd " + folder.path() + " && env -i PATH=/usr/bin:/bin sh -c '" + command + "' >out 2>err").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  void deploys() { ASSERT_EQ(run({"deploy", "net.neura", "-o", "app"}), 0) << err(); }
  std::string refused(int code, const std::string& command) {
    EXPECT_EQ(sh(command), code) << out();
    const std::string text = err();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
    return text;
  }
};

TEST_F(CliDeploy, AProgramHasItsModelWithin) {
  deploys();
  EXPECT_NE(out().find("written: app, "), std::string::npos) << out();
  std::filesystem::remove(folder / "net.neura");
  ASSERT_EQ(sh("./app x.npy -o y.npy"), 0) << err();
  test::expect_same(cli::read_npy(folder / "y.npy"), want);
  ASSERT_EQ(sh("./app x=x.safetensors --output results --threads 1"), 0) << err();
  test::expect_same(cli::read_npy(folder / "results/y.npy"), want);
  ASSERT_EQ(sh("./app x.safetensors --output y.npy"), 0) << err();
  test::expect_same(cli::read_npy(folder / "y.npy"), want);
  ASSERT_EQ(sh("./app 1,-2.5,3e-1,4,5,6 -o y.npy"), 0) << err();
  Tensor given = Tensor::empty(Spec::dense(float32, Shape{2, 3}));
  const float numbers[] = {1, -2.5f, 0.3f, 4, 5, 6};
  std::copy(numbers, numbers + 6, given.data<float>());
  test::expect_same(cli::read_npy(folder / "y.npy"), net.forward(given).detach());
  ASSERT_EQ(sh("./app -1"), 0) << err();
  EXPECT_NE(out().find("y                float32 [2, 4]"), std::string::npos) << out();
}

TEST_F(CliDeploy, AProgramSaysWhatItIs) {
  deploys();
  ASSERT_EQ(sh("./app --help"), 0) << err();
  for (const char* part : {"usage: app [OPTIONS] [x=]VALUE", "x                    float32 [2, 3]", "float32 [2, 4]"})
    EXPECT_NE(out().find(part), std::string::npos) << part << "\n" << out();
  ASSERT_EQ(sh("./app --info"), 0) << err();
  EXPECT_NE(out().find("licence                mine"), std::string::npos) << out();
  ASSERT_EQ(sh("./app --bench 3"), 0) << err();
  EXPECT_NE(out().find("runs       3: least"), std::string::npos) << out();
}

TEST_F(CliDeploy, AProgramRefusesWhatDoesNotFit) {
  deploys();
  EXPECT_EQ(refused(1, "./app"), "app: expected a value for the input \"x\", got none; see \"app --help\"\n");
  EXPECT_EQ(refused(1, "./app 1,2"),
            "app: expected 6 numbers (or one, or a file .npy or .safetensors) for the input \"x\", got 2 numbers\n");
  EXPECT_EQ(refused(1, "./app one"),
            "app: expected numbers (or a file .npy or .safetensors) for the input \"x\", got \"one\"\n");
  EXPECT_EQ(refused(1, "./app z=1"), "app: expected inputs of the model (x), got \"z\"\n");
  EXPECT_EQ(refused(1, "./app 1 2"), "app: expected inputs of the model (x), got more of them\n");
  EXPECT_EQ(refused(2, "./app --fast"), "app: expected an option of the list, got --fast; see \"app --help\"\n");
  EXPECT_EQ(refused(2, "./app 1 -o"), "app: -o: expected a value after it, got none; see \"app --help\"\n");
  EXPECT_EQ(refused(2, "./app --threads none"),
            "app: --threads: expected a number from 1 to 1000000, got \"none\"; see \"app --help\"\n");
  cli::write_npy(folder / "wide.npy", want);
  EXPECT_EQ(refused(1, "./app wide.npy"),
            "app: expected float32 [2, 3] as the input \"x\", got float32 [2, 4] in wide.npy\n");
  save(folder / "two.safetensors", {{"a", x}, {"b", x}});
  EXPECT_EQ(refused(1, "./app x=two.safetensors"),
            "app: two.safetensors: expected a tensor \"x\", got none of that name\n");
  EXPECT_NE(refused(1, "./app none.npy").find("none.npy"), std::string::npos);
}

TEST_F(CliDeploy, AProgramTakesWholeNumbersThatItsInputHolds) {
  const auto f = [](std::span<const Tensor> in) { return std::vector<Tensor>{in[0].to(int64), in[1] + 0}; };
  const std::vector<Tensor> in{zeros({2}, {.dtype = uint8}), zeros({1}, {.dtype = int64})};
  save_program(folder / "whole.neura", graph::trace(f, in), {{"a", "b"}, {"small", "large"}});
  ASSERT_EQ(run({"deploy", "whole.neura", "-o", "app"}), 0) << err();
  ASSERT_EQ(sh("./app a=0,255 b=-9223372036854775808 -o results"), 0) << err();
  EXPECT_EQ(cli::read_npy(folder / "results/small.npy").to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 255}));
  EXPECT_EQ(cli::read_npy(folder / "results/large.npy").to_vector<std::int64_t>()[0], INT64_MIN);
  EXPECT_EQ(refused(1, "./app a=1,300 b=0"),
            "app: expected numbers that uint8 holds for the input \"a\", got \"300\"\n");
  EXPECT_NE(refused(1, "./app a=-1 b=0").find("numbers that uint8 holds"), std::string::npos);
  EXPECT_EQ(refused(1, "./app a=1 b=9223372036854775808"),
            "app: expected numbers that int64 holds for the input \"b\", got \"9223372036854775808\"\n");
}

TEST_F(CliDeploy, AProgramNeedsTheCLibraryAlone) {
#ifndef NEURA_RUNNER_ALONE
  GTEST_SKIP() << "a sanitizer is a library of its own";
#endif
  deploys();
  ASSERT_EQ(sh("ldd ./app"), 0) << err();
  const std::string text = out();
  for (const char* part : {"neura", "stdc++", "hwy", "gcc_s", "png", "libz"})
    EXPECT_EQ(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST_F(CliDeploy, TracesOnnxFilesAndTrustsAsItIsTold) {
  onnx::export_model(net, std::vector{x}, folder / "net.onnx",
                     {.input_names = {"x"}, .output_names = {"y"}, .dynamic = {{0, 0, "batch"}}});
  ASSERT_EQ(run({"deploy", "net.onnx", "-o", "app", "--size", "batch=2"}), 0) << err();
  ASSERT_EQ(sh("./app x.npy -o y.npy"), 0) << err();
  test::expect_close(cli::read_npy(folder / "y.npy"), want);
  const auto f = [](std::span<const Tensor> in) { return std::vector<Tensor>{cumprod(in[0], 0)}; };
  save_program(folder / "f.neura", graph::trace(f, std::vector{x}));
  EXPECT_NE(fails(1, {"deploy", "f.neura", "-o", "app"}).find("cumprod"), std::string::npos);
  ASSERT_EQ(run({"deploy", "f.neura", "-o", "app", "--trust"}), 0) << err();
  ASSERT_EQ(sh("./app x.npy -o y.npy"), 0) << err();
  test::expect_same(cli::read_npy(folder / "y.npy"), cumprod(x, 0));
}

TEST_F(CliDeploy, RefusesWhatIsNoModelAndNoRunner) {
  deploys();
  EXPECT_EQ(fails(1, {"deploy", "x.npy", "-o", "b"}),
            "neura: deploy: expected a file .neura or .onnx, got x.npy; neura export makes one of a run\n");
  EXPECT_EQ(fails(1, {"deploy", "net.neura", "-o", "b", "--size", "batch=2"}),
            "neura: deploy: expected no --size for a program, whose sizes are fixed, got batch=2\n");
  EXPECT_EQ(fails(1, {"deploy", "net.neura", "-o", "b", "--runner", "app"}),
            "neura: deploy: expected a neura-runner without a model, got app\n");
  EXPECT_EQ(fails(1, {"deploy", "net.neura", "-o", "b", "--runner", "x.npy"}),
            "neura: deploy: expected a neura-runner without a model, got x.npy\n");
  EXPECT_NE(fails(1, {"deploy", "net.neura", "-o", "b", "--runner", "none"}).find("got no file none"),
            std::string::npos);
  EXPECT_EQ(run({"deploy", "net.neura", "-o", "b", "--c", "--executable"}), 2);
  io::write_file(folder / "bad.neura", io::read_file(folder / "net.neura").substr(0, 400));
  EXPECT_NE(fails(1, {"deploy", "bad.neura", "-o", "b"}).find("bad.neura"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder / "b"));
  ASSERT_EQ(sh("cp " + std::string(std::getenv("NEURA_BIN")) + "/neura-runner runner"), 0);
  EXPECT_NE(refused(1, "./runner").find("expected a model appended to this program, got none"), std::string::npos);
}

TEST_F(CliDeploy, ASmallProgramNeedsSources) {
  EXPECT_EQ(fails(1, {"deploy", "net.neura", "-o", "b", "--small"}),
            "neura: deploy: expected --source FOLDER with --small, Neura's sources, got none\n");
  EXPECT_EQ(fails(1, {"deploy", "net.neura", "-o", "b", "--small", "--source", "none"}),
            "neura: deploy: expected the folder of Neura's sources as --source, got none, which has no "
            "cmake/NeuraSmall.cmake\n");
  std::filesystem::create_directories(folder / "tree/cmake");
  io::write_file(folder / "tree/cmake/NeuraSmall.cmake", "");
  io::write_file(folder / "tree/CMakeLists.txt", "project(neura VERSION 0.0.1 LANGUAGES CXX)\n");
  EXPECT_EQ(fails(1, {"deploy", "net.neura", "-o", "b", "--small", "--source", "tree"}),
            std::string("neura: deploy: expected sources of this version, ") + kVersion + ", got others in tree\n");
  EXPECT_EQ(run({"deploy", "net.neura", "-o", "b", "--small", "--c"}), 2);
  EXPECT_EQ(run({"deploy", "net.neura", "-o", "b", "--cpu", "native"}), 2);
  EXPECT_FALSE(std::filesystem::exists(folder / "b"));
}

// That it is compiled, and then answers as it should, is seen by tools/bare.sh.
TEST_F(CliDeploy, ASmallProgramIsCompiledForWhatTheModelCalls) {
  std::filesystem::create_directories(folder / "tree/cmake");
  io::write_file(folder / "tree/cmake/NeuraSmall.cmake", "");
  io::write_file(folder / "tree/CMakeLists.txt",
                 std::string("cmake_minimum_required(VERSION 3.22)\nproject(neura VERSION ") + kVersion +
                     " LANGUAGES NONE)\nmessage(FATAL_ERROR \"no more\")\n");
  const auto f = [&](std::span<const Tensor> in) { return std::vector<Tensor>{relu(net.forward(in[0])) > 0.5}; };
  const std::vector<graph::Named> names{{"weight", net.weight}, {"bias", net.bias}};
  save_program(folder / "big.neura", graph::trace(f, std::vector{x}, names));
  const std::string text = fails(1, {"deploy", "big.neura", "-o", "b", "--small", "--source", "tree"});
  EXPECT_NE(text.find("configuring failed, see "), std::string::npos) << text;
  EXPECT_NE(test::text_of(folder / "b.build/configure.log").find("no more"), std::string::npos) << text;
  const std::string wanted = test::text_of(folder / "b.build/wanted.def");
  for (const char* line : {"WANTED_MODEL(\"big.neura\")\n", "WANTED_DTYPE(float32)\n", "WANTED_DTYPE(boolean)\n",
                           "WANTED_OPERATION(linear)\n", "WANTED_ROW(relu, bit(DType::float32))\n",
                           "WANTED_ROW(gt, bit(DType::float32))\n", "WANTED_CONVERSION(float32, float32)\n"})
    EXPECT_NE(wanted.find(line), std::string::npos) << line << wanted;
  for (const char* part : {"convolution", "float64", "sigmoid"})
    EXPECT_EQ(wanted.find(part), std::string::npos) << wanted;
  const auto g = [](std::span<const Tensor> in) { return std::vector<Tensor>{cumprod(in[0], 0)}; };
  save_program(folder / "g.neura", graph::trace(g, std::vector{x}));
  EXPECT_EQ(fails(1, {"deploy", "g.neura", "-o", "b", "--trust", "--small", "--source", "tree"}),
            "neura: deploy: expected operations that small programs have, got cumprod; leave out --small\n");
}

TEST_F(CliDeploy, CSourcesCompileAndRun) {
  ASSERT_EQ(run({"deploy", "net.neura", "--c", "-o", "small-net/"}), 0) << err();
  const std::string header = test::text_of(folder / "small-net/small_net.h");
  for (const char* part :
       {"#define SMALL_NET_IN_X_COUNT 6 /* x: float32 [2, 3] */\n", "#define SMALL_NET_OUT_Y_COUNT 8 ",
        "int small_net_run(small_net_model* model, const float* in_x, float* out_y);"})
    EXPECT_NE(header.find(part), std::string::npos) << part << "\n" << header;
  const std::string flags = "-std=c99 -Wall -Wextra -Wpedantic -Werror -I" + std::string(NEURA_SOURCE_FOLDER);
  ASSERT_EQ(sh("cc " + flags + " -c small-net/small_net.c small-net/example.c"), 0) << err();
#ifdef NEURA_C_LIBRARY
  const std::filesystem::path library = NEURA_C_LIBRARY;
  ASSERT_EQ(
      sh("cc small_net.o example.o -o example " + library.string() + " -Wl,-rpath," + library.parent_path().string()),
      0)
      << err();
  ASSERT_EQ(sh("./example"), 0) << err();
  EXPECT_EQ(out().rfind("y ", 0), 0u) << out();
  std::istringstream numbers(out().substr(2));  // of the bias, for zeros
  for (int i = 0; i < 8; ++i) {
    float got = 0;
    numbers >> got;
    EXPECT_NEAR(got, net.bias.const_data<float>()[i % 4], 1e-4) << i;
  }
#endif
}

// example.c is the program that calls the model, and neura_run is a function of the C interface.
TEST_F(CliDeploy, CSourcesTakeNoNameThatIsTaken) {
  for (const std::string name : {"example", "neura", "string"}) {
    ASSERT_EQ(run({"deploy", "net.neura", "--c", "-o", name}), 0) << err();
    const std::string header = test::text_of(folder / (name + "/model_" + name + ".h"));
    EXPECT_NE(header.find("int model_" + name + "_run(model_" + name + "_model* model"), std::string::npos) << header;
    const std::string flags = "-std=c99 -Wall -Wextra -Wpedantic -Werror -I" + std::string(NEURA_SOURCE_FOLDER);
    EXPECT_EQ(sh("cd " + name + " && cc " + flags + " -I. -c *.c"), 0) << err();
  }
}

// Words of C as names, names that are one in C, no dimensions, no elements, integers, truth values, complex numbers.
TEST_F(CliDeploy, CSourcesOfAnySignatureCompileAndRun) {
  const Tensor scalar = full({}, 2.0), whole = full({3}, 5, {.dtype = int64}), none = zeros({0, 2});
  const auto f = [](std::span<const Tensor> in) {
    return std::vector<Tensor>{in[1] + 1, gt(in[1], in[0]), in[2] * in[0], in[0].to(complex64)};
  };
  save_program(folder / "all.neura", graph::trace(f, std::vector{scalar, whole, none}),
               {{"a.b", "a/b", "int"}, {"next", "over", "none", "int"}});
  ASSERT_EQ(run({"deploy", "all.neura", "--c", "-o", "3all"}), 0) << err();
  const std::string header = test::text_of(folder / "3all/model_3all.h");
  for (const char* part : {"#define MODEL_3ALL_OUT_INT_COUNT 2 /* int: complex64 [], pairs */", "bool [3], 0 or 1",
                           "const float* in_a_b, const int64_t* in_a_b_1, const float* in_int, int64_t* out_next, "
                           "uint8_t* out_over, float* out_none, float* out_int);"})
    EXPECT_NE(header.find(part), std::string::npos) << part << "\n" << header;
  const std::string flags = "-std=c99 -Wall -Wextra -Wpedantic -Werror -I" + std::string(NEURA_SOURCE_FOLDER);
  ASSERT_EQ(sh("cc " + flags + " -O2 -c 3all/model_3all.c 3all/example.c"), 0) << err();
#ifdef NEURA_C_LIBRARY
  const std::filesystem::path library = NEURA_C_LIBRARY;
  ASSERT_EQ(
      sh("cc model_3all.o example.o -o example " + library.string() + " -Wl,-rpath," + library.parent_path().string()),
      0)
      << err();
  ASSERT_EQ(sh("./example"), 0) << err();
  EXPECT_EQ(out(), "next 1 1 1\nover 0 0 0\nnone\nint 0 0\n");
#endif
}

}  // namespace
}  // namespace neura

// The text of programs, and what the verifier refuses.
#include "neura/graph/program.h"

#include "neura/neura.h"
#include "tests/support/close.h"
#include "tests/support/refusals.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using graph::Arg;
using graph::External;
using graph::parse;
using graph::Program;
using graph::str;

const char* const kText =
    "program\n"
    "%0 = input x : float32 [2, 3]\n"
    "%1 = captured w <0000803f0000004000004040> : float32 [3]\n"
    "%2 = constant <0000003f> : float32 []\n"
    "%3 = leaky_relu(%0) {negative_slope=0.5} : float32 [2, 3]\n"
    "%4 = permute(%3) {dims=[1, 0]} : float32 [3, 2] strides [1, 3]\n"
    "%5 = mul(%4, %2) into %4 : float32 [3, 2] strides [1, 3]\n"
    "%6 = mul(%1, 2) in %1 : float32 [3]\n"
    "update %1 = %6\n"
    "return %5, %3\n";

TEST(Program, IsPrintedAsItWasRead) {
  const Program p = parse(kText);
  EXPECT_EQ(str(p, true), kText);
  EXPECT_EQ(str(parse(str(p, true)), true), kText);
}
TEST(Program, RunsFromItsText) {
  const Program p = parse(kText);
  const Tensor x = tensor({{1.0f, -2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}}), w = tensor({1.0f, 2.0f, 3.0f});
  for (int step = 0; step < 3; ++step) {
    const Tensor scaled = w * std::pow(2.0, step), sum = leaky_relu(x, 0.5);
    const std::vector<Tensor> y = graph::run(p, {{x}});
    expect_same(y[0], sum.t() * 0.5);
    expect_same(y[1], sum);
    expect_same(p.externals[1].tensor, scaled * 2);
  }
}
TEST(Program, WithoutTheValuesOfItsMemoryAsksForThem) {
  Program p = parse(str(parse(kText)));
  const Tensor x = sample({2, 3});
  EXPECT_EQ(error_of<ValueError>([&] { graph::run(p, {{x}}); }), "run: expected a tensor for %1 w, got none; set it");
  p.externals[1].tensor = zeros({3});
  expect_same(graph::run(p, {{x}})[1], leaky_relu(x, 0.5));
}
TEST(Program, IsDrawnWithNamesAndDevices) {
  const std::string dot = graph::to_dot(parse(kText));
  for (const char* part : {"digraph program {", "label=\"input x  cpu\"", "label=\"permute  cpu\"",
                           "label=\"float32 [2, 3]\"", "n0 -> n1", "label=\"update\""})
    EXPECT_NE(dot.find(part), dot.npos) << part << "\n" << dot;
}
TEST(Program, RefusesInputsThatAreNotItsOwn) {
  const Program p = parse(kText);
  const Tensor x = sample({2, 3});
  expect_refusals<ValueError>(
      {{"run: expected 1 inputs, got 0", [&] { graph::run(p, {}); }},
       {"run: expected float32 [2, 3] as input x, got none", [&] { graph::run(p, {{Tensor()}}); }}});
  expect_refusals<ShapeError>({{"run: expected float32 [2, 3] as input x, got float32 [3, 2]", [&] {
                                  graph::run(p, {{sample({3, 2})}});
                                }}});
  expect_refusals<DTypeError>({{"run: expected float32 [2, 3] as input x, got int64 [2, 3]", [&] {
                                  graph::run(p, {{zeros({2, 3}, {.dtype = DType::int64})}});
                                }}});
}
TEST(Program, TakesAnInputInAnotherOrderOfDimensions) {
  const Tensor x = sample({2, 3}), turned = x.t().contiguous().t();
  expect_same(graph::run(parse(kText), {{turned}})[1], graph::run(parse(kText), {{x}})[1]);
}

// A line in place of that of %3.
std::string with(const std::string& line, const std::string& rest = "return %3\n") {
  return "program\n%0 = input : float32 [2, 3]\n%1 = input : float32 [3]\n%2 = input : int64 [2]\n" + line + "\n" +
         rest;
}
TEST(Program, RefusesBrokenTexts) {
  const std::vector<std::pair<const char*, std::string>> table = {
      {"program: expected \"program\", got the end", ""},
      {"program: expected \"program\", got \"%0 = ", "%0 = input : float32 []\nreturn\n"},
      {"program: expected a line that begins with \"return\", got the end", "program\n"},
      {"program: expected nothing after \"return\"", "program\nreturn\nreturn\n"},
      {"program: expected a dtype, not float33; then", "program\n%0 = input : float33 []\nreturn\n"},
      {"shape: expected sizes of 0 and up", "program\n%0 = input : float32 [-1]\nreturn\n"},
      {"program: expected at most 8 dimensions", "program\n%0 = input : float32 [1, 1, 1, 1, 1, 1, 1, 1, 1]\nreturn\n"},
      {"program: expected 2 strides", "program\n%0 = input : float32 [2, 2] strides [1]\nreturn\n"},
      {"program: expected 8 digits of float32 []", "program\n%0 = constant <00> : float32 []\nreturn\n"},
      {"program: expected hexadecimal digits", "program\n%0 = constant <0000x000> : float32 []\nreturn\n"},
      {"program: expected a value that is defined once, not %0 again", with("%0 = exp(%1) : float32 [3]")},
      {"program: expected a value that is defined before, not %9", with("%3 = exp(%9) : float32 [3]")},
      {"program: expected an operation, not no_such", with("%3 = no_such(%1) : float32 [3]")},
      {"program: expected externals before all nodes", with("%3 = exp(%1) : float32 [3]\n%4 = input : float32 []")},
      {"program: expected \"}\"", with("%3 = leaky_relu(%0) {negative_slope=1.0 : float32 [2, 3]")},
      {"leaky_relu: expected a real number as attribute negative_slope, got beta=1.0",
       with("%3 = leaky_relu(%0) {beta=1.0} : float32 [2, 3]")},
      {"program: expected the end of the line", with("%3 = exp(%1) : float32 [3] and more")},
      {"program: expected a value, a number or none", with("%3 = add(%0, float32) : float32 [3]")},
  };
  for (const auto& [says, text] : table) {
    const std::string got = error_of<Error>([&t = text] { parse(t); });
    EXPECT_EQ(got.rfind(says, 0), 0u) << "instead of " << says << ": " << got;
  }
}
TEST(Program, RefusesBrokenPrograms) {
  const std::string v = "verify: node 0 ";
  const std::vector<std::pair<std::string, std::string>> table = {
      {v + "(exp): expected values that are made before, got %3 of 3", with("%3 = exp(%3) : float32 [3]")},
      {v + "(add): expected 2 operands, got 1", with("%3 = add(%0) : float32 [2, 3]")},
      {v + "(add): expected 2 operands, got 3", with("%3 = add(%0, %1, %1) : float32 [2, 3]")},
      {v + "(add): expected a value as operand 1, got none", with("%3 = add(%0, none) : float32 [2, 3]")},
      {v + "(add): expected int64 [] strides [] offset 0 as %3, got float32 []", with("%3 = add(1, 2) : float32 []")},
      {v + "(matmul): expected a value as operand 1, got a number", with("%3 = matmul(%0, 2) : float32 [2]")},
      {v + "(add): expected float32 [2, 3] strides [3, 1] offset 0 as %3, got float32 [3, 2]",
       with("%3 = add(%0, %1) : float32 [3, 2]")},
      {v + "(add): expected float32 [2, 3] strides [3, 1] offset 0 as %3, got float64",
       with("%3 = add(%0, %1) : float64 [2, 3]")},
      {v + "(exp): expected float32 [3] strides [1] offset 0 as %3, got float32 [3] strides [2]",
       with("%3 = exp(%1) : float32 [3] strides [2]")},
      {v + "(add): add: expected shapes that broadcast", with("%3 = add(%0, %2) : float32 [2, 3]")},
      {v + "(exp): expected 1 results, got 2", with("%3, %4 = exp(%1) : float32 [3]; float32 [3]")},
      {v + "(exp): expected 1 results, got 0", with("exp(%1)", "return\n")},
      {v + "(add): expected a destination of float32 [2, 3], got float32 [3]",
       with("%3 = add(%1, %0) in %1 : float32 [3]")},
      {v + "(add): expected a destination that holds float32 [3], got int64 [2]",
       with("%3 = add(%1, %1) in %2 : int64 [2]")},
      {v + "(permute): expected a new result of a view, got a destination",
       with("%3 = permute(%0) {dims=[0, 1]} into %0 : float32 [2, 3]")},
      {v + "(as_strided): expected a view within %1",
       with("%3 = as_strided(%1) {base=[dtype=float32, device=cpu, shape=[3], strides=[1], offset=0], "
            "view=[dtype=float32, device=cpu, shape=[3], strides=[2], offset=0]} : float32 [3] strides [2]")},
      {v + "(adam_step): expected 1 operands and groups of 5, got 3",
       with("adam_step(none, %0, %0) {steps=[]}", "return\n")},
      {v + "(mul_backward_0): expected operand 2, got none",
       with("%3 = mul_backward_0(%0, none, none, none) : float32 [2, 3]")},
      {v + "(mul_backward_0): expected the incoming gradient as operand 0, got none",
       with("%3 = mul_backward_0(none, none, %0, none) : float32 [2, 3]")},
      {"verify: update: expected an external on the left, got %3",
       with("%3 = exp(%1) : float32 [3]", "update %3 = %1\nreturn\n")},
      {"verify: update: expected one update of %1, got two",
       with("%3 = exp(%1) : float32 [3]", "update %1 = %3\nupdate %1 = %3\nreturn\n")},
      {"verify: update: expected a value of float32 [2, 3], got float32 [3]",
       with("%3 = exp(%1) : float32 [3]", "update %0 = %3\nreturn\n")},
      {"verify: update: expected memory that is written, got a constant",
       "program\n%0 = constant <0000803f> : float32 []\nupdate %0 = %0\nreturn\n"},
      {"verify: external %0: expected a dense value at offset 0",
       "program\n%0 = input : float32 [2] strides [2]\nreturn\n"},
      {"verify: external %0: expected a dense value at offset 0",
       "program\n%0 = input : float32 [2] offset 1\nreturn\n"},
      {"verify: external %0: expected the value of a constant, got none",
       "program\n%0 = constant : float32 [2]\nreturn\n"},
      {"verify: external %0: expected no tensor of an input", "program\n%0 = input <0000803f> : float32 []\nreturn\n"},
      {v + "(add): expected operands on one device, got cpu and cuda:0",
       "program\n%0 = input : float32 [2]\n%1 = input : float32 [2] on cuda:0\n%2 = add(%0, %1) : float32 "
       "[2]\nreturn\n"},
  };
  for (const auto& [says, text] : table) {
    const std::string got = error_of<ValueError>([&t = text] { parse(t); });
    EXPECT_EQ(got.rfind(says, 0), 0u) << "instead of " << says << ": " << got;
  }
}
TEST(Program, RefusesWhatNoTextCanSay) {
  const auto broken = [](const std::function<void(Program&)>& breaks) {
    Program p = parse(kText);
    breaks(p);
    return error_of<ValueError>([&] { verify(p); });
  };
  EXPECT_EQ(broken([](Program& p) { p.nodes[0].row = nullptr; }),
            "verify: node 0: expected an operation with its attributes, got none");
  EXPECT_EQ(broken([](Program& p) { p.values.pop_back(); }).rfind("verify: node 3 (mul): expected a spec of %6", 0),
            0u);
  EXPECT_EQ(broken([](Program& p) { p.values.push_back(p.values[0]); }), "verify: the end: expected 7 values, got 8");
  EXPECT_EQ(broken([](Program& p) { p.nodes[1].out[0] = 3; }),
            "verify: node 1 (permute): expected %4 as the next value, got %3");
  EXPECT_EQ(broken([](Program& p) { p.outputs.push_back(99); }),
            "verify: return: expected values that are made before, got %99 of 7");
  EXPECT_EQ(broken([](Program& p) { p.externals[1].tensor = zeros({4}); }),
            "verify: external %1: expected a tensor of float32 [3], got float32 [4]");
  EXPECT_EQ(broken([](Program& p) { p.nodes[0].into = 0; }),
            "verify: node 0 (leaky_relu): expected no destination, got %0");
  EXPECT_EQ(broken([](Program& p) { std::swap(p.nodes[0], p.nodes[1]); }),
            "verify: node 0 (permute): expected values that are made before, got %3 of 3");
}

}  // namespace
}  // namespace neura::test

#include "neura/onnx/export.h"

#include <set>

#include "neura/core/file.h"
#include "neura/nn/linear.h"
#include "neura/onnx/model.h"
#include "neura/onnx/row_call.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/shape/shape.h"
#include "tests/io/folder.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using onnx::RowWriter;

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(", ", at), text.size());
    all.emplace_back(text.substr(at, end - at));
    at = end + 2;
  }
  return all;
}

TEST(OnnxExport, TheTableNamesOperationsThatAreThereAndOperatorsThatAreRead) {
  std::set<std::string> rows, seen;
  for (const Row* r : all_operations()) rows.insert(r->name);
  for (const RowWriter* w : onnx::all_writers()) {
    EXPECT_TRUE(rows.count(w->row)) << w->row;
    EXPECT_TRUE(seen.insert(w->row).second) << w->row << " twice";
    EXPECT_LE(w->since, onnx::kUsualOpset) << w->row;
    for (const std::string& name : words(w->op)) EXPECT_TRUE(onnx::find_operator("", name, onnx::kLastOpset)) << name;
  }
}

TEST(OnnxExport, AModuleIsWrittenWithItsNamesAndReadAgain) {
  const Folder folder;
  nn::Linear net(5, 4);
  const Tensor x = sample({3, 5});
  onnx::export_model(net, std::vector{x}, folder / "net.onnx",
                     {.input_names = {"x"}, .output_names = {"y"}, .dynamic = {{0, 0, "batch"}}});
  EXPECT_TRUE(net.is_training());
  const Ref<onnx::Model> read = onnx::load(folder / "net.onnx");
  EXPECT_EQ(read->input_names(), std::vector<std::string>{"x"});
  ASSERT_EQ(read->named_parameters().size(), 1u);  // a bias of four is a constant
  EXPECT_EQ(read->named_parameters()[0].first, "weight");
  for (const std::int64_t rows : {1, 7}) {
    const Tensor other = sample({rows, 5});
    expect_close(read->forward({onnx::Value(other)})[0].tensor, net.forward(other));
  }
}

TEST(OnnxExport, WeightsLieInTheFileOrBesideIt) {
  const Folder folder;
  nn::Linear net(20, 20);
  const Tensor x = sample({2, 20});
  for (const auto where : {onnx::Weights::inside, onnx::Weights::data, onnx::Weights::safetensors}) {
    onnx::export_model(net, std::vector{x}, folder / "net.onnx", {.weights = where});
    EXPECT_EQ(io::read_file(folder / "net.onnx").size() > 1600, where == onnx::Weights::inside);
    expect_close(onnx::load(folder / "net.onnx")->forward({onnx::Value(x)})[0].tensor, net.forward(x));
  }
}

TEST(OnnxExport, WhatCannotBeWrittenIsNamed) {
  const Tensor x = sample({3, 4});
  const auto text = [&](const graph::Function& f, const onnx::ExportOptions& o = {}) {
    return error_of<Error>([&] { onnx::export_bytes(f, std::vector{x}, o); });
  };
  EXPECT_EQ(text([](auto in) { return std::vector{lgamma(in[0])}; }),
            "onnx.export: expected what ONNX has operators for, got the operation lgamma (call 0); compute it of other "
            "operations, or leave it out of what is exported");
  EXPECT_EQ(text([](auto in) { return std::vector{tril(in[0])}; }, {.opset_version = 13}),
            "onnx.export: expected what ONNX has operators for, got the operation tril (call 0); ask for an "
            "opset_version of 14 or more");
  const graph::Function same = [](auto in) { return std::vector{in[0] + 1}; };
  EXPECT_EQ(text(same, {.opset_version = 25}), "onnx.export: expected an opset_version from 13 to 24, got 25");
  EXPECT_EQ(text(same, {.input_names = {"a", "b"}}), "onnx.export: expected at most 1 input_names, got 2");
  EXPECT_EQ(text(same, {.output_names = {"a", "b"}}), "onnx.export: expected at most 1 output_names, got 2");
  EXPECT_EQ(text(same, {.input_names = {"a"}, .output_names = {"a"}}),
            "onnx.export: expected names of inputs and outputs that differ, got \"a\" twice or empty");
  EXPECT_EQ(text(same, {.dynamic = {{0, 2, "n"}}}),
            "onnx.export: expected a dynamic dimension of an input, got dimension 2 of input 0");
  EXPECT_EQ(text(same, {.dynamic = {{0, 0, "n"}, {0, 1, "n"}}}),
            "onnx.export: expected equal sizes of \"n\" in the example, got 3 and 4");
  EXPECT_EQ(text(same, {.dynamic = {{0, 0, ""}}}), "onnx.export: expected a name of a dynamic size, got none");
}

TEST(OnnxExport, SizesAreExplainedByAProductAndASum) {
  onnx::Symbols s;
  s.all = {{"b", 0, 0}, {"t", 0, 1}};
  s.values = {{2, 5}, {4, 5}, {2, 10}, {6, 15}};
  EXPECT_TRUE(s.explain({7, 7, 7, 7}).fixed());
  const onnx::Size linear = s.explain({11, 11, 21, 31});  // 2 t + 1
  EXPECT_TRUE(linear.known && linear.factor == 2 && linear.divisor == 1 && linear.offset == 1);
  const onnx::Size product = s.explain({30, 60, 60, 270});  // 3 b t
  EXPECT_TRUE(product.known && product.factor == 3 && product.symbols.size() == 2);
  EXPECT_FALSE(s.explain({4, 16, 4, 36}).known);  // b * b
  EXPECT_FALSE(s.explain({7, 9, 12, 21}).known);  // b + t
}

}  // namespace
}  // namespace neura::test

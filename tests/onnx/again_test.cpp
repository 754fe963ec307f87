// Models that were read are written again: what follows from constants and sizes is no reading of data.
#include "neura/onnx/export.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "tests/onnx/build.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

// Written by what it computes of these inputs, and read.
Ref<onnx::Model> again(const Ref<onnx::Model>& m, const std::vector<Tensor>& inputs, onnx::ExportOptions o = {}) {
  const graph::Function f = [&](std::span<const Tensor> in) {
    std::vector<Tensor> out;
    for (const onnx::Value& v : m->forward(onnx::Results(in.begin(), in.end()))) out.push_back(v.tensor);
    return out;
  };
  return onnx::load_bytes(onnx::export_bytes(f, inputs, o));
}
Tensor first(const Ref<onnx::Model>& m, const std::vector<Tensor>& inputs) {
  return m->forward(onnx::Results(inputs.begin(), inputs.end()))[0].tensor;
}
void expect_again(const onnx::ModelProto& m, const std::vector<Tensor>& inputs) {
  const Ref<onnx::Model> read = load(m);
  expect_close(first(again(read, inputs), inputs), first(read, inputs));
}
Tensor ints(const Integers& v) { return onnx::integers(v); }
AttributeProto filled_with(const Tensor& value) {  // which must live on
  AttributeProto a;
  a.name = "value", a.t = std::make_shared<onnx::TensorProto>(onnx::proto_of(onnx::Value(value), "")),
  a.type = int(AttributeProto::Kind::tensor);
  return a;
}

// PyTorch's exporter writes the pads of Pad so: filled up with zeros, turned around.
TEST(OnnxAgain, PadsThatAreComputedOfConstants) {
  const Tensor zero = zeros({1}, {DType::int64, Device(), false});
  onnx::GraphProto g = graph(
      {node("ConstantOfShape", {"four"}, {"zeros"}, {filled_with(zero)}),
       node("Concat", {"given", "zeros"}, {"all"}, {attribute("axis", std::int64_t(0))}),
       node("Reshape", {"all", "pairs"}, {"rows"}), node("Slice", {"rows", "start", "end", "axis", "step"}, {"turned"}),
       node("Transpose", {"turned"}, {"columns"}, {attribute("perm", Integers{1, 0})}),
       node("Reshape", {"columns", "flat"}, {"pads"}), node("Pad", {"x", "pads"}, {"y"})},
      {"x"}, {"y"});
  const Initial four(g, "four", ints({4})), given(g, "given", ints({1, 2, 0, 1})), pairs(g, "pairs", ints({-1, 2})),
      start(g, "start", ints({-1})), end(g, "end", ints({INT64_MIN})), axis(g, "axis", ints({0})),
      step(g, "step", ints({-1})), flat(g, "flat", ints({-1}));
  const Tensor x = sample({2, 3, 4, 5});
  EXPECT_EQ(first(load(model(g)), {x}).shape(), (Shape{2, 3, 5, 8}));
  expect_again(model(g), {x});
}

// expand(-1, 3) as PyTorch's exporter writes it, of any number of rows.
TEST(OnnxAgain, SizesThatAreChosenBetween) {
  const Tensor one = ones({1}, {DType::int64, Device(), false});
  onnx::GraphProto g =
      graph({node("Shape", {"x"}, {"sizes"}), node("Shape", {"wanted"}, {"rank"}),
             node("ConstantOfShape", {"rank"}, {"ones"}, {filled_with(one)}), node("Mul", {"ones", "minus"}, {"unset"}),
             node("Gather", {"sizes", "zero"}, {"rows"}, {attribute("axis", std::int64_t(0))}),
             node("Concat", {"rows", "three"}, {"wanted"}, {attribute("axis", std::int64_t(0))}),
             node("Equal", {"wanted", "unset"}, {"missing"}), node("Where", {"missing", "ones", "wanted"}, {"to"}),
             node("Expand", {"x", "to"}, {"y"})},
            {"x"}, {"y"});
  std::rotate(g.node.begin() + 1, g.node.begin() + 4, g.node.begin() + 6);
  const Initial minus(g, "minus", ints({-1})), zero(g, "zero", ints({0})), three(g, "three", ints({3}));
  const Ref<onnx::Model> written = again(load(model(g)), {sample({2, 1})}, {.dynamic = {{0, 0, "rows"}}});
  const Tensor other = sample({5, 1});
  expect_close(first(written, {other}), expand(other, {5, 3}));
}

TEST(OnnxAgain, WhatFillsComputedSizes) {
  const Tensor two = full({1}, 2.0);
  onnx::GraphProto g =
      graph({node("Shape", {"x"}, {"sizes"}), node("ConstantOfShape", {"sizes"}, {"twos"}, {filled_with(two)}),
             node("Add", {"x", "twos"}, {"y"})},
            {"x"}, {"y"});
  const Ref<onnx::Model> written = again(load(model(g)), {sample({2, 3})}, {.dynamic = {{0, 0, "rows"}}});
  const Tensor other = sample({5, 3});
  expect_close(first(written, {other}), add(other, 2.0));
}

TEST(OnnxAgain, Resize) {
  onnx::GraphProto g = graph({node("Resize", {"x", "", "", "to"}, {"y"}, {attribute("mode", "linear")})}, {"x"}, {"y"});
  const Initial to(g, "to", ints({1, 2, 5, 7}));
  expect_again(model(g), {sample({1, 2, 3, 4})});
}

// Normalised rows of padding are zeros: one NaN there, and nothing before them learns.
TEST(OnnxAgain, TheLengthOfZerosHasADerivative) {
  onnx::GraphProto g = graph({node("ReduceL2", {"x"}, {"y"}, {attribute("axes", Integers{1})})}, {"x"}, {"y"});
  Tensor x = zeros({2, 2});
  x.data<float>()[2] = 3, x.data<float>()[3] = 4;
  x.requires_grad_();
  const Tensor y = first(load(model(g, 13)), {x});
  sum(y).backward();
  Tensor want = zeros({2, 2});
  want.data<float>()[2] = 0.6F, want.data<float>()[3] = 0.8F;
  expect_close(x.grad(), want);
  expect_again(model(g, 13), {x.detach()});
}

TEST(OnnxAgain, PlacesInSeveralDimensions) {
  onnx::GraphProto g = graph({node("ScatterND", {"x", "at", "v"}, {"y"})}, {"x", "at", "v"}, {"y"});
  const Tensor x = sample({3, 4}), at = ints({0, 1, 2, -1}).reshape({2, 2}), v = sample({2});
  expect_again(model(g), {x, at, v});
  onnx::GraphProto fixed = graph({node("GatherND", {"x", "at"}, {"y"})}, {"x"}, {"y"});
  const Initial places(fixed, "at", at);
  expect_again(model(fixed), {x});
  EXPECT_THROW(first(load(model(g)), {x, ints({0, 1, 2, 4}).reshape({2, 2}), v}), IndexError);
}

TEST(OnnxAgain, LoopsAndBranchesThatDataDoNotDecide) {
  onnx::GraphProto body =
      graph({node("Add", {"s", "x"}, {"t"}), node("Identity", {"go"}, {"on"})}, {"i", "go", "s"}, {"on", "t"});
  onnx::GraphProto yes = graph({node("Neg", {"sum"}, {"a"})}, {}, {"a"}),
                   no = graph({node("Identity", {"sum"}, {"b"})}, {}, {"b"});
  onnx::GraphProto g =
      graph({node("Loop", {"count", "", "x"}, {"sum"}, {attribute("body", body)}), node("Size", {"x"}, {"size"}),
             node("Greater", {"size", "count"}, {"large"}),
             node("If", {"large"}, {"y"}, {attribute("then_branch", yes), attribute("else_branch", no)})},
            {"x"}, {"y"});
  const Initial count(g, "count", ints({3}).squeeze());
  const Tensor x = sample({2, 3});
  expect_again(model(g), {x});
  g.node[2] = node("Greater", {"largest", "count"}, {"large"});
  g.node[1] = node("Cast", {"sum"}, {"numbers"}, {attribute("to", std::int64_t(7))});
  g.node.insert(g.node.begin() + 2,
                node("ReduceMax", {"numbers"}, {"largest"}, {attribute("keepdims", std::int64_t(0))}));
  const Ref<onnx::Model> read = load(model(g));
  EXPECT_EQ(first(read, {x}).shape(), x.shape());
  EXPECT_NE(error_of<NotImplementedError>([&] { again(read, {x}); }).find("got one of data"), std::string::npos);
}

}  // namespace
}  // namespace neura::test

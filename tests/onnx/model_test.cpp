#include "neura/onnx/model.h"

#include "neura/core/file.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/reduce/reduce.h"
#include "tests/io/folder.h"
#include "tests/onnx/build.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using namespace onnx;

// y = relu(x w + b), with a weight of 20 elements and a bias of 4.
ModelProto layer(const Tensor& w, const Tensor& b) {
  GraphProto g = graph(
      {node("MatMul", {"x", "w.0"}, {"h"}), node("Add", {"h", "b"}, {"s"}), node("Relu", {"s"}, {"y"})}, {"x"}, {"y"});
  g.initializer.push_back(proto_of(Value(w), "w.0"));
  g.initializer.push_back(proto_of(Value(b), "b"));
  return model(g);
}

TEST(Model, LargeTensorsAreParametersUnderTheirNames) {
  const Tensor w = sample({5, 4}), b = sample({4});
  const Ref<Model> m = load(layer(w, b));
  const auto parameters = m->named_parameters();
  ASSERT_EQ(parameters.size(), 1u);  // the bias has fewer than 17 elements
  EXPECT_EQ(parameters[0].first, "w.0");
  EXPECT_TRUE(parameters[0].second.requires_grad());
  const Tensor x = sample({3, 5}, float32, {.seed = 1});
  expect_close(m->forward({Value(x)})[0].tensor, relu(add(x.matmul(w), b)));
}

TEST(Model, ParametersAreTrained) {
  const Ref<Model> m = load(layer(sample({5, 4}), sample({4}, float32, {.low = 1})));
  m->forward({Value(ones({2, 5}))})[0].tensor.sum().backward();
  const Tensor w = m->parameters()[0];
  ASSERT_TRUE(w.grad().defined());
  w.detach().zero_();  // what is written there is what the model computes with
  EXPECT_EQ(m->forward({Value(ones({2, 5}))})[0].tensor.size(1), 4);
  expect_close(m->forward({Value(ones({1, 5}))})[0].tensor, m->forward({Value(zeros({1, 5}))})[0].tensor);
}

TEST(Model, ACopyHasTensorsOfItsOwn) {
  const Ref<Model> m = load(layer(sample({5, 4}), sample({4})));
  const Ref<nn::Module> copy = m->clone();
  copy->parameters()[0].detach().zero_();
  const Tensor x = sample({2, 5});
  const Tensor y = m->forward({Value(x)})[0].tensor;
  auto* other = dynamic_cast<Model*>(copy.get());
  ASSERT_NE(other, nullptr);
  EXPECT_FALSE(close(other->forward({Value(x)})[0].tensor, y));
  copy->load_state_dict(m->state_dict());
  expect_close(other->forward({Value(x)})[0].tensor, y);
  expect_close(m->copy()->forward({Value(x)})[0].tensor, y);
}

TEST(Model, InitializersAmongTheInputsAreNoInputs) {  // IR versions below 4
  const Tensor w = sample({5, 4}), b = sample({4});   // the model refers to their bytes
  ModelProto m = layer(w, b);
  m.graph.input.emplace_back().name = "w.0";
  m.graph.input.emplace_back().name = "b";
  EXPECT_EQ(load(m)->input_names(), (std::vector<std::string>{"x"}));
}

TEST(Model, WhatTheFileDeclaresIsChecked) {
  ModelProto m = model(graph({node("Relu", {"x"}, {"y"})}, {"x"}, {"y"}));
  TensorTypeProto t;
  t.elem_type = int(Type::float32);
  t.shape.emplace().dim.resize(2);
  t.shape->dim[0].dim_param = "N", t.shape->dim[1].dim_value = 3;
  m.graph.input[0].type.emplace().tensor_type = t;
  const Ref<Model> loaded = load(m);
  EXPECT_NO_THROW(loaded->forward({Value(ones({7, 3}))}));
  EXPECT_EQ(error_of<ShapeError>([&] {
              loaded->forward({Value(ones({7, 4}))});
            }),
            "onnx.Model: expected the input \"x\" to be float32 [N, 3], got float32 [7, 4]; convert or reshape it");
  EXPECT_EQ(error_of<DTypeError>([&] {
              loaded->forward({Value(ones({7, 3}, {.dtype = float64}))});
            }),
            "onnx.Model: expected the input \"x\" to be float32 [N, 3], got float64 [7, 3]; convert or reshape it");
}

TEST(Model, AllUnknownOperatorsAreNamedAtOnce) {
  GraphProto inner = graph({node("Frobnicate", {"x"}, {"i"})}, {}, {"i"});
  const ModelProto m =
      model(graph({node("Warp", {"x"}, {"a"}), node("Warp", {"a"}, {"b"}),
                   node("If", {"c"}, {"y"}, {attribute("then_branch", inner), attribute("else_branch", inner)})},
                  {"x", "c"}, {"y"}));
  EXPECT_EQ(
      error_of<NotImplementedError>([&] { load(m); }),
      "onnx.load: expected operators of docs/onnx.md, got Frobnicate (ai.onnx version 21: \"Frobnicate_of_i\", "
      "\"Frobnicate_of_i\"), Warp (ai.onnx version 21: \"Warp_of_a\", \"Warp_of_b\"); export the model without them");
}

TEST(Model, AnErrorNamesItsNode) {
  const Ref<Model> m = load(model(graph({node("MatMul", {"x", "x"}, {"y"})}, {"x"}, {"y"})));
  EXPECT_EQ(error_of<ShapeError>([&] {
              m->forward({Value(ones({2, 3}))});
            }).rfind("node \"MatMul_of_y\" (MatMul): ", 0),
            0u);
}

TEST(Model, AGraphThatIsNotInOrderIsRefused) {
  EXPECT_EQ(
      error_of<ValueError>([&] {
        load(model(graph({node("Relu", {"h"}, {"y"}), node("Relu", {"x"}, {"h"})}, {"x"}, {"y"})));
      }),
      "onnx.load: expected the value \"h\" before node \"Relu_of_y\" (Relu), got none; the graph is not in order");
}

TEST(Model, ConstantsAreComputedOnce) {
  GraphProto g = graph({node("Add", {"a", "b"}, {"s"}), node("Mul", {"s", "s"}, {"q"}), node("Add", {"x", "q"}, {"y"})},
                       {"x"}, {"y"});
  const Initial a(g, "a", full({2}, 3.0)), b(g, "b", full({2}, 1.0));
  const Ref<Model> m = load(model(g));
  EXPECT_EQ(m->extra_repr(), "(x) -> (y), 1 nodes");
  expect_close(m->forward({Value(zeros({2}))})[0].tensor, std::vector<double>{16, 16});
}

TEST(Model, BranchesUseWhatIsAroundThem) {
  const GraphProto yes = graph({node("Add", {"x", "outer"}, {"i"})}, {}, {"i"}),
                   no = graph({node("Neg", {"x"}, {"i"})}, {}, {"i"});
  GraphProto g = graph({node("Mul", {"x", "x"}, {"outer"}),
                        node("If", {"c"}, {"y"}, {attribute("then_branch", yes), attribute("else_branch", no)})},
                       {"x", "c"}, {"y"});
  const Ref<Model> m = load(model(g));
  const auto run = [&](bool c) {
    return m->forward({Value(full({1}, 3.0)), Value(full({}, c, {.dtype = boolean}))})[0].tensor.item<double>();
  };
  EXPECT_EQ(run(true), 12);
  EXPECT_EQ(run(false), -3);
}

TEST(Model, ALoopCarriesAndCollects) {  // s = s + i while s < 4; all s are collected
  const GraphProto body =
      graph({node("Cast", {"i"}, {"f"}, {attribute("to", std::int64_t{1})}), node("Add", {"s", "f"}, {"t"}),
             node("Less", {"t", "four"}, {"go"}), node("Identity", {"t"}, {"u"})},
            {"i", "c", "s"}, {"go", "t", "u"});
  GraphProto g =
      graph({node("Loop", {"n", "", "x"}, {"last", "all"}, {attribute("body", body)})}, {"n", "x"}, {"last", "all"});
  const Initial four(g, "four", full({}, 4.0));
  const Results r = load(model(g))->forward({Value(integers(Integers{10}).squeeze()), Value(full({}, 0.5))});
  EXPECT_EQ(r[0].tensor.item<double>(), 6.5);  // 0.5, 1.5, 3.5, 6.5
  expect_close(r[1].tensor, std::vector<double>{0.5, 1.5, 3.5, 6.5});
}

TEST(Model, FunctionsOfTheModelRunWithTheNodesAttributes) {
  ModelProto m =
      model(graph({node("Scaled", {"x"}, {"h"}, {attribute("by", 3.0)}), node("Scaled", {"h"}, {"y"})}, {"x"}, {"y"}));
  for (NodeProto& n : m.graph.node) n.domain = "own";
  FunctionProto f;
  f.name = "Scaled", f.domain = "own", f.input = {"a"}, f.output = {"b"};
  AttributeProto by = attribute("alpha", 0.0);
  by.f.reset(), by.ref_attr_name = "by";
  f.node = {node("LeakyRelu", {"a"}, {"b"}, {by})};
  f.attribute_proto = {attribute("by", 0.5)};
  f.opset_import.emplace_back().version = 21;
  m.functions = {f};
  EXPECT_EQ(load(m)->forward({Value(full({}, -2.0))})[0].tensor.item<double>(), -3);  // -2 * 3 * 0.5
}

TEST(Model, AFunctionThatCallsItselfIsRefused) {
  ModelProto m = model(graph({node("F", {"x"}, {"y"})}, {"x"}, {"y"}));
  m.graph.node[0].domain = "own";
  FunctionProto f;
  f.name = "F", f.domain = "own", f.input = {"a"}, f.output = {"b"}, f.node = {node("F", {"a"}, {"b"})};
  f.node[0].domain = "own";
  m.functions = {f};
  EXPECT_EQ(error_of<FormatError>([&] { load(m); }),
            "onnx.load: expected functions that call each other at most 64 deep, got more in F");
}

TEST(Model, DropoutAndBatchNormalizationObeyTrain) {
  GraphProto g = graph({node("Dropout", {"x"}, {"y"})}, {"x"}, {"y"});
  const Ref<Model> drop = load(model(g));
  const Tensor x = ones({1000});
  expect_close(drop->forward({Value(x)})[0].tensor, x);
  drop->train();
  const double mean = drop->forward({Value(x)})[0].tensor.mean().item<double>();
  EXPECT_NEAR(mean, 1, 0.2);
  EXPECT_NE(mean, 1);

  GraphProto b = graph({node("BatchNormalization", {"x", "w", "b", "mean", "var"}, {"y"})}, {"x"}, {"y"});
  const Initial w(b, "w", ones({3})), bias(b, "b", zeros({3})), m(b, "mean", zeros({3})), v(b, "var", ones({3}));
  const Ref<Model> norm = load(model(b));
  EXPECT_EQ(norm->named_buffers().size(), 2u);  // of any size: they are written
  const Tensor input = sample({40, 3}, float32, {.low = 4, .high = 8});
  expect_close(norm->forward({Value(input)})[0].tensor, neura::div(input, std::sqrt(1 + 1e-5)));
  norm->train();
  EXPECT_NEAR(norm->forward({Value(input)})[0].tensor.mean().item<double>(), 0, 1e-4);
  EXPECT_GT(norm->buffers()[0].mean().item<double>(), 0.3);  // moved towards the mean, 6
}

TEST(Model, WeightsInOtherFilesAreReadFromTheFolder) {
  const Folder folder;
  const Tensor w = sample({5, 4});
  const Tensor b = zeros({4});
  ModelProto m = layer(w, b);
  io::write_file(folder / "w.bin",
                 std::string("pad!") + std::string(static_cast<const char*>(w.const_raw_data()), w.nbytes()));
  TensorProto& t = m.graph.initializer[0];
  t.raw_data.reset(), t.data_location = 1;
  t.external_data = {{"location", "w.bin"}, {"offset", "4"}, {"length", "80"}};
  io::write_file(folder / "m.onnx", onnx::write(m));
  const Tensor x = sample({2, 5});
  expect_close(onnx::load(folder / "m.onnx")->forward({Value(x)})[0].tensor, relu(x.matmul(w)));

  const auto refused = [&](const char* location, const char* offset) {
    t.external_data = {{"location", location}, {"offset", offset}, {"length", "80"}};
    io::write_file(folder / "m.onnx", onnx::write(m));
    return error_of<FormatError>([&] { onnx::load(folder / "m.onnx"); })
               .rfind("onnx.load: " + folder / "m.onnx" +
                          ": expected the tensor \"w.0\" in a file next to the model, got ",
                      0) == 0;
  };
  EXPECT_TRUE(refused("w.bin", "5"));
  EXPECT_TRUE(refused("/etc/passwd", "0"));
  EXPECT_TRUE(refused("../w.bin", "0"));
  EXPECT_TRUE(refused("w.bin", "-1"));
  std::filesystem::create_symlink("/etc", folder / "away");
  EXPECT_TRUE(refused("away/passwd", "0"));
}

TEST(Model, EmptyTextsHaveTheDeclaredSizes) {  // [] says nothing of the sizes within
  ModelProto m = model(graph({node("Shape", {"x"}, {"y"})}, {"x"}, {"y"}));
  TensorTypeProto t;
  t.elem_type = int(Type::string);
  t.shape.emplace().dim.resize(3);
  t.shape->dim[0].dim_param = "N", t.shape->dim[1].dim_value = 2;
  m.graph.input[0].type.emplace().tensor_type = t;
  nn::Args args;
  args.positional.emplace_back(nn::List{{}, false});
  expect_close(*load(m)->forward_boxed(args).get<Tensor>(), std::vector<double>{0, 2, 0});
}

TEST(Model, NamesAreUtf8) {  // Python, and files of weights, have no others
  const std::string expected = "onnx.load: expected names in UTF-8, got other bytes; the file is damaged";
  const auto error = [](const ModelProto& m) { return error_of<FormatError>([&] { load(m); }); };
  EXPECT_EQ(error(model(graph({node("Relu", {"\xff"}, {"y"})}, {"\xff"}, {"y"}))), expected);
  EXPECT_EQ(error(model(graph({node("Relu", {"x"}, {"\x80y"})}, {"x"}, {"\x80y"}))), expected);
  GraphProto g = graph({node("Add", {"x", "w\xc3"}, {"y"})}, {"x"}, {"y"});
  const Initial w(g, "w\xc3", ones({20}));
  EXPECT_EQ(error(model(g)), expected);
}

TEST(Model, ErrorsNameTheFile) {
  const Folder folder;
  const std::string path = folder / "m.onnx";
  const auto error = [&](const std::string& bytes) {
    io::write_file(path, bytes);
    return error_of<Error>([&] { onnx::load(path); });
  };
  EXPECT_EQ(error(""), "onnx.load: " + path + ": expected an ONNX file, got an empty one");
  EXPECT_EQ(error("\x08").rfind("onnx.load: " + path + ": expected a protocol buffer of ONNX, got ", 0), 0u);
  EXPECT_EQ(error(onnx::write(model(graph({node("Frobnicate", {"x"}, {"y"})}, {"x"}, {"y"}))))
                .rfind("onnx.load: " + path + ": expected operators of docs/onnx.md, got Frobnicate", 0),
            0u);
  const auto pattern = std::vector<AttributeProto>{attribute("pattern", "(")};
  EXPECT_EQ(error(onnx::write(model(graph({node("RegexFullMatch", {"x"}, {"y"}, pattern)}, {"x"}, {"y"}))))
                .rfind("onnx.load: " + path + ": node \"RegexFullMatch_of_y\" (RegexFullMatch): ", 0),
            0u);
}

TEST(Model, TensorsThatClaimMoreThanTheyHoldAreRefused) {
  GraphProto g = graph({node("Relu", {"w"}, {"y"})}, {}, {"y"});
  TensorProto t;
  t.name = "w", t.data_type = 1, t.dims = {1 << 20, 1 << 20}, t.float_data = {1};
  g.initializer = {t};
  EXPECT_EQ(error_of<FormatError>([&] { load(model(g)); }),
            "onnx.load: expected the tensor \"w\" to have 1099511627776 elements, got fewer; the file is damaged");
  g.initializer[0].dims = {-1};
  EXPECT_EQ(error_of<FormatError>([&] { load(model(g)); }),
            "onnx.load: expected the tensor \"w\" to have sizes that can be counted; the file is damaged");
}

}  // namespace
}  // namespace neura::test

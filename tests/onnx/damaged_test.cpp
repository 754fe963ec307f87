// Models whose operators get less than they need: one sentence each, whatever is missing.
#include "tests/onnx/build.h"
#include "tests/support/close.h"
#include "tests/support/refusals.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using namespace onnx;

AttributeProto tensor_attribute(const std::string& name, const TensorProto& t) {
  AttributeProto a;
  a.name = name, a.t = std::make_shared<TensorProto>(t), a.type = int(AttributeProto::Kind::tensor);
  return a;
}
Tensor of_domain(const std::string& op, const std::string& domain, const std::vector<Tensor>& operands,
                 const std::vector<AttributeProto>& attributes = {}) {
  return run_node(op, operands, attributes, 23, 1, domain)[0].tensor;
}

TEST(Damaged, OperandsWithoutDimensionsAreRefused) {
  const Tensor q = sample({1, 1, 2, 4}), number = zeros({});
  expect_refusals<ShapeError>({
      {"node \"Attention_of_y0\" (Attention): Attention: expected a mask of keys in its last dimension, got []",
       [&] {
         one("Attention", {q, q, q, number}, {}, 23);
       }},
      {"node \"LRN_of_y0\" (LRN): LRN: expected [N, C, ...], got [5]",
       [&] { one("LRN", {ones({5})}, {attribute("size", std::int64_t{3})}); }},
      {"node \"SkipLayerNormalization_of_y0\" (SkipLayerNormalization): SkipLayerNormalization: expected a dimension "
       "to "
       "normalise, got []",
       [&] {
         of_domain("SkipLayerNormalization", "com.microsoft", {number, number, ones({1})});
       }},
  });
}

TEST(Damaged, ListsThatAreTooShortAreRefused) {
  TensorProto empty;
  empty.dims = {0}, empty.data_type = int(Type::int64);
  const std::vector<AttributeProto> lookup = {attribute("keys_int64s", Integers{1}),
                                              attribute("values_int64s", Integers{2}),
                                              tensor_attribute("default_tensor", empty)};
  const std::vector<AttributeProto> words = {
      attribute("min_gram_length", std::int64_t{1}), attribute("max_gram_length", std::int64_t{1}),
      attribute("max_skip_count", std::int64_t{0}),  attribute("ngram_counts", Integers{0}),
      attribute("ngram_indexes", Integers{0}),       attribute("pool_int64s", Integers{1, 2})};
  expect_refusals<ValueError>({
      {"node \"LabelEncoder_of_y0\" (LabelEncoder): LabelEncoder: expected a default_tensor of one element",
       [&] {
         NodeProto n = node("LabelEncoder", {"x"}, {"y0"}, lookup);
         n.domain = "ai.onnx.ml";
         ModelProto m = model(graph({n}, {"x"}, {"y0"}));
         m.opset_import.push_back({"ai.onnx.ml", 4});
         load(m);
       }},
      {"node \"TfIdfVectorizer_of_y0\" (TfIdfVectorizer): TfIdfVectorizer: expected a column for each n-gram, got 1 "
       "columns",
       [&] { one("TfIdfVectorizer", {integers(Integers{1})}, words); }},
  });
  GraphProto range = graph({node("Range", {"e", "e", "e"}, {"y"})}, {}, {"y"});
  const Initial e(range, "e", integers(Integers{}));
  EXPECT_THROW(load(model(range))->forward({}), ValueError);
}

TEST(Damaged, SizesThatCannotBeCountedAreRefused) {
  const Tensor least = integers(Integers{INT64_MIN, 5}), sizes = integers(Integers{5, 5});
  expect_refusals<ValueError>({
      {"node \"CenterCropPad_of_y0\" (CenterCropPad): CenterCropPad: expected sizes from 0 on, got "
       "-9223372036854775808",
       [&] {
         one("CenterCropPad", {ones({2, 2}), least});
       }},
      {"node \"Col2Im_of_y0\" (Col2Im): Col2Im: expected sizes of 31 bits, got -9223372036854775808",
       [&] {
         one("Col2Im", {ones({1, 5, 5}), least, sizes});
       }},
      {"node \"Col2Im_of_y0\" (Col2Im): Col2Im: expected sizes of 31 bits, got -9223372036854775808",
       [&] {
         one("Col2Im", {ones({1, 5, 5}), sizes, least});
       }},
  });
}

TEST(Damaged, GraphsThatReturnTooLittleAreRefused) {
  const Tensor q = sample({1, 1, 2, 4});
  const GraphProto nothing = graph({}, {"s"}, {}),
                   list = graph({node("SequenceConstruct", {"s"}, {"o"})}, {"s"}, {"o"});
  for (const GraphProto& g : {nothing, list})
    EXPECT_THROW(of_domain("FlexAttention", "ai.onnx.preview", {q, q, q}, {attribute("score_mod", g)}), ValueError);
  const std::vector<AttributeProto> scan = {attribute("num_scan_inputs", std::int64_t{1}),
                                            attribute("body", graph({}, {"a", "b"}, {}))};
  EXPECT_THROW(one("Scan", {Tensor(), ones({2, 3}), ones({2, 3, 4})}, scan, 8), ValueError);
}

}  // namespace
}  // namespace neura::test

#include "neura/onnx/proto.h"

#include "neura/onnx/wire.h"
#include "tests/io/mutate.h"
#include "tests/onnx/build.h"
#include "tests/support/close.h"
#include "tests/support/refusals.h"

namespace neura::test {
namespace {

using namespace onnx;

TEST(Wire, NumbersAreReadAsTheyWereWritten) {
  for (std::uint64_t n : {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, std::uint64_t{300}, UINT64_MAX}) {
    wire::Writer w;
    w.number(n);
    wire::Reader r(w.text);
    EXPECT_EQ(r.number(), n);
    EXPECT_TRUE(r.done());
  }
  wire::Writer w;
  w.number(300);
  EXPECT_EQ(w.text, "\xAC\x02");  // seven bits a byte, the lowest first
}

TEST(Wire, WhatIsCutOffIsRefused) {
  const std::string text = "onnx.load: expected a protocol buffer of ONNX, got ";
  expect_refusals<FormatError>({
      {(text + "a number that is cut off").c_str(), [] { wire::Reader(std::string_view("\x80", 1)).number(); }},
      {(text + "a number of more than 64 bits").c_str(),
       [] { wire::Reader(std::string_view("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01")).number(); }},
      {(text + "a field of 9 bytes where 1 are left").c_str(),
       [] {
         wire::Reader(std::string_view("\x09"
                                       "a"))
             .text();
       }},
      {(text + "a number that is cut off").c_str(), [] { wire::Reader(std::string_view("abc")).fixed<float>(); }},
      {(text + "the wire type 3").c_str(), [] { read_model("\x83\x01"); }},
      {(text + "a field of the number 0").c_str(), [] { read_model(std::string_view("\x00", 1)); }},
      {(text + "field 7 of another wire type").c_str(), [] { read_model("\x38\x01"); }},
  });
}

ModelProto sample_model() {
  GraphProto g =
      graph({node("Conv", {"x", "w", ""}, {"y"},
                  {attribute("pads", Integers{1, -1}), attribute("alpha", 0.5), attribute("mode", "same"),
                   attribute("axis", std::int64_t{-3})}),
             node("If", {"c"}, {"z"}, {attribute("then_branch", graph({node("Identity", {"y"}, {"i"})}, {}, {"i"}))})},
            {"x", "c"}, {"z"});
  TensorProto t;
  t.name = "w", t.dims = {2, 1}, t.data_type = 1, t.float_data = {1.5F, -2};
  g.initializer.push_back(t);
  ModelProto m = model(g, 17);
  m.producer_name = "a test", m.metadata_props.push_back({"key", "value"});
  return m;
}

TEST(Proto, AModelIsReadAsItWasWritten) {
  const std::string bytes = write(sample_model());
  const ModelProto m = read_model(bytes);
  EXPECT_EQ(write(m), bytes);
  EXPECT_EQ(m.ir_version, 8);
  EXPECT_EQ(m.producer_name, "a test");
  EXPECT_EQ(m.opset_import.at(0).version, 17);
  const NodeProto& conv = m.graph.node.at(0);
  EXPECT_EQ(conv.input, (std::vector<std::string>{"x", "w", ""}));
  EXPECT_EQ(conv.attribute.at(0).ints, (Integers{1, -1}));
  EXPECT_EQ(conv.attribute.at(1).f, 0.5F);
  EXPECT_EQ(conv.attribute.at(2).s, "same");
  EXPECT_EQ(conv.attribute.at(3).i, -3);
  EXPECT_EQ(m.graph.node.at(1).attribute.at(0).g->node.at(0).op_type, "Identity");
  EXPECT_EQ(m.graph.initializer.at(0).float_data, (std::vector<float>{1.5F, -2}));
}

TEST(Proto, NumbersMayBePackedOrNot) {
  const TensorProto packed = read_tensor(std::string_view("\x0A\x02\x02\x03", 4));  // dims, as one field
  const TensorProto apart = read_tensor(std::string_view("\x08\x02\x08\x03", 4));   // as two
  EXPECT_EQ(packed.dims, (Integers{2, 3}));
  EXPECT_EQ(apart.dims, packed.dims);
}

TEST(Proto, RawDataRefersToTheBytesThatWereRead) {
  TensorProto t;
  const std::string content = "12345678";
  t.raw_data = content;
  const std::string bytes = write(t);
  const TensorProto back = read_tensor(bytes);
  EXPECT_GE(back.raw_data->data(), bytes.data());
  EXPECT_LE(back.raw_data->data() + 8, bytes.data() + bytes.size());
  EXPECT_EQ(*back.raw_data, content);
}

TEST(Proto, UnknownFieldsAreSkipped) {
  std::string bytes = write(sample_model());
  wire::Writer more;
  more.field(1000, "something of a later version");
  more.tag(1001, wire::varint), more.number(7);
  more.tag(1002, wire::fixed32), more.fixed(1.0F);
  more.tag(1003, wire::fixed64), more.fixed(1.0);
  EXPECT_EQ(write(read_model(bytes + more.text)), bytes);
}

TEST(Proto, MessagesLieAtMost64Deep) {
  GraphProto g;
  for (int i = 0; i < 20; ++i) g = graph({node("If", {"c"}, {"y"}, {attribute("then_branch", g)})}, {}, {});
  EXPECT_NO_THROW(read_model(write(model(g))));
  for (int i = 0; i < 2; ++i) g = graph({node("If", {"c"}, {"y"}, {attribute("then_branch", g)})}, {}, {});
  EXPECT_EQ(
      error_of<FormatError>([&] { read_model(write(model(g))); }),
      "onnx.load: expected a protocol buffer of ONNX, got messages more than 64 deep; the file is damaged or another");
}

TEST(Proto, DamagedModelsLoadOrAreRefused) {
  Dice dice{7};
  const std::string whole = write(sample_model());
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    try {
      onnx::load_bytes(mutate(whole, dice));
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace neura::test

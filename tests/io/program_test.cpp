// Files .neura: what comes back is what was saved, without a copy; what is damaged is refused.
#include "neura/io/program.h"

#include <gtest/gtest.h>

#include "neura/core/file.h"
#include "neura/graph/trace.h"
#include "neura/io/sha256.h"
#include "neura/nn/nn.h"
#include "neura/ops/reduce/scan.h"
#include "tests/io/folder.h"
#include "tests/io/mapping.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura {
namespace {

using test::Folder;
using test::sample;
using Tensors = std::vector<Tensor>;

struct Made {
  graph::Program program;
  Tensor x;
};
template <class M> Made traced(M& net, const Tensor& x, const graph::Function& f) {
  net.eval();
  std::vector<graph::Named> names;
  for (const auto& [name, t] : net.state_dict()) names.push_back({name, t});
  return {graph::trace(f, std::vector{x}, names), x};
}
Made cnn() {
  nn::Sequential net(nn::Conv2d(2, 8, 3, {.padding = {1, 1}}), nn::BatchNorm2d(8), nn::ReLU(), nn::MaxPool2d(2),
                     nn::Flatten(), nn::Linear(8 * 16, 5));
  return traced(net, sample({3, 2, 8, 8}), [&](auto in) { return Tensors{net(in[0])}; });
}
Made transformer() {
  nn::TransformerEncoderLayer net(16, 4, {.dim_feedforward = 32, .batch_first = true});
  return traced(net, sample({2, 7, 16}), [&](auto in) { return Tensors{net.forward(in[0])}; });
}
Made lstm() {
  nn::LSTM net(6, 9, {.num_layers = 2, .bidirectional = true});
  return traced(net, sample({5, 3, 6}), [&](auto in) { return Tensors{net.forward(in[0]).first}; });
}

struct ProgramRoundTrip : testing::TestWithParam<Made (*)()> {};
INSTANTIATE_TEST_SUITE_P(Models, ProgramRoundTrip, testing::Values(&cnn, &transformer, &lstm));
TEST_P(ProgramRoundTrip, GivesTheSameBitsFromAMappingAFileAndBytes) {
  const Made m = GetParam()();
  const Folder folder;
  const std::string path = folder / "net.neura";
  save_program(path, m.program, {.inputs = {"x"}, .outputs = {"y"}, .metadata = {{"licence", "none"}}});
  const Tensors in{m.x}, want = run(m.program, in);
  const std::string bytes = io::read_file(path);
  for (const ProgramFile& f :
       {load_program(path), load_program(path, {.mmap = false}), load_program(std::as_bytes(std::span(bytes)))}) {
    test::expect_same(run(f.program, in)[0], want[0]);
    EXPECT_EQ(f.inputs, std::vector<std::string>{"x"});
    EXPECT_EQ(f.outputs, std::vector<std::string>{"y"});
    EXPECT_EQ(f.metadata, (Metadata{{"licence", "none"}}));
    EXPECT_EQ(save_program_bytes(f.program, {.inputs = f.inputs, .outputs = f.outputs, .metadata = f.metadata}), bytes);
  }
  std::size_t weights = 0;
  const ProgramFile mapped = load_program(path);
  for (const graph::External& e : mapped.program.externals) {
    if (!e.tensor || e.tensor.nbytes() <= 64) continue;
    EXPECT_TRUE(test::lies_in(e.tensor.const_raw_data(), path)) << e.name;
    ++weights;
  }
  EXPECT_GE(weights, 2u);
  EXPECT_GE(load(path).size(), weights);  // other readers see them
}

// As a program that has a model after its own bytes reads it.
TEST(ProgramPart, IsReadFromThePartOfAFileAndFromBorrowedMemory) {
  const Folder folder;
  const Made m = cnn();
  const Tensor want = graph::run(m.program, std::vector{m.x})[0];
  const std::string model = save_program_bytes(m.program), path = folder / "with";
  io::write_file(path, std::string(100, '?') + model + "behind");
  for (const bool mmap : {true, false}) {
    const ProgramFile f = load_program(io::Source(path, 100, model.size(), mmap));
    test::expect_same(graph::run(f.program, std::vector{m.x})[0], want);
  }
  {
    const ProgramFile f = load_program(io::Source(std::as_bytes(std::span(model)), "net", true));
    test::expect_same(graph::run(f.program, std::vector{m.x})[0], want);
    int within = 0;
    for (const graph::External& e : f.program.externals)
      if (e.tensor) {
        const auto* p = static_cast<const char*>(e.tensor.const_raw_data());
        within += p >= model.data() && p < model.data() + model.size();
      }
    EXPECT_GT(within, 0);  // not copied
  }
  EXPECT_THROW(load_program(io::Source(path, 101, model.size(), true)), FormatError);
  const std::uint64_t behind = io::Source(path).size() + 1;
  EXPECT_THROW(io::Source(path, behind, 0, true), FormatError);
  EXPECT_THROW(io::Source(path, 100, behind - 100, false), FormatError);
  EXPECT_THROW(io::Source(path, 8, ~std::uint64_t{0}, false), FormatError);
}

std::string refusal(const std::string& bytes, bool trusted = false) {
  try {
    load_program(std::as_bytes(std::span(bytes)), trusted, "net");
  } catch (const FormatError& e) {
    return e.what();
  } catch (const NotImplementedError& e) {
    return std::string("not implemented: ") + e.what();
  }
  return "";
}
TEST(ProgramFiles, DamagedAreRefused) {
  const std::string bytes = save_program_bytes(cnn().program);
  ASSERT_EQ(refusal(bytes), "");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = bytes;
    other.replace(other.find(from), from.size(), to);
    return refusal(other);
  };
  EXPECT_NE(changed("max_pool", "min_pool").find("net: expected a text with the hash"), std::string::npos);
  EXPECT_NE(changed("neura.program", "neura.pragram").find("neura.program"), std::string::npos);
  EXPECT_NE(changed("\\\"format\\\":1", "\\\"format\\\":9").find("update Neura"), std::string::npos);
  EXPECT_NE(changed("\"0.weight\"", "\"0.wEight\"").find("0.weight"), std::string::npos);
  std::string other = bytes;
  other.back() = char(other.back() ^ 1);
  EXPECT_NE(refusal(other).find("weights with the hash"), std::string::npos);
  for (std::size_t n = 0; n < bytes.size(); n += 97) EXPECT_NE(refusal(bytes.substr(0, n)), "") << n;
}
TEST(ProgramFiles, CallOnlyCheckedOperationsUnlessTrusted) {
  const Tensor x = sample({4, 4});
  const auto p = graph::trace([](auto in) { return Tensors{cumprod(in[0], 0)}; }, std::vector{x});
  const std::string bytes = save_program_bytes(p);
  EXPECT_NE(refusal(bytes).find("not implemented: net: program: expected operations that are checked"),
            std::string::npos)
      << refusal(bytes);
  EXPECT_EQ(refusal(bytes, true), "");
}
TEST(ProgramFiles, NamesAreChecked) {
  const graph::Program p = cnn().program;
  EXPECT_THROW(save_program_bytes(p, {.inputs = {"a", "b"}}), ValueError);
  EXPECT_THROW(save_program_bytes(p, {.inputs = {"a b"}}), ValueError);
  EXPECT_THROW(save_program_bytes(p, {.metadata = {{"neura.x", ""}}}), ValueError);
}
TEST(Sha256, IsTheStandards) {  // the examples of FIPS 180-4
  const auto hex = [](const std::string& text) {
    io::Sha256 h;
    for (const char& c : text) h.add(&c, 1);
    return h.hex();
  };
  EXPECT_EQ(hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

}  // namespace
}  // namespace neura

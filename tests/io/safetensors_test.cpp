#include "neura/io/safetensors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstring>

#include "neura/core/file.h"
#include "tests/io/folder.h"
#include "tests/support/close.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura {
namespace {

using nn::StateDict;
using test::error_of;
using test::expect_same;
using test::Folder;
using test::sample;

// A file from its parts, as a foreign writer would make it.
std::string file_of(const std::string& header, const std::string& data = "", std::int64_t claimed = -1) {
  const std::uint64_t n = claimed < 0 ? header.size() : std::uint64_t(claimed);
  std::string out;
  for (int i = 0; i < 8; ++i) out.push_back(char(n >> (8 * i) & 0xFF));
  return out + header + data;
}

TensorFile parse(const std::string& bytes, const MapLocation& map = {}) {
  return load_bytes(std::as_bytes(std::span(bytes)), map, "f");
}

std::string why_not(const std::string& bytes) {
  return error_of<FormatError>([&] { parse(bytes); });
}

// Bytes that are valid in every dtype.
Tensor pattern(DType dtype, const Shape& shape, int from = 1) {
  Tensor t = Tensor::empty(Spec::dense(dtype, shape));
  auto* p = static_cast<unsigned char*>(t.raw_data());
  for (std::size_t i = 0; i < t.nbytes(); ++i)
    p[i] = static_cast<unsigned char>(dtype == boolean ? i % 2 : (from + i * 7) % 120);
  return t;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && !std::memcmp(a.raw_data(), b.raw_data(), a.nbytes());
}

class EveryDType : public ::testing::TestWithParam<int> {};

TEST_P(EveryDType, ComesBackBitForBit) {
  const auto dtype = DType(GetParam());
  const Folder folder;
  const Shape shapes[] = {{}, {0}, {5}, {2, 0, 3}, {3, 4}, {1, 2, 1, 2, 1, 2, 1, 2}};
  StateDict all;
  for (const Shape& s : shapes) all.append("of " + s.str(), pattern(dtype, s, s.size()));
  save(folder / "a.safetensors", all);
  const StateDict back = load(folder / "a.safetensors");
  ASSERT_EQ(back.keys(), all.keys());
  for (const auto& [name, t] : all) EXPECT_TRUE(same_bytes(back.at(name), t)) << name;
  const std::string bytes = save_bytes(all);
  for (const auto& [name, t] : parse(bytes).tensors) EXPECT_TRUE(same_bytes(t, all.at(name))) << name;
}
INSTANTIATE_TEST_SUITE_P(Table, EveryDType, ::testing::Range(0, kDTypes),
                         [](const auto& p) { return std::string(name(DType(p.param))); });

TEST(Save, KeepsOrderMetadataAndRequiresGrad) {
  Tensor w = sample({2, 3}), b = sample({3}, float64);
  w.requires_grad_();
  const TensorFile f =
      parse(save_bytes({{"w", w}, {"b", b}, {"a", w}}, {{"author", "Ada"}, {"note", "\xC3\xA4 \"q\"\n"}}));
  EXPECT_EQ(f.tensors.keys(), (std::vector<std::string>{"w", "b", "a"}));
  EXPECT_EQ(f.metadata, (Metadata{{"author", "Ada"}, {"note", "\xC3\xA4 \"q\"\n"}}));
  EXPECT_EQ(f.version, "0.1.0");
  EXPECT_TRUE(f.tensors.at("w").requires_grad());
  EXPECT_FALSE(f.tensors.at("b").requires_grad());
}

TEST(Save, WritesAnyLayoutInLogicalOrder) {
  const Tensor t = sample({4, 6});
  for (const Tensor& layout : test::layouts(t)) expect_same(parse(save_bytes({{"t", layout}})).tensors.at("t"), t);
  expect_same(parse(save_bytes({{"t", t.slice(1, 1, 6, 2)}})).tensors.at("t"), t.slice(1, 1, 6, 2));
}

TEST(Save, WritesPlainSafetensors) {
  Tensor t = Tensor::empty(Spec::dense(float32, Shape{2}));
  t.data<float>()[0] = 1, t.data<float>()[1] = -2;
  Tensor u = Tensor::empty(Spec::dense(uint8, Shape{1}));
  u.data<std::uint8_t>()[0] = 7;
  const std::string bytes = save_bytes({{"u", u}, {"t", t}});
  std::uint64_t n = 0;
  std::memcpy(&n, bytes.data(), 8);
  EXPECT_EQ(n % 8, 0u);
  const std::string header = bytes.substr(8, n);
  EXPECT_NE(header.find(R"("u":{"dtype":"U8","shape":[1],"data_offsets":[8,9]})"), std::string::npos) << header;
  EXPECT_NE(header.find(R"("t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})"), std::string::npos) << header;
  EXPECT_EQ(bytes.size(), 8 + n + 9);
}

TEST(Save, WritesComplexNumbersAsPairsThatOthersCanRead) {
  const Tensor z = sample({2, 3}, complex64);
  const std::string bytes = save_bytes({{"z", z}});
  EXPECT_NE(bytes.find(R"("dtype":"F32","shape":[2,3,2])"), std::string::npos);
  expect_same(parse(bytes).tensors.at("z"), z);
}

TEST(Save, RefusesWhatTheFormatCannotHold) {
  const Tensor t = sample({1});
  EXPECT_EQ(error_of<ValueError>([&] {
              save_bytes({{"a", t}, {"a", t}});
            }),
            "save: expected every name once, got \"a\" twice");
  EXPECT_EQ(error_of<ValueError>([&] {
              save_bytes({{"a", Tensor()}});
            }),
            "save: expected a tensor for \"a\", got an undefined one");
  EXPECT_EQ(error_of<ValueError>([&] {
              save_bytes({{"__metadata__", t}});
            }),
            "save: the name \"__metadata__\" is taken by the file format; choose another");
  EXPECT_EQ(error_of<ValueError>([&] {
              save_bytes({{"a", t}}, {{"neura", ""}});
            }),
            "save: the metadata key \"neura\" is Neura's own; choose another");
  EXPECT_EQ(error_of<ValueError>([&] {
              save_bytes({{"a\xFF", t}});
            }),
            "save: expected names and metadata in UTF-8, got other bytes");
}

TEST(Save, ReplacesAFileAsAWholeOrNotAtAll) {
  const Folder folder;
  const std::string path = folder / "m.safetensors";
  const Tensor old = sample({100});
  save(path, {{"t", old}});
  ::chmod(path.c_str(), 0640);

  // A disk that fills up, played by a limit on the size of files.
  rlimit before;
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit tight{512 * 1024, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &tight);
  const std::string error = error_of<IoError>([&] { save(path, {{"t", sample({1 << 20})}}); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(error, "cannot write \"" + path + "\": File too large");
  expect_same(load(path).at("t"), old);
  EXPECT_EQ(folder.files(), 1);

  EXPECT_NE(error_of<ValueError>([&] { save(path, {{"t", Tensor()}}); }), "no error");
  expect_same(load(path).at("t"), old);
  EXPECT_EQ(folder.files(), 1);

  save(path, {{"t", sample({3})}});
  EXPECT_EQ(load(path).at("t").numel(), 3);
  struct stat s;
  ::stat(path.c_str(), &s);
  EXPECT_EQ(s.st_mode & 0777, 0640u);
  EXPECT_EQ(folder.files(), 1);
}

TEST(Save, FollowsALinkAndSparesDevices) {
  const Folder folder;
  save(folder / "real", {{"t", sample({2})}});
  ASSERT_EQ(::symlink((folder / "real").c_str(), (folder / "link").c_str()), 0);
  save(folder / "link", {{"t", sample({5})}});
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(load(folder / "real").at("t").numel(), 5);
  EXPECT_EQ(error_of<IoError>([] {
              save("/dev/null", {{"t", sample({2})}});
            }),
            "cannot write \"/dev/null\": not a regular file");
}

TEST(Load, SaysWhatTheSystemSays) {
  const Folder folder;
  const std::string none = folder / "none";
  EXPECT_EQ(error_of<IoError>([&] { load(none); }), "cannot open \"" + none + "\": No such file or directory");
  EXPECT_EQ(error_of<IoError>([&] { load(folder.path()); }), "cannot read \"" + folder.path() + "\": Is a directory");
  EXPECT_EQ(error_of<IoError>([&] {
              save(folder / "no/where", {{"t", sample({1})}});
            }),
            "cannot write \"" + folder.path() + "/no/where\": No such file or directory");
}

TEST(Load, ReadsWhatOthersWrite) {
  // The header of another writer: names in another order than the data, spaces, escapes, no entry of ours.
  const auto f = parse(file_of(R"({ "b\u00e4" : {"dtype":"I16","shape":[2],"data_offsets":[4,8]},
      "__metadata__":{"format":"pt"}, "a":{"data_offsets":[0,4],"shape":[],"dtype":"F32"}, "c":{"dtype":"C64","shape":[0],"data_offsets":[8,8]} }  )",
                               std::string("\0\0\x80\x3F\x01\0\x02\0", 8)));
  EXPECT_EQ(f.tensors.keys(), (std::vector<std::string>{"b\xC3\xA4", "a", "c"}));
  EXPECT_EQ(f.tensors.at("a").data<float>()[0], 1.0f);
  EXPECT_EQ(f.tensors.at("b\xC3\xA4").data<std::int16_t>()[1], 2);
  EXPECT_EQ(f.metadata.at("format"), "pt");
  EXPECT_EQ(f.version, "");
}

TEST(Load, RefusesDamageAndSaysWhere) {
  const std::string t = R"("dtype":"F32","shape":[1],"data_offsets":[0,4])";
  const std::string four(4, '\0');
  EXPECT_EQ(why_not(""), "f: expected a safetensors file, got 0 bytes; it may have been cut off");
  EXPECT_EQ(why_not("PK\3\4"), "f: expected a safetensors file, got 4 bytes; it may have been cut off");
  EXPECT_EQ(why_not(file_of("{}", "", 1000)),
            "f: the header has 1000 bytes by the number at byte 0, but only 2 follow; the file was cut off or is no "
            "safetensors file");
  EXPECT_EQ(why_not(file_of("")), "f: expected \"{\" at byte 8");
  EXPECT_EQ(why_not(file_of("[]")), "f: expected \"{\" at byte 8");
  EXPECT_EQ(
      why_not(file_of(R"({"a":{)" + t + R"(}})", "")),
      "f: tensor \"a\": data_offsets [0, 4] reach beyond the data, which has 0 bytes; the file may have been cut off");
  EXPECT_EQ(why_not(file_of(R"({"a":{)" + t + "}}", four + "xy")), "f: 2 bytes from byte 66 belong to no tensor");
  EXPECT_EQ(why_not(file_of(R"({"a":{)" + t + R"(},"a":{)" + t + "}}", four)), "f: \"a\" occurs twice in the header");
  EXPECT_EQ(why_not(file_of(R"({"a":{)" + t + R"(},"b":{)" + t + "}}", four)),
            "f: tensor \"b\" begins at byte 115, inside the tensor before it, which ends at 119");
  EXPECT_EQ(why_not(file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", four + four)),
            "f: bytes 62 to 66, before tensor \"a\", belong to no tensor");
  EXPECT_EQ(why_not(file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", four)),
            "f: tensor \"a\": data_offsets [0, 4] hold 4 bytes, but F32 [2] takes 8");
  EXPECT_EQ(why_not(file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", four)),
            "f: tensor \"a\": data_offsets [4, 0] run backwards");
  EXPECT_EQ(why_not(file_of(R"({"a":{"dtype":"U8","shape":[4294967296,4294967296,4],"data_offsets":[0,0]}})")),
            "f: tensor \"a\": data_offsets [0, 0] hold 0 bytes, but U8 [4294967296, 4294967296, 4] takes more than any "
            "file has");
  EXPECT_EQ(why_not(file_of(R"({"a":{"dtype":"U8","shape":[0,4294967296,4294967296],"data_offsets":[0,0]}})")),
            "f: tensor \"a\": data_offsets [0, 0] hold 0 bytes, but U8 [0, 4294967296, 4294967296] takes more than any "
            "file has");
  EXPECT_EQ(why_not(file_of(R"({"a":{"dtype":"F33","shape":[],"data_offsets":[0,4]}})", four)),
            "f: tensor \"a\": expected a dtype such as \"F32\", got \"F33\"");
  EXPECT_EQ(why_not(file_of(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", four)),
            "f: tensor \"a\": expected a list of whole numbers for shape, got -1");
  EXPECT_EQ(why_not(file_of(R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", four)),
            "f: tensor \"a\": expected a list of whole numbers for shape, got \"1.5\"");
  EXPECT_EQ(why_not(file_of(R"({"a":{"dtype":"F32","shape":[1]}})", four)),
            "f: tensor \"a\": expected dtype, shape and data_offsets, of which one is missing");
  EXPECT_EQ(why_not(file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", four)),
            "f: tensor \"a\": expected dtype, shape and data_offsets, got \"x\"");
  EXPECT_EQ(why_not(file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", four)),
            "f: tensor \"a\": expected 2 data_offsets, got 1");
  EXPECT_EQ(why_not(file_of(R"({"a":3})")), "f: tensor \"a\": expected an object, got 3");
  EXPECT_EQ(why_not(file_of(R"({"a":{"shape":[1,1,1,1,1,1,1,1,1,1],"dtype":"U8","data_offsets":[0,1]}})", "x")),
            "f: tensor \"a\": expected at most 8 dimensions, got more");
  EXPECT_EQ(why_not(file_of(R"({"a":{"shape":[1,1,1,1,1,1,1,1,1],"dtype":"U8","data_offsets":[0,1]}})", "x")),
            "f: tensor \"a\": expected at most 8 dimensions, got 9");
  EXPECT_EQ(why_not(file_of(R"({"__metadata__":{"k":1}})")), "f: expected text for \"k\" in __metadata__, got 1");
  EXPECT_EQ(why_not(file_of(R"({"__metadata__":[]})")), "f: expected __metadata__ to be an object, got a list");
  EXPECT_EQ(why_not(file_of(R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", std::string("\1\2"))),
            "f: tensor \"a\": expected 0 or 1 for a bool at byte 64, got 2");
  EXPECT_EQ(why_not(file_of("{\"a\xFF\":1}")), "f: the header is no valid JSON at byte 11");
  EXPECT_EQ(why_not(file_of(R"({"a":)")), "f: the header is no valid JSON at byte 13");
  EXPECT_EQ(why_not(file_of(R"({} x)")), "f: the header is no valid JSON at byte 11");
  using namespace std::string_literals;
  const std::string padding = "f: expected nothing but spaces after the header's JSON, got another byte at byte ";
  EXPECT_EQ(why_not(file_of("{}\0\0\0"s)), padding + "10");
  EXPECT_EQ(why_not(file_of("{}  \0"s)), padding + "12");
  EXPECT_EQ(why_not(file_of("{}\0{\"a\":1}"s)), padding + "10");
  EXPECT_EQ(why_not(file_of("{} \n"s)), padding + "11");
}

TEST(Load, SurvivesDeepNesting) {
  EXPECT_EQ(why_not(file_of("{\"a\":" + std::string(1'000'000, '['))),
            "f: tensor \"a\": expected an object, got a list");
  std::string deep = "{\"__metadata__\":{\"neura\":\"" + std::string(1'000'000, '[') + "\"}}";
  EXPECT_EQ(why_not(file_of(deep)), "f: the metadata entry \"neura\" is damaged");
}

TEST(Load, RefusesFilesOfALaterFormat) {
  EXPECT_EQ(why_not(file_of(R"({"__metadata__":{"neura":"{\"format\":2,\"version\":\"9.0\"}"}})")),
            "f: written by Neura 9.0 in file format 2, but this Neura, 0.1.0, reads up to 1; update Neura");
  EXPECT_EQ(parse(file_of(R"({"__metadata__":{"neura":"{\"format\":1,\"version\":\"0.0.1\"}"}})")).version, "0.0.1");
}

std::string saved_on(const std::string& device) {
  return file_of(R"({"__metadata__":{"neura":"{\"format\":1,\"tensors\":{\"a\":{\"device\":\")" + device +
                     R"(\"}}}"},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                 "\x05");
}

TEST(MapLocation, BringsTensorsOfAnotherDeviceHome) {
  const std::string bytes = saved_on("cuda:1");
  std::vector<std::string> asked;
  const auto by_function = [&](Device d) {
    asked.push_back(d.str());
    return Device();
  };
  const MapLocation maps[] = {MapLocation("cpu"), MapLocation(Device()), MapLocation{{"cuda:1", "cpu"}},
                              MapLocation(by_function)};
  for (const MapLocation& m : maps) {
    const Tensor a = parse(bytes, m).tensors.at("a");
    EXPECT_TRUE(a.device().is_cpu());
    EXPECT_EQ(a.data<std::uint8_t>()[0], 5);
  }
  EXPECT_EQ(asked, std::vector<std::string>{"cuda:1"});
}

TEST(MapLocation, IsNamedWhereADeviceIsMissing) {
  const std::string error = error_of<DeviceError>([] { parse(saved_on("cuda:7")); });
  EXPECT_EQ(error.rfind("f: tensor \"a\" was saved on cuda:7 and cannot go to cuda:7 here (", 0), 0u) << error;
  EXPECT_NE(error.find("pass map_location \"cpu\""), std::string::npos) << error;
  EXPECT_EQ(why_not(saved_on("toaster")), "f: tensor \"a\": expected a device such as \"cuda:0\", got \"toaster\"");
}

}  // namespace
}  // namespace neura

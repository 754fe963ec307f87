// Answers of PyPI's tokenizers 0.23.3, stored in files/expected.json, for tokenizers that it trained.
#include "neura/text/tokenizer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "neura/core/error.h"
#include "neura/core/file.h"
#include "tests/support/close.h"

namespace neura::text {
namespace {

using nlohmann::json;

std::string file(const std::string& name) {
  const char* source = std::getenv("NEURA_SOURCE");
  return std::string(source ? source : ".") + "/tests/text/files/" + name + ".json";
}

std::vector<std::uint32_t> flat(const Encoding& e) {
  std::vector<std::uint32_t> result;
  for (const auto& [begin, end] : e.offsets) result.insert(result.end(), {begin, end});
  return result;
}

TEST(Tokenizer, AnswersAreThoseOfTokenizers) {
  const json expected = json::parse(io::read_file(file("expected")));
  int texts = 0;
  for (const auto& [name, all] : expected["tokenizers"].items()) {
    const Tokenizer t = Tokenizer::from_file(file(name));
    for (const json& row : all["single"]) {
      const std::string text = row["text"];
      SCOPED_TRACE(name + ": " + text);
      const Encoding e = t.encode(text);
      EXPECT_EQ(e.ids, row["ids"].get<std::vector<std::uint32_t>>());
      EXPECT_EQ(flat(e), row["offsets"].get<std::vector<std::uint32_t>>());
      EXPECT_EQ(e.special_tokens_mask, row["special"].get<std::vector<std::uint8_t>>());
      EXPECT_EQ(t.decode(e.ids), row["decoded"].get<std::string>());
      ++texts;
    }
  }
  EXPECT_GE(texts, 300);
}

TEST(Tokenizer, PairsAndTruncation) {
  const json expected = json::parse(io::read_file(file("expected")));
  const std::string first = expected["first"], second = expected["second"];
  for (const auto& [name, all] : expected["tokenizers"].items()) {
    SCOPED_TRACE(name);
    Tokenizer t = Tokenizer::from_file(file(name));
    const Encoding e = t.encode(first, second);
    EXPECT_EQ(e.ids, all["pair"]["ids"].get<std::vector<std::uint32_t>>());
    EXPECT_EQ(e.type_ids, all["pair"]["types"].get<std::vector<std::uint32_t>>());
    t.enable_truncation({20});
    EXPECT_EQ(t.encode(first, second).ids, all["cut"].get<std::vector<std::uint32_t>>());
  }
}

TEST(Tokenizer, BatchesArePadded) {
  Tokenizer t = Tokenizer::from_file(file("bert"));
  t.enable_padding({"left", 3, 0, "[PAD]", {}, 8});
  const std::vector<std::string> texts = {"The quick brown fox", "jump"};
  const auto all = t.encode_batch(texts);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].size(), all[1].size());
  EXPECT_EQ(all[0].size() % 8, 0u);
  EXPECT_EQ(all[1].ids[0], 3u);
  EXPECT_EQ(all[1].attention_mask[0], 0);
  EXPECT_EQ(all[1].attention_mask.back(), 1);
  t.no_padding();
  EXPECT_EQ(t.encode(texts[1]).attention_mask, std::vector<std::uint8_t>(t.encode(texts[1]).size(), 1));
}

TEST(Tokenizer, Vocabulary) {
  const Tokenizer t = Tokenizer::from_file(file("bert"));
  EXPECT_EQ(t.token_to_id("[SEP]"), 2u);
  EXPECT_EQ(t.id_to_token(2), "[SEP]");
  EXPECT_FALSE(t.token_to_id("no such token"));
  EXPECT_FALSE(t.id_to_token(1u << 30));
  EXPECT_EQ(t.vocabulary().size(), t.vocabulary_size());
}

TEST(Tokenizer, WhatIsNoTokenizerIsRefused) {
  const char* const wrong[] = {"",
                               "{",
                               "[]",
                               "7",
                               "{}",
                               R"({"model": {"type": "BPE"}})",
                               R"({"model": {"type": "WordLevel", "vocab": {"a": -1}}})",
                               R"({"model": {"type": "WordLevel", "vocab": {"a": 1e30}}})",
                               R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}})",
                               R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["a"]]}})",
                               R"({"model": {"type": "Unigram", "vocab": [["a"]]}})",
                               R"({"model": {"type": "Unigram", "vocab": [["a", 0]], "unk_id": 1}})",
                               R"({"model": {"type": "WordLevel", "vocab": {}}, "normalizer": 3})"};
  for (const char* text : wrong) EXPECT_THROW(Tokenizer::from_json(text), FormatError) << text;
  std::string deep = R"({"model": {"type": "WordLevel", "vocab": {}}, "normalizer": )";
  for (int i = 0; i < 1000; ++i) deep += R"({"type": "Sequence", "normalizers": [)";
  for (int i = 0; i < 1000; ++i) deep += "]}";
  EXPECT_THROW(Tokenizer::from_json(deep + "}"), FormatError);
}

TEST(Tokenizer, WhatIsMissingIsNamed) {
  const auto text = [](const std::string& more) {
    return R"({"model": {"type": "WordLevel", "vocab": {"a": 0}}, )" + more + "}";
  };
  EXPECT_EQ(test::error_of<NotImplementedError>(
                [&] { Tokenizer::from_json(text(R"("normalizer": {"type": "Precompiled"})")); }),
            "Tokenizer: the normalizer Precompiled is not implemented");
  EXPECT_THROW(Tokenizer::from_json(text(R"("pre_tokenizer":
      {"type": "Split", "pattern": {"Regex": "x+"}, "behavior": "Isolated"})")),
               NotImplementedError);
}

TEST(Tokenizer, BytesThatAreNoTextAreReplaced) {
  const Tokenizer t = Tokenizer::from_file(file("gpt2"));
  for (const char* bytes : {"\xff", "a\xc3", "\xe2\x82", "\xf0\x9f\x98z", "\xed\xa0\x80", "\xc0\xaf"}) {
    const std::string back = t.decode(t.encode(bytes).ids);
    EXPECT_NE(back.find("\xef\xbf\xbd"), std::string::npos);
  }
}

}  // namespace
}  // namespace neura::text

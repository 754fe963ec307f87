// RegexFullMatch's patterns. The answers are RE2's.
#include "neura/onnx/regex.h"

#include <gtest/gtest.h>

#include "neura/core/error.h"
#include "tests/onnx/build.h"
#include "tests/support/close.h"

namespace neura::test {
namespace {

using onnx::Regex;

struct Case {
  const char *pattern, *text;
  bool matches;
};

TEST(Regex, AnswersAreRe2s) {
  const Case cases[] = {
      {"", "", true},
      {"", "a", false},
      {"a|ab", "ab", true},  // all of the text, whichever way comes first
      {"(a|ab)(c|bcd)", "abcd", true},
      {"a*?b+?c??", "aabb", true},
      {"a{2}", "a", false},
      {"a{2,}", "aaaa", true},
      {"a{1,3}", "aaaa", false},
      {"a{,2}", "a{,2}", true},  // no repetition
      {"(a*)*", "aaa", true},
      {"(|a)+", "aaa", true},
      {".", "\n", false},
      {"(?s).", "\n", true},
      {"..", "\xc3\xa9x", true},  // characters, not bytes
      {".", "\xc3", false},       // no UTF-8
      {"[^a]", "\xff", false},
      {"[\xc3\xa0-\xc3\xbf]", "\xc3\xa9", true},
      {"[]a]+", "]a]", true},
      {"[^]a]", "]", false},
      {"[a-c-]+", "b-", true},
      {"[[:alpha:][:^digit:]]+", "ab ", true},
      {R"(\w\W\d\D\s\S)", "_-9x\fx", true},
      {R"(\s)", "\v", false},
      {"[[:space:]]", "\v", true},
      {R"(\x41\x{e9}\101\a\n)", "A\xc3\xa9\x41\a\n", true},
      {R"(\Qa.b\E+c)", "a.bbc", true},
      {R"(\Q.)", ".", true},
      {R"(\bab\b \Bb?)", "ab ", true},
      {R"(a\Bb\b)", "ab", true},
      {R"(\B)", "", true},
      {"^a$", "a", true},
      {"a$\n^b", "a\nb", false},
      {"(?m)a$\n^b", "a\nb", true},
      {R"(\Aa\z)", "a", true},
      {"(?i)Kk[a-c]", "k\xe2\x84\xaa\x42", true},  // the Kelvin sign is a k
      {"(?i)[^a]", "A", false},
      {"(?i:a)a", "AA", false},
      {"(?i)a(?-i)b", "AB", false},
      {"(?P<x>a)(?<y>b)(?:c)", "abc", true},
      {"(?U)a+", "aaa", true},
      {"a(?i)", "a", true},
  };
  for (const Case& c : cases) EXPECT_EQ(Regex(c.pattern).matches(c.text), c.matches) << c.pattern << " of " << c.text;
}

TEST(Regex, WhatRe2RefusesIsRefused) {
  const char* bad[] = {
      "a**",           "(a",        "a)",         "[a",      "[",      "(?=a)",   "(?!a)", "(?<=a)",    R"(\1)",
      R"(\y)",         "\\",        "*a",         "(*)",     "a{2,1}", "a{1001}", "[b-a]", R"([a-\d])", R"(\xzz)",
      R"(\x{110000})", "[[:foo:]]", "(?P<a-b>c)", "x{2}{3}", "(?z)",   "(?i",     "\xff",  "a(?i",      "(?P<a"};
  for (const char* pattern : bad) EXPECT_THROW(Regex{pattern}, ValueError) << pattern;
  EXPECT_EQ(
      error_of<ValueError>([] { Regex("a(b"); }),
      "RegexFullMatch: expected a pattern in the syntax of RE2, got \"a(b\" with a ( that nothing closes; correct "
      "the pattern");
  for (const char* pattern : {R"(\pL)", R"([\p{Greek}])", R"(\C)", "(?i)\xc3\xa9"})
    EXPECT_THROW(Regex{pattern}, NotImplementedError) << pattern;
}

TEST(Regex, NoPatternTakesLongOrMuch) {
  const std::string text = std::string(20000, 'a') + "b";
  EXPECT_FALSE(Regex("(a+)+").matches(text));  // 2^20000 ways for who tries one after the other
  EXPECT_TRUE(Regex("(a|aa|a*)*b").matches(text));
  EXPECT_NO_THROW(Regex("((((){1000}){1000}){1000}){1000}"));
  EXPECT_EQ(error_of<ValueError>([] { Regex("((a{1000}){1000}){1000}"); }),
            "RegexFullMatch: expected a pattern of at most 32768 steps, got more; repeat less");
  EXPECT_THROW(Regex(std::string(100000, '(')), ValueError);
  EXPECT_NO_THROW(Regex(std::string(100, '(') + "a" + std::string(100, ')')));
}

TEST(Regex, TheOperatorMatchesEachText) {
  onnx::ModelProto m =
      model(graph({node("RegexFullMatch", {"x"}, {"y"}, {attribute("pattern", "a+")})}, {"x"}, {"y"}), 20);
  const Tensor y = load(m)->forward({onnx::Value(onnx::Text{{2, 2}, {"a", "b", "aa", ""}})})[0].tensor;
  EXPECT_EQ(y.shape(), (Shape{2, 2}));
  expect_close(y, tensor({{true, false}, {true, false}}));
  m.graph.node[0].attribute.clear();
  EXPECT_EQ(error_of<ValueError>([&] { load(m); }),
            "node \"RegexFullMatch_of_y\" (RegexFullMatch): RegexFullMatch: expected a pattern, got none; the model is "
            "not what this operator takes");
}

}  // namespace
}  // namespace neura::test

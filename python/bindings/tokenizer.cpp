// neura.text: tokenizers.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "common.h"
#include "neura/text/tokenizer.h"

namespace neura::python {
namespace {

using text::Tokenizer;

struct Kept {
  std::shared_ptr<Tokenizer> tokenizer;
};
struct Encoded {
  text::Encoding e;
  std::shared_ptr<Tokenizer> tokenizer;
};

void refuse_words(bool is_pretokenized) {
  if (is_pretokenized)
    throw NotImplementedError("Tokenizer: is_pretokenized is not implemented; join the words with spaces");
}

Encoded encode(const Kept& t, const std::string& sequence, const std::optional<std::string>& pair, bool is_pretokenized,
               bool add_special_tokens) {
  refuse_words(is_pretokenized);
  const nb::gil_scoped_release free;
  return {pair ? t.tokenizer->encode(sequence, *pair, add_special_tokens)
               : t.tokenizer->encode(sequence, add_special_tokens),
          t.tokenizer};
}

std::vector<Encoded> encode_batch(const Kept& t, nb::sequence input, bool is_pretokenized, bool add_special_tokens) {
  refuse_words(is_pretokenized);
  std::vector<std::string> texts;
  std::vector<std::pair<std::string, std::string>> pairs;
  for (nb::handle item : input) {
    if (PyUnicode_Check(item.ptr())) texts.push_back(nb::cast<std::string>(item));
    else pairs.push_back(nb::cast<std::pair<std::string, std::string>>(item));
  }
  if (!texts.empty() && !pairs.empty())
    throw ValueError("Tokenizer: expected texts or pairs of texts, got both; encode them in two calls");
  std::vector<text::Encoding> all;
  {
    const nb::gil_scoped_release free;
    all = pairs.empty() ? t.tokenizer->encode_batch(texts, add_special_tokens)
                        : t.tokenizer->encode_batch(pairs, add_special_tokens);
  }
  std::vector<Encoded> result;
  for (text::Encoding& e : all) result.push_back({std::move(e), t.tokenizer});
  return result;
}

std::vector<std::string> tokens(const Encoded& x) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < x.e.size(); ++i) result.push_back(x.tokenizer->id_to_token(x.e.ids[i]).value_or(""));
  return result;
}

nb::dict vocabulary(const Kept& t, bool with_added_tokens) {
  nb::dict result;
  for (const auto& [token, id] : t.tokenizer->vocabulary(with_added_tokens))
    result[nb::str(token.data(), token.size())] = nb::int_(id);
  return result;
}

Kept kept(Tokenizer&& t) { return {std::make_shared<Tokenizer>(std::move(t))}; }

void bind_encoding(nb::module_& m) {
  nb::class_<Encoded>(m, "Encoding", "What a text became: lists of one length.")
      .def_prop_ro(
          "ids", [](const Encoded& x) { return x.e.ids; }, "The ids of the tokens.")
      .def_prop_ro(
          "type_ids", [](const Encoded& x) { return x.e.type_ids; }, "Which text a token is of: 0 or 1.")
      .def_prop_ro("tokens", &tokens, "The tokens as the vocabulary spells them.")
      .def_prop_ro(
          "offsets", [](const Encoded& x) { return x.e.offsets; },
          "(begin, end) of each token, in characters of its text.")
      .def_prop_ro(
          "special_tokens_mask",
          [](const Encoded& x) {
            return std::vector<int>(x.e.special_tokens_mask.begin(), x.e.special_tokens_mask.end());
          },
          "1 for tokens that the tokenizer added.")
      .def_prop_ro(
          "attention_mask",
          [](const Encoded& x) { return std::vector<int>(x.e.attention_mask.begin(), x.e.attention_mask.end()); },
          "0 for padding.")
      .def("__len__", [](const Encoded& x) { return x.e.size(); });
}

void bind_options(nb::class_<Kept>& t) {
  t.def(
       "enable_truncation",
       [](Kept& x, std::size_t max_length, std::size_t stride, const std::string& strategy,
          const std::string& direction) {
         if (stride) throw NotImplementedError("Tokenizer: a stride of truncation is not implemented");
         x.tokenizer->enable_truncation({max_length, strategy, direction});
       },
       "max_length"_a, "stride"_a = 0, "strategy"_a = "longest_first", "direction"_a = "right",
       "At most max_length tokens, special ones included. strategy: of a pair, what is cut: longest_first, only_first "
       "or\n"
       "only_second; direction: at which side. ValueError for other words.")
      .def(
          "no_truncation", [](Kept& x) { x.tokenizer->no_truncation(); }, "Encodes all of a text.")
      .def(
          "enable_padding",
          [](Kept& x, const std::string& direction, std::uint32_t pad_id, std::uint32_t pad_type_id,
             const std::string& pad_token, std::optional<std::size_t> length, std::optional<std::size_t> multiple) {
            x.tokenizer->enable_padding({direction, pad_id, pad_type_id, pad_token, length, multiple});
          },
          "direction"_a = "right", "pad_id"_a = 0, "pad_type_id"_a = 0, "pad_token"_a = "[PAD]",
          "length"_a = nb::none(), "pad_to_multiple_of"_a = nb::none(),
          "Fills every encoding up to `length`, or to the longest of its batch. ValueError for another direction than\n"
          "left and right.")
      .def(
          "no_padding", [](Kept& x) { x.tokenizer->no_padding(); }, "Encodings have the lengths of their texts.");
}

}  // namespace

void bind_tokenizer(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_text", "Tokenizers.");
  bind_encoding(m);
  nb::class_<Kept> t(m, "Tokenizer", "A tokenizer of a file tokenizer.json. May encode in several threads.");
  t.def_static(
       "from_file", [](const std::string& path) { return kept(Tokenizer::from_file(path)); }, "path"_a,
       "The tokenizer of a file. IoError; FormatError where it is no tokenizer.json; NotImplementedError for a\n"
       "part that is not there.")
      .def_static(
          "from_str", [](const std::string& json) { return kept(Tokenizer::from_json(json)); }, "json"_a,
          "The same of the text of such a file.")
      .def("encode", &encode, "sequence"_a, "pair"_a = nb::none(), "is_pretokenized"_a = false,
           "add_special_tokens"_a = true, "The Encoding of a text, or of a pair of texts.")
      .def("encode_batch", &encode_batch, "input"_a, "is_pretokenized"_a = false, "add_special_tokens"_a = true,
           "A list of Encodings, of a list of texts or of pairs (first, second), computed in threads.")
      .def(
          "decode",
          [](const Kept& x, const std::vector<std::uint32_t>& ids, bool skip) {
            return x.tokenizer->decode(ids, skip);
          },
          "ids"_a, "skip_special_tokens"_a = true, "The text of ids; ids that are unknown are left out.")
      .def(
          "token_to_id", [](const Kept& x, const std::string& token) { return x.tokenizer->token_to_id(token); },
          "token"_a, "The id, or None.")
      .def(
          "id_to_token", [](const Kept& x, std::uint32_t id) { return x.tokenizer->id_to_token(id); }, "id"_a,
          "The token, or None.")
      .def("get_vocab", &vocabulary, "with_added_tokens"_a = true, "A dictionary from tokens to ids.")
      .def(
          "get_vocab_size", [](const Kept& x, bool added) { return x.tokenizer->vocabulary_size(added); },
          "with_added_tokens"_a = true, "How many tokens there are.");
  bind_options(t);
}

}  // namespace neura::python

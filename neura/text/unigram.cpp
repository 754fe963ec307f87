// The most probable cut of a piece (Kudo 2018, https://arxiv.org/abs/1804.10959), by Viterbi's algorithm.
#include <algorithm>
#include <limits>

#include "neura/text/fields.h"
#include "neura/text/model.h"

namespace neura::text {
namespace {

class Unigram final : public Model {
 public:
  explicit Unigram(const json& from) {
    const json& vocab = list_field(from, "vocab");
    double least = std::numeric_limits<double>::infinity();
    for (const json& entry : vocab) {
      if (!entry.is_array() || entry.size() != 2 || !entry[1].is_number())
        refuse_format("expected an entry of vocab to be a token and its score");
      const std::string token = text_of(entry[0], "a token of vocab");
      const auto id = std::uint32_t(scores_.size());
      vocabulary.add(token, id);
      if (!token.empty()) trie_.add(token, id);
      scores_.push_back(entry[1].get<double>());
      least = std::min(least, scores_.back());
    }
    const json& unknown = field(from, "unk_id");
    if (!unknown.is_null()) {
      unknown_ = number_of(unknown, "unk_id");
      if (*unknown_ >= scores_.size())
        refuse_format("expected unk_id to be below " + std::to_string(scores_.size()) + ", got " +
                      std::to_string(*unknown_));
    }
    unknown_score_ = least - 10;
    if (flag_field(from, "byte_fallback", false)) bytes_ = byte_tokens(vocabulary);
  }

  void tokenize(std::string_view piece, std::vector<Token>& to) const override {
    const std::vector<Step> best = search(piece);
    const std::size_t first = to.size();
    for (auto end = std::uint32_t(piece.size()); end > 0; end = best[end].from)
      to.push_back({best[end].id, {best[end].from, end}});
    std::reverse(to.begin() + std::ptrdiff_t(first), to.end());
    if (unknown_) fuse(piece, first, to);
  }

 private:
  struct Step {
    double score = 0;
    std::uint32_t from = 0, id = Trie::kNone;
    bool reached = false;
  };

  std::vector<Step> search(std::string_view piece) const {
    std::vector<Step> best(piece.size() + 1);
    const auto offer = [&](std::size_t from, std::size_t to, std::uint32_t id, double score) {
      const double total = best[from].score + score;
      if (!best[to].reached || total > best[to].score) best[to] = {total, std::uint32_t(from), id, true};
    };
    for (std::size_t i = 0, after; i < piece.size(); i = after) {
      after = i;
      next(piece, after);
      bool single = false;
      std::uint32_t node = 0;
      for (std::size_t k = i; k < piece.size() && (node = trie_.step(node, piece[k])); ++k) {
        const std::uint32_t id = trie_.value(node);
        if (id == Trie::kNone) continue;
        offer(i, k + 1, id, scores_[id]);
        single |= k + 1 == after;
      }
      if (single) continue;
      if (!unknown_)
        throw ValueError("Tokenizer: expected characters of the vocabulary, as the model has no unk_id; got others");
      offer(i, after, *unknown_, unknown_score_);
    }
    return best;
  }

  // Unknown characters that follow each other are one token, or those of their bytes.
  void fuse(std::string_view piece, std::size_t first, std::vector<Token>& to) const {
    std::vector<Token> result;
    for (std::size_t i = first; i < to.size();) {
      if (to[i].id != *unknown_) {
        result.push_back(to[i++]);
        continue;
      }
      Span span = to[i].span;
      while (++i < to.size() && to[i].id == *unknown_) span.end = to[i].span.end;
      const std::string_view letters = piece.substr(span.begin, span.end - span.begin);
      const auto has = [&](char c) { return bytes_[static_cast<unsigned char>(c)].has_value(); };
      if (bytes_.empty() || !std::all_of(letters.begin(), letters.end(), has)) result.push_back({*unknown_, span});
      else
        for (const char c : letters) result.push_back({*bytes_[static_cast<unsigned char>(c)], span});
    }
    to.resize(first);
    to.insert(to.end(), result.begin(), result.end());
  }

  Trie trie_;
  std::vector<double> scores_;
  std::optional<std::uint32_t> unknown_;
  double unknown_score_;
  std::vector<std::optional<std::uint32_t>> bytes_;
};

}  // namespace

std::unique_ptr<Model> make_unigram(const json& from) { return std::make_unique<Unigram>(from); }

}  // namespace neura::text

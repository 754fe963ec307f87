// Byte pair encoding (Sennrich et al. 2016, https://arxiv.org/abs/1508.07909).
#include <queue>

#include "neura/text/fields.h"
#include "neura/text/model.h"

namespace neura::text {
namespace {

struct Merge {
  std::uint32_t rank, id;
};

struct Symbol {
  std::uint32_t id, begin, end;
  int before, after;  // -1 at the ends
  bool gone = false;
};

struct Candidate {
  std::uint32_t rank;
  int at;
  std::uint32_t id;
  bool operator<(const Candidate& o) const { return rank != o.rank ? rank > o.rank : at > o.at; }
};

class Bpe final : public Model {
 public:
  explicit Bpe(const json& from) {
    const json& dropout = field(from, "dropout");
    if (dropout.is_number() ? dropout.get<double>() != 0 : !dropout.is_null()) not_there("dropout of the model BPE");
    read_vocabulary(from, vocabulary);
    prefix_ = text_field(from, "continuing_subword_prefix", "");
    suffix_ = text_field(from, "end_of_word_suffix", "");
    fuse_ = flag_field(from, "fuse_unk", false);
    whole_ = flag_field(from, "ignore_merges", false);
    if (flag_field(from, "byte_fallback", false)) bytes_ = byte_tokens(vocabulary);
    if (!field(from, "unk_token").is_null()) {
      unknown_ = vocabulary.find(text_field(from, "unk_token"));
      if (!unknown_) refuse_format("expected unk_token " + text_field(from, "unk_token") + " to be in vocab");
    }
    read_merges(list_field(from, "merges"));
  }

  void tokenize(std::string_view piece, std::vector<Token>& to) const override {
    if (whole_)
      if (const auto id = vocabulary.find(piece)) return to.push_back({*id, {0, std::uint32_t(piece.size())}});
    std::vector<Symbol> symbols = letters(piece);
    merge(symbols);
    for (const Symbol& s : symbols)
      if (!s.gone) to.push_back({s.id, {s.begin, s.end}});
  }

 private:
  void read_merges(const json& merges) {
    merges_.reserve(merges.size());
    std::uint32_t rank = 0;
    for (const json& m : merges) {
      std::string a, b;
      if (m.is_array() && m.size() == 2) {
        a = text_of(m[0], "a merge"), b = text_of(m[1], "a merge");
      } else {
        const std::string both = text_of(m, "a merge");
        const std::size_t gap = both.find(' ');
        if (gap == both.npos || both.find(' ', gap + 1) != both.npos)
          refuse_format("expected a merge to be two tokens with a space between, got " + both);
        a = both.substr(0, gap), b = both.substr(gap + 1);
      }
      if (b.size() < prefix_.size()) refuse_format("expected the merge " + a + " " + b + " to begin with " + prefix_);
      const auto left = vocabulary.find(a), right = vocabulary.find(b),
                 both = vocabulary.find(a + b.substr(prefix_.size()));
      if (!left || !right || !both)
        refuse_format("expected the parts and the result of the merge " + a + " " + b + " in vocab");
      merges_[std::uint64_t(*left) << 32 | *right] = {rank++, *both};
    }
  }

  // A symbol for each character, and a replacement for those that the vocabulary does not have.
  std::vector<Symbol> letters(std::string_view piece) const {
    std::vector<Symbol> symbols;
    symbols.reserve(piece.size());
    std::string affixed;
    bool open = false;  // whether the last symbol is an unknown one that may take more
    for (std::size_t i = 0; i < piece.size();) {
      const std::size_t begin = i;
      next(piece, i);
      std::string_view letter = piece.substr(begin, i - begin);
      if (!prefix_.empty() || !suffix_.empty()) {
        affixed = (begin ? prefix_ : "") + std::string(letter) + (i == piece.size() ? suffix_ : "");
        letter = affixed;
      }
      const auto put = [&](std::uint32_t id, std::size_t from, std::size_t to) {
        symbols.push_back({id, std::uint32_t(from), std::uint32_t(to), 0, 0});
      };
      if (const auto id = vocabulary.find(letter)) {
        put(*id, begin, i);
        open = false;
      } else if (in_bytes(letter)) {
        for (const char c : letter) put(*bytes_[static_cast<unsigned char>(c)], begin, i);
        open = false;
      } else if (unknown_ && open && fuse_) {
        symbols.back().end = std::uint32_t(i);
      } else if (unknown_) {
        put(*unknown_, begin, i);
        open = true;
      }
    }
    for (std::size_t k = 0; k < symbols.size(); ++k)
      symbols[k].before = int(k) - 1, symbols[k].after = k + 1 < symbols.size() ? int(k) + 1 : -1;
    return symbols;
  }

  bool in_bytes(std::string_view letter) const {
    if (bytes_.empty()) return false;
    for (const char c : letter)
      if (!bytes_[static_cast<unsigned char>(c)]) return false;
    return true;
  }

  const Merge* merge_of(const std::vector<Symbol>& s, int left) const {
    if (left < 0 || s[std::size_t(left)].after < 0) return nullptr;
    const Symbol& a = s[std::size_t(left)];
    const auto found = merges_.find(std::uint64_t(a.id) << 32 | s[std::size_t(a.after)].id);
    return found == merges_.end() ? nullptr : &found->second;
  }

  void merge(std::vector<Symbol>& s) const {
    std::priority_queue<Candidate> queue;
    const auto offer = [&](int left) {
      if (const Merge* m = merge_of(s, left)) queue.push({m->rank, left, m->id});
    };
    for (int i = 0; i < int(s.size()); ++i) offer(i);
    while (!queue.empty()) {
      const Candidate best = queue.top();
      queue.pop();
      Symbol& a = s[std::size_t(best.at)];
      const Merge* now = a.gone ? nullptr : merge_of(s, best.at);
      if (!now || now->id != best.id) continue;  // one of the two has changed meanwhile
      Symbol& b = s[std::size_t(a.after)];
      b.gone = true;
      a.id = best.id, a.end = b.end, a.after = b.after;
      if (a.after >= 0) s[std::size_t(a.after)].before = best.at;
      offer(a.before);
      offer(best.at);
    }
  }

  std::string prefix_, suffix_;
  bool fuse_, whole_;
  std::optional<std::uint32_t> unknown_;
  std::vector<std::optional<std::uint32_t>> bytes_;
  std::unordered_map<std::uint64_t, Merge> merges_;
};

}  // namespace

std::unique_ptr<Model> make_bpe(const json& from) { return std::make_unique<Bpe>(from); }

}  // namespace neura::text

#include "neura/text/pipeline.h"

#include "neura/text/fields.h"

namespace neura::text {
namespace {

void put(Encoding& to, std::uint32_t id, Span source) {
  to.ids.push_back(id);
  to.offsets.emplace_back(source.begin, source.end);
}

// Without the spaces that an added token took from its neighbourhood.
Span without_spaces(std::string_view all, std::size_t begin, std::size_t end) {
  const auto space = [&](std::size_t i) { return is_space(at(all, i)); };
  while (begin < end && space(begin)) next(all, begin);
  for (std::size_t last = end; begin < end; end = last) {
    do --last;
    while (!starts_character(all[last]));
    if (!space(last)) break;
  }
  return {std::uint32_t(begin), std::uint32_t(end)};
}

// Bytes as their letters, and of each byte of the letters which byte it represents.
void tokenize_mapped(const Model& model, std::string_view piece, std::vector<Token>& to) {
  std::string letters;
  std::vector<std::uint32_t> from;
  for (std::size_t i = 0; i < piece.size(); ++i) {
    append(letters, letter_of_byte(static_cast<unsigned char>(piece[i])));
    from.resize(letters.size(), std::uint32_t(i));
  }
  const std::size_t first = to.size();
  model.tokenize(letters, to);
  for (std::size_t k = first; k < to.size(); ++k) to[k].span = {from[to[k].span.begin], from[to[k].span.end - 1] + 1};
}

// Offsets of bytes become offsets of characters.
void count_characters(std::string_view text, Encoding& e) {
  if (is_ascii(text)) return;
  std::vector<std::uint32_t> character(text.size() + 1);
  std::uint32_t n = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    n += starts_character(text[i]);
    character[i] = n - 1;
  }
  character[text.size()] = n;
  for (auto& [begin, end] : e.offsets) {
    const bool empty = begin == end;
    begin = character[begin];
    end = empty ? begin : character[end - 1] + 1;
  }
}

}  // namespace

Pipeline::Pipeline(const json& from) {
  if (!from.is_object()) refuse_format("expected an object, got " + kind_of(from));
  model = make_model(field(from, "model"));
  if (const json& v = field(from, "normalizer"); !v.is_null()) normalizer = make_normalizer(v);
  if (const json& v = field(from, "pre_tokenizer"); !v.is_null()) pre_tokenizer = make_pre_tokenizer(v);
  if (const json& v = field(from, "post_processor"); !v.is_null()) post = make_post_processor(v);
  if (const json& v = field(from, "decoder"); !v.is_null()) decoder = make_decoder(v);
  if (const json& v = field(from, "added_tokens"); !v.is_null()) read_added(list_field(from, "added_tokens"));
}

void Pipeline::read_added(const json& from) {
  for (const json& v : from) {
    AddedToken t{text_field(v, "content"),
                 number_field(v, "id"),
                 flag_field(v, "special", false),
                 flag_field(v, "single_word", false),
                 flag_field(v, "lstrip", false),
                 flag_field(v, "rstrip", false),
                 false};
    t.normalized = flag_field(v, "normalized", !t.special);
    by_id_[t.id] = added.size();
    added.push_back(t);
    if (t.normalized) normalized_.add(t, normalized(t.content, 0).bytes);
    else raw_.add(t, t.content);
  }
}

Buffer Pipeline::normalized(std::string_view text, std::size_t base) const {
  Buffer result;
  result.base = std::uint32_t(base);
  if (!normalizer || (normalizer->keeps_ascii() && is_ascii(text))) {
    result.bytes = text;
    return result;
  }
  std::vector<Unit> units;
  units.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    const char32_t c = next(text, i);
    units.push_back({c, std::uint32_t(base + begin), std::uint32_t(base + i)});
  }
  normalizer->apply(units);
  result.bytes.reserve(text.size());
  result.from.reserve(text.size());
  for (const Unit& u : units) {
    append(result.bytes, u.c);
    result.from.resize(result.bytes.size(), {u.begin, u.end});
  }
  return result;
}

void Pipeline::words(Buffer& text, WordCache& cache, Encoding& to) const {
  if (text.bytes.empty()) return;
  text.pieces = {{0, std::uint32_t(text.bytes.size())}};
  if (pre_tokenizer) pre_tokenizer->split(text);
  const auto make = [&](std::string_view piece, std::vector<Token>& tokens) {
    if (text.mapped) tokenize_mapped(*model, piece, tokens);
    else model->tokenize(piece, tokens);
  };
  for (const Span piece : text.pieces) {
    if (piece.begin == piece.end) continue;
    for (const Token& t : cache.get(text.piece(piece), make))
      put(to, t.id, text.source({piece.begin + t.span.begin, piece.begin + t.span.end}));
  }
}

void Pipeline::stretch(std::string_view text, std::size_t base, WordCache& cache, Encoding& to) const {
  Buffer all = normalized(text, base);
  const bool trims = post && post->trims();
  normalized_.cut(
      all.bytes,
      [&](std::size_t begin, std::size_t end) {
        if (begin == 0 && end == all.bytes.size()) return words(all, cache, to);  // nothing comes after it
        Buffer part;
        part.bytes = all.bytes.substr(begin, end - begin);
        part.base = all.base + std::uint32_t(begin);
        if (!all.from.empty())
          part.from.assign(all.from.begin() + std::ptrdiff_t(begin), all.from.begin() + std::ptrdiff_t(end));
        words(part, cache, to);
      },
      [&](std::size_t begin, std::size_t end, std::uint32_t id) {
        put(to, id,
            all.source(trims ? without_spaces(all.bytes, begin, end) : Span{std::uint32_t(begin), std::uint32_t(end)}));
      });
}

std::unique_ptr<WordCache> Pipeline::borrow() const {
  const std::lock_guard guard(lock_);
  if (caches_.empty()) return std::make_unique<WordCache>();
  std::unique_ptr<WordCache> result = std::move(caches_.back());
  caches_.pop_back();
  return result;
}

Encoding Pipeline::tokens_of(std::string_view text) const {
  if (text.size() > INT32_MAX)
    throw ValueError("Tokenizer: expected a text of less than 2^31 bytes, got " + std::to_string(text.size()) +
                     "; cut it");
  std::string mended;
  if (!is_utf8(text)) text = mended = repaired(text);
  Encoding result;
  result.ids.reserve(text.size() / 4);
  result.offsets.reserve(text.size() / 4);
  std::unique_ptr<WordCache> cache = borrow();
  const bool trims = post && post->trims();
  raw_.cut(
      text,
      [&](std::size_t begin, std::size_t end) { stretch(text.substr(begin, end - begin), begin, *cache, result); },
      [&](std::size_t begin, std::size_t end, std::uint32_t id) {
        put(result, id, trims ? without_spaces(text, begin, end) : Span{std::uint32_t(begin), std::uint32_t(end)});
      });
  {
    const std::lock_guard guard(lock_);
    caches_.push_back(std::move(cache));
  }
  count_characters(text, result);
  result.type_ids.resize(result.size());
  result.special_tokens_mask.resize(result.size());
  result.attention_mask.resize(result.size(), 1);
  if (trims) {
    std::vector<const std::string*> tokens;
    for (const std::uint32_t id : result.ids) tokens.push_back(token(id));
    post->trim(result, tokens);
  }
  return result;
}

const std::string* Pipeline::token(std::uint32_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? model->vocabulary.token(id) : &added[found->second].content;
}

std::string Pipeline::decode(std::span<const std::uint32_t> ids, bool skip_special_tokens) const {
  std::vector<std::string> tokens;
  for (const std::uint32_t id : ids) {
    const auto found = by_id_.find(id);
    if (skip_special_tokens && found != by_id_.end() && added[found->second].special) continue;
    if (const std::string* t = token(id)) tokens.push_back(*t);
  }
  if (decoder) decoder->apply(tokens);
  std::string result;
  for (std::size_t i = 0; i < tokens.size(); ++i) (result += i && !decoder ? " " : "") += tokens[i];
  return result;
}

}  // namespace neura::text

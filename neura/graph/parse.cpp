// From text to a program.
#include <charconv>
#include <cstring>
#include <map>

#include "neura/core/checked_int.h"
#include "neura/graph/foreign.h"
#include "neura/graph/program_internal.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"

namespace neura::graph {
namespace {

bool fits_into_memory(const Spec& s) {
  CheckedInt last = s.offset;
  for (int d = 0; d < s.rank; ++d) {
    if (s.strides[d] < 0) return false;
    last = last + CheckedInt(s.shape[d]) * s.strides[d];
  }
  return s.offset >= 0 && (last * 16).fits();
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Program all() {
    next_line();
    if (line_ != "program") refuse("\"program\"");
    bool ended = false;
    while (!ended && next_line()) ended = statement();
    if (!ended) refuse("a line that begins with \"return\"");
    if (next_line()) refuse("nothing after \"return\"");
    return std::move(p_);
  }

 private:
  bool next_line() {  // that is not empty
    do {
      if (text_.empty()) return line_ = {}, false;
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      line_ = text_.substr(0, end), text_.remove_prefix(std::min(end + 1, text_.size())), ++number_;
      while (!line_.empty() && (line_.back() == ' ' || line_.back() == '\r')) line_.remove_suffix(1);
      skip_spaces();
    } while (line_.empty());
    return true;
  }
  [[noreturn, gnu::cold]] void refuse(const std::string& what) const {
    throw ValueError("program: expected " + what + ", got " +
                     (line_.empty() ? "the end" : "\"" + std::string(line_.substr(0, 30)) + "\"") + " in line " +
                     std::to_string(number_));
  }
  void skip_spaces() {
    while (!line_.empty() && line_[0] == ' ') line_.remove_prefix(1);
  }
  bool skip(std::string_view token) {  // a word ends where it ends
    if (!line_.starts_with(token)) return false;
    const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    if (letter(token.back()) && line_.size() > token.size() && letter(line_[token.size()])) return false;
    return line_.remove_prefix(token.size()), skip_spaces(), true;
  }
  void need(std::string_view token) {
    if (!skip(token)) refuse("\"" + std::string(token) + "\"");
  }
  std::string_view up_to(std::string_view ends, const char* what) {  // not empty
    const std::size_t n = std::min(line_.find_first_of(ends), line_.size());
    if (!n) refuse(what);
    const std::string_view word = line_.substr(0, n);
    return line_.remove_prefix(n), skip_spaces(), word;
  }
  std::int64_t integer() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(line_.data(), line_.data() + line_.size(), value);
    if (error != std::errc()) refuse("an integer");
    return line_.remove_prefix(std::size_t(end - line_.data())), skip_spaces(), value;
  }

  ValueId defines() {  // the name of a new value
    need("%");
    const std::int64_t name = integer();
    const auto id = ValueId(p_.values.size() + new_++);
    if (!ids_.emplace(name, id).second)
      refuse("a value that is defined once, not %" + std::to_string(name) + " again; then");
    return id;
  }
  ValueId uses() {
    need("%");
    const std::int64_t name = integer();
    const auto at = ids_.find(name);
    if (at == ids_.end()) refuse("a value that is defined before, not %" + std::to_string(name) + "; then");
    return at->second;
  }
  Shape sizes() {
    need("[");
    Shape s;
    while (!skip("]")) {
      if (s.size() == kMaxRank) refuse("at most " + std::to_string(kMaxRank) + " dimensions");
      if (!s.empty()) need(",");
      s.push_back(integer());
    }
    return s;
  }
  Spec spec() {
    const std::string_view word = up_to(" ", "a dtype");
    int d = 0;
    while (d < kDTypes && word != name(DType(d))) ++d;
    if (d == kDTypes) refuse("a dtype, not " + std::string(word) + "; then");
    check<NotImplementedError>(dtypes::compiled & bit(DType(d)), [&] {
      return "program: expected a dtype that this library has kernels for, got " + std::string(word) + " in line " +
             std::to_string(number_) + "; use the one that has all of them";
    });
    Spec s = Spec::dense(DType(d), sizes());
    if (skip("strides")) {
      const Shape strides = sizes();
      if (strides.size() != s.rank) refuse(std::to_string(s.rank) + " strides");
      std::copy(strides.begin(), strides.end(), s.strides), s.finish();
    }
    if (skip("offset")) s.offset = integer();
    if (!fits_into_memory(s)) refuse("strides and an offset that fit into memory; then");
    if (skip("on")) s.device = Device(up_to(" ;", "a device"));
    return s;
  }

  bool statement() {  // true: it was the last
    if (skip("return")) {
      while (!line_.empty()) {
        if (!p_.outputs.empty()) need(",");
        p_.outputs.push_back(uses());
      }
      return true;
    }
    if (skip("update")) {
      const ValueId external = uses();
      need("="), p_.updates.push_back({external, uses()}), end();
      return false;
    }
    new_ = 0;
    std::vector<ValueId> out;
    const bool named = line_.starts_with("%");
    while (named) {
      out.push_back(defines());
      if (!skip(",")) break;
    }
    if (named) need("=");
    if (out.size() == 1 && (skip("input") || skip_kind())) external(out[0]);
    else node(std::move(out));
    return false;
  }
  bool skip_kind() {
    if (skip("captured")) return kind_ = External::captured, true;
    if (skip("constant")) return kind_ = External::constant, true;
    return false;
  }
  void end() const {
    if (!line_.empty()) refuse("the end of the line");
  }

  void external(ValueId) {
    External e;
    e.kind = std::exchange(kind_, External::input);
    if (!p_.nodes.empty()) refuse("externals before all nodes; then");
    if (!line_.starts_with("<") && !line_.starts_with(":")) e.name = up_to(" <:", "a name");
    std::string_view bytes;
    bool given = false;
    if (skip("<")) {
      const std::size_t n = line_.find('>');
      if (n == line_.npos) refuse("\">\"");
      bytes = line_.substr(0, n), line_.remove_prefix(n), given = true;
      need(">");
    }
    need(":");
    const Spec s = spec();
    if (given && (!s.dense() || s.offset)) refuse("a dense value at offset 0; then");
    if (given) e.tensor = tensor(s, bytes);
    p_.values.push_back(s), p_.externals.push_back(std::move(e));
    end();
  }
  Tensor tensor(const Spec& s, std::string_view bytes) const {
    if (bytes.size() != s.bytes() * 2) refuse(std::to_string(s.bytes() * 2) + " digits of " + s.str() + "; then");
    Tensor t = Tensor::empty(Spec::dense(s.dtype, s.sizes()));
    char* to = t.impl()->data();
    for (std::size_t i = 0; i < s.bytes(); ++i) {
      unsigned char byte = 0;
      const auto [end, error] = std::from_chars(bytes.data() + 2 * i, bytes.data() + 2 * i + 2, byte, 16);
      if (error != std::errc() || end != bytes.data() + 2 * i + 2) refuse("hexadecimal digits of its values; then");
      to[i] = char(byte);
    }
    if (s.device.is_cpu() && s.contiguous) return t;
    Tensor laid = Tensor::empty(s);
    return laid.copy_(t);
  }

  Arg argument() {
    if (line_.starts_with("%")) return Arg(uses());
    if (skip("none")) return {};
    const std::size_t close = line_.starts_with("(") ? std::min(line_.find(')'), line_.size() - 1) + 1
                                                     : std::min(line_.find_first_of(",)"), line_.size());
    const std::string_view word = line_.substr(0, close);
    const Attributes a = Attributes::parse(word);
    if (a.fields().size() != 1 || a.fields()[0].kind > Attributes::Kind::complex) refuse("a value, a number or none");
    const Attributes::Field& f = a.fields()[0];
    line_.remove_prefix(close), skip_spaces();
    switch (f.kind) {
      case Attributes::Kind::boolean:
        return Arg(Scalar(f.whole != 0));
      case Attributes::Kind::integer:
        return Arg(Scalar(f.whole));
      case Attributes::Kind::real:
        return Arg(Scalar(f.number));
      default:
        return Arg(Scalar(std::complex<double>(f.number, f.imag)));
    }
  }
  void attributes(Node& n) {
    n.op = std::make_shared<OpMemory>(*n.row);
    if (!skip("{")) return;
    const std::size_t close = line_.find('}');
    if (close == line_.npos) refuse("\"}\"");
    Attributes::parse(line_.substr(0, close)).write_to(*n.row, n.op->get());
    line_.remove_prefix(close), need("}");
  }
  void node(std::vector<ValueId> out) {
    Node n;
    const std::string_view word = up_to("( ", "an operation");
    n.row = find_operation(word);
    if (!n.row) refuse("an operation, not " + std::string(word) + "; then");
    need("(");
    while (!skip(")")) {
      if (!n.in.empty()) need(",");
      n.in.push_back(argument());
    }
    attributes(n);
    n.varies = varies(*n.row, n.op->get());
    if (skip("into")) n.destination = Destination::out, n.into = uses();
    else if (skip("in")) n.destination = Destination::in_place, n.into = uses();
    if (skip("region")) n.region = std::uint32_t(integer());
    for (std::size_t k = 0; k < out.size(); ++k) need(k ? ";" : ":"), p_.values.push_back(spec());
    end();
    n.out = std::move(out);
    p_.nodes.push_back(std::move(n));
  }

  std::string_view text_, line_;
  int number_ = 0;
  Program p_;
  External::Kind kind_ = External::input;
  std::size_t new_ = 0;  // values that this line defines
  std::map<std::int64_t, ValueId> ids_;
};

}  // namespace

Program parse(std::string_view text, const std::function<void(Program&)>& inspect) {
  Program p = Parser(text).all();
  if (inspect) inspect(p);
  if constexpr (!kOneProgram) verify(p);  // of one, it was done when the library was made for it
  return p;
}
Program parse(std::string_view text) { return parse(text, {}); }

}  // namespace neura::graph

#include "neura/op/attributes_text.h"

#include <charconv>

#include "neura/core/dtype.h"
#include "neura/core/error.h"
#include "neura/core/number_text.h"

namespace neura {
namespace {

using Field = Attributes::Field;
constexpr std::size_t kDeepest = 32;

std::string part(double x) {  // of a complex number: 1, not 1.0
  std::string t = number_text(x);
  if (t.ends_with(".0")) t.resize(t.size() - 2);
  return t;
}
std::string value_text(const Field& f) {
  switch (f.kind) {
    case Attributes::Kind::boolean:
      return f.whole ? "true" : "false";
    case Attributes::Kind::integer:
      return std::to_string(f.whole);
    case Attributes::Kind::real:
      return number_text(f.number);
    case Attributes::Kind::complex: {
      const std::string imag = part(f.imag);
      return "(" + part(f.number) + (imag[0] == '-' ? "" : "+") + imag + "j)";
    }
    case Attributes::Kind::dtype:
      return name(DType(f.whole));
    default:
      return unpacked(f.whole).str();
  }
}
// The members of one group, or of none.
void write(std::string& out, const Field* f, const Field* end) {
  for (const char* before = ""; f < end; before = ", ") {
    out += before + f->name;
    if (!f->name.empty()) out += '=';
    if (f->kind == Attributes::Kind::group) out += '[', write(out, f + 1, f + 1 + f->fields), out += ']';
    else out += value_text(*f);
    f += 1 + f->fields;
  }
}

// value: [members], (complex), or a word; member: a value, or name=value.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}
  std::vector<Field> all() {
    skip_spaces();
    bool more = at_ < text_.size();
    while (more) {
      if (starts_group()) {
        if (!skip(']')) continue;  // its first member
        list_.close();
      } else {
        value();
      }
      name_.clear();
      while (!list_.groups.empty() && skip(']')) list_.close();
      more = skip(',');
    }
    if (at_ < text_.size()) refuse("a comma");
    if (!list_.groups.empty()) refuse("a ]");
    return std::move(list_.fields);
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool skip(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_, skip_spaces();
    return true;
  }
  std::string_view word() {
    const std::size_t first = at_;
    while (at_ < text_.size() && std::string_view(",=[]() ").find(text_[at_]) == std::string_view::npos) ++at_;
    return text_.substr(first, at_ - first);
  }
  // A name, if there is one, and the [ of a group.
  bool starts_group() {
    const std::size_t first = at_;
    const std::string_view w = word();
    if (!w.empty() && skip('=')) name_ = w;
    else at_ = first;
    if (!skip('[')) return false;
    if (list_.groups.size() == kDeepest) refuse("lists at most 32 deep");
    list_.open(name_, false), name_.clear();
    return true;
  }
  void value() {
    if (skip('(')) {
      const std::string_view w = word();
      if (!complex(w) || !skip(')')) refuse("a complex number as (1+2j)");
      return;
    }
    const std::size_t first = at_;
    const std::string_view w = word();
    if (w == "true" || w == "false")
      return void(list_.add(name_, Attributes::Kind::boolean, false).whole = w == "true");
    if (number(w) || dtype(w)) return;
    at_ = first;
    try {
      list_.add(name_, Attributes::Kind::device, false).whole = packed(Device(w));
    } catch (const DeviceError&) {
      refuse("a number, a dtype, a device or a list");
    }
    at_ += w.size();
  }
  bool number(std::string_view w) {
    std::int64_t whole = 0;
    const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), whole);
    if (error == std::errc() && end == w.data() + w.size())
      return list_.add(name_, Attributes::Kind::integer, false).whole = whole, true;
    double x = 0;
    if (w.find_first_of(".en") == w.npos || !parse_number(w, x)) return false;  // too great an integer is no number
    return list_.add(name_, Attributes::Kind::real, false).number = x, true;
  }
  bool complex(std::string_view w) {
    if (!w.ends_with('j')) return false;
    w.remove_suffix(1);
    std::size_t sign = w.find_last_of("+-");
    while (sign != w.npos && sign > 0 && w[sign - 1] == 'e') sign = w.find_last_of("+-", sign - 1);
    if (sign == w.npos || sign == 0) return false;
    double x = 0, y = 0;
    if (!parse_number(w.substr(0, sign), x) || !parse_number(w.substr(sign + (w[sign] == '+')), y)) return false;
    Field& f = list_.add(name_, Attributes::Kind::complex, false);
    return f.number = x, f.imag = y, true;
  }
  bool dtype(std::string_view w) {
    for (int d = 0; d < kDTypes; ++d)
      if (w == name(DType(d))) return list_.add(name_, Attributes::Kind::dtype, false).whole = d, true;
    return false;
  }
  [[noreturn, gnu::cold]] void refuse(const char* what) const {
    const std::string_view rest = text_.substr(at_);
    const std::string got = rest.empty() ? "its end" : "\"" + std::string(rest.substr(0, 20)) + "\"";
    throw ValueError(std::string("attributes: expected ") + what + ", got " + got + " at " + std::to_string(at_) +
                     " of the text");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string name_;  // of the next field
  FieldList list_;
};

}  // namespace

Field& FieldList::add(std::string name, Attributes::Kind kind, bool varying) {
  if (!groups.empty()) ++fields[groups.back()].whole;
  Field f;
  f.name = std::move(name), f.kind = kind, f.varying = varying;
  fields.push_back(std::move(f));
  return fields.back();
}
void FieldList::close() {
  fields[groups.back()].fields = fields.size() - groups.back() - 1;
  groups.pop_back();
}

std::string field_text(const Field* f) {
  std::string out;
  return write(out, f, f + 1), out;
}
std::string fields_text(const std::vector<Field>& fields) {
  std::string out;
  return write(out, fields.data(), fields.data() + fields.size()), out;
}
std::vector<Field> parse_fields(std::string_view text) { return Parser(text).all(); }

}  // namespace neura

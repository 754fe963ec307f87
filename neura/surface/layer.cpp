#include "neura/surface/layer.h"

#include <algorithm>

#include "neura/core/error.h"
#include "neura/core/number_text.h"
#include "neura/nn/repr.h"
#include "neura/ops/loss/loss.h"

namespace neura::surface {
namespace {

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && std::string_view(" \n").find(s.front()) != s.npos) s.remove_prefix(1);
  while (!s.empty() && std::string_view(" \n").find(s.back()) != s.npos) s.remove_suffix(1);
  return s;
}
}  // namespace

// The text before the next comma that is in no brackets and no quotes.
std::string_view detail::cut(std::string_view& rest) {
  int depth = 0;
  char quote = 0;
  std::size_t i = 0;
  for (; i < rest.size(); ++i) {
    const char c = rest[i];
    if (quote) quote = c == quote ? 0 : quote;
    else if (c == '"' || c == '\'') quote = c;
    else if (c == '(' || c == '{' || c == '<') ++depth;
    else if (c == ')' || c == '}' || c == '>') --depth;
    else if (c == ',' && depth == 0) break;
  }
  const std::string_view part = trimmed(rest.substr(0, i));
  rest.remove_prefix(std::min(i + 1, rest.size()));
  return part;
}

namespace {

// A default of C++ as Python says it.
std::string in_python(std::string_view text) {
  if (text == "true") return "True";
  if (text == "false") return "False";
  if (text == "{}") return "None";
  if (text.size() > 1 && text.front() == '"') return '\'' + std::string(text.substr(1, text.size() - 2)) + '\'';
  double a = 0, b = 0;
  const std::size_t over = text.find(" / ");
  if (over != text.npos && parse_number(text.substr(0, over), a) && parse_number(text.substr(over + 3), b))
    return number_text(a / b);
  return std::string(text);
}
bool is_letter(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
Parameter parameter(std::string_view text, bool by_name_alone) {
  Parameter p;
  p.by_name_alone = by_name_alone;
  if (text.starts_with('*')) p.rest = true, p.fallback = "None";
  const std::size_t equals = text.find('=');
  if (equals != text.npos) p.fallback = in_python(trimmed(text.substr(equals + 1)));
  std::string_view name = trimmed(text.substr(0, equals));
  if (name.ends_with('?')) p.may_be_none = true, name.remove_suffix(1);
  if (p.fallback == "None") p.may_be_none = true;
  std::size_t begin = name.size();  // its type stands before it
  while (begin > 0 && is_letter(name[begin - 1])) --begin;
  p.name = name.substr(begin);
  return p;
}

}  // namespace

std::string Layer::signature() const {
  if (takes_anything) return "(*args, **kwargs)";
  std::string text;
  bool star = false;
  for (const Parameter& p : parameters) {
    if (p.by_name_alone && !star) text += text.empty() ? "*" : ", *", star = true;
    text += (text.empty() ? "" : ", ") + (p.rest ? '*' + p.name : p.name);
    if (!p.rest && !p.fallback.empty()) text += '=' + p.fallback;
  }
  return '(' + text + ')';
}

void Layer::without(std::string_view names) {
  while (!names.empty()) {
    const int at = place_of(detail::cut(names));
    check<ValueError>(at >= 0, [&] { return "surface: expected options of " + name + " to leave out"; });
    parameters.erase(parameters.begin() + at);
  }
}
void Layer::with_exact(std::string_view names) {
  while (!names.empty()) exact |= std::uint64_t(1) << place_of(detail::cut(names));
}

void fallback(const Parameter& p, nn::Number& to) {
  double value = 0;
  fallback(p, value);
  if (p.fallback.find_first_of(".e") == std::string::npos) to = std::int64_t(value);
  else to = value;
}
void fallback(const Parameter& p, Reduction& to) {
  std::string word;
  fallback(p, word);
  to = to_reduction(word);
}
void fallback(const Parameter& p, nn::Activation& to) {
  std::string word;
  fallback(p, word);
  to = word;
}
void fallback(const Parameter&, Ref<nn::Module>&) {}  // None
void fallback(const Parameter&, AnyObject&) {}

namespace detail {

std::string text_of(bool x) { return x ? "True" : "False"; }
std::string text_of(std::int64_t x) { return std::to_string(x); }
std::string text_of(double x) { return number_text(x); }
std::string text_of(const std::string& x) { return nn::python_text(x); }
std::string text_of(Reduction x) { return nn::python_text(std::string(kReductions[int(x)])); }
std::string text_of(const nn::Number& x) { return nn::python_text(x); }
std::string text_of(const Shape& x) { return x.empty() ? "None" : nn::python_text(x); }
std::string text_of(const Padding& x) { return text_of(static_cast<const Shape&>(x.amount)); }

std::vector<Parameter> listed(std::string_view text) {
  std::vector<Parameter> all;
  bool by_name_alone = false;
  while (!trimmed(text).empty()) {
    const std::string_view part = cut(text);
    if (part == "*") by_name_alone = true;
    else all.push_back(parameter(part, by_name_alone));
  }
  return all;
}
void put_words(Parameter& p, Words w) { p.type = w.type, p.words = w.words; }
void check_listed(const Layer& layer, std::size_t said, std::size_t taken) {
  check<ValueError>(said == taken, [&] {
    return "surface: expected " + std::to_string(taken) + " arguments of " + layer.name + ", got " +
           std::to_string(said);
  });
}

}  // namespace detail

}  // namespace neura::surface

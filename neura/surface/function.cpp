#include "neura/surface/list.h"

#include <charconv>
#include <limits>

#include "neura/autograd/grad_mode.h"
#include "neura/core/error.h"
#include "neura/core/number_text.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/shape/view.h"

namespace neura::surface {
namespace {

[[noreturn]] void wrong(const Parameter& p, const char* what) {
  throw ValueError("surface: expected " + std::string(what) + " as the default of " + p.name + ", got " + p.fallback);
}
std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}
// The text before the next comma that is in no brackets and no quotes.
std::string_view next(std::string_view& rest) {
  int depth = 0;
  bool quoted = false;
  std::size_t i = 0;
  for (; i < rest.size(); ++i) {
    if (rest[i] == '\'') quoted = !quoted;
    if (quoted) continue;
    if (rest[i] == '(') ++depth;
    if (rest[i] == ')') --depth;
    if (rest[i] == ',' && depth == 0) break;
  }
  const std::string_view part = trimmed(rest.substr(0, i));
  rest.remove_prefix(std::min(i + 1, rest.size()));
  return part;
}
Parameter parameter(std::string_view text, bool by_name_alone) {
  Parameter p;
  p.by_name_alone = by_name_alone;
  if (text.starts_with('*')) p.rest = true, text.remove_prefix(1);
  const std::size_t equals = text.find('=');
  std::string_view name = text.substr(0, equals);
  if (equals != std::string_view::npos) p.fallback = text.substr(equals + 1);
  if (name.ends_with('?')) p.may_be_none = true, name.remove_suffix(1);
  if (p.fallback == "None") p.may_be_none = true;
  p.name = name;
  return p;
}
// After a star, parameters are given by name alone. A group's own parameters follow it: see List::bind.
void parse_parameters(std::string_view rest, bool by_name_alone, std::vector<Parameter>& to) {
  while (!trimmed(rest).empty()) {
    const std::string_view part = next(rest);
    if (part.starts_with("**")) continue;
    if (part == "*") by_name_alone = true;
    else by_name_alone |= to.emplace_back(parameter(part, by_name_alone)).rest;
  }
}
std::int64_t integer(const Parameter& p, const char* what) {
  std::int64_t value = 0;
  const char* end = p.fallback.data() + p.fallback.size();
  const auto [at, error] = std::from_chars(p.fallback.data(), end, value);
  if (error != std::errc() || at != end) wrong(p, what);
  return value;
}
double number(const Parameter& p) {
  double value = 0;
  if (!parse_number(p.fallback, value)) wrong(p, "a number");
  return value;
}

}  // namespace

int Function::place_of(std::string_view name) const {
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].name == name) return int(i);
  return -1;
}

void parse(std::string_view text, Function& to) {
  const std::size_t open = text.find('(');
  check<ValueError>(open != std::string_view::npos && text.ends_with(')'),
                    [&] { return "surface: expected name(arguments), got " + std::string(text); });
  to.name = text.substr(0, open);
  parse_parameters(text.substr(open + 1, text.size() - open - 2), false, to.parameters);
}
void List::append(Function& to, std::string_view group) { parse_parameters(group, true, to.parameters); }

void fallback(const Parameter& p, Tensor&) {
  if (p.fallback != "None") wrong(p, "None");
}
void fallback(const Parameter& p, Operand& to) {
  if (p.fallback == "None") return;
  Scalar s;
  fallback(p, s);
  to = Operand(s);
}
void fallback(const Parameter& p, Scalar& to) {
  if (p.fallback == "True" || p.fallback == "False") to = Scalar(p.fallback == "True");
  else if (p.fallback.find_first_of(".e") == std::string::npos) to = Scalar(integer(p, "a number"));
  else to = Scalar(number(p));
}
void fallback(const Parameter& p, bool& to) {
  if (p.fallback != "True" && p.fallback != "False") wrong(p, "True or False");
  to = p.fallback == "True";
}
void fallback(const Parameter& p, std::int64_t& to) { to = integer(p, "an integer"); }
void fallback(const Parameter& p, double& to) { to = number(p); }
void fallback(const Parameter& p, std::string& to) {
  const std::string& f = p.fallback;
  if (f.size() < 2 || f.front() != '\'' || f.back() != '\'') wrong(p, "'text'");
  to = f.substr(1, f.size() - 2);
}
void fallback(const Parameter& p, Shape& to) {
  if (p.fallback == "None") return;
  std::string_view text = p.fallback;
  if (!text.starts_with('(')) return to.push_back(integer(p, "an integer or a tuple"));
  for (std::string_view rest = text.substr(1, text.size() - 2); !rest.empty();) {
    Parameter one = p;
    one.fallback = next(rest);
    if (!one.fallback.empty()) to.push_back(integer(one, "integers"));
  }
}
void fallback(const Parameter& p, Padding& to) {
  Shape amount;
  fallback(p, amount);
  to.amount = PerDim(amount);
}
void fallback(const Parameter& p, Integers&) {
  if (p.fallback != "None") wrong(p, "None");
}
void fallback(const Parameter& p, Tensors&) {
  if (p.fallback != "None") wrong(p, "None");
}
void fallback(const Parameter& p, Numbers&) {
  if (p.fallback != "None") wrong(p, "None");
}
void fallback(const Parameter& p, Shapes&) {
  if (p.fallback != "None" && p.fallback != "()") wrong(p, "None or ()");
}
void fallback(const Parameter&, Ignored&) {}
void fallback(const Parameter& p, Generator*&) {
  if (p.fallback != "None") wrong(p, "None");
}
void fallback(const Parameter& p, MemoryFormat&) {
  if (p.fallback != "None") wrong(p, "None");
}
void fallback(const Parameter& p, Sublists&) {
  if (p.fallback != "None") wrong(p, "None");
}
void fallback(const Parameter& p, DType&) { wrong(p, "None, which wants an optional dtype,"); }
void fallback(const Parameter& p, Device&) { wrong(p, "None, which wants an optional device,"); }

int to_int(std::int64_t i) {
  check<ValueError>(i >= std::numeric_limits<int>::min() && i <= std::numeric_limits<int>::max(),
                    [&] { return "expected an integer within 32 bits, got " + std::to_string(i); });
  return int(i);
}

void List::check_count(const Function& f, std::size_t arguments) {
  check<ValueError>(f.parameters.size() == arguments, [&] {
    return "surface: expected " + std::to_string(arguments) + " arguments in the signature of " + f.name + ", got " +
           std::to_string(f.parameters.size());
  });
}
const List& List::alias(const char* name, const char* of) const {
  const std::size_t n = all_.size();
  for (std::size_t i = 0; i < n; ++i)
    if (all_[i].space == space_ &&
        (all_[i].name == of || (all_[i].in_place && all_[i].name == of + std::string("_")))) {
      Function copy = all_[i];
      copy.also = {};
      copy.name = copy.in_place ? std::string(name) + "_" : name;
      all_.push_back(std::move(copy));
    }
  check<ValueError>(all_.size() > n, [&] { return "surface: expected a function, got " + std::string(of); });
  return *this;
}

const List& List::also(const char* space) const {
  const std::string name = all_.back().name;
  for (Function& f : all_)
    if (f.space == space_ && f.name == name) f.also = space;
  return *this;
}

const std::deque<Function>& functions() {
  static const std::deque<Function>* all = [] {
    auto* list = new std::deque<Function>;  // functions of other languages point here until the process ends
#define FAMILY(name) add_##name(*list);
    NEURA_SURFACE_FAMILIES(FAMILY)
#undef FAMILY
    return list;
  }();
  return *all;
}

void write_over(const std::string& op, Tensor& self, const Tensor& value, bool exactly) {
  check<ShapeError>(value.shape() == self.shape(), [&] {
    return op + ": expected operands that broadcast to self's shape " + self.shape().str() + ", got " +
           value.shape().str();
  });
  const bool holds = exactly ? value.dtype() == self.dtype() : category(value.dtype()) <= category(self.dtype());
  check<DTypeError>(holds, [&] {
    return op + ": expected a tensor that holds " + name(value.dtype()) + ", got " + self.spec().str() +
           "; use the form that returns a new tensor";
  });
  copy_(self, value);
}
Tensor readable(const Tensor& self) { return self.requires_grad() && is_grad_enabled() ? clone(self) : self; }

void WriteInto::call(Call& c) {
  if (!done_ && c.destination == Destination::fresh && c.row->name == name_) {
    done_ = true;
    c.out[0] = target_, c.destination = Destination::out;
  }
  apply(c);
}

}  // namespace neura::surface

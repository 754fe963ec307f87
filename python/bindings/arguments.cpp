#include "arguments.h"

#include <algorithm>
#include <cstring>

#include "keywords.h"

namespace neura::python {

using surface::Function;
using surface::Parameter;

namespace {

std::string ordinal(std::size_t n) {
  const std::size_t last = n % 100 / 10 == 1 ? 0 : n % 10;
  return std::to_string(n) + (last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
}
nb::list names_of(const Function& function) {
  nb::list l;
  for (const Parameter& p : function.parameters) l.append(p.name);
  return l;
}

}  // namespace

std::string missing_text(const std::string& name, std::size_t place, bool by_name_alone) {
  return "expected " + name + ", got none; pass it " +
         (by_name_alone ? "by its name"
          : place       ? "as the " + ordinal(place) + " argument or by its name"
                        : "by position or by its name");
}
std::string surplus_text(std::size_t most, std::size_t got) {
  return "expected at most " + std::to_string(most) + (most == 1 ? " argument" : " arguments") + " by position, got " +
         std::to_string(got);
}
std::string kind_of(PyObject* o) {
  int beyond = 0;
  if (PyLong_CheckExact(o)) PyLong_AsLongLongAndOverflow(o, &beyond);
  return beyond ? "an integer beyond 64 bits" : Py_TYPE(o)->tp_name;
}
std::string misfit_text(const std::string& fits, const std::string& name, PyObject* got) {
  return "expected " + fits + " for " + name + ", got " + kind_of(got);
}

void bind_argument_texts(nb::module_& m) {
  m.def("_missing_argument", &missing_text, "name"_a, "place"_a, "by_name_alone"_a = false);
  m.def("_surplus_arguments", &surplus_text, "most"_a, "got"_a);
  m.def(
      "_misfit_argument",
      [](const std::string& fits, const std::string& name, nb::handle got) {
        return misfit_text(fits, name, got.ptr());
      },
      "fits"_a, "name"_a, "got"_a.none());
}

int self_place(const Function& f) { return std::max(f.place_of("input"), 0); }

Overload::Overload(const Function& f) : function(&f) {
  for (const Parameter& p : f.parameters) {
    names.push_back(PyUnicode_InternFromString(p.name.c_str()));
    if (!p.by_name_alone) ++positional, rest = p.rest;
    of_lists |= p.rest && (std::strstr(p.type, "Sequence[tuple") || std::strcmp(p.type, "object") == 0);
    of_tensors |= p.rest && std::strstr(p.type, "Sequence[neura.Tensor") != nullptr;
  }
}
int Overload::place_of(PyObject* key) const {
  const auto at = std::find(names.begin(), names.end(), key);
  return at != names.end() ? int(at - names.begin()) : function->place_of(keyword_text(key));
}

bool CallArguments::place(const Overload& overload) {
  std::fill_n(reader.given_to.begin(), overload.names.size(), nullptr);
  reader.place = -1, out = nullptr;
  std::size_t given = n_;
  if (overload.rest && n_ >= overload.positional) given = place_rest(overload);
  else if (n_ > overload.positional) return say([&] { return surplus_text(overload.positional, n_); });
  std::copy_n(args_, given, reader.given_to.begin());
  if (self_first && given) {
    const auto begin = reader.given_to.begin();
    std::rotate(begin, begin + 1, begin + self_place(*overload.function) + 1);
  }
  for (Py_ssize_t i = 0; keywords_ && i < PyTuple_GET_SIZE(keywords_); ++i)
    if (!keyword(overload, PyTuple_GET_ITEM(keywords_, i), args_[n_ + std::size_t(i)])) return false;
  if (overload.of_tensors && !reader.given_to[overload.positional - 1]) {
    rest_ = nb::steal(PyTuple_New(0));
    reader.given_to[overload.positional - 1] = rest_.ptr();
  }
  return true;
}
std::size_t CallArguments::place_rest(const Overload& overload) {
  const std::size_t last = overload.positional - 1;
  PyObject* only = n_ == last + 1 ? args_[last] : nullptr;
  const bool alone = only && !overload.of_lists && !is_tensor(only) && !PyIndex_Check(only);
  if (!alone) {
    rest_ = nb::steal(PyTuple_New(Py_ssize_t(n_ - last)));
    for (std::size_t i = last; i < n_; ++i) PyTuple_SET_ITEM(rest_.ptr(), Py_ssize_t(i - last), Py_NewRef(args_[i]));
  }
  reader.given_to[last] = alone ? only : rest_.ptr();
  return last;
}
bool CallArguments::keyword(const Overload& overload, PyObject* key, PyObject* value) {
  const Function& function = *overload.function;
  int at = overload.place_of(key);
  if (at >= 0 && reader.layer && function.parameters[std::size_t(at)].rest)
    return say([&] { return unknown(keyword_text(key)); });  // *args is no name
  if (at < 0) {
    const char* text = keyword_text(key);
    if (std::strcmp(text, "out") == 0 && (function.forms & surface::out) && !in_place) {
      out = value == Py_None ? nullptr : value;
      return true;
    }
    if (std::strcmp(text, "self") == 0 && !reader.layer && !overload.names.empty()) at = self_place(function);
    else {
      const nb::object other = renamed_keyword(text, names_of(function));
      if (other.is_none()) return say([&] { return unknown(text); });
      return keyword(overload, other.ptr(), value);
    }
  }
  PyObject*& place = reader.given_to[std::size_t(at)];
  if (place) return say([&] { return std::string("got two values for ") + keyword_text(key); });
  place = value;
  return true;
}
std::string CallArguments::unknown(const char* key) const {
  const nb::object sentence = nb::module_::import_("neura._keywords").attr("unknown")(name(), key, all_names());
  return nb::cast<std::string>(sentence).substr(name().size() + 2);
}
nb::list CallArguments::all_names() const {
  nb::list l;
  for (const Overload& o : overloads_)
    for (std::size_t i = 0; i < o.names.size(); ++i) {
      const bool is_name = !reader.layer || !o.function->parameters[i].rest;
      if (is_name && !PySequence_Contains(l.ptr(), o.names[i])) l.append(nb::handle(o.names[i]));
    }
  if ((overloads_.front().function->forms & surface::out) && !in_place) l.append("out");
  return l;
}

void CallArguments::refuse(const Function& function) {
  if (reader.place < 0) return;
  const std::size_t at = std::size_t(reader.place);
  const Parameter& p = function.parameters[at];
  PyObject* o = reader.given_to[at];
  const bool also_method = function.forms & (surface::method | surface::in_place);  // whose places are others
  say([&] {
    return o ? misfit_text(what_fits(p.name), p.name, o)
             : missing_text(p.name, also_method ? 0 : at + 1, p.by_name_alone);
  });
}
// What the overloads take under this name: "a tensor, integers or None".
std::string CallArguments::what_fits(const std::string& name) const {
  std::vector<std::string> words;
  bool none = false;
  for (const Overload& o : overloads_)
    for (const Parameter& p : o.function->parameters)
      if (p.name == name) {
        none |= p.may_be_none;
        if (std::find(words.begin(), words.end(), p.words) == words.end()) words.push_back(p.words);
      }
  if (none) words.push_back("None");
  std::string text = words.front();
  for (std::size_t i = 1; i < words.size(); ++i) text += (i + 1 < words.size() ? ", " : " or ") + words[i];
  return text;
}
void CallArguments::fail() const { throw nb::type_error((name() + ": " + refused_).c_str()); }

}  // namespace neura::python

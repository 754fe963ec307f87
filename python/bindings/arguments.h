// The arguments of one call, put to their places: the one parser of what neura/surface lists, functions and layers
// alike, and the sentences about what does not fit, which all other callables have too.
#pragma once
#include "neura/surface/function.h"
#include "reader.h"

namespace neura::python {

// "expected other, got none; pass it as the 2nd argument or by its name"; place 0: it has none that can be told.
std::string missing_text(const std::string& name, std::size_t place, bool by_name_alone = false);
std::string surplus_text(std::size_t most, std::size_t got);  // "expected at most 2 arguments by position, got 3"
std::string misfit_text(const std::string& fits, const std::string& name, PyObject* got);
void bind_argument_texts(nb::module_&);  // for neura/_keywords.py
std::string kind_of(PyObject*);          // its type, or what is wrong with a number of the right one

// Where a method finds its tensor: the argument input, or the first one.
int self_place(const surface::Function&);

struct Overload {
  const surface::Function* function;
  std::vector<PyObject*> names;  // interned
  std::size_t positional = 0;    // how many may be given by position
  bool rest = false;             // the last of them takes what is left
  bool of_lists = false;         // each of which is a list: f((2, 3)) gives one, not all of them
  bool of_tensors = false;       // of which there may be none

  explicit Overload(const surface::Function&);
  int place_of(PyObject* key) const;
};

class CallArguments {
 public:
  CallArguments(PyObject* name, const std::vector<Overload>& overloads, PyObject* const* args, std::size_t n,
                PyObject* keywords)
      : name_(name), overloads_(overloads), args_(args), n_(n), keywords_(keywords) {}

  PyReader reader;
  PyObject* out = nullptr;  // what `out=` gives
  bool in_place = false;    // the form that writes its result over the tensor: without `out`
  bool self_first = false;  // a method, of a function whose first argument is another: polygamma(n, input)

  // Puts each argument to its place; the rest of the positional ones may be one list. False where one has none.
  bool place(const Overload&);
  // Notes why a call whose arguments are in their places did not take them.
  void refuse(const surface::Function&);
  [[noreturn]] void fail() const;  // TypeError, with the first reason that was noted

  std::string name() const { return PyUnicode_AsUTF8(name_); }
  const std::vector<Overload>& overloads() const { return overloads_; }

 private:
  // The first reason why no overload fits; said by the second pass alone.
  template <class F> bool say(F&& text) {
    if (reader.convert && refused_.empty()) refused_ = text();
    return false;
  }
  std::size_t place_rest(const Overload&);
  bool keyword(const Overload&, PyObject* key, PyObject* value);
  std::string unknown(const char* key) const;
  nb::list all_names() const;
  std::string what_fits(const std::string& name) const;

  PyObject* name_;
  const std::vector<Overload>& overloads_;
  PyObject* const* args_;
  std::size_t n_;
  PyObject* keywords_;  // their names, a tuple, or null
  nb::object rest_;
  std::string refused_;
};

}  // namespace neura::python

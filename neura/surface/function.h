// The public surface as a value: each function that users of any language call is one entry, with its signature, its
// forms, its names and its text. Bindings, help, stubs, pages and tests are made from the list (functions()).
#pragma once
#include <deque>
#include <memory>
#include <string_view>

#include "neura/surface/argument.h"

namespace neura::surface {

// direct: the operation of its name writes into `out` itself. strict: `out` must be of the result's dtype, as in torch
// where elements are moved or indices come out; else any dtype that holds it. network: it is in neura.nn.functional,
// too.
enum Forms : unsigned {
  function = 1,
  method = 2,
  both = 3,
  in_place = 4,
  out = 8,
  direct = 16,
  network = 32,
  strict = 64
};
constexpr Forms operator|(Forms a, Forms b) { return Forms(unsigned(a) | unsigned(b)); }

struct Function {
  std::string_view space;      // "", "linalg", "functional", ...: where it is found
  std::string_view also;       // a second such place, or none
  std::string name, own_name;  // own: without aliases, the name of its operation
  std::vector<Parameter> parameters;
  const char* text;
  const char* result = "neura.Tensor";
  Forms forms;
  bool in_place = false;                                     // it writes its first argument; `text` says what
  std::shared_ptr<const void> fallbacks;                     // the tuple of defaults
  void (*plain)() = nullptr;                                 // a function pointer, where it is one
  bool (*call)(const Function&, Reader&, Value&) = nullptr;  // false: an argument is of another type

  int place_of(std::string_view name) const;  // -1: no such argument
};

// "sum(input, dim=None, *, dtype=None)". `input?` may be None; `*sizes` takes what is left, as numbers or as one list;
// `**options`, at the end, means the arguments of the group (options.h) that the C++ function takes last.
void parse(std::string_view signature, Function&);
// All functions, overloads one after the other in the order they are tried.
const std::deque<Function>& functions();

// In place: the result of another call in `self`, whose dtype must be able to hold it (exactly: must be its own).
void write_over(const std::string& op, Tensor& self, const Tensor& value, bool exactly = false);
// What that call reads: a copy where a derivative may read it again.
Tensor readable(const Tensor& self);

// While it lives, the call of the operation that bears the function's name writes its result into `target`: for
// functions whose last call that is.
class WriteInto : Interceptor {
 public:
  WriteInto(const Function& f, const Tensor& target) : name_(f.own_name), target_(target) {}
  void call(Call&) override;

 private:
  const std::string& name_;
  Tensor target_;
  bool done_ = false;
};

}  // namespace neura::surface

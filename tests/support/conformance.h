// The stored answers of PyTorch (tests/conformance): cases as C++ values, to call an operation with and to judge it by.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/close.h"

namespace neura::test {

struct Value {  // an argument or a result
  enum Kind { none, boolean, integer, real, complex, text, dtype, tensor, list, tuple, dict, slice, ellipsis };
  Kind kind = none;
  Scalar scalar;             // boolean, integer, real, complex
  std::string word;          // text
  DType type{};              // dtype
  Tensor data;               // tensor
  bool grad = false;         // a tensor that is a leaf: its gradient is stored (judge makes it require one)
  std::vector<Value> items;  // list, tuple, slice (start, end, step), and dict's values
  std::vector<std::string> keys;

  bool is_number() const { return kind >= boolean && kind <= complex; }
  explicit operator bool() const { return kind != none; }
  const Value& operator[](std::string_view key) const;  // of a dict; none if it has not that key
};
using Named = std::vector<std::pair<std::string, Value>>;

struct ConformanceCase {
  int index = 0;            // in its file
  std::string dtype, kind;  // kind: function, method, property, ...
  Value input;              // the first argument
  std::vector<Value> args;  // the further ones
  Named kwargs;
  Value output;
  bool raises = false;     // a call that must fail with an exception
  std::string unreadable;  // why its tensors cannot be made (rank above kMaxRank, a dtype Neura has not)
  bool has_gradients = false, has_second = false;
  std::vector<Value> cotangents, gradients;  // one cotangent per differentiable result, one gradient per leaf
  std::vector<int> second_of;                // which gradients are differentiated again
  std::vector<Value> second_directions, second_gradients;

  const Value& kwarg(const std::string& name) const;  // none if it was not given
  // kwargs[name], or else the positional argument at `position` of args, or else none.
  const Value& argument(int position, const std::string& name) const;
  std::vector<Tensor> leaves() const;  // of input, args, kwargs, in order
};

struct ConformanceFile {
  std::string name, op, variant;  // name: of the file, without its extension
  std::vector<ConformanceCase> cases;
};

// part: "ops", "modules" or "optimizers". Names are sorted.
std::vector<std::string> conformance_names(const std::string& part = "ops");
ConformanceFile read_conformance(const std::string& name, const std::string& part = "ops");
// Cases of another form, as they are stored: dictionaries with tensors in them. With the part "": a file without
// tensors.
std::vector<Value> read_cases(const std::string& name, const std::string& part);

struct Verdict {
  enum End { pass, wrong, error, missing, unreadable } end = pass;
  std::string why;
};
// Calls an operation, which returns its tensors in order, and compares results, gradients and second gradients with the
// tolerances of tests/conformance/run.py. NotImplementedError counts as missing.
using CaseFunction = std::function<std::vector<Tensor>(const ConformanceCase&)>;
Verdict judge(const ConformanceCase&, const CaseFunction&);

// Judges every case of every file with the operation that it belongs to, and compares with
// tests/golden/<list>.expected, one line per file: its name, how many cases pass, of how many. Fewer passes than listed
// fail the test, as does a file that is not listed. NEURA_UPDATE_EXPECTED=1 writes the list instead; raising it is part
// of the change that made it better.
void expect_conformance(const std::string& list, const std::vector<std::pair<std::string, CaseFunction>>& files);

}  // namespace neura::test

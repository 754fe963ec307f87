// What a handler may ask of an error instead of reading its text.
#pragma once
#include <string>
#include <vector>

#include "neura/core/error.h"
#include "neura/core/spec.h"

namespace neura {

// An operation that has no kernel for a dtype, of whatever operand: as a class of its own where hosts tell it apart
// from dtypes that do not go together.
struct UnsupportedDTypeError : DTypeError {
  using DTypeError::DTypeError;
};

// Of a check that is a statement `assert` in PyTorch: E, and where hosts have such a class an AssertionError, too.
struct Asserted {
  virtual ~Asserted() = default;
};
template <class E> struct AssertedError : E, Asserted { using E::E; };

struct ErrorDetails {
  std::string op;              // what refused, as the text begins: "matmul", or the file's name
  std::vector<Spec> operands;  // dtype, shape and device of the tensors it was given, if it was an operation
};
ErrorDetails details_of(const Error&);

// The exception that is being handled again, of its type, with the operands of `op` and, if it names no more than the
// step that failed (allocate, scratch, copy), its name. One that has operands stays as it is: it came from a call
// inside of this one.
[[noreturn]] void rethrow_with_details(const char* op, std::vector<Spec> operands);

// The exception that is being handled again, of its type and with its operands, which bears the name of the function
// `called` where it bore that of a step of it, or none. `own` is what its operation is called. Sentences about a device
// or a layout name these, and one about a reduction keeps the word.
[[noreturn]] void rethrow_of(const std::string& called, const std::string& own);

}  // namespace neura

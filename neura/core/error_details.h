// Details of an error for handlers, so that they need not parse its text.
#pragma once
#include <string>
#include <vector>

#include "neura/core/error.h"
#include "neura/core/spec.h"

namespace neura {

// An operation has no kernel for the dtype of one of its operands: a class of its own, since Python raises another type
// for it than for dtypes that do not match.
struct UnsupportedDTypeError : DTypeError {
  using DTypeError::DTypeError;
};

// For checks that PyTorch makes with `assert`: an E that Python catches as an AssertionError, too.
struct Asserted {
  virtual ~Asserted() = default;
};
template <class E> struct AssertedError : E, Asserted { using E::E; };

struct ErrorDetails {
  std::string op;              // what refused, as the text begins: "matmul", or the file's name
  std::vector<Spec> operands;  // dtype, shape and device of the tensors it was given, if it was an operation
};
ErrorDetails details_of(const Error&);  // what is known of it; empty members where nothing is

// Throws the exception that is being handled again, with its type and the operands of `op`; if its text names only the
// step that failed (allocate, scratch, copy), also with the name of `op`. One that has operands stays as it is: it came
// from a call inside of this one.
[[noreturn]] void rethrow_with_details(const char* op, std::vector<Spec> operands);

// Throws the exception that is being handled again, with its type and operands. Its text then begins with `called`, the
// function that the user called, instead of the name of one of its steps; it stays if it begins with `called`, with
// `own`, the name of the operation, or with "device" or "layout". After "reduction" the word is kept.
[[noreturn]] void rethrow_of(const std::string& called, const std::string& own);

}  // namespace neura

// Programs read from untrusted text.
#pragma once
#include "neura/graph/program.h"

namespace neura::graph {

// As parse(), for a text from a file: `inspect` gets the program before anything is inferred. It may set tensors of
// externals, and throws to refuse the program.
Program parse(std::string_view text, const std::function<void(Program&)>& inspect);

// Operations do not check their attributes: with a dimension that does not exist a kernel would access memory out of
// bounds. So an untrusted program may only call pointwise operations and those that have an is_safe()
// (op/struct_row.h), which is asked here: views, and those of networks in evaluation mode. NotImplementedError names
// any other operation; ValueError says which call is wrong. Call it before verify().
void check_foreign(const Program&);
bool is_checked(const Row&);  // an operation that such a program may call

}  // namespace neura::graph

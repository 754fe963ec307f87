// Programs of untrusted texts.
#pragma once
#include "neura/graph/program.h"

namespace neura::graph {

// As parse(), which knows no file: `inspect` gets what was read before anything is inferred from it. It may set tensors
// of externals, and throws to refuse the program.
Program parse(std::string_view text, const std::function<void(Program&)>& inspect);

// An operation trusts its attributes: those of a dimension that is not there lead its kernel astray. So a program from
// elsewhere may only call operations whose attributes and operands are checked here as the public functions check
// them: pointwise ones, views, and what networks in evaluation mode are made of. NotImplementedError names any other
// operation; ValueError says which call does not fit. Call it before verify().
void check_foreign(const Program&);
bool is_checked(const Row&);  // an operation that such a program may call

}  // namespace neura::graph

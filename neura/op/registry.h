// One list of all operations: pointwise rows and their slopes, struct operations, views, and what a program registers.
// all_ops.def names the struct operations, some by way of tables/functions.def; the source of each ends with a line
// that gives it the name listed there:
//
//   NEURA_DEFINE_OPERATION(layer_norm, LayerNorm);   // outside of every namespace
//
// The name is the row's, and the struct has it in CamelCase, with `Op` after it where another type is called so
// (ViewOp). A template that serves several rows has a name of its own (Full<Filled::zeros>).
// A name without such a line does not link; a struct without one is found by tools/check_floors.py.
#pragma once
#include <span>
#include <string_view>

namespace neura {

struct Row;

// The library's in a fixed order, then the registered ones. Returned pointers stay valid.
std::span<const Row* const> all_operations();
// By its name, which no other one has; null if there is none.
const Row* find_operation(std::string_view name);
bool is_of_the_library(const Row&);  // not a program's own, whose kernel may do what its attributes do not say
// Adds one of a program's own, which must live as long as the process. Once more changes nothing; ValueError where
// another operation has its name. Any thread may call it.
void register_operation(const Row&);

}  // namespace neura

// The type may have commas in it.
#define NEURA_DEFINE_OPERATION(identifier, ...)                                                                      \
  namespace neura::operations {                                                                                      \
  static_assert(in_build::equal(#identifier, row_of<__VA_ARGS__>.name), "an operation is listed by its row's name"); \
  static_assert(kOnlyPrograms || in_build::is_program_operation(#identifier) == kHasIsSafe<__VA_ARGS__>,             \
                "an operation with an is_safe(), and no other, is a PROGRAM_OPERATION of tables/program_ops.def");   \
  const Row& identifier() { return ::neura::row_of<__VA_ARGS__>; }                                                   \
  }

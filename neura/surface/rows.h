// The pointwise rows as public functions: every row of the tables whose name does not begin with an underscore is one,
// with the forms f(x), x.f(), x.f_() and out=. What differs from row to row is said here.
#pragma once
#include <array>
#include <span>
#include <vector>

#include "neura/op/row.h"

namespace neura::surface {

struct RowFunction {
  const Row* row;
  std::array<const char*, 3> operands;  // the names of its operands
  unsigned numbers;                     // bit i: operand i may be a number
  bool takes_inplace;                   // its last argument is inplace=False
  bool special;                         // it is in neura.special, too
  bool functional;                      // a layer calls it: it is in neura.nn.functional, too
};
const std::vector<RowFunction>& row_functions();
const RowFunction* find_row_function(std::string_view name);  // null: no public row

struct Alias {
  const char *name, *of;
  bool special = false;  // it is in neura.special, too
};
std::span<const Alias> row_aliases();

}  // namespace neura::surface

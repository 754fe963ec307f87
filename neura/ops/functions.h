// The functions of tables/functions.def, whose lines say what each computes.
#pragma once
#include <optional>

#include "neura/core/tensor.h"

namespace neura {

#define FUNCTION(name, result, parameters, ...) result name parameters;
#define OPERATION(name, type, result, parameters, ...) result name parameters;
#include "neura/tables/functions.def"

}  // namespace neura

// The functions of tables/functions/reduce.def and of tables/reduction.def, whose lines say what each computes.
#pragma once
#include <optional>

#include "neura/core/tensor.h"

namespace neura {

#include "neura/tables/functions/declare.h"
#include "neura/tables/functions/reduce.def"
#include "neura/tables/functions/end.h"

}  // namespace neura

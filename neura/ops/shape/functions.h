// The functions of tables/functions/shape.def, whose lines say what each computes.
#pragma once
#include <vector>

#include "neura/core/tensor.h"

namespace neura {

#include "neura/tables/functions/declare.h"
#include "neura/tables/functions/shape.def"
#include "neura/tables/functions/end.h"

}  // namespace neura

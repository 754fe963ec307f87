// The functions of tables/functions/functional.def, whose lines say what each computes.
#pragma once
#include <vector>

#include "neura/core/tensor.h"

namespace neura {

#include "neura/tables/functions/declare.h"
#include "neura/tables/functions/functional.def"
#include "neura/tables/functions/end.h"

}  // namespace neura

// The functions of tables/functions/product.def, whose lines say what each computes.
#pragma once
#include "neura/core/tensor.h"

namespace neura {

#include "neura/tables/functions/declare.h"
#include "neura/tables/functions/product.def"
#include "neura/tables/functions/end.h"

}  // namespace neura

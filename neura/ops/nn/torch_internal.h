// Functions with an underscore in torch, which its compiler emits.
#pragma once
#include <vector>

#include "neura/core/tensor.h"

namespace neura {

#include "neura/tables/functions/declare.h"
#include "neura/tables/functions/torch_internal.def"
#include "neura/tables/functions/end.h"

}  // namespace neura

// The numbers of ordinary host code, without SIMD: for registries, tests, Tensor and text.
#pragma once
#include <cstdio>
#include <string>
#include <utility>

#include "neura/backend/row_class.h"
#include "neura/backend/number/prelude.h"
namespace neura {
namespace plain {
using namespace row_class;
#include "neura/backend/number/numbers.h"
#include "neura/backend/number/expr.h"
}  // namespace plain
}  // namespace neura

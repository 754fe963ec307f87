// Everything a formula can be instantiated with on every target. Included inside a target's namespace.
// clang-format off: their order matters
#include "neura/backend/number/literal.h"
#include "neura/backend/number/scalar.h"
#include "neura/backend/number/integer.h"
#include "neura/backend/number/half.h"
#include "neura/backend/number/float8.h"
#include "neura/backend/number/complex.h"
#include "neura/backend/number/probe.h"
// clang-format on

// The families without their rows: a FAMILY(name) for each, as the reader defines it; undefined behind it. No guard.
#define ROW1(...)
#define ROW2(...)
#define ROW3(...)
#include "neura/tables/kinds.h"
#include "neura/tables/families.def"
#include "neura/tables/end_kinds.h"

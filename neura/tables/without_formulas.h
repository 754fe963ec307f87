// The tables without their formulas: for each family a FAMILY(name), for each row what kinds.h says may follow it
// (OPERANDS, ALIAS, ...), as the reader defines them; undefined at the end. No guard.
#define ROW1(...)
#define ROW2(...)
#define ROW3(...)
#include "neura/tables/kinds.h"
#include "neura/tables/families.def"
#include "neura/tables/end_kinds.h"

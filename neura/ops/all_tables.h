// Every table with rows. No guard: a reader defines the kinds and includes it, as often as it needs.
#include "neura/tables/arithmetic.def"
#include "neura/tables/compare.def"
#include "neura/tables/elementary.def"
#include "neura/tables/activation.def"
#include "neura/tables/special.def"
#include "neura/tables/select.def"

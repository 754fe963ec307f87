// A family is a file of tables/ with pointwise rows. Its kernels, by name, for any back end: a Slot has no default, so
// a back end that forgets a row does not compile. Also the rows' numbers: the index of each slot in its family's table.
#pragma once
#include "neura/backend/row_kernel.h"

namespace neura {

struct Slot {
  const RowKernel* kernel;
  constexpr Slot(const RowKernel* k) : kernel(k) {}
};

#define NEURA_STRING2(x) #x
#define NEURA_STRING(x) NEURA_STRING2(x)
#define NEURA_JOIN2(a, b) a##b
#define NEURA_JOIN(a, b) NEURA_JOIN2(a, b)

#define ROW1(name, ...) Slot name;
#define ROW2 ROW1
#define ROW3 ROW1
#include "neura/tables/kinds.h"
struct arithmetic_rows {
#include "neura/tables/arithmetic.def"
};
struct compare_rows {
#include "neura/tables/compare.def"
};
struct elementary_rows {
#include "neura/tables/elementary.def"
};
struct activation_rows {
#include "neura/tables/activation.def"
};
struct special_rows {
#include "neura/tables/special.def"
};
struct select_rows {
#include "neura/tables/select.def"
};
#include "neura/tables/end_kinds.h"

#define ROW1(name, ...) name,
#define ROW2 ROW1
#define ROW3 ROW1
#include "neura/tables/kinds.h"
namespace slots {  // an enumeration each: the same name in two families is no clash
namespace arithmetic {
enum : unsigned short {
#include "neura/tables/arithmetic.def"
};
}  // namespace arithmetic
namespace compare {
enum : unsigned short {
#include "neura/tables/compare.def"
};
}  // namespace compare
namespace elementary {
enum : unsigned short {
#include "neura/tables/elementary.def"
};
}  // namespace elementary
namespace activation {
enum : unsigned short {
#include "neura/tables/activation.def"
};
}  // namespace activation
namespace special {
enum : unsigned short {
#include "neura/tables/special.def"
};
}  // namespace special
namespace select {
enum : unsigned short {
#include "neura/tables/select.def"
};
}  // namespace select
}  // namespace slots
#include "neura/tables/end_kinds.h"

}  // namespace neura

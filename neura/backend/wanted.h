// Which kernels a library has: all. One that only runs programs (CMake's NEURA_INFERENCE) has those that operations of
// tables/program_ops.def call, and no slopes; one that runs a single program (NEURA_WANTED) those that its own
// operations call, and rows and conversions in its dtypes alone. The tables of kernels ask here, once for all entries.
#pragma once
#include "neura/core/dtype.h"

namespace neura {

#ifdef NEURA_INFERENCE
inline constexpr bool kOnlyPrograms = true;
[[noreturn]] void refuse_missing_kernel();  // NotImplementedError: what this library was built for does not call it
#else
inline constexpr bool kOnlyPrograms = false;
#endif
#ifdef NEURA_WANTED
inline constexpr bool kOneProgram = true;
#else
inline constexpr bool kOneProgram = false;
#endif

namespace in_build {

// Compares two texts while the program is compiled.
constexpr bool equal(const char* a, const char* b) {
  for (; *a && *a == *b; ++a, ++b) {
  }
  return *a == *b;
}

struct ProgramOperation {
  const char* name;
  struct Kernel {
    const char *table, *entry;
  } calls[8];
};
inline constexpr ProgramOperation kProgramOperations[] = {
#define CALLS(table, entry) {#table, #entry},
#define PROGRAM_OPERATION(operation, ...) {#operation, {__VA_ARGS__}},
#ifdef NEURA_WANTED
#define TRUSTED_OPERATION PROGRAM_OPERATION
#endif
#include "neura/tables/program_ops.def"
};
// May a program of any file call this operation? So says the table; the operation has an is_safe().
constexpr bool is_program_operation(const char* name) {
  for (const ProgramOperation& o : kProgramOperations)
    if (equal(o.name, name)) return true;
  return false;
}

#ifdef NEURA_WANTED
inline constexpr const char* kOperations[] = {
#define WANTED_OPERATION(name) #name,
#include NEURA_WANTED
    ""};
// Does the one program call this operation?
constexpr bool operation(const char* name) {
  for (const char* own : kOperations)
    if (equal(own, name)) return true;
  return false;
}
struct WantedRow {
  const char* name;
  DTypeSet dtypes;
};
inline constexpr WantedRow kRows[] = {
#define WANTED_ROW(name, ...) {#name, __VA_ARGS__},
#include NEURA_WANTED
    {"", 0}};
// The dtypes in which the one program calls this row.
constexpr DTypeSet dtypes_of_row(const char* name) {
  for (const WantedRow& own : kRows)
    if (equal(own.name, name)) return own.dtypes;
  return 0;
}
// Does the one program convert between these dtypes?
constexpr bool conversion([[maybe_unused]] DType from, [[maybe_unused]] DType to) {
#define WANTED_CONVERSION(a, b) \
  if (from == DType::a && to == DType::b) return true;
#include NEURA_WANTED
  return false;
}
#else
// Is this operation in the library? All are.
constexpr bool operation(const char*) { return true; }
// The dtypes that this row has kernels for: all that its type rule allows.
constexpr DTypeSet dtypes_of_row(const char*) { return ~DTypeSet{0}; }
// Is there a conversion between these dtypes? Also with float64, in which some means are computed.
constexpr bool conversion(DType from, DType to) {
  constexpr DTypeSet converted = dtypes::compiled | bit(DType::float64);
  return converted & bit(from) && converted & bit(to);
}
#endif

// Is this entry of <table>_kernels in the library?
constexpr bool kernel([[maybe_unused]] const char* table, [[maybe_unused]] const char* entry) {
#ifdef NEURA_INFERENCE
  for (const ProgramOperation& o : kProgramOperations)
    for (const auto& call : o.calls)
      if (call.table && equal(call.table, table) && equal(call.entry, entry) && operation(o.name)) return true;
  return false;
#else
  return true;
#endif
}

// A function of a back end's own table; null in a library that does not want it.
template <bool is_wanted, class F> constexpr F* kept(F* f) { return is_wanted ? f : nullptr; }

}  // namespace in_build
}  // namespace neura

// A back end: one table of kernels per family. Every entry is there, or the back end does not compile.
#pragma once
#include "neura/backend/context.h"
#include "neura/backend/plan.h"
#include "neura/backend/wanted.h"

namespace neura {

// A kernel by name in a family's table. It has no default, so an aggregate that forgets one does not compile. One that
// is not wanted is left out, whatever the table gives.
template <class Fn, bool is_wanted = true> struct Entry;
template <class R, class... A> struct Entry<R(A...), true> {
  R (*fn)(A...);
  constexpr Entry(R (*f)(A...)) : fn(f) {}
  R operator()(A... a) const { return fn(static_cast<A&&>(a)...); }
};
#ifdef NEURA_INFERENCE
template <class R, class... A> struct Entry<R(A...), false> : Entry<R(A...)> {
  constexpr Entry(R (*)(A...)) : Entry<R(A...)>(&missing) {}
  [[gnu::cold]] static R missing(A...) { refuse_missing_kernel(); }
};
#endif
// An entry of <table>_kernels that not every program calls.
#define NEURA_KERNEL(table, name, ...) Entry<__VA_ARGS__, in_build::kernel(#table, #name)> name

enum class Family : unsigned char {  // files of tables/ with pointwise rows
#define FAMILY(name) name,
#include "neura/tables/without_formulas.h"
  count
};

#define KERNELS(name) struct name##_kernels;
#include "neura/backend/kernels.def"
#undef KERNELS

struct Backend {
  const char* name;
  const void*
      rows[int(Family::count)];  // each an aggregate with one `const RowKernel*` per row of the family, in order
  const ConvertTable* convert;   // of the cpu
  // Devices other than the cpu. execute runs a row's kernel over a plan; assign is to = from, converted and broadcast,
  // both on one device.
  Failed (*execute)(int index, const Plan&, LineFn*, const double* attributes, int count);
  Failed (*assign)(const View& to, const View& from);
#define KERNELS(name) const name##_kernels* name;
#include "neura/backend/kernels.def"
#undef KERNELS
};

const Backend& cpu_backend();
const Backend& backend_of(Device);  // DeviceError where there is none

}  // namespace neura

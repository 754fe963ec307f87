// The CPU as a back end: its tables, put together once.
#include "neura/backend/backend.h"

#include "neura/backend/cpu/instruction_sets.h"

namespace neura {

const ConvertTable* cpu_convert();
#define FAMILY(name) const void* cpu_rows_##name();
#include "neura/tables/without_formulas.h"
#define KERNELS(name) const name##_kernels* cpu_##name();
#include "neura/backend/kernels.def"
#undef KERNELS

const Backend& cpu_backend() {
  [[maybe_unused]] static const bool applied = (apply_cpu_setting(), true);
  static const Backend backend{
      .name = "cpu",
      .rows =
          {
#define FAMILY(name) cpu_rows_##name(),
#include "neura/tables/without_formulas.h"
          },
      .convert = cpu_convert(),
      .execute = nullptr,
      .assign = nullptr,
#define KERNELS(name) .name = cpu_##name(),
#include "neura/backend/kernels.def"
#undef KERNELS
  };
  return backend;
}

}  // namespace neura

// CUDA as a back end: its tables, put together once.
#include <initializer_list>
#include <iterator>

#include "neura/backend/cuda/pointwise/execute.h"
#include "neura/backend/cuda/runtime/api.h"
#include "neura/backend/cuda/runtime/stream.h"
#include "neura/backend/families.h"
#include "neura/backend/layout.h"
#include "neura/backend/plugin.h"
#include "neura/core/version.h"

namespace neura::cuda {

#define UNITS(family, ...) __VA_ARGS__
#define UNIT(family, parts) const void* family##_##parts();
#include "families/cuda_units.def"
#undef UNITS
#undef UNIT
#define KERNELS(name) const name##_kernels* name();
#include "neura/backend/kernels.def"
#undef KERNELS

namespace {

const char* missing() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || !driver)
    return "no NVIDIA driver was found; install one, or use the cpu";
  if (!device_count())
    return "the NVIDIA driver shows no device (it may be too old for this build, or CUDA_VISIBLE_DEVICES may be "
           "empty); use the cpu";
  return nullptr;
}

// The table of a family, from those of its units: each has the kernels of some numbers.
template <class Rows> const void* joined(std::initializer_list<const void*> units) {
  static Rows rows = *static_cast<const Rows*>(*units.begin());
  static RowKernel kernels[sizeof(Rows) / sizeof(KernelSlot)];
  KernelSlot* const slot = reinterpret_cast<KernelSlot*>(&rows);
  for (const void* unit : units)
    for (std::size_t i = 0; i < std::size(kernels); ++i) {
      const RowKernel& from = *static_cast<const KernelSlot*>(unit)[i].kernel;
      for (int d = 0; d < kDTypes; ++d) {
        if (from.value[d]) kernels[i].value[d] = from.value[d];
        for (int k = 0; k < 3; ++k)
          if (from.slope[k][d]) kernels[i].slope[k][d] = from.slope[k][d];
      }
      slot[i].kernel = &kernels[i];
    }
  return &rows;
}

const Backend& backend() {
  static const Backend table{
      .name = "cuda",
      .rows =
          {
#define UNITS(family, ...) joined<family##_rows>({__VA_ARGS__}),
#define UNIT(family, parts) family##_##parts(),
#include "families/cuda_units.def"
#undef UNITS
#undef UNIT
          },
      .convert = nullptr,
      .execute = execute,
      .assign = assign,
#define KERNELS(name) .name = name(),
#include "neura/backend/kernels.def"
#undef KERNELS
  };
  return table;
}

}  // namespace
}  // namespace neura::cuda

extern "C" __attribute__((visibility("default"))) const neura::Plugin* neura_plugin() {
  static const neura::Plugin plugin{neura::layout_of_tables(), neura::kVersion, neura::cuda::api(),
                                    neura::cuda::backend(), neura::cuda::missing};
  return &plugin;
}

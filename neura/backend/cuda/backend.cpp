// CUDA as a back end: its tables, put together once.
#include "neura/backend/cuda/api.h"
#include "neura/backend/cuda/execute.h"
#include "neura/backend/cuda/stream.h"
#include "neura/backend/plugin.h"

namespace neura::cuda {

#define FAMILY(name) const void* rows_##name();
#include "neura/tables/families.def"
#undef FAMILY
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

const Backend& backend() {
  static const Backend table{
      .name = "cuda",
      .rows =
          {
#define FAMILY(name) rows_##name(),
#include "neura/tables/families.def"
#undef FAMILY
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
  static const neura::Plugin plugin{neura::layout_of_tables(), neura::cuda::api(), neura::cuda::backend(),
                                    neura::cuda::missing};
  return &plugin;
}

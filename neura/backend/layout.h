// A hash of the layouts that a back end and the library must agree on.
#pragma once
#include "neura/backend/backend.h"
#include "neura/backend/kernels/attention.h"
#include "neura/backend/kernels/conv.h"
#include "neura/backend/kernels/dropout.h"
#include "neura/backend/kernels/embedding.h"
#include "neura/backend/kernels/fft.h"
#include "neura/backend/kernels/grid_sample.h"
#include "neura/backend/kernels/index.h"
#include "neura/backend/kernels/create.h"
#include "neura/backend/kernels/linalg.h"
#include "neura/backend/kernels/loss.h"
#include "neura/backend/kernels/matmul.h"
#include "neura/backend/kernels/norm.h"
#include "neura/backend/kernels/optim.h"
#include "neura/backend/kernels/pool.h"
#include "neura/backend/kernels/quant.h"
#include "neura/backend/kernels/random.h"
#include "neura/backend/kernels/recurrent.h"
#include "neura/backend/kernels/reduce.h"
#include "neura/backend/kernels/scan.h"
#include "neura/backend/kernels/softmax.h"
#include "neura/backend/kernels/sort.h"
#include "neura/backend/kernels/sparse.h"

namespace neura {

// A number that changes with the rows, with the kernels of each family and with the structs that cross the border: a
// back end that was built with another one is refused before anything of it is called.
constexpr std::uint64_t layout_of_tables() {
  std::uint64_t h = 14695981039346656037u;  // FNV-1a
  const auto add = [&h](const char* text) {
    for (; *text; ++text) h = (h ^ std::uint64_t(static_cast<unsigned char>(*text))) * 1099511628211u;
  };
#define FAMILY(name) add(#name);
#define ROW1(name, ...) add(#name);
#define ROW2 ROW1
#define ROW3 ROW1
#include "neura/tables/kinds.h"
#include "neura/tables/families.def"
#include "neura/tables/end_kinds.h"
  const auto add_size = [&h](std::size_t size) { h = (h ^ size) * 1099511628211u; };
#define KERNELS(name) add(#name), add_size(sizeof(name##_kernels));
#include "neura/backend/kernels.def"
#undef KERNELS
  for (std::size_t size : {sizeof(Spec), sizeof(Plan), sizeof(Line), sizeof(Context), sizeof(Backend),
                           sizeof(DeviceApi), sizeof(RowKernel), std::size_t(kDTypes)})
    add_size(size);
  return h;
}

}  // namespace neura

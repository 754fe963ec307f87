// Some of the CUDA kernels of one family of rows, so that none of its units takes long to compile: values or slopes, of
// some kinds of numbers. CMake writes files that define NEURA_FAMILY (a file of tables/ without .def) and NEURA_PARTS,
// and include this one; backend.cpp joins their tables.
#include "neura/backend/cuda/pointwise/pointwise.cuh"
#include "neura/backend/families.h"
// clang-format off
#define NEURA_TABLE NEURA_STRING(neura/tables/NEURA_FAMILY.def)
// clang-format on
#define NEURA_ROWS NEURA_JOIN(NEURA_FAMILY, _rows)

namespace neura::cuda {
#include "neura/backend/number/row_kinds.h"
#include NEURA_TABLE
#include "neura/tables/end_kinds.h"

#define ROW1(...)
#define ROW2 ROW1
#define ROW3 ROW1
#define BUSY(row) template <> constexpr bool kBusy<row##_row> = true;
#include "neura/tables/kinds.h"
#include NEURA_TABLE
#include "neura/tables/end_kinds.h"

namespace {

// Bits of NEURA_PARTS.
enum Part : unsigned { of_float = 1, of_double = 2, of_integer = 4, of_complex = 8, values = 1, slopes = 16 };
template <class N> constexpr bool is_here(Part kind) {
  constexpr unsigned number = is_same<N, float>    ? of_float
                              : is_same<N, double> ? of_double
                              : is_complex<N>      ? of_complex
                                                   : of_integer;
  return NEURA_PARTS & number * kind;
}

// Only those dtypes that a row's type rule computes in, and slopes that exist and are not g itself.
template <template <class> class Row, int K, int D> constexpr void fill_slope(RowKernel& k) {
  constexpr Probe s = probe<Row, K>();
  if constexpr (!s.none && !s.is_g) k.slope[K][D] = &launch<Slope<Row, K, typename NumberOf<DType(D)>::type>>;
}
template <template <class> class Row, int D = 0> constexpr void fill(RowKernel& k) {
  if constexpr (D < kDTypes) {
    if constexpr (Row<Probe>::kind.has_kernel(DType(D))) {
      using N = typename NumberOf<DType(D)>::type;
      if constexpr (is_here<N>(values)) k.value[D] = &launch<Value<Row, N>>;
      if constexpr (differentiable(DType(D)) && is_here<N>(slopes))
        fill_slope<Row, 0, D>(k), fill_slope<Row, 1, D>(k), fill_slope<Row, 2, D>(k);
    }
    fill<Row, D + 1>(k);
  }
}
template <template <class> class Row> constexpr RowKernel make_kernel() {
  RowKernel k{};
  fill<Row>(k);
  return k;
}
template <template <class> class Row> inline constexpr RowKernel kernel_of = make_kernel<Row>();

constexpr NEURA_ROWS table = {
#define ROW1(name, ...) .name = &kernel_of<name##_row>,
#define ROW2 ROW1
#define ROW3 ROW1
#include "neura/tables/kinds.h"
#include NEURA_TABLE
#include "neura/tables/end_kinds.h"
};

}  // namespace

const void* NEURA_JOIN(NEURA_JOIN(NEURA_FAMILY, _), NEURA_PARTS)() { return &table; }
}  // namespace neura::cuda

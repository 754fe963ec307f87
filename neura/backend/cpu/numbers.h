// The numbers of one instruction set, and in which of them each dtype is computed. Included inside its namespace. The
// baseline pass computes with float and double themselves: the slow path, and the tests' oracle.
// Lists of macros change with every pass of the formatter.
// clang-format off
#include "neura/backend/number/numbers.h"
#ifdef NEURA_SPECIAL
#include "neura/backend/number/special.h"
#endif
#undef NEURA_HAS_BATCH
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
using Floats = float;
using Doubles = double;
#else
#define NEURA_HAS_BATCH
namespace hn = hwy::HWY_NAMESPACE;
#include "neura/backend/number/batch.h"
using Floats = Batch<float>;
#if HWY_HAVE_FLOAT64
using Doubles = Batch<double>;
#else
using Doubles = double;  // WASM has no float64 vectors in Highway 1.0.3
#endif
#endif
using namespace type_rules;
#include "neura/backend/number/row.h"
#include "neura/tables/slopes.h"
#ifdef NEURA_HAS_BATCH
#include "neura/backend/number/batch_normal.h"
#endif
#ifdef NEURA_SPECIAL
#include "neura/tables/special_slopes.h"
#endif

template <DType> struct NumberOf;
#define NUMBER(d, n) \
  template <> struct NumberOf<DType::d> { using type = n; };
NUMBER(float32, Floats) NUMBER(float64, Doubles) NUMBER(complex64, complex<Floats>) NUMBER(complex128, complex<Doubles>)
NUMBER(int8, Int<int8_t>) NUMBER(uint8, Int<uint8_t>) NUMBER(int16, Int<int16_t>) NUMBER(int32, Int<int32_t>)
NUMBER(int64, Int<int64_t>) NUMBER(boolean, Bool)
#undef NUMBER
#include "neura/backend/cpu/loop.h"

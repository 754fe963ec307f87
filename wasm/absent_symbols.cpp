// What a library that only runs programs does not have: gradients, random numbers, and tables of kernels that no
// operation of tables/program_ops.def calls.
#include "neura/backend/backend.h"
#include "neura/core/error.h"
#include "neura/ops/random/dropout.h"

namespace neura {

bool Tensor::requires_grad() const { return false; }
Tensor& Tensor::requires_grad_(bool) { return *this; }  // what a file says of weights that were trained
Tensor dropout(const Tensor&, double, bool) {
  throw NotImplementedError("dropout: expected a program in evaluation mode, got one that draws; export model.eval()");
}

[[gnu::cold]] void refuse_missing_kernel() {
#ifdef NEURA_WANTED
  constexpr const char* model =
#define WANTED_MODEL(name) name
#include NEURA_WANTED
      ;
  throw NotImplementedError(std::string("expected calls of ") + model +
                            ", for which this program was made, got another");
#else
  throw NotImplementedError("expected a call that programs have, got one whose kernel this library lacks");
#endif
}

#ifdef NEURA_INFERENCE_SMALL
const void* cpu_rows_special() { return nullptr; }
#endif
#define ABSENT(family) \
  const family##_kernels* cpu_##family() { return nullptr; }
ABSENT(sort)
ABSENT(random)
ABSENT(loss)
ABSENT(dropout)
ABSENT(optim)
ABSENT(fft)
ABSENT(linalg)
ABSENT(sparse)
ABSENT(grid_sample)
#ifdef NEURA_WANTED
NEURA_ABSENT  // what the one model does not call, of families whose sources are then left out (cmake/NeuraSmall.cmake)
#else
ABSENT(quant)
#endif
#ifdef NEURA_INFERENCE_SMALL
ABSENT(scan) ABSENT(attention) ABSENT(recurrent)
#endif

}  // namespace neura

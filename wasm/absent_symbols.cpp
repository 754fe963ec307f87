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

const sort_kernels* cpu_sort() { return nullptr; }
const random_kernels* cpu_random() { return nullptr; }
const loss_kernels* cpu_loss() { return nullptr; }
const dropout_kernels* cpu_dropout() { return nullptr; }
const optim_kernels* cpu_optim() { return nullptr; }
const fft_kernels* cpu_fft() { return nullptr; }
const linalg_kernels* cpu_linalg() { return nullptr; }
#ifdef NEURA_INFERENCE_SMALL
const scan_kernels* cpu_scan() { return nullptr; }
const void* cpu_rows_special() { return nullptr; }
#endif

}  // namespace neura

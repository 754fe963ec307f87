// Products of matrices, by cuBLAS. It is column-major: y = a b is asked for as yᵀ = bᵀ aᵀ.
#include "neura/backend/kernels/matmul.h"

#include <cublas_v2.h>

#include <cstring>

#include "neura/backend/cuda/absent.h"
#include "neura/backend/cuda/execute.h"
#include "neura/backend/cuda/scratch.h"

namespace neura::cuda {
namespace {

struct Matrix {  // [rows, columns] of an operand, and the step to the next of a batch
  const char* data;
  cublasOperation_t op;
  int ld;
  std::int64_t step;  // elements
};

Failed failed(cublasStatus_t s) {
  if (s == CUBLAS_STATUS_SUCCESS) return nullptr;
  return fail(DeviceFailure::device, "cuBLAS: %s (%s)", cublasGetStatusString(s), cublasGetStatusName(s));
}
Failed handle_of(int index, cublasHandle_t* handle) {
  thread_local cublasHandle_t handles[kDevices] = {};  // not destroyed: the driver may be gone by then
  if (!handles[index])
    if (Failed f = failed(cublasCreate(&handles[index]))) return f;
  *handle = handles[index];
  return failed(cublasSetStream(*handle, current_stream(index)));
}
bool type_of(DType d, cudaDataType_t* type, cublasComputeType_t* compute) {
  *compute = CUBLAS_COMPUTE_32F;
  switch (d) {
    case DType::float32:
      return *type = CUDA_R_32F, true;
    case DType::float16:
      return *type = CUDA_R_16F, true;
    case DType::bfloat16:
      return *type = CUDA_R_16BF, true;
    case DType::complex64:
      return *type = CUDA_C_32F, true;
    case DType::float64:
      return *type = CUDA_R_64F, *compute = CUBLAS_COMPUTE_64F, true;
    case DType::complex128:
      return *type = CUDA_C_64F, *compute = CUBLAS_COMPUTE_64F, true;
    default:
      return false;
  }
}
struct Number {  // alpha and beta as the product's dtype wants them
  alignas(16) char bytes[16];
  Number(std::complex<double> z, DType d) {
    const auto put = [&](auto value) { std::memcpy(bytes, &value, sizeof value); };
    if (d == DType::float64) put(z.real());
    else if (d == DType::complex64) put(std::complex<float>(z));
    else if (d == DType::complex128) put(z);
    else put(float(z.real()));
  }
};

// x as cuBLAS can read it: one of the last two strides is 1 and the other at least a line; and a conjugate is
// transposed.
Failed readable(View& x, Spec& own, bool conjugate, Scratch& scratch) {
  const int r = x.rank();
  const std::int64_t rows = x.size(r - 2), columns = x.size(r - 1), rs = x.stride(r - 2), cs = x.stride(r - 1);
  const bool by_rows = (cs == 1 || columns == 1) && (rs >= columns || rows == 1);
  const bool by_columns = (rs == 1 || rows == 1) && (cs >= rows || columns == 1);
  if (conjugate ? by_columns : by_rows || by_columns) return nullptr;
  own = Spec::dense(x.dtype(), x.spec->sizes(), x.spec->device);
  if (conjugate) own.strides[r - 2] = 1, own.strides[r - 1] = rows, own.finish();
  View copy{nullptr, &own};
  if (Failed f = scratch.take(own.bytes(), &copy.data)) return f;
  if (Failed f = assign(copy, x)) return f;
  x = copy;
  return nullptr;
}
Matrix matrix_of(const View& x, bool conjugate) {
  const int r = x.rank();
  const std::int64_t rows = x.size(r - 2), columns = x.size(r - 1), rs = x.stride(r - 2), cs = x.stride(r - 1);
  const bool by_rows = !conjugate && (cs == 1 || columns == 1) && (rs >= columns || rows == 1);
  Matrix m{x.data, CUBLAS_OP_N, 0, 0};
  if (by_rows) m.ld = int(rows == 1 ? columns : rs);
  else m.op = conjugate ? CUBLAS_OP_C : CUBLAS_OP_T, m.ld = int(columns == 1 ? rows : cs);
  return m;
}
// Elements from one matrix of x to the next along batch dimension d of y.
std::int64_t batch_step(const View& x, const View& y, int d) {
  const int j = d - (y.rank() - x.rank());
  return j < 0 || x.size(j) == 1 ? 0 : x.stride(j);
}

void multiply(Context& c, View a, View b, View init, View y, const Product& p) {
  cudaDataType_t type;
  cublasComputeType_t compute;
  if (!type_of(y.dtype(), &type, &compute))
    return c.fail(fail(DeviceFailure::absent,
                       "expected floating or complex matrices on cuda, got %s; move them with "
                       ".to(\"cpu\")",
                       name(y.dtype())));
  if (!y.numel()) return;
  const int index = c.device.index, r = y.rank();
  const OnDevice on(index);
  if (init)
    if (Failed f = assign(y, init)) return c.fail(f);
  Scratch scratch(index, current_stream(index));
  Spec own_a, own_b;
  if (Failed f = readable(a, own_a, p.conj_a, scratch)) return c.fail(f);
  if (Failed f = readable(b, own_b, p.conj_b, scratch)) return c.fail(f);
  Matrix ma = matrix_of(a, p.conj_a), mb = matrix_of(b, p.conj_b);
  const std::int64_t m = y.size(r - 2), n = y.size(r - 1), k = a.size(a.rank() - 1), width = size_of(y.dtype());
  if (m >> 31 || n >> 31 || k >> 31)
    return c.fail(fail(DeviceFailure::absent, "expected matrices of fewer than 2^31 lines and columns on cuda"));
  const Number alpha(p.alpha, y.dtype()), beta(init ? p.beta : 0.0, y.dtype());
  cublasHandle_t handle;
  if (Failed f = handle_of(index, &handle)) return c.fail(f);
  // The innermost batch dimensions that both operands step through evenly are one call.
  std::int64_t batch = 1, step_a = 0, step_b = 0;
  int outer = r - 2;
  for (; outer > 0; --outer) {
    const std::int64_t size = y.size(outer - 1), sa = batch_step(a, y, outer - 1), sb = batch_step(b, y, outer - 1);
    if (batch > 1 && size > 1 && (sa != step_a * batch || sb != step_b * batch)) break;
    if (batch == 1) step_a = sa, step_b = sb;
    batch *= size;
  }
  std::int64_t calls = 1;
  for (int d = 0; d < outer; ++d) calls *= y.size(d);
  for (std::int64_t i = 0; i < calls; ++i) {
    std::int64_t at_a = 0, at_b = 0, rest = i;
    for (int d = outer - 1; d >= 0; rest /= y.size(d--))
      at_a += rest % y.size(d) * batch_step(a, y, d), at_b += rest % y.size(d) * batch_step(b, y, d);
    char* out = y.data + i * batch * m * n * width;
    c.fail(failed(cublasGemmStridedBatchedEx(handle, mb.op, ma.op, int(n), int(m), int(k), alpha.bytes,
                                             mb.data + at_b * width, type, mb.ld, step_b, ma.data + at_a * width, type,
                                             ma.ld, step_a, beta.bytes, out, type, int(n), m * n, int(batch), compute,
                                             CUBLAS_GEMM_DEFAULT)));
  }
}

}  // namespace

const matmul_kernels* matmul() {
  static constexpr matmul_kernels table{.matmul = multiply};
  return &table;
}

}  // namespace neura::cuda

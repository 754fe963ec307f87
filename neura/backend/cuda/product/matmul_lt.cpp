// cuBLASLt is column-major: y = a b is asked for as yᵀ = bᵀ aᵀ. What it recommends for a shape is asked for once.
#include "neura/backend/cuda/product/matmul_lt.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <unordered_map>

#include "neura/backend/cuda/product/cublaslt.h"
#include "neura/backend/cuda/runtime/precision.h"

namespace neura::cuda {
namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;  // what NVIDIA recommends for Hopper
constexpr std::size_t kPlans = 4096;                       // then they are forgotten
constexpr std::int64_t kBatch = 65535;                     // a limit of launches

using Key = std::array<std::uint64_t, 9>;
struct Hash {
  std::size_t operator()(const Key& key) const {
    std::uint64_t h = 0x9e3779b97f4a7c15u;
    for (const std::uint64_t word : key) h = (h ^ word) * 0xff51afd7ed558ccdu, h ^= h >> 32;
    return h;
  }
};
struct Plan {
  cublasLtMatmulDescOpaque_t product;
  cublasLtMatrixLayoutOpaque_t a, b, y;
  cublasLtMatmulAlgo_t algorithm;
  std::size_t workspace = 0;
  bool known = false;
};
struct Library {  // of one thread and one device
  cublasLtHandle_t handle = nullptr;
  std::unordered_map<Key, Plan, Hash> plans;
  Library() = default;
  Library(const Library&) = delete;
  ~Library() {  // at the thread's end, which for the main thread comes before the end of the CUDA runtime
    if (handle) (void)cublas_lt().cublasLtDestroy(handle);  // a destructor cannot report it
  }
};

Failed failed(cublasStatus_t s) {
  if (s == CUBLAS_STATUS_SUCCESS) return nullptr;
  return fail(DeviceFailure::device, "cuBLASLt: %s (%s)", cublas_lt().cublasLtGetStatusString(s),
              cublas_lt().cublasLtGetStatusName(s));
}
Failed library_of(int index, Library** library) {
  thread_local Library libraries[kDevices];
  *library = &libraries[index];
  if ((*library)->handle) return nullptr;
  if (!cublas_lt().loaded)
    return fail(DeviceFailure::absent,
                "expected %s for products of matrices on cuda, got no such library; install cuBLAS of the CUDA toolkit "
                "or nvidia-cublas, or let NEURA_CUBLASLT_LIBRARY name it",
                CublasLt::file);
  return failed(cublas_lt().cublasLtCreate(&(*library)->handle));
}

struct Number {  // as cuBLASLt wants it with products of this dtype
  alignas(16) char bytes[16];
  Number(std::complex<double> z, DType d) {
    const auto put = [&](auto value) { std::memcpy(bytes, &value, sizeof value); };
    if (d == DType::float64) put(z.real());
    else if (d == DType::complex64) put(std::complex<float>(z));
    else if (d == DType::complex128) put(z);
    else put(float(z.real()));
  }
};

struct Types {
  cudaDataType_t element, scale;
  cublasComputeType_t compute;
};
Types types_of(DType d, bool tf32) {
  switch (d) {
    case DType::float16:
      return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::bfloat16:
      return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::float64:
      return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case DType::complex64:
      return {CUDA_C_32F, CUDA_C_32F, CUBLAS_COMPUTE_32F};
    case DType::complex128:
      return {CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F};
    default:
      return {CUDA_R_32F, CUDA_R_32F, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F};
  }
}

std::uint64_t alignment(const void* p) {  // a power of two, up to 2^8
  return std::uint64_t(std::min(std::countr_zero(reinterpret_cast<std::uintptr_t>(p) | 256u), 8));
}
Key key_of(const LtProduct& p, bool tf32) {
  std::uint64_t flags = std::uint64_t(p.dtype);
  const auto add = [&](std::uint64_t value, int bits) { flags = flags << bits | value; };
  for (const LtMatrix* x : {&p.a, &p.b}) add(x->turned, 1), add(x->conjugate, 1), add(alignment(x->data), 4);
  add(alignment(p.c ? p.c : p.y), 4), add(alignment(p.y), 4), add(p.bias != nullptr, 1), add(tf32, 1);
  return {std::uint64_t(p.m),    std::uint64_t(p.n),    std::uint64_t(p.k),      std::uint64_t(p.batch), flags,
          std::uint64_t(p.a.ld), std::uint64_t(p.b.ld), std::uint64_t(p.a.step), std::uint64_t(p.b.step)};
}

template <class V> Failed set(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t what, const V& value) {
  return failed(cublas_lt().cublasLtMatmulDescSetAttribute(d, what, &value, sizeof value));
}
template <class V> Failed set(cublasLtMatrixLayout_t l, cublasLtMatrixLayoutAttribute_t what, const V& value) {
  return failed(cublas_lt().cublasLtMatrixLayoutSetAttribute(l, what, &value, sizeof value));
}
template <class V> Failed set(cublasLtMatmulPreference_t p, cublasLtMatmulPreferenceAttributes_t what, const V& value) {
  return failed(cublas_lt().cublasLtMatmulPreferenceSetAttribute(p, what, &value, sizeof value));
}
#define NEURA_TRY(call)            \
  do {                             \
    if (Failed f = call) return f; \
  } while (false)

Failed describe(cublasLtMatrixLayout_t layout, const Types& t, std::int64_t lines, std::int64_t line, std::int64_t ld,
                std::int64_t batch, std::int64_t step) {
  NEURA_TRY(failed(cublas_lt().cublasLtMatrixLayoutInit_internal(layout, sizeof *layout, t.element, std::uint64_t(line),
                                                                 std::uint64_t(lines), ld)));
  if (batch == 1) return nullptr;
  NEURA_TRY(set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t(batch)));
  return set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, step);
}
Failed describe(cublasLtMatrixLayout_t layout, const Types& t, const LtMatrix& x, std::int64_t rows,
                std::int64_t columns, std::int64_t batch) {
  return describe(layout, t, x.turned ? columns : rows, x.turned ? rows : columns, x.ld, batch, x.step);
}
cublasOperation_t operation(const LtMatrix& x) {
  return x.conjugate ? CUBLAS_OP_C : x.turned ? CUBLAS_OP_T : CUBLAS_OP_N;
}
Failed prefer(cublasLtMatmulPreference_t want, const LtProduct& p) {
  NEURA_TRY(failed(cublas_lt().cublasLtMatmulPreferenceInit_internal(want, sizeof *want)));
  NEURA_TRY(set(want, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspace));
  // Parts of a sum are added in the dtype in which they were computed, never in that of the result.
  NEURA_TRY(
      set(want, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)));
  const auto aligned = [&](cublasLtMatmulPreferenceAttributes_t of, const void* to) {
    return set(want, of, std::uint32_t(1u << alignment(to)));
  };
  NEURA_TRY(aligned(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p.b.data));
  NEURA_TRY(aligned(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, p.a.data));
  NEURA_TRY(aligned(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, p.c ? p.c : p.y));
  return aligned(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, p.y);
}

Failed make(cublasLtHandle_t handle, const LtProduct& p, bool tf32, Plan& plan) {
  const Types t = types_of(p.dtype, tf32);
  NEURA_TRY(
      failed(cublas_lt().cublasLtMatmulDescInit_internal(&plan.product, sizeof plan.product, t.compute, t.scale)));
  NEURA_TRY(set(&plan.product, CUBLASLT_MATMUL_DESC_TRANSA, operation(p.b)));
  NEURA_TRY(set(&plan.product, CUBLASLT_MATMUL_DESC_TRANSB, operation(p.a)));
  if (p.bias) {
    NEURA_TRY(set(&plan.product, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS));
    NEURA_TRY(set(&plan.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias));
  }
  NEURA_TRY(describe(&plan.a, t, p.a, p.m, p.k, p.batch));
  NEURA_TRY(describe(&plan.b, t, p.b, p.k, p.n, p.batch));
  NEURA_TRY(describe(&plan.y, t, p.m, p.n, p.n, p.batch, p.m * p.n));
  cublasLtMatmulPreferenceOpaque_t want;
  NEURA_TRY(prefer(&want, p));
  cublasLtMatmulHeuristicResult_t found;
  int count = 0;
  const cublasStatus_t s = cublas_lt().cublasLtMatmulAlgoGetHeuristic(handle, &plan.product, &plan.b, &plan.a, &plan.y,
                                                                      &plan.y, &want, 1, &found, &count);
  if (s != CUBLAS_STATUS_NOT_SUPPORTED) NEURA_TRY(failed(s));
  plan.known = s == CUBLAS_STATUS_SUCCESS && count == 1 && found.state == CUBLAS_STATUS_SUCCESS;
  if (plan.known) plan.algorithm = found.algo, plan.workspace = found.workspaceSize;
  return nullptr;
}

Failed multiply_batch(Library& library, int index, cudaStream_t stream, const LtProduct& p, bool* known) {
  const bool tf32 = p.dtype == DType::float32 && matmul_may_use_tf32();
  const Key key = key_of(p, tf32);
  auto found = library.plans.find(key);
  if (found == library.plans.end()) {
    Plan plan;
    NEURA_TRY(make(library.handle, p, tf32, plan));
    if (library.plans.size() >= kPlans) library.plans.clear();
    found = library.plans.emplace(key, plan).first;
  }
  Plan& plan = found->second;
  if (!(*known = plan.known)) return nullptr;
  if (p.bias) NEURA_TRY(set(&plan.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias));
  Scratch scratch(index, stream);
  char* workspace = nullptr;
  if (plan.workspace) NEURA_TRY(scratch.take(plan.workspace, &workspace));
  const Number alpha(p.alpha, p.dtype), beta(p.c ? p.beta : 0.0, p.dtype);
  return failed(cublas_lt().cublasLtMatmul(library.handle, &plan.product, alpha.bytes, p.b.data, &plan.b, p.a.data,
                                           &plan.a, beta.bytes, p.c ? p.c : p.y, &plan.y, p.y, &plan.y, &plan.algorithm,
                                           workspace, plan.workspace, stream));
}

}  // namespace

Failed multiply(int index, cudaStream_t stream, const LtProduct& p, bool* known) {
  Library* library;
  NEURA_TRY(library_of(index, &library));
  if (p.batch <= kBatch) return multiply_batch(*library, index, stream, p, known);
  const std::int64_t width = size_of(p.dtype);
  for (std::int64_t first = 0; first < p.batch; first += kBatch) {
    LtProduct part = p;
    part.batch = std::min(kBatch, p.batch - first);
    part.a.data += first * p.a.step * width, part.b.data += first * p.b.step * width;
    part.y += first * p.m * p.n * width;
    if (p.c) part.c += first * p.m * p.n * width;
    NEURA_TRY(multiply_batch(*library, index, stream, part, known));
    if (!*known) return nullptr;
  }
  return nullptr;
}

}  // namespace neura::cuda

#include "neura/backend/cuda/pointwise/pointwise.h"

#include <cstring>

#include "neura/backend/cuda/runtime/launch.h"

namespace neura::cuda {
namespace {

// True if all operands are of the dtype that is computed, or halves computed in float32.
bool are_simple(const Operands& o, const PointwiseKernels& k) {
  for (int i = 0; i <= k.inputs; ++i) {
    if (i && !(k.reads >> (i - 1) & 1)) continue;
    const DType d = o.dtype[i];
    const bool half = k.moved[i] == DType::float32 && (d == DType::float16 || d == DType::bfloat16);
    if (d != k.moved[i] && !half) return false;
  }
  return true;
}

// The kernel for just these operands, or null.
const DenseKernel* dense_of(const Operands& o, const PointwiseKernels& k) {
  if (!k.dense || o.row || o.column || o.single || o.immediate) return nullptr;
  for (const DenseKernel* d = k.dense; d->run; ++d) {
    bool fits = o.dtype[0] == d->to;
    for (int i = 0; i < k.inputs; ++i) fits = fits && (o.dtype[i + 1] == d->from || !(k.reads >> i & 1));
    if (fits) return d;
  }
  return nullptr;
}

}  // namespace

void start_pointwise(const Launch& l, const PointwiseKernels& k) {
  const Operands& o = l.operands;
  const bool repeats = o.row | o.column;
  const std::uint32_t pack(k.pack), inner = o.size[1].divisor;
  if (!o.flat || (repeats && inner % pack) || !are_simple(o, k))
    return launch_kernel(k.strided, grid_over(o.numel, kStridedItems), l.stream, o);
  unsigned wide = 0;  // what is moved and is more than a half
  for (int i = 0; i <= k.inputs; ++i) wide |= unsigned(size_of(o.dtype[i]) > 2) << i;
  wide &= (k.reads << 1 | 1) & ~unsigned(o.single | o.immediate | o.column);
  FlatOperands f;
  for (int i = 0; i <= k.inputs; ++i) {
    f.dtype[i] = o.dtype[i], f.data[i] = o.data[i];
    if (o.immediate >> i & 1) std::memcpy(f.value[i], o.value[i], sizeof f.value[i]);
  }
  f.row = o.row, f.column = o.column;
  f.twice = k.may_be_twice && !wide && !(repeats && inner % (2 * pack));
  if (repeats) f.inner = o.size[1];
  f.numel = o.numel, f.single = o.single | o.immediate, f.immediate = o.immediate;
  std::memcpy(f.attributes, o.attributes, sizeof f.attributes);
  if (const DenseKernel* d = dense_of(o, k)) return launch_kernel(d->run, grid_over(o.numel, d->pack), l.stream, f);
  launch_kernel(k.flat, grid_over(o.numel, f.twice ? 2 * pack : pack), l.stream, f);
}

}  // namespace neura::cuda

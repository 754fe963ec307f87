// From a plan to launches: dense operands are detected, numbers go by value, and 2^30 elements are the most of one
// launch.
#include "neura/backend/cuda/pointwise/execute.h"

#include <cstring>

#include "neura/backend/cuda/copy.h"
#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/cuda/runtime/stream.h"

namespace neura::cuda {

Division division(std::uint32_t divisor) {
  Division d;
  if (!divisor) return d;  // of an empty dimension, which is never iterated
  d.divisor = divisor;
  while (d.shift < 31 && (std::uint32_t{1} << d.shift) < divisor) ++d.shift;
  d.factor = std::uint32_t(((std::uint64_t{1} << 32) * ((std::uint64_t{1} << d.shift) - divisor)) / divisor + 1);
  return d;
}

namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 30;

void describe(const Plan& p, Operands& o) {
  o.numel = std::uint32_t(p.numel), o.rank = std::uint8_t(p.rank), o.flat = true;
  o.immediate = o.single = o.row = o.column = 0;
  for (int d = 0; d < p.rank; ++d) o.size[d] = division(std::uint32_t(p.shape[d]));
  for (int k = 0; k < p.operands; ++k) {
    o.dtype[k] = p.dtype[k], o.bytes[k] = std::uint8_t(size_of(p.dtype[k])), o.data[k] = p.data[k];
    bool dense = reinterpret_cast<std::uintptr_t>(p.data[k]) % 16 == 0, single = true;
    std::int64_t step = o.bytes[k];
    for (int d = p.rank - 1; d >= 0; step *= p.shape[d--]) {
      o.strides[d][k] = p.strides[d][k];
      dense = dense && p.strides[d][k] == step;
      single = single && (p.strides[d][k] == 0 || p.numel == 1);
    }
    if (p.host >> k & 1) {
      std::memcpy(o.value[k], p.data[k], std::size_t(size_of(p.dtype[k])));
      o.immediate |= std::uint8_t(1u << k), o.data[k] = nullptr;
    } else if (single && k && p.data[k]) {
      o.single |= std::uint8_t(1u << k);
    } else if (p.data[k] && !dense) {
      const bool two = p.rank == 2 && k && reinterpret_cast<std::uintptr_t>(p.data[k]) % 16 == 0;
      if (two && p.strides[0][k] == 0 && p.strides[1][k] == o.bytes[k]) o.row |= std::uint8_t(1u << k);
      else if (two && p.strides[0][k] == o.bytes[k] && p.strides[1][k] == 0) o.column |= std::uint8_t(1u << k);
      else o.flat = false;
    }
  }
}

void run(const Plan& p, LineFn* fn, Launch& launch) {
  if (p.numel > kMost) {  // in two, along the outermost dimension that has two
    int d = 0;
    while (p.shape[d] == 1) ++d;
    Plan part = p;
    const std::int64_t half = p.shape[d] / 2;
    part.shape[d] = half, part.numel = p.numel / p.shape[d] * half;
    run(part, fn, launch);
    part.shape[d] = p.shape[d] - half, part.numel = p.numel - part.numel;
    for (int k = 0; k < p.operands; ++k)
      if (part.data[k] && !(p.host >> k & 1)) part.data[k] += half * p.strides[d][k];
    return run(part, fn, launch);
  }
  describe(p, launch.operands);
  fn(launch);
}

}  // namespace

Failed execute(int index, const Plan& p, LineFn* fn, const double* attributes, int count) {
  if (!p.numel) return nullptr;
  const OnDevice on(index);
  Launch launch{};
  for (int i = 0; i < count; ++i) launch.operands.attributes[i] = attributes[i];
  launch.stream = current_stream(index);
  run(p, fn, launch);
  return launched(index);
}

Failed assign(const View& to, const View& from) {
  if (!to.numel()) return nullptr;
  const int index = to.spec->device.index;
  const DType wanted = to.dtype();
  const Plan p = make_plan(to, wanted, &from, &wanted, 1);
  if (!p.host && p.dtype[0] == p.dtype[1]) {
    const OnDevice on(index);
    const cudaStream_t stream = current_stream(index);
    if (copy_bits(p, stream)) return launched(index);
    if (p.rank == 1 && p.strides[0][0] == p.strides[0][1] && p.strides[0][0] == size_of(wanted))
      return failed(
          cudaMemcpyAsync(to.data, from.data, std::size_t(p.numel * size_of(wanted)), cudaMemcpyDeviceToDevice, stream),
          "copy");
  }
  return execute(index, p, conversion_to(wanted, p.dtype[1]), nullptr, 0);
}

}  // namespace neura::cuda

// CUB's radix sort of the whole device, for keys of two sizes: all else becomes one of them.
#include <cub/device/device_radix_sort.cuh>

#include "neura/backend/cuda/sort/sort.h"

namespace neura::cuda {
namespace {

template <class K> Failed sort_keys(Scratch& scratch, cudaStream_t stream, std::int64_t n, int bits, K* (&keys)[2],
                                    std::uint32_t* (&values)[2]) {
  cub::DoubleBuffer<K> k(keys[0], keys[1]);
  cub::DoubleBuffer<std::uint32_t> v(values[0], values[1]);
  const auto count = std::uint32_t(n);
  std::size_t bytes = 0;
  NEURA_CUDA_TRY(cub::DeviceRadixSort::SortPairs(nullptr, bytes, k, v, count, 0, bits, stream), "sort");
  char* room;
  if (Failed f = scratch.take(bytes, &room)) return f;
  NEURA_CUDA_TRY(cub::DeviceRadixSort::SortPairs(room, bytes, k, v, count, 0, bits, stream), "sort");
  keys[0] = k.Current(), keys[1] = k.Alternate();
  values[0] = v.Current(), values[1] = v.Alternate();
  return nullptr;
}

}  // namespace

Failed sort_pairs(Scratch& s, cudaStream_t stream, std::int64_t n, int bits, std::uint32_t* (&keys)[2],
                  std::uint32_t* (&values)[2]) {
  return sort_keys(s, stream, n, bits, keys, values);
}
Failed sort_pairs(Scratch& s, cudaStream_t stream, std::int64_t n, int bits, std::uint64_t* (&keys)[2],
                  std::uint32_t* (&values)[2]) {
  return sort_keys(s, stream, n, bits, keys, values);
}

}  // namespace neura::cuda

// Elements as keys, and the offsets of a line's results, for the kernels that sort lines.
#pragma once
#include "neura/backend/cuda/runtime/memory.cuh"
#include "neura/backend/cuda/sort/sort.h"

namespace neura::cuda {

// K: std::uint32_t for elements of up to four bytes, std::uint64_t for all.
template <class K> __device__ K greatest_key(const Order& o) { return K(~K(0)) >> (8 * (sizeof(K) - o.bytes)); }
template <class K> __device__ K key_of(K bits, const Order& o) {
  const K all = greatest_key<K>(o), sign = all ^ all >> 1;
  if (o.kind == Order::floating) {
    if ((bits & ~sign) > K(o.infinity)) bits = all;
    else bits = bits & sign && bits != sign ? ~bits & all : bits | sign;
  } else if (o.kind == Order::signed_whole) {
    bits ^= sign;
  } else if (o.kind == Order::boolean) {
    bits = bits != 0;
  }
  return o.descending ? ~bits & all : bits;
}
// The element of a key; false: several elements have this key (zeros, NaNs, what is true).
template <class K> __device__ bool bits_of(K key, const Order& o, K* bits) {
  const K all = greatest_key<K>(o), sign = all ^ all >> 1;
  if (o.descending) key = ~key & all;
  if (o.kind == Order::floating) {
    *bits = key & sign ? key ^ sign : ~key & all;
    return key != sign && key != all;
  }
  *bits = o.kind == Order::signed_whole ? key ^ sign : key;
  return o.kind != Order::boolean;
}
template <class K> __device__ K bits_at(const char* p, int bytes) {
  if (bytes == 4) return *reinterpret_cast<const std::uint32_t*>(p);
  if (bytes == 2) return *reinterpret_cast<const std::uint16_t*>(p);
  if (bytes == 1) return *reinterpret_cast<const std::uint8_t*>(p);
  return K(*reinterpret_cast<const std::uint64_t*>(p));
}
template <class K> __device__ void store_bits(char* p, int bytes, K bits) {
  if (bytes == 4) *reinterpret_cast<std::uint32_t*>(p) = std::uint32_t(bits);
  else if (bytes == 2) *reinterpret_cast<std::uint16_t*>(p) = std::uint16_t(bits);
  else if (bytes == 1) *reinterpret_cast<std::uint8_t*>(p) = std::uint8_t(bits);
  else *reinterpret_cast<std::uint64_t*>(p) = bits;
}
template <class K> __device__ K key_at(const char* p, const Order& o) { return key_of(bits_at<K>(p, o.bytes), o); }

// An element and its place in the line: no two are equal, so that every way of sorting is stable.
template <class K> struct Item;
template <> struct Item<std::uint32_t> {
  std::uint64_t bits;
  __device__ static Item of(std::uint32_t key, std::uint32_t place) { return {std::uint64_t(key) << 32 | place}; }
  __device__ std::uint32_t key() const { return std::uint32_t(bits >> 32); }
  __device__ std::uint32_t place() const { return std::uint32_t(bits); }
  __device__ bool before(const Item& o) const { return bits < o.bits; }
  __device__ Item shuffled(int mask) const { return {__shfl_xor_sync(~0u, bits, mask)}; }
};
template <> struct Item<std::uint64_t> {
  std::uint64_t bits;
  std::uint32_t at;
  __device__ static Item of(std::uint64_t key, std::uint32_t place) { return {key, place}; }
  __device__ std::uint64_t key() const { return bits; }
  __device__ std::uint32_t place() const { return at; }
  __device__ bool before(const Item& o) const { return bits != o.bits ? bits < o.bits : at < o.at; }
  __device__ Item shuffled(int mask) const {
    return {__shfl_xor_sync(~0u, bits, mask), __shfl_xor_sync(~0u, at, mask)};
  }
};

// The offset of element (or result) i of a line of `length`.
__device__ inline std::int64_t element_of(const SortCall& r, std::uint32_t line, std::uint32_t length,
                                          std::uint32_t i) {
  if (r.inner.divisor == 1) return std::int64_t(line) * length + i;
  const std::uint32_t slice = quotient(line, r.inner);
  return (std::int64_t(slice) * length + i) * r.inner.divisor + (line - slice * r.inner.divisor);
}
__device__ inline void put(const SortCall& r, std::uint32_t line, std::uint32_t i, std::uint32_t place) {
  const std::int64_t to = element_of(r, line, r.room, i);
  if (r.indices) r.indices[to] = place;
  if (!r.values) return;
  const std::int64_t from = element_of(r, line, r.length, place);
  const int bytes = r.order.bytes;
  store_bits(r.values + to * bytes, bytes, bits_at<std::uint64_t>(r.x + from * bytes, bytes));
}
// The first of the places [0, end) of a line in order whose key is not below `key`. key_of(i): of place i.
template <class K, class F> __device__ std::uint32_t first_not_below(K key, std::uint32_t end, F&& key_of) {
  std::uint32_t low = 0;
  while (low < end) {
    const std::uint32_t mid = low + (end - low) / 2;
    if (key_of(mid) < key) low = mid + 1;
    else end = mid;
  }
  return low;
}
// The place, in the ascending order of a line, of what kth, median and nanmedian are after.
template <class K, class F> __device__ std::uint32_t place_of(const SortCall& r, F&& key_of) {
  if (r.selection == Selection::kth) return r.k;
  std::uint32_t numbers = r.n;
  if (r.order.kind == Order::floating) numbers = first_not_below(greatest_key<K>(r.order), r.n, key_of);
  if (r.selection == Selection::median && numbers < r.n) return numbers;  // the first NaN
  return numbers ? (numbers - 1) / 2 : 0;
}
// A run of equal keys that ends at place i, as a number that is the greater the longer it is, and the sooner it ends.
template <class K, class F> __device__ std::uint64_t run_ending(std::uint32_t i, F&& key_of) {
  const std::uint32_t first = first_not_below<K>(key_of(i), i, key_of);
  return std::uint64_t(i + 1 - first) << 32 | std::uint32_t(~i);
}
__device__ inline std::uint32_t end_of_run(std::uint64_t run) { return ~std::uint32_t(run); }

}  // namespace neura::cuda

// What the sorting kernels share with each other, and with random draws.
#pragma once
#include <cstdint>

#include "neura/backend/cuda/operands.h"
#include "neura/backend/cuda/runtime/scratch.h"
#include "neura/backend/kernels/sort.h"

namespace neura::cuda {

// How elements become unsigned keys with their order: NaN last, -0 equal to 0.
struct Order {
  enum Kind : std::uint8_t { boolean, whole, signed_whole, floating } kind;
  std::uint8_t bytes;
  bool descending;
  std::uint64_t infinity;  // of floating ones: their bits
};
struct SortCall {  // a call of kernels/sort.h, by value to its kernels
  const char* x;
  char* values;           // or null
  std::int64_t* indices;  // or null
  Order order;
  Selection selection;
  std::uint32_t length;      // elements of a line of x
  std::uint32_t n, room, k;  // of which these are put in order; results
  std::uint32_t lines;       // line l: column l % inner of slice l / inner
  Division inner;            // elements between neighbours of a line
};

Order order_of(DType, bool descending);
void select_sorted(Context&, Selection, int dim, std::int64_t k, View x, View values, View indices);  // kernels/sort.h
void rows(Context&, View x, View indices);
// Lines up to here are sorted by a block or by a part of one.
inline std::uint32_t most_of_block(const Order& o) { return o.bytes == 8 ? 2048 : 4096; }
Failed sort_short(const SortCall&, cudaStream_t);
bool selects(const SortCall&);  // may only a few elements of each line be put in order?
Failed sort_selected(int index, const SortCall&, cudaStream_t);
template <class K> struct Item;  // sort.cuh
// Sorts what was chosen, [lines, room], into the results.
template <class K> Failed sort_chosen(const SortCall&, const Item<K>* chosen, cudaStream_t);
Failed sort_long(int index, const SortCall&, cudaStream_t);

// Sorts n pairs by the lowest `bits` of their keys; stable. Each has two buffers of n; the pairs are in the first
// ones, before and after.
Failed sort_pairs(Scratch&, cudaStream_t, std::int64_t n, int bits, std::uint32_t* (&keys)[2],
                  std::uint32_t* (&values)[2]);
Failed sort_pairs(Scratch&, cudaStream_t, std::int64_t n, int bits, std::uint64_t* (&keys)[2],
                  std::uint32_t* (&values)[2]);
// How many bits the numbers below n have.
inline int bits_below(std::int64_t n) { return n > 1 ? 64 - __builtin_clzll(std::uint64_t(n - 1)) : 1; }

}  // namespace neura::cuda

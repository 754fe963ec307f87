// A few elements of a line without sorting it: the digits of the last one wanted are found from the highest on, by
// counting; of equal keys the digits of the place decide. That ends as soon as no other element can be meant, or as
// what is wanted and what is undecided fit into the sort of a block.
#pragma once
#include "neura/backend/cuda/sort/sort.cuh"

namespace neura::cuda {

constexpr std::uint32_t kWorkers = 512, kDigit = 11, kBins = 1u << kDigit;
constexpr std::uint32_t kFew = kWorkers;  // elements that a block sorts
static_assert(kBins == 4 * kWorkers);

struct Digit {
  int shift;
  std::uint32_t mask;
  bool of_place;
};
inline int place_bits(std::uint32_t places) { return bits_below(places); }
__host__ __device__ inline int digits_in(int bits) { return (bits + int(kDigit) - 1) / int(kDigit); }
__device__ inline Digit digit_of(int step, int key_bits, int place_bits) {  // the highest of the key first
  const int key_steps = digits_in(key_bits),
            end = step < key_steps ? key_bits - step * int(kDigit) : place_bits - (step - key_steps) * int(kDigit);
  const int shift = end > int(kDigit) ? end - int(kDigit) : 0;
  return {shift, (1u << (end - shift)) - 1, step >= key_steps};
}

// The last element wanted, as far as its digits are known.
template <class K> struct Bound {
  K key, key_mask;
  std::uint32_t place, place_mask;
  std::uint32_t rank;    // others before it that agree with what is known
  std::uint32_t before;  // elements that are before all of those
  std::uint32_t equal;   // elements that agree
  __device__ bool agrees(K k, std::uint32_t p) const {
    return ((k ^ key) & key_mask) == 0 && ((p ^ place) & place_mask) == 0;
  }
  __device__ bool wants(K k, std::uint32_t p) const {
    k &= key_mask;
    return k < key || (k == key && (p & place_mask) <= place);
  }
  __device__ bool enough(const SortCall& r) const {
    if (r.selection > Selection::largest) return equal == 1;
    return rank + 1 == equal || (r.room <= kFew / 2 && before + equal <= kFew);
  }
};
template <class K> __device__ Bound<K> first_bound(const SortCall& r) {
  return {0, 0, 0, 0, r.selection == Selection::kth ? r.k : r.room - 1, 0, r.n};
}
__device__ inline bool is_median(const SortCall& r) {
  return r.selection == Selection::median || r.selection == Selection::nanmedian;
}
__device__ inline std::uint32_t median_rank(const SortCall& r, std::uint32_t nans) {
  const std::uint32_t numbers = r.n - nans;
  return r.selection == Selection::median && nans ? numbers : numbers ? (numbers - 1) / 2 : 0;
}

// Elements first, first + kWorkers, ... of a line. After its end: what comes after all of its elements.
template <class K, int N>
__device__ void load_keys(const SortCall& r, const char* line, std::uint32_t first, K (&key)[N]) {
  const auto read = [&]<class B>(const B* p) {
#pragma unroll
    for (int j = 0; j < N; ++j) key[j] = first + j * kWorkers < r.n ? K(p[first + j * kWorkers]) : 0;
  };
  if constexpr (sizeof(K) == 8) read(reinterpret_cast<const std::uint64_t*>(line));
  else if (r.order.bytes == 4) read(reinterpret_cast<const std::uint32_t*>(line));
  else if (r.order.bytes == 2) read(reinterpret_cast<const std::uint16_t*>(line));
  else read(reinterpret_cast<const std::uint8_t*>(line));
#pragma unroll
  for (int j = 0; j < N; ++j) key[j] = first + j * kWorkers < r.n ? key_of(key[j], r.order) : greatest_key<K>(r.order);
}
template <class K, int N>
__device__ void count_digits(const Bound<K>& b, Digit d, std::uint32_t first, const K (&key)[N], std::uint32_t* bins) {
  if (!d.of_place) {
#pragma unroll
    for (int j = 0; j < N; ++j)
      if (((key[j] ^ b.key) & b.key_mask) == 0) atomicAdd(&bins[std::uint32_t(key[j] >> d.shift) & d.mask], 1u);
    return;
  }
  asm volatile("" : "+r"(first));  // places are not to be kept in registers from step to step
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const std::uint32_t place = first + j * kWorkers;
    if (b.agrees(key[j], place)) atomicAdd(&bins[place >> d.shift & d.mask], 1u);
  }
}
// The place of the element that agrees, if a thread has it.
template <class K, int N> __device__ void put_agreeing(const SortCall& r, std::uint32_t line, const Bound<K>& b,
                                                       std::uint32_t first, const K (&key)[N]) {
  std::uint32_t place = ~0u;
#pragma unroll
  for (int j = 0; j < N; ++j)
    if (b.agrees(key[j], first + j * kWorkers)) place = first + j * kWorkers;
  if (place != ~0u) put(r, line, 0, place);
}
template <class K, int N>
__device__ void count_nans(const SortCall& r, std::uint32_t first, const K (&key)[N], std::uint32_t* nans) {
  std::uint32_t own = 0;
#pragma unroll
  for (int j = 0; j < N; ++j) own += first + j * kWorkers < r.n && key[j] == greatest_key<K>(r.order);
  own = __reduce_add_sync(~0u, own);
  if (threadIdx.x % 32 == 0 && own) atomicAdd(nans, own);
}

// All threads of a block learn the digit of the element with b.rank others before it. own: the counts of a thread's
// four digits.
template <class K> __device__ void learn(Bound<K>& b, Digit d, uint4 own) {
  __shared__ std::uint32_t sums[kWorkers / 32];
  __shared__ uint3 found;  // a digit, the elements of lesser ones, and of this one
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, all = own.x + own.y + own.z + own.w;
  std::uint32_t sum = all;
#pragma unroll
  for (std::uint32_t step = 1; step < 32; step *= 2) {
    const std::uint32_t before = __shfl_up_sync(~0u, sum, step);
    if (lane >= step) sum += before;
  }
  if (lane == 31) sums[warp] = sum;
  __syncthreads();
#pragma unroll
  for (std::uint32_t w = 0; w < kWorkers / 32; ++w) sum += w < warp ? sums[w] : 0;
  std::uint32_t before = sum - all;
  if (b.rank >= before && b.rank < sum) {
    const std::uint32_t count[4] = {own.x, own.y, own.z, own.w};
#pragma unroll
    for (std::uint32_t e = 0; e < 4; ++e) {
      if (b.rank >= before && b.rank < before + count[e]) found = {4 * threadIdx.x + e, before, count[e]};
      before += count[e];
    }
  }
  __syncthreads();
  if (d.of_place) b.place |= found.x << d.shift, b.place_mask |= d.mask << d.shift;
  else b.key |= K(found.x) << d.shift, b.key_mask |= K(d.mask) << d.shift;
  b.rank -= found.y, b.before += found.y, b.equal = found.z;
}

// Sorts `count` elements, at most one for each thread, and writes the first ones of them as the results of a line.
template <class K> __device__ void write_few(const SortCall& r, std::uint32_t line, Item<K>* few, std::uint32_t count) {
  const std::uint32_t t = threadIdx.x;
  std::uint32_t width = 32;
  while (width < count) width *= 2;
  Item<K> mine = t < count ? few[t] : Item<K>::of(~K(0), ~0u);
  for (std::uint32_t size = 2; size <= width; size *= 2)
    for (std::uint32_t stride = size / 2; stride; stride /= 2) {
      Item<K> other;
      if (stride < 32) {
        other = mine.shuffled(int(stride));
      } else {
        __syncthreads();
        few[t] = mine;
        __syncthreads();
        other = few[t ^ stride];
      }
      if (other.before(mine) == (!(t & stride) == !(t & size))) mine = other;
    }
  if (t < r.room) put(r, line, t, mine.place());
}

// Of lines of any length; sort_select_long.cu.
template <class K> Failed select_long(int index, const SortCall&, cudaStream_t);

}  // namespace neura::cuda

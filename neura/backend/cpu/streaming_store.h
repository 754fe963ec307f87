// Writing past the caches. A store into memory that is not in the cache first reads it; a result too large to stay
// there need not be read, and need not push out what is.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace neura {

// Results from this size on, in bytes, are written past the caches; smaller ones are likely to be read again from the
// cache.
inline constexpr std::int64_t kStreamFrom = std::int64_t{16} << 20;

#if defined(__SSE2__)
// Meanwhile prefetches what is read next, `size` bytes from each of `next`: the hardware prefetcher stops where a block
// of writes interrupts the reads.
inline void stream_copy(char* to, const char* from, std::size_t size, const char* const* next, int count) {
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) & 63, lines = size > head ? (size - head) / 64 : 0;
  if (!lines) return void(std::memcpy(to, from, size));
  std::memcpy(to, from, head);
  to += head, from += head, size -= head;
  for (std::size_t i = 0; i < lines; ++i, to += 64, from += 64) {
    for (int k = 0; k < count; ++k) _mm_prefetch(next[k] + i * 64, _MM_HINT_T0);
    for (int part = 0; part < 64; part += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + part),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + part)));
  }
  std::memcpy(to, from, size - lines * 64);
}
// Call it before another thread reads what was written past the caches.
inline void stream_done() { _mm_sfence(); }
#else
inline void stream_copy(char* to, const char* from, std::size_t size, const char* const*, int) {
  std::memcpy(to, from, size);
}
inline void stream_done() {}
#endif

}  // namespace neura

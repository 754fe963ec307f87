// parallel_for: a region of chunks shared by the caller and the pool. Nested regions and second callers run alone.
#pragma once
#include <cstdint>
#include <type_traits>

namespace neura {

using Body = void (*)(void* context, std::int64_t begin, std::int64_t end);
void parallel_run(std::int64_t n, std::int64_t grain, Body, void* context);

// f(begin, end) over [0, n) in pieces of at least `grain`; an exception of any piece comes out here. How [0, n) is cut
// depends on the number of threads: what is summed across pieces must be cut by the caller, into fixed blocks.
template <class F> void parallel_for(std::int64_t n, std::int64_t grain, F&& f) {
  parallel_run(
      n, grain, [](void* c, std::int64_t b, std::int64_t e) { (*static_cast<std::remove_reference_t<F>*>(c))(b, e); },
      const_cast<void*>(static_cast<const void*>(&f)));
}

int get_num_threads();        // how many threads a kernel may use
void set_num_threads(int n);  // 1 and up; ValueError otherwise. At first: as many as processors this process may use
                              // (or the environment variable NEURA_NUM_THREADS)

// Below this much work, counted in additions of one element, one thread is faster.
inline constexpr std::int64_t kSerial = 32768;

}  // namespace neura

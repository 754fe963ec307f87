// Independent units of work, shared among threads, each of which has a workspace.
#pragma once
#include "neura/backend/cpu/rowwise.h"
#include "neura/backend/cpu/product/gemm.h"

namespace neura {

// f(unit, workspace) for every unit, on all threads; each thread has a workspace of `space` elements. `work`:
// multiplications of them all.
template <class T, class F> void parallel_units(Context& c, int64_t units, int64_t space, double work, F&& f) {
  Slots slots;
  space = (space + 15) / 16 * 16;
  T* const workspace = c.scratch_of<T>(space * slots.count);
  parallel_for(units, work < double(kGemmSerial) ? units : 1, [&](int64_t begin, int64_t end) {
    const int slot = slots.take();
    for (; begin < end; ++begin) f(begin, workspace + slot * space);
    slots.give(slot);
  });
}

}  // namespace neura

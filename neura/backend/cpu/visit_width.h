// Elements as plain bytes.
#pragma once
#include <cstring>

#include "neura/backend/view.h"
#include "neura/backend/width.h"
#include "neura/core/walk.h"

namespace neura {

struct Bytes16 {
  std::uint64_t half[2];
};

template <class F> void visit_width(int bytes, const F& f) { with_width<Bytes16>(bytes, f); }

}  // namespace neura
